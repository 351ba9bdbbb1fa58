"""Adapters: the original files of a data set become a `Benchmark`. One module a data set, each with `read(data)`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from opentwbench.rag.adapters import financebench, locomo, qasper, syllabusqa, tw_rag
from opentwbench.rag.model import Benchmark, RagError

ADAPTERS: dict[str, Callable[[Path], Benchmark]] = {
    adapter.NAME: adapter.read for adapter in (locomo, syllabusqa, qasper, financebench, tw_rag)
}


def read_benchmark(name: str, data: Path) -> Benchmark:
    """The data set of that name from its original files.

    Raises RagError for an unknown name, what cannot be read, and a data set without a question.
    """
    if name not in ADAPTERS:
        raise RagError(f"{name[:80]!r} is no data set; there are {', '.join(ADAPTERS)}")
    if not data.exists():
        raise RagError(f"{data}: not there; `otb rag download {name}` shows where the files come from")
    read = ADAPTERS[name](data)
    if not read.questions:
        dropped = ", ".join(f"{n} {reason}" for reason, n in sorted(read.dropped.items())) or "none dropped"
        raise RagError(f"{name}: no question to ask in {data.name}: {read.rows} rows, {dropped}")
    return read
