"""Whether a site is whole: every link resolves inside it, nothing is fetched from elsewhere, no page acts.

What belongs here: reading the written files again, knowing nothing of how they were made. What does not: how pages look
(tests/e2e). Tags are read by a pattern: in what the templates write no attribute holds a bare '<' or '>'.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from opentwbench.board.rendering import POLICY
from opentwbench.board.words import LANGUAGES
from opentwbench.dataset.contract import excerpt

MOST_OF_A_KIND = 25
"""Problems of one kind that are named; the rest is counted. One missing page is missed by every page that links to it,
and must not keep a problem of another kind from being named."""

MOST_PAGE_BYTES = 8_000_000
"""Largest page that is read; the largest that a build of 23,717 items wrote is a hundredth of it."""

OUTSIDE = ("https", "mailto")
"""Schemes that a link may have."""

_TAG = re.compile(r"<([a-zA-Z][a-zA-Z0-9]*)((?:\s[^<>]*)?)>")
_ATTRIBUTE = re.compile(r"""([^\s=/"']+)(?:\s*=\s*"([^"]*)")?""")
_FETCHES = {"script": "src", "img": "src", "link": "href", "iframe": "src", "object": "data", "embed": "src",
            "video": "src", "audio": "src", "source": "src", "use": "href", "image": "href", "base": "href",
            "form": "action"}  # fmt: skip


@dataclass
class Audit:
    """What was found. `problems` name page and reason; `count` counts all of them."""

    pages: int = 0
    links: int = 0
    count: int = 0
    problems: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    """How many there are of each kind, named or not."""

    @property
    def whole(self) -> bool:
        """True when there are pages and nothing is wrong with any."""
        return self.pages > 0 and not self.count

    def note(self, page: str, reason: str, kind: str = "") -> None:
        """Count a problem, and name it while there are few of its kind; a kind is a reason without its particulars."""
        self.count += 1
        self.kinds[kind or reason] += 1
        if self.kinds[kind or reason] <= MOST_OF_A_KIND:
            # A page is a file's name, which anybody may have given: it may hold what no terminal can print.
            self.problems.append(f"{excerpt(page, 200)}: {reason}")


def audit(folder: Path, changed: Iterable[tuple[str, str]] = ()) -> Audit:
    """Read every page of a site. A folder without a page is not whole.

    What the pages say, and whether they are the bytes that were written, is not looked at here: `changed` are files
    that are not, with why (site.changed_files). They are named before what the pages show.
    """
    found, files = Audit(), {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for name, reason in changed:
        found.note(name, reason)
    anchors: dict[str, set[str]] = {}
    wanted: list[tuple[str, str, str]] = []
    for name in sorted(each for each in files if each.endswith(".html")):
        found.pages += 1
        _counterparts(found, name, files)
        html = _read(found, folder, name)
        if html is not None:
            anchors[name] = _page(found, name, html, files, wanted)
    for page, target, fragment in wanted:
        if fragment not in anchors.get(target, ()):
            found.note(page, f"{excerpt(target, 200)} has no place {excerpt(fragment)}", "no place")
    return found


def _read(found: Audit, folder: Path, name: str) -> str | None:
    """The text of a page; None, and a problem, for one that cannot be read or is larger than any page."""
    try:
        if (folder / name).stat().st_size > MOST_PAGE_BYTES:
            found.note(name, f"has more than {MOST_PAGE_BYTES:,} bytes and is not read")
            return None
        html = (folder / name).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        found.note(name, f"cannot be read: {error.strerror}", "cannot be read")
        return None
    if "\ufffd" in html:
        found.note(name, "is not UTF-8")
    return html


def _page(found: Audit, name: str, html: str, files: set[str], wanted: list[tuple[str, str, str]]) -> set[str]:
    ids: set[str] = set()
    headings, named, guarded, told = 0, False, False, False
    for tag, attributes in _tags(html):
        identity = attributes.get("id")
        if identity is not None:
            if identity in ids:
                found.note(name, f"the id {excerpt(identity)} stands twice", "an id twice")
            ids.add(identity)
        headings += tag == "h1"
        named = named or tag == "title"
        told = told or (tag == "html" and attributes.get("lang") in LANGUAGES.values())
        guarded = guarded or (tag == "meta" and _unescaped(attributes.get("content", "")) == POLICY)
        _harmless(found, name, tag, attributes)
        address = attributes.get(_FETCHES.get(tag, "href"))
        if address is not None and tag in {*_FETCHES, "a"}:
            found.links += 1
            _address(found, name, tag, address, files, wanted)
    for fine, reason in (
        (headings == 1, f"{headings} headings of the first level"),
        (named, "no title"),
        (told, "no language"),
        (guarded, "not the content security policy of the site"),
    ):
        if not fine:
            found.note(name, reason, reason.lstrip("0123456789"))
    return ids


def _unescaped(value: str) -> str | None:
    """A value of an attribute; None where a character is written with more digits than Python reads."""
    try:
        return unescape(value)
    except ValueError:
        return None


def _tags(html: str) -> Iterator[tuple[str, dict[str, str]]]:
    for tag, inside in _TAG.findall(html):
        yield tag.lower(), {key.lower(): value for key, value in _ATTRIBUTE.findall(inside)} if inside else {}


def _harmless(found: Audit, name: str, tag: str, attributes: dict[str, str]) -> None:
    if acting := [key for key in attributes if key.startswith("on") or key == "style" or key == "srcdoc"]:
        found.note(name, f"<{tag}> holds {excerpt(acting[0])}", "acts")
    if tag == "script" and not attributes.get("src"):
        found.note(name, "a script inside the page")
    if tag in ("style", "iframe", "object", "embed", "base"):
        found.note(name, f"<{tag}> inside the page")


def _address(
    found: Audit, name: str, tag: str, written: str, files: set[str], wanted: list[tuple[str, str, str]]
) -> None:
    address = _unescaped(written)
    try:
        parts = None if address is None else urlsplit(address)
    except ValueError:  # "[" that opens no IPv6 address, a host that Unicode makes another one
        parts = None
    if address is None or parts is None:
        found.note(name, f"<{tag}> holds the address {excerpt(written)}, which cannot be read", "no address")
        return
    if parts.scheme or parts.netloc:
        if tag != "a":
            found.note(name, f"<{tag}> fetches {excerpt(address)}", "fetches")
        elif parts.scheme not in OUTSIDE:
            found.note(name, f"a link to {excerpt(address)}", "a link to another scheme")
        return
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path))) if parts.path else name
    if target not in files:
        found.note(name, f"{excerpt(address)} is not there", "a link to nothing")
    elif parts.fragment:
        wanted.append((name, target, unquote(parts.fragment)))


def _counterparts(found: Audit, name: str, files: set[str]) -> None:
    """Every page stands in every language under one name."""
    lang, _, rest = name.partition("/")
    if lang in LANGUAGES:
        for other in LANGUAGES:
            if f"{other}/{rest}" not in files:
                found.note(name, f"has no counterpart in {other}")
