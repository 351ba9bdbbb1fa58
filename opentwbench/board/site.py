"""The site as files: every page in both languages, written aside and put in place as a whole.

What belongs here: writing, replacing, and the record of what was written. What does not: what a page shows (pages.py)
and whether the site is whole (audit.py). Nothing in the site depends on the clock: the same mart gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from hashlib import file_digest
from importlib import resources
from pathlib import Path
from typing import TypeAlias

from opentwbench.board.audit import Audit, audit
from opentwbench.board.charts import ChartError, Drawer
from opentwbench.board.pages import FIRST, Site, without_figures
from opentwbench.board.queries import read_items, read_mart
from opentwbench.board.rendering import Links, Page, Renderer, environment
from opentwbench.board.words import LANGUAGES, NAMES
from opentwbench.dataset.atomic import replacing_folder
from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.manifest import sha256
from opentwbench.evaluation.mart import MartError, open_mart

RECORD = "board.json"
"""At the root of a site: what it was made from. A folder that has none is not replaced."""

SUMS = "SHA256SUMS"
"""Beside it: the sha256 of every other file, as `sha256sum --check` reads it."""

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
    sums: str
    """sha256 of SHA256SUMS, which vouches for every other file."""
    cards: str = ""
    report: str = ""
    """Where the site points outside itself (`Links`); '' in records of before they were kept."""

    def shows(self, mart: str, links: Links) -> bool:
        """Whether the site is of this mart and points to these addresses."""
        return self.mart == mart and (self.cards, self.report) == (links.cards, links.report)


Content: TypeAlias = bytes
"""What a file holds; the tally has a field of the built-in name."""


@dataclass
class _Tally:
    root: Path
    pages: int = 0
    bytes: int = 0
    digests: dict[str, str] = field(default_factory=dict)

    def write(self, name: str, data: Content) -> int:
        """One file of the site, under its place in it."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.bytes += len(data)
        self.digests[name] = sha256(data)
        return len(data)

    def close(self) -> str:
        """SHA256SUMS over what was written; its own sha256."""
        lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(self.digests.items())).encode()
        self.write(SUMS, lines)
        return sha256(lines)


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
        drawer, items = Drawer(), 0
        common = site.common()
        renderers = {lang: Renderer(lang, drawer, common) for lang in LANGUAGES}
        with replacing_folder(out) as aside:
            tally = _Tally(aside)
            first = _write_static(tally)
            for page in site.pages():
                sizes = _write_page(page, renderers, tally)
                if page.path == FIRST:
                    first += sizes["zh"]
                progress(tally.pages)
            for page in site.item_pages(read_items(mart)):
                _write_page(page, renderers, tally)
                items += 1
                progress(tally.pages)
            sums = tally.close()
            of = (site.mart.digest, tally.pages, items, drawer.drawn, tally.bytes, first, sums)
            written = Written(*of, site.links.cards, site.links.report)
            (aside / RECORD).write_bytes((json.dumps(asdict(written), indent=1, sort_keys=True) + "\n").encode())
    return written


def _write_page(page: Page, renderers: dict[str, Renderer], tally: _Tally) -> dict[str, int]:
    sizes = {}
    for lang, renderer in renderers.items():
        try:
            made = renderer.render(page)
        except ChartError as error:
            if "broken" not in page.context:
                raise
            made = renderer.render(without_figures(page, [str(error)]))
        sizes[lang] = tally.write(f"{lang}/{page.path}", made)
        tally.pages += 1
    return sizes


def _write_static(tally: _Tally) -> int:
    """The stylesheet, the script, the mark and the page at the root; bytes of what a first page loads."""
    folder = resources.files("opentwbench.board") / "static"
    loaded = sum(tally.write(f"static/{name}", (folder / name).read_bytes()) for name in STATIC)
    root = environment().get_template("root.html.j2").render(languages=LANGUAGES, names=NAMES)
    tally.write(FIRST, root.encode())
    tally.pages += 1
    return loaded


def check_replaceable(out: Path) -> None:
    """Raises SiteError unless `out` is absent, empty, or a site that was written before and nothing beside it.

    Replacing takes the whole folder away: a CNAME or a .git that somebody put there must not go with it.
    """
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise SiteError(f"{excerpt(str(out), 200)} is no folder")
    if out.is_dir() and any(out.iterdir()) and read_record(out) is None:
        raise SiteError(f"{excerpt(str(out), 200)} holds something else than a site: name another folder")
    if out.is_dir() and (strange := sorted(_files(out) - _listed(out).keys() - {RECORD, SUMS})):
        words = f"{excerpt(str(out), 200)} holds {excerpt(strange[0])}, which no site wrote and which would be lost"
        raise SiteError(f"{words}: move it away, or name another folder")


def changed_files(out: Path) -> list[tuple[str, str]]:
    """Every file of a site that is not as it was written, with why: changed, missing, added; SHA256SUMS itself."""
    record, listed, there = read_record(out), _listed(out), _files(out)
    if record is None or SUMS not in there or _digest(out / SUMS) != record.sums:
        return [(SUMS, "is not the one that the site was written with")]
    changed = [(name, "is not there") for name in sorted(listed.keys() - there)]
    changed += [(name, "was not written with the site") for name in sorted(there - listed.keys() - {RECORD, SUMS})]
    for name in sorted(listed.keys() & there):
        if _digest(out / name) != listed[name]:
            changed.append((name, "is not as it was written"))
    return changed


def whole(out: Path) -> Audit:
    """The audit of a written site: its pages read again, and every byte compared with what was written."""
    return audit(out, changed_files(out))


def _files(out: Path) -> set[str]:
    return {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_symlink() or not path.is_dir()}


def _listed(out: Path) -> dict[str, str]:
    """Name -> sha256 of SHA256SUMS; empty where there is none or it cannot be read."""
    try:
        lines = (out / SUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return {}
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _digest(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return "no file"  # a link leads elsewhere, and a pipe in a file's place is waited for without end
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def read_record(out: Path) -> Written | None:
    """What a site was made from; None where there is no site."""
    try:
        record = json.loads((out / RECORD).read_bytes())
        return Written(**record)
    except (OSError, ValueError, TypeError, RecursionError):
        return None


__all__ = [
    "Links",
    "MartError",
    "SiteError",
    "Written",
    "build_site",
    "changed_files",
    "check_replaceable",
    "read_record",
    "whole",
]
