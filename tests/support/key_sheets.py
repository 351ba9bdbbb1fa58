"""Draws key sheets for tests, with every place and every order under the test's control.

The measures are those of the real sheets (points): three grids, header, legend, remark. Faults are planted by `Sheet`'s
fields or by editing the list of marks before it is drawn.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import pymupdf

FULL = str.maketrans("ABCDE#0123456789", "ＡＢＣＤＥ＃０１２３４５６７８９")


@dataclass(frozen=True)
class Mark:
    """One run of text at its left end and baseline."""

    x: float
    y: float
    text: str
    size: float = 12.0
    page: int = 1


@dataclass
class Sheet:
    """A key sheet. `cells` maps question number to what is printed in its cell."""

    cells: Mapping[int, str]
    kind: str = "ordinal"
    labels: int | None = None
    remark: str = ""
    corrected: bool = False
    single: str | None = None
    multi: str | None = None
    exam: str = "113年專門職業及技術人員高等考試測驗考試"
    category: str = "測驗師"
    subject: str = "測驗學(一)"
    code: str | None = "1101"
    extra: list[Mark] = field(default_factory=list)
    glued: bool = False
    full_width: bool = False

    @property
    def columns(self) -> int:
        return 10 if self.kind == "ordinal" else 20

    def x(self, q_no: int) -> float:
        """Middle of the column."""
        column = (q_no - 1) % self.columns
        return 89.0 + 50 * column if self.kind == "ordinal" else 91.5 + 22 * column + 9 * (column // 5)

    def y(self, q_no: int) -> float:
        """Baseline of the label."""
        row = (q_no - 1) // self.columns
        return 249.0 + (45 if self.kind == "ordinal" else 60) * row

    def label(self, q_no: int) -> str:
        return f"第{q_no}題" if self.kind == "ordinal" else f"{q_no:02d}"

    def marks(self) -> list[Mark]:
        """Everything on the sheet in a shuffled order, as the real text layers are in no useful one."""
        printed = self.labels or (100 if self.kind == "ordinal" else len(self.cells))
        marks = [*self._header(), *self.extra]
        head = "題序" if self.kind == "question_order" else "題號"
        for first in range(1, printed + 1, self.columns):
            marks.append(Mark(46, self.y(first), head))
            marks.append(Mark(46, self.y(first) + 20, "答案"))
        for q_no in range(1, printed + 1):
            marks.append(self._centred(q_no, self.label(q_no), 0))
        for q_no, cell in self.cells.items():
            text = cell.translate(FULL) if self.full_width else cell
            marks.append(self._centred(q_no, text, 20))
        bottom = self.y(printed) + 45
        for number, start in enumerate(range(0, max(len(self.remark), 1), 36)):
            lead = "備　　註：" if number == 0 else ""
            marks.append(Mark(42 if lead else 105, bottom + 17 * number, lead + self.remark[start : start + 36]))
        random.Random(7).shuffle(marks)
        return marks

    def _centred(self, q_no: int, text: str, below: float) -> Mark:
        return Mark(self.x(q_no) - width(text) / 2, self.y(q_no) + below, text)

    def _header(self) -> list[Mark]:
        code = f"(試題代號：{self.code})" if self.code else ""
        marks = [
            Mark(30, 40, "測驗題標準答案更正" if self.corrected else "測驗式試題標準答案", 14),
            Mark(95, 73, self.exam[:38]),
            Mark(32, 80, "考試名稱："),
            Mark(95, 126, self.category),
            Mark(32, 126, "類科名稱："),
            Mark(95, 160, self.subject + code),
            Mark(32, 162, "科目名稱："),
            Mark(
                35,
                228,
                "標準答案：" + ("答案標註#者，表該題有更正答案，其更正內容詳見備註。" if self.corrected else ""),
            ),
        ]
        if self.exam[38:]:
            marks.append(Mark(95, 87, self.exam[38:]))
        if self.kind == "ordinal":
            single = f"{len(self.cells)}題" if self.single is None else self.single
            marks.append(Mark(30, 190, f"單選題數：{single}"))
            marks.append(Mark(242, 190, "單選每題配分：2.00分"))
            marks.append(Mark(30, 209, f"複選題數：{self.multi or ''}"))
            marks.append(Mark(242, 209, "複選每題配分："))
        else:
            marks.append(Mark(35, 195, f"題　　數：{self.single or f'{len(self.cells)}題'}"))
        return marks

    def draw(self, path: Path) -> Path:
        """Write the sheet as a PDF."""
        return draw(path, self.marks())


def width(text: str) -> float:
    """Printed width at 12 points: 7.2 for a half-width character (Courier), 12 for a full-width one."""
    return sum(7.2 if char.isascii() else 12.0 for char in text)


def draw(path: Path, marks: list[Mark]) -> Path:
    """Write marks as a PDF in the order given."""
    with pymupdf.open() as document:
        for number in range(1, max(mark.page for mark in marks) + 1):
            page = document.new_page(width=595, height=842)
            shape = page.new_shape()
            for mark in marks:
                if mark.page == number:
                    _write(shape, mark)
            shape.commit()
        document.save(path)
    return path


def _write(shape: pymupdf.Shape, mark: Mark) -> None:
    """Half-width runs in Courier, full-width ones in the built-in Chinese font."""
    x = mark.x
    for is_ascii, run in groupby(mark.text, str.isascii):
        text = "".join(run)
        shape.insert_text((x, mark.y), text, fontname="cour" if is_ascii else "china-t", fontsize=mark.size)
        x += width(text) * mark.size / 12
