"""`otb formosa windows | screens`: from Taiwan.md to windows, and what the screens find in drafts.

What belongs here: arguments, files, exit statuses. What does not: rules (`opentwbench.formosa`).
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Annotated, Any, NoReturn

import typer

from opentwbench.dataset.atomic import write_file
from opentwbench.dataset.files import jsonl_bytes
from opentwbench.dataset.model import DatasetError
from opentwbench.formosa.corpus import STATE, Corpus, CorpusError, read_commit, read_folder
from opentwbench.formosa.drafting import read_drafts
from opentwbench.formosa.model import Screened, Window
from opentwbench.formosa.orthography import OWN, read_lexicon
from opentwbench.formosa.screens import figures, screen_all
from opentwbench.formosa.window_files import read_windows, windows_bytes
from opentwbench.formosa.windows import LIMIT, TAIL, cut

USAGE = 2

STATUSES = "Exit status: 0 done; 1 a fault of the program; 2 wrong arguments, or a file or corpus that cannot be read."

UNSTATED = (
    "no commit is stated, so every window and item names the sha256 of its article's file in the place of one, which "
    "nobody can look up; --stated COMMIT names the commit that the folder was copied from"
)


def add_to(app: typer.Typer) -> None:
    """Add the two commands to the group `formosa`."""
    app.command(name="windows", epilog=STATUSES)(windows)
    app.command(name="screens", epilog=STATUSES)(screens)


def windows(
    corpus: Annotated[Path, typer.Argument(help="Folder or git checkout of Taiwan.md.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Write the windows here (JSONL).", show_default=False)],
    commit: Annotated[
        str, typer.Option(help="Read this commit of the checkout. Default: the folder as it is.", show_default=False)
    ] = "",
    stated: Annotated[
        str, typer.Option(help="The commit that a plain folder was copied from.", show_default=False)
    ] = "",
    limit: Annotated[int, typer.Option(min=1, help="A window closes before so many characters.")] = LIMIT,
    tail: Annotated[int, typer.Option(min=0, help="A shorter last window is joined to the one before.")] = TAIL,
    as_json: Annotated[bool, typer.Option("--json", help="The figures as one JSON object.")] = False,
) -> None:
    """Cut the articles of Taiwan.md into windows; every file that is no article is counted under its reason."""
    try:
        read = read_commit(corpus, commit) if commit else read_folder(corpus, stated)
    except CorpusError as error:
        _stop(str(error))
    made = [window for article in read.articles for window in cut(article, limit, tail)]
    write_file(out, windows_bytes(made))
    if read.commit.startswith(STATE):
        print(f"otb formosa: {UNSTATED}", file=sys.stderr)
    _show(_window_figures(read, made), as_json)


def _window_figures(read: Corpus, made: list[Window]) -> dict[str, Any]:
    return {
        "commit": read.commit,
        "articles": len(read.articles),
        "left_out": {reason.value: len(paths) for reason, paths in read.left_out.items()},
        "frontmatter_faults": {fault.value: len(paths) for fault, paths in read.faults.items()},
        "windows": len(made),
        "median_characters": median(len(window.text) for window in made),
        "windows_by_category": dict(sorted(Counter(window.category for window in made).items())),
    }


def screens(
    drafts: Annotated[Path, typer.Argument(help="Drafts (JSONL).", show_default=False)],
    windows: Annotated[Path, typer.Option(help="Their windows (JSONL).", show_default=False)],
    lexicon: Annotated[
        Path | None, typer.Option(help="Folder of the lists. Default: a small list of the project's own.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the findings here (JSONL).", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The figures as one JSON object.")] = False,
) -> None:
    """Screen drafts; report every exclusion, every caution and the two shortcuts before and after the permutation."""
    try:
        lists = read_lexicon(lexicon) if lexicon else OWN
        screened = screen_all(read_drafts(drafts), read_windows(windows), lists)
    except DatasetError as error:
        _stop(str(error))
    if out is not None:
        write_file(out, jsonl_bytes(_records(screened)))
    _show({**figures(screened), "lexicon": "own" if lexicon is None else "given"}, as_json)


def _records(screened: list[Screened]) -> list[dict[str, str]]:
    return [
        {"window_id": each.draft.window_id, "exclusion": finding.exclusion.value, "evidence": finding.evidence}
        for each in screened
        for finding in each.findings
    ]


def _show(figures: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(figures, ensure_ascii=False))
        return
    for name, value in figures.items():
        if isinstance(value, dict):
            print(f"{name}:")
            for key, part in value.items():
                print(f"  {key}: {json.dumps(part, ensure_ascii=False)}")
        else:
            print(f"{name}: {value}")


def _stop(message: str) -> NoReturn:
    print(f"otb formosa: {message}", file=sys.stderr)
    raise typer.Exit(USAGE)
