"""The reading audit by eye: draw questions, compare what was read from their pictures with the parse, report.

    python -m bench.reading_audit draw --out FOLDER [--seed 20261129] [--size 320] [--for-hazards 80]
    python -m bench.reading_audit compare --out FOLDER --seed SEED
    python -m bench.reading_audit report --out FOLDER
    python -m bench.reading_audit [stands]

`draw` writes FOLDER/draw.jsonl and contact sheets (sheet_01.png ...): each question cut from its page from its number
to the next one, below it the row of the key sheet that holds its cell. The auditor writes FOLDER/transcripts.txt, one
line a question before any parse is seen: number, stem, options in order, key, separated by '¦'. `compare` plants 20
errors by seed into the parse and writes FOLDER/differences.jsonl, which does not say what was planted. The auditor
looks again at every one and writes FOLDER/judgements.jsonl (id, judgement, cause). `report` writes
docs/audits/reading.jsonl and reading.md, which hold ids, hashes and verdicts, never a text or a picture. `stands` says
how many audited items still read as they did. FOLDER must lie outside the project. The papers are those of OTB_SHARED
(default ../shared).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import pymupdf

from opentwbench.dataset.atomic import write_file
from opentwbench.exam.layout import open_pdf
from opentwbench.exam.model import Exclusion, PaperItem, Question, QuestionPaper, Region
from opentwbench.exam.paper import parse_paper
from opentwbench.exam.questions import read_questions
from opentwbench.exam.reading_audit import (
    KEY,
    STEM,
    Candidate,
    Difference,
    Drawn,
    Judgement,
    Outcome,
    Planted,
    Planting,
    Reading,
    differences,
    draw,
    is_caught,
    plant_errors,
    printed_key,
    reading_hash,
    settle,
)
from opentwbench.statistics.intervals import Interval, wilson

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "docs" / "audits" / "reading.jsonl"
PAGE = ROOT / "docs" / "audits" / "reading.md"
PLANTED = 20
FIELD = "¦"

SHEET = (560.0, 800.0)
"""Width and longest height of a contact sheet, in points."""
KEY_WIDTH = 380.0
DOTS_PER_INCH = 130
TALLEST = 640.0
"""Points of one question that a sheet shows; what is longer is cut and says so."""

KINDS = (
    ("醫師", "medical"),
    ("司法官", "bar"),
    ("律師", "bar"),
    ("外交", "foreign service"),
    ("警察", "police"),
    ("司法人員", "judicial"),
    ("技師", "engineering"),
)


# ---------------------------------------------------------------- papers


@dataclass(frozen=True, slots=True)
class Pair:
    """One paper of the index with its files. `first_key` is None where there is no key before a correction."""

    paper_id: str
    year_roc: int
    kind: str
    question: Path
    key: Path
    first_key: Path | None


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a pair was read as: its questions with their places, and their items."""

    pair: Pair
    layout: str
    questions: Mapping[int, Question]
    items: Mapping[int, PaperItem]


@dataclass(frozen=True, slots=True)
class Cut:
    """A rectangle of a page, and how wide a contact sheet shows it."""

    document: Any
    page: int
    clip: pymupdf.Rect
    width: float

    @property
    def height(self) -> float:
        """Points on the contact sheet, with the gap below."""
        return float(self.clip.height * self.width / self.clip.width) + 3


def ministry() -> Path:
    """The mirror with the real papers; ends the program, saying so, where there is none."""
    folder = Path(os.environ.get("OTB_SHARED", ROOT.parent / "shared")) / "ministry"
    if not (folder / "index.csv").is_file():
        sys.exit(f"no real papers: OTB_SHARED ({folder.parent}) has no ministry/index.csv")
    return folder


def pairs(folder: Path) -> list[Pair]:
    """Each distinct pair of files once, under the first index row that names it."""
    with (folder / "urls.csv").open(encoding="utf-8-sig", newline="") as stream:
        files = {row["url"]: folder / row["path"] for row in csv.DictReader(stream)}
    found: dict[tuple[Path, Path], Pair] = {}
    with (folder / "index.csv").open(encoding="utf-8-sig", newline="") as stream:
        for row in csv.DictReader(stream):
            if not row["測驗式試題答案網址"]:
                continue
            question, key = files[row["試題網址"]], files[row["測驗式試題答案網址"]]
            first = key.with_name("S.pdf")
            subject = re.search(r"[?&]s=([^&]+)", row["試題網址"])
            paper_id = f"{row['考試代碼']}-{row['類科代碼']}-{subject[1] if subject else ''}"
            kind = next((name for word, name in KINDS if word in row["考試名稱"]), "other")
            given_first = first if key.name == "M.pdf" and first.is_file() else None
            pair = Pair(paper_id, int(row["考試年度"]), kind, question, key, given_first)
            found.setdefault((question, key), pair)
    return list(found.values())


def parse(pair: Pair) -> Parsed | None:
    """The pair as the platform reads it today; None when it is rejected."""
    record = parse_paper(pair.question, pair.key, pair.first_key)
    if not record.accepted:
        return None
    paper: QuestionPaper = read_questions(pair.question)
    questions = {q.q_no: q for q in paper.questions}
    return Parsed(pair, paper.layout, questions, {item.q_no: item for item in record.items})


def parse_all(wanted: Sequence[Pair]) -> dict[str, Parsed]:
    """Accepted papers by id."""
    with Pool(os.cpu_count()) as pool:
        done = [parsed for parsed in pool.imap(parse, wanted, chunksize=4) if parsed]
    return {parsed.pair.paper_id: parsed for parsed in done}


def reading(parsed: Parsed, q_no: int) -> Reading:
    """One question as the parse has it."""
    item = parsed.items[q_no]
    lines = Counter(region.part for region in parsed.questions[q_no].regions)
    return Reading(item.question, dict(item.options), printed_key(item), dict(lines))


# ---------------------------------------------------------------- draw


def hazards(question: Question, item: PaperItem, rules: Mapping[int, Sequence[pymupdf.Rect]]) -> frozenset[str]:
    """What makes a question hard to read, by what the parse and the page's rules show."""
    text = item.question + "".join(item.options.values())
    regions = [r for r in question.regions if r.part != "number"]
    found = {e.value for e in item.exclusions if e not in (Exclusion.ENGLISH,)}
    tests = {
        "page_break": len({r.page for r in regions}) > 1,
        "raised_or_lowered": bool(re.search(r"[⁰-⁹⁺⁻₀-₉ⁿ²³¹]|\^\(", text)),
        "latin": Exclusion.ENGLISH in item.exclusions,
        "formula_letters": bool(re.search(r"[A-Z][a-z]?\d|[=×÷√∑∫]", text)),
        "blank": "___" in text,
        "wrapped_columns": _wrapped_columns(regions),
        "option_named_in_text": bool(re.search(r"\([A-E]\)", text)),
        "enumeration": bool(re.search(r"[①-⑳㈠-㈩]", text)),
        "long": len(text) > 350,
        "underline": any(_underlines(rule, r.box) for r in regions for rule in rules.get(r.page, ())),
        "corrected_key": item.remark is not None,
    }
    return frozenset(found | {name for name, holds in tests.items() if holds})


def _wrapped_columns(regions: Sequence[Region]) -> bool:
    """True when options stand side by side and one of them goes on below."""
    options = [r for r in regions if r.part != STEM]
    rows = Counter(r.part for r in options)
    beside = any(a.part != b.part and abs(a.box.y0 - b.box.y0) < 2 for a in options for b in options)
    return beside and max(rows.values(), default=0) > 1


def _underlines(rule: pymupdf.Rect, box: Any) -> bool:
    inside = box.x0 - 2 <= rule.x0 and rule.x1 <= box.x1 + 2
    return bool(inside and -2.5 <= rule.y0 - box.y1 <= 3.5 and rule.width > 8)


def rules_of(path: Path) -> dict[int, list[pymupdf.Rect]]:
    """Page -> thin horizontal rules shorter than a line of text."""
    with open_pdf(path) as document:
        return {
            page.number + 1: [d["rect"] for d in page.get_drawings() if d["rect"].height < 2 and d["rect"].width < 400]
            for page in document
        }


def candidates(parsed: Iterable[Parsed]) -> Iterator[Candidate]:
    """Every question of every accepted paper."""
    for paper in parsed:
        rules = rules_of(paper.pair.question)
        for q_no, item in paper.items.items():
            marks = hazards(paper.questions[q_no], item, rules)
            pair = paper.pair
            yield Candidate(pair.paper_id, q_no, pair.year_roc, pair.kind, paper.layout, marks)


def draw_command(out: Path, size: int, for_hazards: int, seed: int) -> None:
    """Draw, and make the contact sheets."""
    if out.resolve().is_relative_to(ROOT):
        sys.exit(f"{out} lies inside the project: pictures of real papers stay outside")
    out.mkdir(parents=True, exist_ok=True)
    papers = parse_all(pairs(ministry()))
    drawn = draw(list(candidates(papers.values())), size, for_hazards, seed)
    drawn.sort(key=lambda d: (d.candidate.paper_id, d.candidate.q_no))
    with (out / "draw.jsonl").open("w", encoding="utf-8") as stream:
        for number, one in enumerate(drawn, start=1):
            value = {**asdict(one.candidate), "hazards": sorted(one.candidate.hazards)}
            stream.write(json.dumps({"number": number, "reason": one.reason, **value}) + "\n")
    sheets = write_sheets(out, drawn, papers)
    strata = len({d.candidate.stratum for d in drawn})
    sources = len({d.candidate.paper_id for d in drawn})
    print(f"{len(drawn)} questions of {sources} papers, {strata} strata, {sheets} sheets")


def write_sheets(out: Path, drawn: Sequence[Drawn], papers: Mapping[str, Parsed]) -> int:
    """Contact sheets as sheet_NN.png; returns how many."""
    for old in out.glob("sheet_*.png"):
        old.unlink()
    sheet, y, count = _new_sheet(), 0.0, 0
    for number, one in enumerate(drawn, start=1):
        parsed, q_no = papers[one.candidate.paper_id], one.candidate.q_no
        with open_pdf(parsed.pair.question) as paper, open_pdf(parsed.pair.key) as key:
            cuts = [Cut(paper, *clip, SHEET[0]) for clip in question_clips(paper, parsed, q_no)]
            cuts += [Cut(key, *clip, KEY_WIDTH) for clip in key_clips(key, q_no)]
            height = 12 + sum(cut.height for cut in cuts)
            if y and y + height > SHEET[1]:
                count = _save(out, sheet, y, count)
                sheet, y = _new_sheet(), 0.0
            y = _place(sheet[0], y, f"#{number}  Q{q_no}", cuts)
    return _save(out, sheet, y, count)


def question_clips(document: Any, parsed: Parsed, q_no: int) -> list[tuple[int, pymupdf.Rect]]:
    """(page index, rectangle) from the question's number down to the next one's, whatever the parse took of it."""
    number = next(r for r in parsed.questions[q_no].regions if r.part == "number")
    after = parsed.questions.get(q_no + 1)
    end = next((r for r in after.regions if r.part == "number"), None) if after else None
    last = end.page if end else number.page
    clips = []
    for page in range(number.page, last + 1):
        rect = document[page - 1].rect
        top = number.box.y0 - 3 if page == number.page else 0.0
        bottom = end.box.y0 - 1 if end and page == end.page else rect.height
        if page > number.page and bottom - top < 0.09 * rect.height:
            continue  # the next question opens the page: nothing but the running header stands above it
        clips.append((page - 1, pymupdf.Rect(rect.width * 0.045, top, rect.width * 0.965, min(bottom, top + TALLEST))))
    return clips


def key_clips(document: Any, q_no: int) -> list[tuple[int, pymupdf.Rect]]:
    """The grid row that should hold the cell, by counting rows (the readers' pairing is not asked), and its remark."""
    page = document[0]
    words = page.get_text("words")
    rows = sorted(word[1] for word in words if re.match(r"題[號序]", word[4]) and word[0] < 80)
    by_row = 10 if any(re.fullmatch(r"第\d+題", word[4]) for word in words) else 20
    index = (q_no - 1) // by_row
    if index >= len(rows):
        return [(0, page.rect)]
    clips = [(0, pymupdf.Rect(25, rows[index] - 4, page.rect.width - 25, rows[index] + 36))]
    remarks = [word for word in words if re.search(rf"第{q_no}題", _narrow_digits(word[4])) and word[1] > rows[-1] + 36]
    clips += [(0, pymupdf.Rect(25, w[1] - 3, page.rect.width - 25, w[3] + 22)) for w in remarks]
    return clips


def _narrow_digits(text: str) -> str:
    return text.translate(str.maketrans("０１２３４５６７８９", "0123456789"))


def _new_sheet() -> tuple[Any, Any]:
    document = pymupdf.open()
    return document.new_page(width=SHEET[0], height=2000), document


def _place(page: Any, y: float, title: str, cuts: Sequence[Cut]) -> float:
    page.draw_line((0, y + 1), (SHEET[0], y + 1), color=(0.8, 0, 0), width=1)
    page.insert_text((4, y + 10), title, fontsize=9, fontname="hebo", color=(0.8, 0, 0))
    y += 12
    for cut in cuts:
        where = pymupdf.Rect(0, y, cut.width, y + cut.height - 3)
        page.show_pdf_page(where, cut.document, cut.page, clip=cut.clip)
        y += cut.height
    return y


def _save(out: Path, sheet: tuple[Any, Any], height: float, count: int) -> int:
    page, _ = sheet
    clip = pymupdf.Rect(0, 0, SHEET[0], min(height + 4, page.rect.height))
    page.get_pixmap(dpi=DOTS_PER_INCH, clip=clip).save(out / f"sheet_{count + 1:02d}.png")
    return count + 1


# ---------------------------------------------------------------- compare


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def read_transcripts(out: Path, drawn: Sequence[Mapping[str, Any]]) -> dict[str, Reading]:
    """Item -> what the auditor read. Raises ValueError, naming the line, where a question is missing or misshapen."""
    names = {one["number"]: f"{one['paper_id']} Q{one['q_no']}" for one in drawn}
    readings: dict[str, Reading] = {}
    for n, line in enumerate((out / "transcripts.txt").read_text(encoding="utf-8").splitlines(), start=1):
        number, *fields = line.split(FIELD)
        if not number.isdigit() or int(number) not in names or not 4 <= len(fields) <= 7:
            raise ValueError(f"transcripts.txt line {n}: not a number and its fields")
        stem, *options, key = fields
        readings[names[int(number)]] = Reading(stem, dict(zip("ABCDE", options, strict=False)), key)
    missing = sorted(set(names.values()) - set(readings))
    if missing:
        raise ValueError(f"not transcribed: {missing[:5]}")
    return readings


def parse_drawn(drawn: Sequence[Mapping[str, Any]]) -> dict[str, Parsed]:
    """The papers of the drawn questions, as they are read today."""
    wanted = {one["paper_id"] for one in drawn}
    return parse_all([pair for pair in pairs(ministry()) if pair.paper_id in wanted])


def compare_command(out: Path, seed: int) -> None:
    """Plant, compare, write the differences, and say how many."""
    drawn = read_lines(out / "draw.jsonl")
    transcribed = read_transcripts(out, drawn)
    papers = parse_drawn(drawn)
    true = {f"{one['paper_id']} Q{one['q_no']}": reading(papers[one["paper_id"]], one["q_no"]) for one in drawn}
    shown, planted = plant_errors(true, PLANTED, seed)
    numbers = {f"{one['paper_id']} Q{one['q_no']}": one["number"] for one in drawn}
    found = [d for item in numbers for d in differences(item, transcribed[item], shown[item])]
    with (out / "differences.jsonl").open("w", encoding="utf-8") as stream:
        for n, difference in enumerate(found, start=1):
            value = {"id": f"d{n:03d}", "number": numbers[difference.item], **asdict(difference)}
            stream.write(json.dumps(value, ensure_ascii=False) + "\n")
    state = {
        "seed": seed,
        "planted": [asdict(one) for one in planted],
        "readings": {item: reading_hash(one) for item, one in true.items()},
        "exclusions": {item: bucket(papers[item.split()[0]], item) for item in true},
    }
    (out / "sealed.json").write_text(json.dumps(state), encoding="utf-8")
    print(f"{len(true)} questions compared, {len(planted)} errors planted, {len(found)} parts differ")


def bucket(parsed: Parsed, item: str) -> str | None:
    """The exclusion that the paper alone shows for an item, None when it would be published."""
    exclusion = parsed.items[int(item.split("Q")[1])].exclusion
    return exclusion.value if exclusion else None


# ---------------------------------------------------------------- report


def report_command(out: Path) -> None:
    """Write the records and the page from the judgements."""
    drawn = read_lines(out / "draw.jsonl")
    state = json.loads((out / "sealed.json").read_text(encoding="utf-8"))
    listed = read_lines(out / "differences.jsonl")
    judged = {one["id"]: one for one in read_lines(out / "judgements.jsonl")}
    unknown = {one["id"] for one in listed} ^ set(judged)
    if unknown:
        raise ValueError(f"differences and judgements do not match: {sorted(unknown)[:5]}")
    found = [Difference(d["item"], d["part"], d["transcribed"], d["shown"], d["loose"]) for d in listed]
    places = {d["id"]: (d["item"], d["part"]) for d in listed}
    judgements = {places[n]: Judgement(one["judgement"]) for n, one in judged.items()}
    planted = [Planted(p["item"], Planting(p["kind"]), tuple(p["parts"])) for p in state["planted"]]
    outcome = settle(len(drawn), found, planted, judgements)
    causes = {places[n]: one["cause"] for n, one in judged.items()}
    records = [record(one, state, outcome, planted, judgements, causes) for one in drawn]
    write_file(RECORDS, "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records).encode())
    remarks = out / "remarks.md"
    text = page(records, outcome, state["seed"], remarks.read_text(encoding="utf-8") if remarks.is_file() else "")
    write_file(PAGE, text.encode())
    print(text)


def record(
    one: Mapping[str, Any],
    state: Mapping[str, Any],
    outcome: Outcome,
    planted: Sequence[Planted],
    judgements: Mapping[tuple[str, str], Judgement],
    causes: Mapping[tuple[str, str], str],
) -> dict[str, Any]:
    """One audited question as it is committed: no text of it."""
    item = f"{one['paper_id']} Q{one['q_no']}"
    wrong = outcome.wrong.get(item, ())
    mine = [p for p in planted if p.item == item]
    places = [place for place in judgements if place[0] == item]
    ours = {(p.item, part) for p in mine for part in p.parts}
    return {
        "item": item,
        **{name: one[name] for name in ("year_roc", "kind", "layout", "reason", "hazards")},
        "reading": state["readings"][item],
        "exclusion": state["exclusions"][item],
        "verdict": "wrong" if wrong else "right",
        "wrong_parts": list(wrong),
        "causes": sorted({causes[place] for place in places if place not in ours}),
        "slips": sum(judgements[place] is Judgement.SLIP for place in places),
        "planted": [{"kind": p.kind.value, "parts": list(p.parts), "caught": is_caught(p, judgements)} for p in mine],
    }


def page(records: Sequence[Mapping[str, Any]], outcome: Outcome, seed: int, remarks: str) -> str:
    """docs/audits/reading.md. `seed` is the seed of the planted errors, `remarks` what the auditor has to say."""
    wrong = [r for r in records if r["verdict"] == "wrong"]
    published = [r for r in records if r["exclusion"] is None]
    rows = [
        ("all audited", records),
        ("drawn by stratum", [r for r in records if r["reason"] == "stratum"]),
        ("drawn for a hazard", [r for r in records if r["reason"] != "stratum"]),
        ("not excluded by its paper", published),
    ]
    lines = [
        "# Audit of the question and key readers",
        "",
        "Made by `python -m bench.reading_audit report`; the procedure stands in that file. `reading.jsonl` has a",
        "line a question: its name, why it was drawn, the hash of what was read, the verdict. No text, no picture.",
        "Every question was transcribed in full (stem, options, key) from its page image before any parse was seen;",
        "then the transcription was compared with the parse, and every differing part was looked at again on the page",
        "without a word on which differences were planted. White space and Unicode width variants are folded; spaces",
        "between Latin words, superscripts and all other marks are not. The hash names the reading that was compared:",
        "a verdict says nothing about a later one (`python -m bench.reading_audit stands` counts those that still read",
        "the same).",
        "",
        f"{len(records)} questions of {len({r['item'].split()[0] for r in records})} papers, "
        f"{len({(r['year_roc'], r['kind'], r['layout']) for r in records})} strata (year, kind of examination, "
        "layout).",
        "",
        "| part of the draw | questions | parse wrong | 95 % interval of the share |",
        "|---|---|---|---|",
        *[_share_row(name, [r["verdict"] == "wrong" for r in members]) for name, members in rows],
        "",
        "| questions with a wrong | all audited | not excluded by its paper | 95 % interval of the latter |",
        "|---|---|---|---|",
        *[_part_row(name, parts, records, published) for name, parts in _PARTS.items()],
        "",
        *([remarks.strip(), ""] if remarks.strip() else []),
        "## The auditor",
        "",
        f"{outcome.caught} of {outcome.planted} planted errors (seed {seed}) caught: {_interval(outcome.catch_rate)}.",
        f"{outcome.slips} differing parts were slips of the transcription, {outcome.normalisations} a rule that the",
        "project declares.",
        "",
        "| planted | caught | of |",
        "|---|---|---|",
        *_planted_rows(records),
        "",
        "## What was wrong",
        "",
        *([_wrong_line(r) for r in wrong] or ["Nothing."]),
        "",
        "## Where the questions come from",
        "",
        *_table("year", records, "year_roc"),
        *_table("kind", records, "kind"),
        *_table("layout", records, "layout"),
        "| hazard | questions | wrong |",
        "|---|---|---|",
        *[
            f"| {name} | {count} | {sum(name in r['hazards'] for r in wrong)} |"
            for name, count in sorted(Counter(h for r in records for h in r["hazards"]).items())
        ],
        "",
    ]
    return "\n".join(lines)


_PARTS: Mapping[str, frozenset[str]] = {
    "key": frozenset({KEY}),
    "option": frozenset("ABCDE"),
    "stem": frozenset({STEM}),
}


def _part_row(
    name: str, parts: frozenset[str], records: Sequence[Mapping[str, Any]], published: Sequence[Mapping[str, Any]]
) -> str:
    overall = sum(not parts.isdisjoint(r["wrong_parts"]) for r in records)
    shown = sum(not parts.isdisjoint(r["wrong_parts"]) for r in published)
    return f"| {name} | {overall} | {shown} of {len(published)} | {_interval(wilson(shown, len(published)))} |"


def _wrong_line(record: Mapping[str, Any]) -> str:
    fate = f"excluded as {record['exclusion']}" if record["exclusion"] else "not excluded"
    return f"- {record['item']} ({', '.join(record['wrong_parts'])}; {fate}): {'; '.join(record['causes'])}"


def _table(title: str, records: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    counts = Counter(str(r[name]) for r in records)
    wrong = Counter(str(r[name]) for r in records if r["verdict"] == "wrong")
    rows = [f"| {value} | {count} | {wrong[value]} |" for value, count in sorted(counts.items())]
    return [f"| {title} | questions | wrong |", "|---|---|---|", *rows, ""]


def _planted_rows(records: Sequence[Mapping[str, Any]]) -> list[str]:
    sums: dict[str, list[bool]] = defaultdict(list)
    for one in (p for r in records for p in r["planted"]):
        sums[one["kind"]].append(one["caught"])
    return [f"| {kind} | {sum(caught)} | {len(caught)} |" for kind, caught in sorted(sums.items())]


def _share_row(name: str, wrong: Sequence[bool]) -> str:
    return f"| {name} | {len(wrong)} | {sum(wrong)} | {_interval(wilson(sum(wrong), len(wrong)))} |"


def _interval(interval: Interval) -> str:
    return f"{100 * interval.low:.1f} to {100 * interval.high:.1f} %"


def stands_command() -> None:
    """Say how many audited questions still read as they did when their verdict was given."""
    if not RECORDS.is_file():
        sys.exit("no audit is recorded yet")
    records = read_lines(RECORDS)
    drawn = [{"paper_id": r["item"].split()[0], "q_no": int(r["item"].split("Q")[1])} for r in records]
    papers = parse_drawn(drawn)
    same: Counter[str] = Counter()
    for r, one in zip(records, drawn, strict=True):
        parsed = papers.get(one["paper_id"])
        read = parsed and one["q_no"] in parsed.items and reading_hash(reading(parsed, one["q_no"])) == r["reading"]
        same[f"{r['verdict']}, {'reads the same' if read else 'reads otherwise now'}"] += 1
    for what, count in sorted(same.items()):
        print(f"{count} of {len(records)}: {what}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="The reading audit by eye.")
    commands = parser.add_subparsers(dest="command")
    for name in ("draw", "compare", "report"):
        command = commands.add_parser(name)
        command.add_argument("--out", type=Path, required=True)
        if name != "report":
            command.add_argument("--seed", type=int, required=name == "compare", default=20261129)
        if name == "draw":
            command.add_argument("--size", type=int, default=320)
            command.add_argument("--for-hazards", type=int, default=80)
    commands.add_parser("stands")
    given = parser.parse_args()
    if given.command == "draw":
        draw_command(given.out, given.size, given.for_hazards, given.seed)
    elif given.command == "compare":
        compare_command(given.out, given.seed)
    elif given.command == "report":
        report_command(given.out)
    else:
        stands_command()


if __name__ == "__main__":
    main()
