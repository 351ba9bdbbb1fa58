"""The scripted endpoint of the Formosa track as a build uses it: no model is asked, and every name says `scripted/`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from resources.formosa_places import ITEMS
from samples.formosa_script import DRAFTER, JUDGES, POOL
from samples.model_endpoint import ModelEndpoint

ARTICLES = Path(__file__).resolve().parent.parent / "samples" / "articles"
"""The project's own twelve articles."""

SHORT = {"limit": 60, "tail": 20}
"""How the sample articles are cut: they are short, and a judge study needs more than a dozen good drafts."""


def scripted_settings(corpus: str = "") -> dict[str, Any]:
    """Settings of a scripted build over a corpus; '' takes the sample articles and the lists of the project's own."""
    *pool, outside = POOL
    samples = {} if corpus else {"lexicon": "own", **SHORT}
    return {
        "corpus": corpus or str(ARTICLES),
        "model": DRAFTER,
        "judges": list(JUDGES),
        "pool": pool,
        "external": [outside],
        "edition": "scripted",
        "date": "2026-11-30",
        **samples,
    }


@contextmanager
def scripted_endpoint(store: str, **script: Any) -> Iterator[ModelEndpoint]:
    """The endpoint in a process of its own; its pool knows the answers of the store's full set."""
    knows = Path(store).resolve() / ITEMS
    with ModelEndpoint(formosa=True, knows=str(knows), **script) as endpoint:
        yield endpoint
