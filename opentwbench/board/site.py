"""The site as files: every page in both languages, written aside and put in place as a whole.

What belongs here: writing, replacing, and the record of what was written. What does not: what a page shows (pages.py)
and whether the site is whole (audit.py). Nothing in the site depends on the clock: the same mart gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import TypeAlias

from opentwbench.board.charts import ChartError, Drawer
from opentwbench.board.pages import FIRST, Site, without_figures
from opentwbench.board.queries import read_items, read_mart
from opentwbench.board.rendering import Links, Page, Renderer, environment
from opentwbench.board.words import LANGUAGES, NAMES
from opentwbench.dataset.atomic import replacing_folder
from opentwbench.dataset.contract import excerpt
from opentwbench.evaluation.mart import MartError, open_mart

RECORD = "board.json"
"""At the root of a site: what it was made from. A folder that has none is not replaced."""

STATIC = ("board.css", "board.js", "mark.svg")


class SiteError(Exception):
    """The site cannot be written there. Says why."""


@dataclass(frozen=True, slots=True)
class Written:
    """A site that is in place."""

    mart: str
    """Digest of what the mart was made from."""
    pages: int
    """HTML files, both languages."""
    items: int
    """Items with a page."""
    charts: int
    """Different charts drawn."""
    bytes: int
    """Of all files."""
    first_page_bytes: int
    """The leaderboard in 繁體中文 with stylesheet and script."""


Content: TypeAlias = bytes
"""What a file holds; the tally has a field of the built-in name."""


@dataclass
class _Tally:
    pages: int = 0
    bytes: int = 0

    def write(self, path: Path, data: Content) -> int:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.bytes += len(data)
        return len(data)


def build_site(
    warehouse: Path, out: Path, links: Links | None = None, progress: Callable[[int], None] = lambda pages: None
) -> Written:
    """Render the mart of a warehouse folder into `out`, which is replaced as a whole once everything is written.

    `progress` is called with the number of pages written so far. Raises MartError for a mart that is missing or lacks a
    table, SiteError for a folder that holds something else than a site.
    """
    check_replaceable(out)
    with open_mart(warehouse) as mart:
        site = Site(read_mart(mart), links or Links())
        drawer, tally, items = Drawer(), _Tally(), 0
        common = site.common()
        renderers = {lang: Renderer(lang, drawer, common) for lang in LANGUAGES}
        with replacing_folder(out) as aside:
            first = _write_static(aside, tally)
            for page in site.pages():
                sizes = _write_page(aside, page, renderers, tally)
                if page.path == FIRST:
                    first += sizes["zh"]
                progress(tally.pages)
            for page in site.item_pages(read_items(mart)):
                _write_page(aside, page, renderers, tally)
                items += 1
                progress(tally.pages)
            written = Written(site.mart.digest, tally.pages, items, drawer.drawn, tally.bytes, first)
            (aside / RECORD).write_bytes((json.dumps(asdict(written), indent=1, sort_keys=True) + "\n").encode())
    return written


def _write_page(aside: Path, page: Page, renderers: dict[str, Renderer], tally: _Tally) -> dict[str, int]:
    sizes = {}
    for lang, renderer in renderers.items():
        try:
            made = renderer.render(page)
        except ChartError as error:
            if "broken" not in page.context:
                raise
            made = renderer.render(without_figures(page, [str(error)]))
        sizes[lang] = tally.write(aside / lang / page.path, made)
        tally.pages += 1
    return sizes


def _write_static(aside: Path, tally: _Tally) -> int:
    """The stylesheet, the script, the mark and the page at the root; bytes of what a first page loads."""
    folder = resources.files("opentwbench.board") / "static"
    loaded = sum(tally.write(aside / "static" / name, (folder / name).read_bytes()) for name in STATIC)
    root = environment().get_template("root.html.j2").render(languages=LANGUAGES, names=NAMES)
    tally.write(aside / FIRST, root.encode())
    tally.pages += 1
    return loaded


def check_replaceable(out: Path) -> None:
    """Raises SiteError unless `out` is absent, empty, or a site that was written before."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise SiteError(f"{excerpt(str(out), 200)} is no folder")
    if out.is_dir() and any(out.iterdir()) and read_record(out) is None:
        raise SiteError(f"{excerpt(str(out), 200)} holds something else than a site: name another folder")


def read_record(out: Path) -> Written | None:
    """What a site was made from; None where there is no site."""
    try:
        record = json.loads((out / RECORD).read_bytes())
        return Written(**record)
    except (OSError, ValueError, TypeError):
        return None


__all__ = ["Links", "MartError", "SiteError", "Written", "build_site", "check_replaceable", "read_record"]
