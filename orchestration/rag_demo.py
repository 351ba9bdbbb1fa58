"""The retrieval step of `make demo`: tw-rag-bench from the demo's items, and runs over it and the sample data sets."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from orchestration.rag_command import scripted_models
from resources import rag_products, rag_runs
from resources.rag_settings import RagRun, settings_of
from resources.store import Store
from samples.rag.documents import write


def show_rag(store: Store, documents: Path, console: Console) -> int:
    """Build the data set, run what is not run yet against the scripted endpoint, print a line a run; how many runs.

    `documents` is where the sample data sets are written. No model is asked.
    """
    console.rule("Retrieval: tw-rag-bench, sample documents, scripted answers and judge")
    state = rag_products.build(store, store)
    console.print(f"tw-rag-bench: {state.items} items, {state.state}", highlight=False)
    write(documents)
    wanted = {name: documents / name for name in ("locomo", "syllabusqa", "qasper", "financebench")}
    folder = Path(store.url) / rag_products.PUBLICATION
    if folder.is_dir():
        wanted["tw_rag"] = folder
    table = Table("data set", "system", "questions", "recall", "F1", "judge 0-4")
    with scripted_models({}) as models:
        for name, data in wanted.items():
            run = RagRun.of(settings_of({**models, "dataset": name, "data": str(data)}), Path(store.url))
            made = rag_runs.carry_out(run).report
            figures = (made["recall"]["value"], made["f1"]["value"], made["judge"]["accuracy"])
            shown = ("-" if each is None else f"{each:.3f}" for each in figures)
            table.add_row(name, made["system"], str(made["Total Queries Evaluated"]), *shown)
    console.print(table)
    return len(wanted)
