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
from opentwbench.dataset.files import read_bytes, read_jsonl
from opentwbench.dataset.manifest import json_bytes
from opentwbench.dataset.model import DatasetError
from opentwbench.formosa.band import CUT_KINDS, CurationError, Cut, read_band, read_sidecar, recut
from opentwbench.formosa.curation import Edition, recut_edition
from opentwbench.formosa.edition_files import (
    EDITION_NAME,
    SIDECAR_NAME,
    hold_to_journals,
    read_manifest_of,
    read_sidecar_of,
)
from orchestration import formosa_build_command, formosa_corpus_command, formosa_page_command

USAGE, EMPTY = 2, 3

STATUSES = (
    "Exit status: 0 done; 1 a fault of the program; 2 wrong arguments, or a sidecar, edition or journal that cannot be "
    "read or is not the one that was frozen; 3 no item lies in the band."
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
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the ids by kind here (JSON); with --name the folder of the edition.", show_default=False
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="Freeze an edition of this name into --out.", show_default=False)] = "",
    date: Annotated[str, typer.Option(help="Its date, YYYY-MM-DD.", show_default=False)] = "",
    runs: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the pool's runs: hold their journals to the bytes of the freeze.", show_default=False
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The figures as one JSON object.")] = False,
) -> None:
    """Cut the band again against a newer pool of models, from what the sidecar has measured. No model is asked.

    An item that some model of the pool was never measured on is neither kept nor dropped: it is counted as unmeasured.
    Where an edition.json lies beside, the sidecar must be the one whose hash it states. With --name and --date the cut
    becomes an edition of its own, which `side-by-side` and `build` take; models that leave the pool stay beside it.
    """
    if bool(name) != bool(date) or (name and out is None):
        _stop(USAGE, "an edition needs --name, --date and --out")
    try:
        frozen = _frozen_beside(sidecar, runs)
        items = read_sidecar_of(frozen, sidecar) if frozen else read_sidecar(read_jsonl(sidecar), sidecar.name)
        cut = read_band(band, len(pool))
        made = recut(items, pool, cut)
        older = recut(items, before, read_band(before_band or band, len(before))) if before else None
        edition = None
        if name:
            if frozen is None:
                raise CurationError(f"no {EDITION_NAME} beside {sidecar.name}: who the models are is not known")
            edition = recut_edition(frozen, items, pool, cut, name, date)
    except (DatasetError, CurationError) as error:
        _stop(USAGE, str(error))
    figures: dict[str, object] = {**_figures(made, older)}
    if edition is not None and out is not None:
        write_file(out / SIDECAR_NAME, read_bytes(sidecar))
        write_file(out / EDITION_NAME, json_bytes(edition.to_json()))
        figures["edition"] = edition.edition_id
        figures["served_otherwise"] = {model: list(names) for model, names in edition.served_otherwise.items()}
    elif out is not None:
        ids = {kind: list(getattr(made, kind)) for kind in CUT_KINDS}
        write_file(out, json_bytes({"pool": pool, "band": band, **ids}))
    if as_json:
        print(json.dumps(figures))
    else:
        for label, value in figures.items():
            print(f"{label.replace('_', ' ')}: {_shown(value)}")
    raise typer.Exit(0 if made.kept else EMPTY)


formosa_corpus_command.add_to(app)
formosa_build_command.add_to(app)
formosa_page_command.add_to(app)


def _frozen_beside(sidecar: Path, runs: Path | None) -> Edition | None:
    """The edition beside a sidecar, None when none lies there; with `runs` its journals are held to the freeze."""
    path = sidecar.parent / EDITION_NAME
    if not path.exists():
        if runs is not None:
            raise CurationError(f"no {EDITION_NAME} beside {sidecar.name}: nothing says what the journals were")
        return None
    edition = read_manifest_of(path)
    if runs is not None:
        folders = {each.name: each for each in runs.iterdir() if each.is_dir()} if runs.is_dir() else {}
        if not hold_to_journals([edition], folders):
            raise CurationError(f"{runs.name}: no run of {edition.edition_id} is there")
    return edition


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{model} answered as {', '.join(names)}" for model, names in value.items()) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _figures(made: Cut, older: Cut | None) -> dict[str, int]:
    found = {kind: len(getattr(made, kind)) for kind in CUT_KINDS}
    if older is not None:
        before, now = set(older.kept), set(made.kept)
        found |= {"kept_before": len(before), "stayed": len(before & now), "left": len(before - now)}
        found["joined"] = len(now - before)
    return found


def _stop(status: int, message: str) -> NoReturn:
    print(f"otb formosa: {message}", file=sys.stderr)
    raise typer.Exit(status)
