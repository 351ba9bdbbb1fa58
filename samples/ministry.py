"""Write the sample ministry: a mirror in the form of the real one, and the truth that tests compare with.

What belongs here: files. `index.csv` (14 columns, BOM), `urls.csv`, `files/<code>/<c>/<s>/{Q,S,M}.pdf`, `truth.json`.
The truth is written from the specifications, never by reading a PDF.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from samples.fonts import BODY_GLYPHS, MARKERS, UNMAPPED_GLYPH
from samples.key import typeset_key
from samples.paper import hazards_of, plain_text, typeset_paper
from samples.sittings import Entry, Paper, papers
from samples.spec import EssayPart, Passage, SectionHeading

COLUMNS = (
    "考試年度", "考試代碼", "考試名稱", "等級代碼", "等級分類", "考試及等別", "類科代碼", "類科組別", "節次",
    "科目全名", "試題型態", "試題網址", "測驗式試題答案網址", "備註",
)  # fmt: skip
"""The index's header, as the ministry's open data has it."""

URL = "https://wwwq.moex.gov.tw/exam/wHandExamQandA_File.ashx?t={t}&code={code}&c={c}&s={s}&q=1"


class NotASampleError(Exception):
    """The folder holds something that is not a sample ministry; it is left alone."""


def _url(paper: Paper, kind: str, category_code: str) -> str:
    return URL.format(t=kind, code=paper.sitting.code, c=category_code, s=paper.subject_code)


def _places(paper: Paper) -> Iterator[tuple[str, str]]:
    yield paper.category_code, paper.category
    yield from paper.also_in


def _folder(paper: Paper) -> str:
    return f"files/{paper.sitting.code}/{paper.category_code}/{paper.subject_code}"


def _kinds(paper: Paper) -> tuple[str, ...]:
    """The PDFs of a paper: question, first key, corrected key."""
    if paper.kind == "申論題":
        return ("Q",)
    return ("Q", "S", "M") if paper.corrected else ("Q", "S")


# ------------------------------------------------------------------------------------------------------------- truth


def true_text(marked: str) -> str:
    """The text that a reader should find: NFC, markup and known private-use glyphs resolved.

    A marker glyph inside a text reads (C), a known body glyph is its character, an unknown one stays as it is.
    """
    text = plain_text(marked)
    for index, glyph in enumerate(MARKERS):
        text = text.replace(glyph, f"({'ABCDE'[index]})")
    for glyph, char in BODY_GLYPHS.items():
        text = text if glyph == UNMAPPED_GLYPH else text.replace(glyph, char)
    return unicodedata.normalize("NFC", text)


def _accepted(entry: Entry, remark: str) -> tuple[str | None, list[str], str | None]:
    """(key, accepted, exclusion) by the meaning of the sample remarks."""
    half = unicodedata.normalize("NFKC", remark)
    if "複選" in half:
        return None, [part.removesuffix("給分").removesuffix("或") for part in half.split("複選")[1:]], "multi_select"
    if "一律給分" in half:
        return None, [], "voided"
    if "未作答者不給分" in half:
        return None, [], "credited_unless_blank"
    if "答" not in half:
        return None, [], "remark_unread"
    words = half.split("答", 1)[1].removesuffix("給分").removesuffix("者均")
    letters = words.replace("、", "或").split("或")
    if len(letters) == 1:
        return letters[0], letters, None
    return None, letters, "several_answers_accepted"


def _question_truth(paper: Paper, number: int, entry: Entry) -> dict[str, Any]:
    key: str | None = entry.answer
    accepted, exclusion = [entry.answer], entry.item.exclusion
    rulings = paper.rulings() if paper.corrected else {}
    remark = rulings[number][1] if number in rulings else None
    if remark is not None:
        key, accepted, ruled = _accepted(entry, remark)
        exclusion = ruled or exclusion
    return {
        "q_no": number,
        "item": entry.item.item,
        "question": true_text(entry.stem),
        "options": {"ABCDE"[i]: true_text(option) for i, option in enumerate(entry.options)},
        "key": key,
        "accepted": accepted,
        "exclusion": exclusion,
        "corrected": remark is not None and exclusion != "remark_unread",
        "remark": remark,
        "first_key": entry.first_cell or entry.answer,
        "hazards": sorted(hazards_of(entry.printed())),
    }


def _status(paper: Paper) -> tuple[str, str | None]:
    if paper.missing:
        return "missing", None
    if paper.kind == "申論題":
        return "essay", None
    return ("rejected", "count_mismatch") if paper.extra_cell else ("accepted", None)


def paper_truth(paper: Paper) -> dict[str, Any]:
    """What is true of one paper: its files, how it must end, and every question."""
    status, reason = _status(paper)
    folder = _folder(paper)
    entries = list(enumerate(paper.entries, 1))
    multi = sum(1 for _, entry in entries if len(entry.answer) > 1)
    parts = {type(part) for part in paper.parts}
    return {
        "paper": f"{paper.sitting.code}-{paper.category_code}-{paper.subject_code}",
        "question_file": None if paper.missing else f"{folder}/Q.pdf",
        "first_key_file": f"{folder}/S.pdf" if "S" in _kinds(paper) and not paper.missing else None,
        "corrected_key_file": f"{folder}/M.pdf" if paper.corrected else None,
        "status": status,
        "reason": reason,
        "layout": paper.layout.value,
        "grid": paper.grid.value,
        "declared": {"single": len(entries) - multi + bool(paper.extra_cell), "multi": multi},
        "subject": paper.slug,
        "matched": paper.matched,
        "header": {"subject": true_text(paper.printed_subject or paper.subject), "code": paper.printed_code},
        "paper_hazards": sorted(paper.paper_hazards),
        "key_hazards": sorted(paper.key_hazards),
        "parts": sorted(t.__name__ for t in parts if t in (EssayPart, Passage, SectionHeading)),
        "questions": [_question_truth(paper, n, entry) for n, entry in entries],
    }


def truth(day: int = 1) -> dict[str, Any]:
    """The whole truth of a day: papers, index rows, and items printed more than once with what they decide."""
    published = papers(day)
    described = [paper_truth(paper) for paper in published]
    rows = [
        {"category_code": code, "paper": entry["paper"], "url": _url(paper, "Q", code), "subject": paper.slug}
        for paper, entry in zip(published, described, strict=True)
        for code, _ in _places(paper)
    ]
    return {"day": day, "papers": described, "rows": rows, "reprints": _reprints(described)}


def _reprints(described: list[dict[str, Any]]) -> dict[str, Any]:
    """Item -> places on accepted papers, for items printed on two papers or more; `conflict` when answers differ."""
    places: dict[str, list[dict[str, Any]]] = {}
    for paper in (paper for paper in described if paper["status"] == "accepted"):
        for question in paper["questions"]:
            answer = question["options"].get(question["key"] or "")
            place = {"paper": paper["paper"], "q_no": question["q_no"], "answer": answer}
            places.setdefault(question["item"], []).append(place)
    return {
        item: {"places": found, "conflict": len({_folded(place["answer"]) for place in found}) > 1}
        for item, found in sorted(places.items())
        if len(found) > 1
    }


def _folded(text: str | None) -> str:
    return "".join(unicodedata.normalize("NFKC", text or "").split())


# ------------------------------------------------------------------------------------------------------------- files


def _csv(rows: list[tuple[str, ...]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    return out.getvalue()


def index_csv(published: list[Paper]) -> bytes:
    """The index in the ministry's form: BOM, 14 columns, CRLF."""
    rows: list[tuple[str, ...]] = [COLUMNS]
    for paper in published:
        sitting = paper.sitting
        for code, category in _places(paper):
            key = _url(paper, _kinds(paper)[-1], code) if paper.kind != "申論題" else ""
            rows.append((
                str(sitting.year_roc), sitting.code, sitting.name, "", sitting.level, sitting.level, code, category,
                "01", paper.subject, paper.kind, _url(paper, "Q", code), key, "更正答案" if paper.corrected else "",
            ))  # fmt: skip
    return b"\xef\xbb\xbf" + _csv(rows).encode()


def urls_csv(published: list[Paper]) -> bytes:
    """URL -> file for every PDF that exists; the missing paper has no line."""
    rows: list[tuple[str, ...]] = [("url", "path")]
    for paper in (paper for paper in published if not paper.missing):
        for code, _ in _places(paper):
            rows += [(_url(paper, kind, code), f"{_folder(paper)}/{kind}.pdf") for kind in _kinds(paper)]
    return _csv(rows).encode()


def pdfs(paper: Paper) -> dict[str, bytes]:
    """The PDFs of one paper by path inside the mirror."""
    if paper.missing:
        return {}
    folder = _folder(paper)
    found = {f"{folder}/Q.pdf": typeset_paper(paper.paper_spec())}
    if "S" in _kinds(paper):
        found[f"{folder}/S.pdf"] = typeset_key(paper.first_key())
    corrected = paper.corrected_key()
    if corrected is not None:
        found[f"{folder}/M.pdf"] = typeset_key(corrected)
    return found


def build(out: Path, day: int = 1, progress: Callable[[str], None] = lambda _: None) -> None:
    """Write the sample ministry of a day to a folder, replacing an older one; `progress` hears of each paper.

    Raises NotASampleError when the folder holds anything that is not a sample ministry.
    """
    if out.exists() and any(out.iterdir()) and not (out / "truth.json").is_file():
        raise NotASampleError(f"{out} is not empty and holds no sample ministry (no truth.json): nothing written")
    aside = out.parent / f".{out.name}.{os.getpid()}.building"
    published = papers(day)
    try:
        for paper in published:
            for path, data in pdfs(paper).items():
                (aside / path).parent.mkdir(parents=True, exist_ok=True)
                (aside / path).write_bytes(data)
            progress(f"{paper.sitting.code} {paper.subject}")
        (aside / "index.csv").write_bytes(index_csv(published))
        (aside / "urls.csv").write_bytes(urls_csv(published))
        text = json.dumps(truth(day), ensure_ascii=False, indent=1, sort_keys=True)
        (aside / "truth.json").write_text(text + "\n", encoding="utf-8")
        if out.exists():
            shutil.rmtree(out)
        aside.replace(out)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
