"""A small tw-rag-bench made from the windows and drafts of `support.formosa`: no article of the corpus."""

from __future__ import annotations

from pathlib import Path

from opentwbench.formosa.model import FormosaItem, Window
from opentwbench.rag.tw_rag.contexts import of_category
from opentwbench.rag.tw_rag.model import Category
from opentwbench.rag.tw_rag.output import Release, write_release
from support.formosa import make_formosa_item, make_window

CATEGORIES = ("Food", "History", "Nature")


def windows(count: int = 120) -> list[Window]:
    """So many windows over the three categories, of differing lengths."""
    made = []
    for n in range(count):
        base = make_window(n)
        text = base.text + "鎮民以務農與漁業為生。" * (n % 7)
        made.append(make_window(n, text=text, window_id=_renamed(base.window_id, text), end=len(text)))
    return made


def _renamed(window_id: str, text: str) -> str:
    import hashlib

    return f"{window_id.rpartition('/')[0]}/{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def items(given: list[Window]) -> list[FormosaItem]:
    """A grounded item on each window."""
    return [make_formosa_item(n, window_id=window.window_id, end=window.end) for n, window in enumerate(given)]


def categories(count: int = 120) -> list[Category]:
    """Every category of the set."""
    held = windows(count)
    return [of_category(name, items(held), held) for name in CATEGORIES]


def write_tw_rag(folder: Path, count: int = 120) -> str:
    """The whole folder; its version."""
    return write_release(Release(tuple(categories(count)), "0" * 12, "test"), folder)
