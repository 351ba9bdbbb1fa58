"""An article's Markdown body becomes blocks of plain text: paragraphs, lists, quotations and headings.

What belongs here: what is deleted, what is cut, what is kept of a label. What does not: files, frontmatter, windows.
Source: facts on Taiwan.md, the table of hazards; every rule below is a row of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*$")
SECTIONS = ("參考資料", "資料來源", "參考文獻", "參考來源", "延伸閱讀", "圖片來源")
"""Sections that hold no facts of the article, by how their heading begins: references, further reading, credits."""
_BOLD_CUT = re.compile(r"\s*\*\*(?:參考資料|資料來源|參考文獻|參考來源|延伸閱讀|圖片來源)[^*]{0,40}\*\*")
_DEFINITION = re.compile(r"\[\^[^\]\n]+\]:")
_CONTINUATION = re.compile(r"(?:[ ]{2,}|\t)\S")
_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,})\s*$")
_QUOTE = re.compile(r"\s*(?:>[ ]?)+")
_LIST = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
_CAPTION = re.compile(r"\s*[_*]圖片來源")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_HIDDEN = re.compile(r"<!--.*?-->|<(iframe|audio|video|script|style)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)

_TARGET = r"\((?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))*\)"  # an address holds brackets, two deep in Wikipedia's
_INLINE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\[\^[^\]\n]*\]"), ""),
    (re.compile(rf"!\[[^\]\n]*\]{_TARGET}"), ""),
    (re.compile(r"\[\[[^\]|\n]*\|([^\]\n]*)\]\]"), r"\1"),
    (re.compile(r"\[\[([^\]\n]*)\]\]"), r"\1"),
    (re.compile(rf"\[([^\[\]\n]*)\]{_TARGET}"), r"\1"),
    (re.compile(r"<https?://[^>\s]*>"), ""),
    (re.compile(r"https?://[^\s，。、；）」》]+"), ""),
    (re.compile(r"</?[A-Za-z][^>\n]*>"), ""),
    (re.compile(r"\*+|__|`|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"), ""),
)


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
    for line, heading in _lines(_HIDDEN.sub("", body), sections):
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
    for pattern, put in _INLINE:
        line = pattern.sub(put, line)
    return line.strip()


def _lines(body: str, sections: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    """Plain lines that are kept, and whether each is a heading; '' separates blocks."""
    for line in _kept(body.split("\n"), sections):
        found = HEADING.match(line)
        yield (plain(found[2]), True) if found else (plain(_QUOTE.sub("", line, count=1)), False)


def _kept(lines: list[str], sections: tuple[str, ...]) -> Iterator[str]:
    """Lines outside everything that is deleted as a whole."""
    cut = 0  # the level of the heading whose section is being cut
    definition = bold = fence = False
    for line in lines:
        bare = _QUOTE.sub("", line, count=1) if line.lstrip().startswith(">") else line
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


def _section(cut: int, heading: re.Match[str], sections: tuple[str, ...]) -> int:
    """The level being cut after a heading: a cut ends at the next heading of the same or a higher level."""
    level = len(heading[1])
    if cut and level > cut:
        return cut
    return level if plain(heading[2]).startswith(sections) else 0


def _separates(bare: str) -> bool:
    """Rules, table rows and captions: no text of the article, and nothing beside them is joined across."""
    return bool(_RULE.match(bare) or _CAPTION.match(bare)) or bare.lstrip().startswith("|")
