"""Which lines of a paper are content, and what stands between questions: headers, headings, passages.

What belongs here: reading what a line is for from its words and place. What does not: questions and options.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from opentwbench.exam.glyphs import normalise
from opentwbench.exam.layout import Line, Page, Span, visual_lines

HEADER_SHARE = 0.30
"""Running headers stand in this top share of a page; the tallest seen (two-sided A3 sheets) ends at 0.27."""

FOOTER_SHARE = 0.90
"""Turn-over notes stand below this share of a page."""

_HEADER = re.compile(
    r"代\s*號\s*[:：]|頁\s*次\s*[:：]|全\s*[一二三四五六七八九十]+\s*張|^\s*[（(]\s*[正背]\s*面\s*[）)]"
    r"|座\s*號\s*[:：]|^\s*類\s*科\s*(組|名稱|別|組別)?\s*[:：]|^\s*科\s*目\s*(名稱)?\s*[:：]|^\s*等\s*別\s*[:：]"
    r"|^\s*考\s*試\s*別\s*[:：]|^\s*考試時間\s*[:：]"
)
_FOOTER = re.compile(r"^\s*[（(]?\s*(請\s*接\s*背\s*面|背\s*面|請接第?\s*\d+\s*頁|請以背面空白頁計算)")
_TITLE = re.compile(r"考試.{0,6}試題|試題$")
_PART = re.compile(r"^\s*[甲乙丙丁]\s*、\s*.{0,12}測驗")
_NOTICE_COUNT = re.compile(r"共\s*(\d{1,3})\s*題")
_SECTION = re.compile(r"^\s*[一二三四五六七八九十甲乙丙丁]\s*、")
_MULTI_SECTION = re.compile(r"複\s*選\s*題.{0,8}第\s*(\d{1,3})\s*題\s*[至到~～\-－]\s*第?\s*(\d{1,3})\s*題")
_RANGE = re.compile(r"第\s*(\d{1,3})\s*題?\s*(?:[至到~～\-－—]|、|及|和|與)\s*第?\s*(\d{1,3})\s*題")
_ONE = re.compile(r"(?:下文|上文|短文|文章|題組|資料).{0,12}第\s*(\d{1,3})\s*題(?!\s*[至到~～\-－—])")
_SCORING = re.compile(r"選擇?題[（(]|單選|複選|每題|配分|[佔占]\s*\d+\s*分")
_GROUP = re.compile(r"題組|篇章|回答|下文|上文|短文|文章|情況|情境|案例|資料|閱讀|依據|根據|承")


def content_lines(pages: Sequence[Page]) -> list[Line]:
    """All visual lines in order, without running headers and turn-over notes (hazard 26: by position)."""
    kept: list[Line] = []
    for page in pages:
        lines = visual_lines(page)
        top = _header_end(page, lines) if page.number > 1 else 0.0
        for line in lines:
            footer = line.base > FOOTER_SHARE * page.height and _FOOTER.match(line.text)
            if line.base > top and not footer:
                kept.append(line)
    return kept


def _header_end(page: Page, lines: Sequence[Line]) -> float:
    """Base line of the running header's last line; 0.0 when the page starts with content."""
    end = 0.0
    for line in lines:
        if line.base > HEADER_SHARE * page.height or _PART.match(normalise(line.text)):
            break
        if _HEADER.search(line.text):
            end = line.base
        elif end == 0.0 and line.base > 0.12 * page.height and not _TITLE.search(line.text):
            break
    return end


def start_of_part(lines: Sequence[Line]) -> int:
    """Index of the first line of the multiple-choice part: after 乙、測驗題 in a mixed paper (hazard 25), else 0."""
    for i, line in enumerate(lines):
        if _PART.match(normalise(line.text)):
            return i
    return 0


def declared_count(lines: Iterable[Line]) -> int | None:
    """The count that the paper's own notice prints (共40題), None when it prints none."""
    counts = _NOTICE_COUNT.findall(normalise("".join(line.text for line in lines)))
    return int(counts[-1]) if counts else None


def multi_select_range(lines: Iterable[Line]) -> tuple[int, int] | None:
    """First and last question of the 複選題 section where its heading prints them (hazard 13)."""
    match = _MULTI_SECTION.search(" ".join(normalise(line.text) for line in lines))
    return (int(match.group(1)), int(match.group(2))) if match else None


def opens_group(text: str) -> bool:
    """True for a line that says which questions a passage or a case belongs to (請依下文回答第46題至第50題)."""
    named = _RANGE.search(text) or _ONE.search(text)
    return bool(named and _GROUP.search(text) and not _SCORING.search(text))


def is_section(text: str) -> bool:
    """True for a heading such as 二、複選題."""
    return bool(_SECTION.match(text))


def group_ranges(lines: Sequence[Line]) -> list[tuple[int, int]]:
    """(first, last) question of every passage or case that the lines announce; scoring notes are none."""
    text = "".join(normalise(line.text) for line in lines)
    ranges = []
    for match in _RANGE.finditer(text):
        around = text[max(0, match.start() - 30) : match.end() + 30]
        first, last = int(match.group(1)), int(match.group(2))
        if _GROUP.search(around) and not _SCORING.search(around) and first < last <= first + 20:
            ranges.append((first, last))
    if not _SCORING.search(text):
        ranges += [(int(number), int(number)) for number in _ONE.findall(text)]
    return ranges


_FIELDS = {
    "考試別": r"考試別",
    "等別": r"等別",
    "類科": r"類科(?:組別?|組|名稱|別)?",
    "科目": r"科目(?:名稱)?",
    "代號": r"代號",
    "考試時間": r"考試時間",
    "頁次": r"頁次",
    "座號": r"座號",
}
_LABEL = re.compile(rf"({'|'.join(_FIELDS.values())})[:：]")


def read_header(lines: Sequence[Line]) -> dict[str, str]:
    """Header fields by name, spaces dropped. The larger type above the first field is 考試名稱; 測驗代號 is the code
    of the multiple-choice part of a mixed paper.
    """
    header: dict[str, str] = {}
    title: list[tuple[float, str]] = []
    current = ""
    for line in lines:
        chunks = [(size, re.sub(r"\s+", "", normalise(text))) for size, text in _chunks(line)]
        whole = "".join(text for _, text in chunks)
        part = re.match(r"[甲乙丙]、", whole)
        if part or whole.startswith("※"):
            current = ""
            if part and "測驗" in whole and "代號" in whole:
                header["測驗代號"] = re.sub(r"\D+", "", whole.split("代號", 1)[1])
            continue
        if not _LABEL.search(whole) and "考試別" not in header and "類科" not in header:
            title += [(size, text) for size, text in chunks if not re.fullmatch(r"[\d\-－]+", text)]
            continue
        current = _read_fields(chunks, header, title, current)
    if title:
        largest = max(size for size, _ in title)
        header["考試名稱"] = "".join(text for size, text in title if size > 0.9 * largest)
    header.pop("頁次", None)
    header.pop("座號", None)
    return header


def _read_fields(
    chunks: Sequence[tuple[float, str]], header: dict[str, str], title: list[tuple[float, str]], current: str
) -> str:
    """Take one line's labelled values into the header; returns the field that the next line may continue."""
    open_header = "考試別" not in header and "類科" not in header
    fields = ""
    for size, text in chunks:
        if open_header and not _LABEL.search(text) and re.search(r"年.*(考試|甄試)|考試|試題$", text):
            title.append((size, text))
        else:
            fields += text
    pieces = _LABEL.split(fields)
    if pieces[0] and current in header and current != "代號":
        header[current] += pieces[0]
    for label, value in zip(pieces[1::2], pieces[2::2], strict=True):
        current = next(name for name, pattern in _FIELDS.items() if re.fullmatch(pattern, label))
        header.setdefault(current, value)
    return current


def _chunks(line: Line) -> list[tuple[float, str]]:
    """(type size, text) of the line's pieces, cut where the type size changes or a wide gap stands."""
    chunks: list[tuple[float, str]] = []
    last: Span | None = None
    for span in line.spans:
        if not span.text.strip():
            continue
        joined = last is not None and span.x0 - last.x1 < 2.5 * span.size and abs(span.size - last.size) < 1.0
        if joined:
            chunks[-1] = (chunks[-1][0], chunks[-1][1] + span.text)
        else:
            chunks.append((span.size, span.text))
        last = span
    return chunks
