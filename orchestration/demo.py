"""`make demo`: the whole track over the sample ministry, fetched through the loopback server, up to the public site.

Everything is made here: papers typeset from items that the project wrote, a server on 127.0.0.1 that answers as the
ministry does, a store with published folders, runs of scripted sample models, the mart and the site that shows it. No
network and no real paper is needed.

    python -m orchestration.demo FOLDER
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from opentwbench.apparatus.studies import STUDIES
from opentwbench.board.rendering import Links
from opentwbench.board.site import FIRST, build_site
from opentwbench.evaluation.mart import DATABASE, open_mart
from orchestration.build import Build
from orchestration.build_command import exit_status, show
from orchestration.definitions import Configuration
from orchestration.formosa_demo import show_formosa
from orchestration.in_process import recorded_instance
from orchestration.mart_record import record_mart
from orchestration.rag_demo import show_rag
from orchestration.sample_runs import write_sample_runs
from resources.apparatus import Apparatus
from resources.gated_set import PUBLISHED
from resources.store import Store
from resources.warehouse import warehouse_of
from resources.warehouse_tables import Places, grade_run, ungraded_runs, write_tables
from samples.__main__ import main as samples
from samples.loopback import LoopbackMinistry

LINKS = Links(
    cards="https://huggingface.co/datasets/OpenTWBench/{dataset}",
    report="mailto:maintainers@example.org?subject=Item%20{item}%20of%20{dataset}",
)
"""Where the demo's site points: to the published cards of the real data sets, and to nobody with a report."""


def main(folder: Path, console: Console) -> int:
    """Run the demo into `folder`; the exit status is the build's, or that of samples that cannot be written."""
    started = time.monotonic()
    ministry, store = folder / "ministry", folder / "store"
    console.rule("1. the sample ministry")
    if status := samples(["build", str(ministry)]):
        return status
    console.rule("2. index, papers, items, data sets, checks, publication")
    with LoopbackMinistry(ministry) as server:
        # No delay: the server is ours. The live ministry is asked once a second.
        polite = {"delay_seconds": 0.0, "jitter_seconds": 0.0}
        configuration = Configuration(store=str(store), source=server.base_url, ministry=polite)
        report = Build(configuration, recorded_instance()).run()
    show(report, console)
    # Before the studies: that of the judge panel reads the judge study of this step.
    show_formosa(str(store), console)
    show_rag(Store(str(store)), folder / "rag", console)
    console.rule("4. sample models (scripted), apparatus studies, mart")
    show_models(Store(str(store)), console)
    console.rule("5. the public site")
    show_site(Store(str(store)), folder / "site", console)
    console.rule("6. what to open next")
    slug = next(iter(sorted(each["slug"] for each in report.in_state(PUBLISHED))), "")
    steps = [(f"{folder / 'site' / FIRST}", "the public site in a browser, sample models only; no server is needed")]
    if slug:
        published = store / "publications" / slug
        steps += [(f"{published / 'README.md'}", "a published card"), (f"{published / 'benchmark.jsonl'}", "its items")]
        steps += [(f".venv/bin/otb subject show {slug} --store {store}", "its items, accounts and checks")]
    mart = store / "warehouse" / DATABASE
    query = f"import duckdb; print(duckdb.connect('{mart}', read_only=True).sql('FROM leaderboard'))"
    steps += [(f'.venv/bin/python -c "{query}"', "the mart; ten questions to it: docs/analysts.md")]
    steps += [(f".venv/bin/otb apparatus show extraction --store {store}", "one of the apparatus studies")]
    steps += [(f"make ui STORE={store} SOURCE={ministry}", "Dagster on 127.0.0.1:3000: asset graph, runs, checks")]
    for what, why in steps:
        console.print(f"{what}\n    {why}", highlight=False, soft_wrap=True)
    console.print(f"\ndone in {time.monotonic() - started:.0f} s", highlight=False)
    return exit_status(report)


def show_models(store: Store, console: Console) -> None:
    """Runs of the scripted sample models, the studies over them, and the mart that holds both."""
    runs = write_sample_runs(store)
    places, house = Places(store), warehouse_of(store)
    house.prepare()
    for run_id in ungraded_runs(places, house):
        grade_run(places, house, places.runs / run_id)
    written = write_tables(places, house)
    apparatus = Apparatus(store, house.raw)
    found = apparatus.run(STUDIES)
    swapped = house.build()
    record_mart(recorded_instance(), {name: each.rows for name, each in written.items()}, swapped)
    console.print(f"{runs} runs of sample models, {len(found)} studies, {len(swapped.tables)} tables in the mart")
    show_board(house.folder, console)


def show_site(store: Store, out: Path, console: Console) -> None:
    """The site of the store's mart, written anew into `out`."""
    made = build_site(warehouse_of(store).folder, out, LINKS)
    console.print(f"{out / FIRST}: {made.pages:,} pages in two languages, {made.charts} charts", highlight=False)


BOARD = """
SELECT rank_band AS band, model, max_tokens AS budget, n,
       printf('%.1f (%.1f - %.1f)', 100 * accuracy, 100 * accuracy_low, 100 * accuracy_high) AS "accuracy %, 95 %",
       printf('%.1f', 100 * parse_rate) AS "parsed %"
FROM leaderboard WHERE is_complete AND benchmark = 'exam' AND protocol_name = 'box'
ORDER BY leaderboard.accuracy DESC, model LIMIT 8
"""


def show_board(warehouse: Path, console: Console) -> None:
    """The first rows of the board, asked of the mart as an analyst asks (docs/analysts.md)."""
    with open_mart(warehouse) as mart:
        found = mart.execute(BOARD)
        table = Table(*(escape(column[0]) for column in found.description), title=f"{DATABASE}: exam, box")
        for row in found.fetchall():
            table.add_row(*(escape(str(value)) for value in row))
    console.print(table)


if __name__ == "__main__":
    import orchestration.cli as cli

    cli.quiet()
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"), Console()))
