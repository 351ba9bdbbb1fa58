"""`otb formosa judge-page | side-by-side`: the page of a store's judge study, and two editions compared.

What belongs here: arguments, files, exit statuses. What does not: the study (`opentwbench.formosa.judge_study`), its
words (`judge_page`) and what two editions have in common (`curation.side_by_side`).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from opentwbench.dataset.atomic import write_file
from opentwbench.dataset.model import DatasetError
from opentwbench.formosa.band import CurationError
from opentwbench.formosa.corpus import STATE
from opentwbench.formosa.curation import Edition, side_by_side
from opentwbench.formosa.edition_files import read_edition, read_manifest_of
from opentwbench.formosa.judge_page import page
from opentwbench.formosa.judge_study import JudgeStudyError
from orchestration import variables
from resources.formosa_grounds import panel_of, studies, trials_of
from resources.formosa_places import GOOD, Track
from resources.formosa_plan import FormosaPlan, PlanError
from resources.store import Store, StoreError

USAGE = 2

STATUSES = "Exit status: 0 done; 1 a fault of the program; 2 wrong arguments, or a file or store that cannot be read."


def add_to(app: typer.Typer) -> None:
    """Add the commands to `otb formosa`."""
    app.command(name="judge-page", epilog=STATUSES)(judge_page)
    app.command(name="side-by-side", epilog=STATUSES)(editions)


def judge_page(
    out: Annotated[Path, typer.Option(help="Write the page here (Markdown).", show_default=False)],
    store: Annotated[str, typer.Option(envvar=variables.STORE, help="Folder of the store with the study.")] = "store",
) -> None:
    """Write the page of the judge study that a store holds. Nothing is asked."""
    try:
        place = Store(store)
        track = Track(place, FormosaPlan().kept_in(place))
        if not place.exists(GOOD):
            raise StoreError(f"{store}: no judge study is there; otb build formosa makes it")
        trials = trials_of(track)
        reviewed = "that a person looked at" if track.plan.good else "chosen by rule (`judge_study.good_by_rule`)"
        commits = {t.window.commit[:8] for t in trials if t.window.commit and not t.window.commit.startswith(STATE)}
        of = f" of Taiwan.md at {', '.join(sorted(commits))}" if commits else ""
        source = f"{reviewed} from windows{of}"
        command = f"otb formosa judge-page --store STORE --out {out.name}"
        write_file(out, page(studies(track), trials, panel_of(track), source, command).encode())
    except (StoreError, DatasetError, JudgeStudyError, PlanError) as error:
        _stop(str(error))


def editions(
    first: Annotated[Path, typer.Argument(help="edition.json, or a folder that holds one.", show_default=False)],
    second: Annotated[Path, typer.Argument(help="The other one.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, with the ids.")] = False,
) -> None:
    """Compare two editions: items that both keep, that left and that joined, and what became of the pool."""
    try:
        before, after = _edition(first), _edition(second)
    except (DatasetError, CurationError) as error:
        _stop(str(error))
    found = side_by_side(before, after)
    if as_json:
        record: dict[str, Any] = {"first": before.edition_id, "second": after.edition_id}
        names = ("both", "left", "joined", "same_models", "models_left", "models_joined", "unmeasured")
        print(json.dumps(record | {name: getattr(found, name) for name in names}, ensure_ascii=False))
        return
    for label, edition in (("first", before), ("second", after)):
        models = len(edition.models)
        print(f"{label}: {edition.edition_id}, {edition.date}, band {edition.band.shown()} of {models}")
        print(f"  kept {len(edition.cut.kept):,} of set {edition.dataset_version}")
        for model, answered in edition.served_otherwise.items():
            print(f"  {model} was asked, {', '.join(answered)} answered")
    print(f"kept by both: {len(found.both):,}; left: {len(found.left):,}; joined: {len(found.joined):,}")
    print(f"unmeasured: {found.unmeasured[0]:,} and {found.unmeasured[1]:,}")
    print(f"models in both pools: {', '.join(found.same_models) or 'none'}")
    print(f"models that left: {', '.join(found.models_left) or 'none'}")
    print(f"models that joined: {', '.join(found.models_joined) or 'none'}")


def _edition(path: Path) -> Edition:
    """An edition of a folder, its sidecar held to its hash, or of an edition.json alone."""
    return read_edition(path)[0] if path.is_dir() else read_manifest_of(path)


def _stop(message: str) -> NoReturn:
    print(f"otb formosa: {message}", file=sys.stderr)
    raise typer.Exit(USAGE)
