"""An article's Markdown body becomes blocks of plain text: paragraphs, lists, quotations and headings.

What belongs here: what is deleted, what is cut, what is kept of a label. What does not: files, frontmatter, windows.
Source: facts on Taiwan.md, the table of hazards; every rule below is a row of it.

Everything here takes time linear in the text, because an article is hostile until checked: what stands between two
marks is looked for once, where one pattern for both would start anew at each of 30,000 opening marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
SECTIONS = ("參考資料", "資料來源", "參考文獻", "參考來源", "延伸閱讀", "圖片來源")
"""Sections that hold no facts of the article, by how their heading begins: references, further reading, credits."""
_BOLD_CUT = re.compile(r"\s*\*\*(?:參考資料|資料來源|參考文獻|參考來源|延伸閱讀|圖片來源)[^*]{0,40}\*\*")
_DEFINITION = re.compile(r"\[\^[^\]\n]+\]:")
_CONTINUATION = re.compile(r"(?:[ ]{2,}|\t)\S")
_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,})\s*$")
_QUOTE = re.compile(r"(?:>[ ]?)+")
_LIST = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
_CAPTION = re.compile(r"\s*[_*]圖片來源")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_HIDING = ("iframe", "audio", "video", "script", "style")
"""Elements whose content is no text of the article."""
_OPENS_HIDDEN = re.compile("|".join(("<(!--)", *(rf"<({name})\b" for name in _HIDING))), re.IGNORECASE)
_CLOSES_HIDDEN = (re.compile("-->"), *(re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in _HIDING))

# An address holds brackets, two deep in Wikipedia's. Possessive: giving a piece back never makes a bracket close.
_TARGET = r"\((?:[^()\n]++|\((?:[^()\n]++|\([^()\n]*+\))*+\))*+\)"

_ADDRESS = re.compile(_TARGET)

_Put = Callable[[str, int, int], tuple[str, int] | None]
"""(line, where the inside begins, where it ends) -> what is left of it and where the text goes on; None: no match."""


def _nothing(_line: str, _inside: int, end: int) -> tuple[str, int]:
    return "", end + 1


def _picture(line: str, _inside: int, end: int) -> tuple[str, int] | None:
    target = _ADDRESS.match(line, end + 1)
    return ("", target.end()) if target else None


def _renamed(line: str, inside: int, end: int) -> tuple[str, int] | None:
    bar = line.find("|", inside, end)
    return (line[bar + 1 : end], end + 2) if bar >= 0 and line.startswith("]", end + 1) else None


def _wikilink(line: str, inside: int, end: int) -> tuple[str, int] | None:
    return (line[inside:end], end + 2) if line.startswith("]", end + 1) else None


def _autolink(line: str, _inside: int, end: int) -> tuple[str, int] | None:
    return ("", end + 1) if line[end] == ">" else None


_BRACKET, _ANGLE = re.compile(r"\]"), re.compile(">")
_MARKS: tuple[tuple[re.Pattern[str], re.Pattern[str], _Put], ...] = (
    (re.compile(r"\[\^"), _BRACKET, _nothing),
    (re.compile(r"!\["), _BRACKET, _picture),
    (re.compile(r"\[\["), _BRACKET, _renamed),
    (re.compile(r"\[\["), _BRACKET, _wikilink),
)
_LINK = re.compile(rf"\[([^\[\]\n]*)\]{_TARGET}")
_AUTOLINK, _ENDS_AUTOLINK = re.compile(r"<https?://"), re.compile(r"[>\s]")
_TAG = re.compile(r"</?[A-Za-z]")
_BARE_ADDRESS = re.compile(r"https?://[^\s，。、；）」》]+")
_EMPHASIS = re.compile(r"\*+|__|`|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


@dataclass(frozen=True, slots=True)
class Block:
    """One piece that is never split. A heading's text is without its number signs."""

    text: str
    heading: bool = False


def clean(body: str, sections: tuple[str, ...] = SECTIONS) -> list[Block]:
    """The blocks of a body in order. Headings with nothing below them, after the cuts, are still there.

    `sections`: how the headings of sections that are cut begin.
    """
    blocks: list[Block] = []
    lines: list[str] = []
    for line, heading in _lines(_shown(body), sections):
        if line and not heading:
            lines.append(line)
            continue
        if lines:
            blocks.append(Block("\n".join(lines)))
            lines = []
        if line:
            blocks.append(Block(line, heading=True))
    if lines:
        blocks.append(Block("\n".join(lines)))
    return blocks


def plain(line: str) -> str:
    """One line without marks: references, pictures and addresses go, labels of links stay."""
    for opening, close, put in _MARKS:
        line = _between(line, opening, close, put)
    line = _between(_LINK.sub(r"\1", line), _AUTOLINK, _ENDS_AUTOLINK, _autolink)
    line = _between(_BARE_ADDRESS.sub("", line), _TAG, _ANGLE, _nothing)
    return _EMPHASIS.sub("", line).strip()


def _between(line: str, opening: re.Pattern[str], close: re.Pattern[str], put: _Put) -> str:
    """A line with what `put` leaves of everything between an opening mark and the next `close`, from left to right.

    Where `put` finds no match for an opening it finds none for a later one with the same `close` either: each rule asks
    what the `close` is or what follows it, and a bar that is missing after the first opening is missing after the later
    ones. So no place is looked at twice.
    """
    kept, done, at = [], 0, 0
    while found := opening.search(line, at):
        closing = close.search(line, found.end())
        if not closing:
            break
        at = closing.start()
        made = put(line, found.end(), at)
        if made:
            kept += [line[done : found.start()], made[0]]
            done = at = made[1]
    return "".join(kept) + line[done:]


def _shown(body: str) -> str:
    """A body without comments and elements that hold no text. One that is never closed stays as it is."""
    kept, done, at = [], 0, 0
    open_ended: set[int] = set()
    while found := _OPENS_HIDDEN.search(body, at):
        at, kind = found.end(), (found.lastindex or 1) - 1
        closing = None if kind in open_ended else _CLOSES_HIDDEN[kind].search(body, at)
        if closing is None:
            open_ended.add(kind)  # nothing closes a later one either
            continue
        kept.append(body[done : found.start()])
        done = at = closing.end()
    return "".join(kept) + body[done:]


def _lines(body: str, sections: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    """Plain lines that are kept, and whether each is a heading; '' separates blocks."""
    for line in _kept(body.split("\n"), sections):
        found = HEADING.match(line)
        yield (_title(found), True) if found else (plain(_unquoted(line)), False)


def _title(heading: re.Match[str]) -> str:
    """A heading's text without the number signs that may close it."""
    return plain(heading[2].rstrip("#"))


def _kept(lines: list[str], sections: tuple[str, ...]) -> Iterator[str]:
    """Lines outside everything that is deleted as a whole."""
    cut = 0  # the level of the heading whose section is being cut
    definition = bold = fence = False
    for line in lines:
        bare = _unquoted(line)
        if _FENCE.match(line):
            fence = not fence
            yield ""
            continue
        if fence:
            continue
        heading = HEADING.match(line)
        if heading:
            definition = bold = False
            cut = _section(cut, heading, sections)
            if not cut:
                yield line
            continue
        if cut:
            continue
        if _DEFINITION.match(bare):
            definition = True
            continue
        if definition and _CONTINUATION.match(line):
            continue
        if line.strip():
            definition = False
        if _BOLD_CUT.match(bare):
            bold = True
            continue
        if bold and (not bare.strip() or _LIST.match(bare)):
            continue
        bold = False
        yield "" if _separates(bare) else line


def _unquoted(line: str) -> str:
    """A line without the quotation marks that it begins with; a > further on (1+1>2, the end of a tag) is text."""
    bare = line.lstrip()
    marks = _QUOTE.match(bare)
    return bare[marks.end() :] if marks else line


def _section(cut: int, heading: re.Match[str], sections: tuple[str, ...]) -> int:
    """The level being cut after a heading: a cut ends at the next heading of the same or a higher level."""
    level = len(heading[1])
    if cut and level > cut:
        return cut
    return level if _title(heading).startswith(sections) else 0


def _separates(bare: str) -> bool:
    """Rules, table rows and captions: no text of the article, and nothing beside them is joined across."""
    return bool(_RULE.match(bare) or _CAPTION.match(bare)) or bare.lstrip().startswith("|")
