"""What tests of the built store share: sample subjects by name, and a store's products as bytes."""

from __future__ import annotations

from pathlib import Path

CONSTITUTION = "tw-roc-constitution-bench"
LIBRARY = "tw-library-science-bench"
CHINESE = "tw-chinese-language-bench"
SAMPLE_SUBJECTS = (
    CHINESE,
    "tw-computer-science-bench",
    "tw-legal-knowledge-bench",
    LIBRARY,
    "tw-medicine-bench",
    CONSTITUTION,
)
"""The subjects that the sample ministry has papers of."""


NO_PRODUCT = ("cache/", "index/history.jsonl")


def products(store: Path) -> dict[str, bytes]:
    """Every product of a store by its relative name; the cache is none, and the index's history holds clock times."""
    files = (file for file in store.rglob("*") if file.is_file())
    named = {file.relative_to(store).as_posix(): file for file in files}
    return {name: file.read_bytes() for name, file in sorted(named.items()) if not name.startswith(NO_PRODUCT)}
