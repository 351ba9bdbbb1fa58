"""A mirror with one small paper for each of the registry's subjects: what a backfill over all partitions runs on.

What belongs here: papers as plain as a paper can be. What does not: hazards (`sittings`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from opentwbench.exam.subjects import REGISTRY, Subject
from samples.key import typeset_key
from samples.ministry import COLUMNS, URL, _csv
from samples.paper import typeset_paper
from samples.spec import Grid, KeySpec, PaperHeader, PaperSpec, PrintedQuestion

YEAR, CODE = 110, "110901"
EXAM = "110年樣本專門職業及技術人員考試"
CATEGORY = "樣本人員"
KEYS = "ABCDCADBBDAC"
"""The keys of a paper: each letter equally often, and not in turn."""

OPTIONS = ("只有甲的敘述正確", "只有乙的敘述正確", "甲乙兩項敘述皆正確", "甲乙兩項敘述皆不正確")


def _questions(subject: Subject) -> tuple[PrintedQuestion, ...]:
    name = subject.match_names[0].split("（")[0].split("(")[0]
    return tuple(
        PrintedQuestion(
            f"關於{name}之樣本敘述，甲說數目為{number}，乙說數目為{number * number}，下列何者正確？",
            tuple(f"{option}{number}" for option in OPTIONS),
        )
        for number in range(2, len(KEYS) + 2)
    )


def _pdfs(subject: Subject) -> tuple[bytes, bytes]:
    """Question paper and key."""
    name = subject.match_names[0]
    header = PaperHeader((f"{EXAM}試題",), (("等別", "樣本考試"), ("類科", CATEGORY), ("科目", name)), "1101")
    key = KeySpec(EXAM, CATEGORY, name, dict(enumerate(KEYS, start=1)), Grid.QUESTION_NUMBER, single=len(KEYS))
    return typeset_paper(PaperSpec(header, _questions(subject), script_gap=False)), typeset_key(key)


def build(out: Path, slugs: Sequence[str] = (), progress: Callable[[str], None] = lambda _: None) -> int:
    """Write index.csv, urls.csv and the PDFs of some subjects (all by default) to a new folder; how many papers.

    Raises FileExistsError when the folder is there.
    """
    out.mkdir(parents=True)
    rows: list[tuple[str, ...]] = [COLUMNS]
    listed: list[tuple[str, ...]] = [("url", "path")]
    for number, slug in enumerate(slugs or sorted(REGISTRY), start=101):
        subject, code = REGISTRY[slug], f"{number:04d}"
        question, key = (URL.format(t=t, code=CODE, c="901", s=code) for t in "QS")
        folder = f"files/{CODE}/901/{code}"
        (out / folder).mkdir(parents=True)
        for kind, data in zip("QS", _pdfs(subject), strict=True):
            (out / folder / f"{kind}.pdf").write_bytes(data)
        listed += [(question, f"{folder}/Q.pdf"), (key, f"{folder}/S.pdf")]
        about = (str(YEAR), CODE, EXAM, "", "樣本考試", "樣本考試", "901", CATEGORY, "01", subject.match_names[0])
        rows.append((*about, "測驗題", question, key, ""))
        progress(slug)
    (out / "urls.csv").write_text(_csv(listed), encoding="utf-8")
    (out / "index.csv").write_bytes(b"\xef\xbb\xbf" + _csv(rows).encode())
    return len(rows) - 1
