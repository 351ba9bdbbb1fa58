"""`otb formosa`: work on Formosa's difficulty band.

What belongs here: arguments, files, exit statuses. What does not: the cut (`opentwbench.formosa.band`).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from opentwbench.dataset.atomic import write_file
from opentwbench.dataset.files import read_jsonl
from opentwbench.dataset.manifest import json_bytes
from opentwbench.dataset.model import DatasetError
from opentwbench.formosa.band import CurationError, Cut, read_band, read_sidecar, recut
from orchestration import formosa_build_command, formosa_corpus_command, formosa_page_command

USAGE, EMPTY = 2, 3

STATUSES = (
    "Exit status: 0 done; 1 a fault of the program; 2 wrong arguments, or a sidecar that cannot be read; "
    "3 no item lies in the band."
)

app = typer.Typer(help="Work on Formosa's difficulty band.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Work on Formosa's difficulty band."""


@app.command(name="recut", epilog=STATUSES)
def cut_again(
    sidecar: Annotated[Path, typer.Argument(help="Difficulty sidecar: item_id and passes a line.", show_default=False)],
    pool: Annotated[list[str], typer.Option(help="A model of the newer pool, once a model.", show_default=False)],
    band: Annotated[str, typer.Option(help="Pass counts to keep, LOW-HIGH, e.g. 0-6 of seven.", show_default=False)],
    before: Annotated[
        list[str] | None, typer.Option(help="A model of the older pool, once a model: also say what moved.")
    ] = None,
    before_band: Annotated[str, typer.Option(help="Of the older pool. Default: the same.", show_default=False)] = "",
    out: Annotated[Path | None, typer.Option(help="Write the ids by kind here (JSON).", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The figures as one JSON object.")] = False,
) -> None:
    """Cut the band again against a newer pool of models, from what the sidecar has measured. No model is asked.

    An item that some model of the pool was never measured on is neither kept nor dropped: it is counted as unmeasured.
    """
    try:
        items = read_sidecar(read_jsonl(sidecar), sidecar.name)
        made = recut(items, pool, read_band(band, len(pool)))
        older = recut(items, before, read_band(before_band or band, len(before))) if before else None
    except (DatasetError, CurationError) as error:
        _stop(USAGE, str(error))
    figures = _figures(made, older)
    if out is not None:
        ids = {name: list(getattr(made, name)) for name in ("kept", "easier", "harder", "unmeasured")}
        write_file(out, json_bytes({"pool": pool, "band": band, **ids}))
    if as_json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name.replace('_', ' ')}: {value:,}")
    raise typer.Exit(0 if made.kept else EMPTY)


formosa_corpus_command.add_to(app)
formosa_build_command.add_to(app)
formosa_page_command.add_to(app)


def _figures(made: Cut, older: Cut | None) -> dict[str, int]:
    found = {name: len(getattr(made, name)) for name in ("kept", "easier", "harder", "unmeasured")}
    if older is not None:
        before, now = set(older.kept), set(made.kept)
        found |= {"kept_before": len(before), "stayed": len(before & now), "left": len(before - now)}
        found["joined"] = len(now - before)
    return found


def _stop(status: int, message: str) -> NoReturn:
    print(f"otb formosa: {message}", file=sys.stderr)
    raise typer.Exit(status)
