"""The five data sets of the retrieval benchmark in their original layouts, small, written by the project.

    python -m samples rag OUT_DIR      writes locomo, syllabusqa, qasper, financebench, tw_rag below it

Nothing is copied from a published data set: the layouts and the hazards are theirs, the words are ours. The same
command gives the same bytes. Hazards: dialogue ids that repeat in every conversation and begin alike (D1:1, D1:10),
several or malformed ids in one evidence, adversarial and unanswerable questions, questions without evidence, evidence
that its document does not hold as quoted, tables between paragraphs, annotators who disagree, captions as evidence,
pages counted from zero, signs and decimals that must not be lost, a question whose file is not there.
What does not belong here: reading them (opentwbench/rag/adapters).
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from samples.pdf import Canvas, write_pdf

NAMES = ("locomo", "syllabusqa", "qasper", "financebench", "tw_rag")

COUNTS = {
    "locomo": {"documents": 2, "rows": 9, "dropped": {"adversarial": 2}},
    "syllabusqa": {"documents": 2, "rows": 8, "dropped": {"no_answer": 1, "document_missing": 1}},
    "qasper": {"documents": 2, "rows": 5, "dropped": {"unanswerable": 1}},
    "financebench": {"documents": 1, "rows": 4, "dropped": {"document_missing": 1}},
    "tw_rag": {"documents": 7, "rows": 4, "dropped": {}},
}
"""What is true of each, written down beside the samples and never read back from them."""


def write(out: Path) -> int:
    """Write every data set below `out`; how many files. A file that is there is replaced."""
    files = {f"{name}/{path}": data for name in NAMES for path, data in _FILES[name]().items()}
    for name, data in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return len(files)


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


def _jsonl(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


# -- LoCoMo: conversations --------------------------------------------------------------------------------------------


def _session(number: int, speakers: tuple[str, str], said: Sequence[str]) -> list[dict[str, Any]]:
    turns = [
        {"speaker": speakers[n % 2], "dia_id": f"D{number}:{n + 1}", "text": text.partition(" [image: ")[0]}
        for n, text in enumerate(said)
    ]
    for turn, text in zip(turns, said, strict=True):
        if caption := text.partition(" [image: ")[2].rstrip("]"):
            turn["blip_caption"] = caption
    return turns


_HARBOUR = (
    "I signed the lease for the ferry kiosk in Keelung yesterday.",
    "Congratulations! My cousin Weiting still mends nets at that pier.",
    "She mended mine once, for 120 dollars.",
    "A fair price for a whole day of work.",
    "The kiosk opens at six every morning.",
    "Then you will see the squid boats come in.",
    "I hope so. I painted the shutters green.",
    "Green suits the harbour.",
    "My first customer bought eleven postcards.",
    "Eleven? You should print more of them.",
)
_HILLS = (
    "We planted 15 plum trees behind the school.",
    "My father gave the school its first bell. [image: a bronze bell on a wooden frame]",
    "The bell rings at half past seven.",
    "Late for a school in the hills.",
    "The bus from the valley is slow.",
    "Does it still stop at the tea factory?",
    "It stops wherever somebody waves.",
    "That is how I missed the last one.",
    "Wave with both arms next time.",
    "I will bring a flag.",
)


def _locomo() -> dict[str, bytes]:
    harbour, hills = ("Peilin", "Arne"), ("Noriko", "Hao")
    samples = [
        {
            "sample_id": "sample-harbour",
            "conversation": {
                "speaker_a": harbour[0], "speaker_b": harbour[1],
                "session_1_date_time": "9:10 am on 4 March, 2024",
                "session_1": _session(1, harbour, _HARBOUR),
                "session_2_date_time": "6:30 pm on 11 March, 2024",
                "session_2": _session(2, harbour, ("I moved the kiosk's stove last week.", "Is it warmer now?")),
            },
            "qa": [
                {"question": "What did Peilin sign the lease for?", "answer": "the ferry kiosk in Keelung",
                 "evidence": ["D1:1"], "category": 4},
                {"question": "When did Peilin sign the lease?", "answer": "3 March 2024", "evidence": ["D1:1"],
                 "category": 2},
                {"question": "How many postcards did the first customer buy?", "answer": 11,
                 "evidence": ["D1:9; D1:10"], "category": 1},
                {"question": "Is Arne likely to know the harbour well?", "answer": "Likely yes", "evidence": [],
                 "category": 3},
                {"question": "What colour did Arne paint the shutters?", "adversarial_answer": "green",
                 "evidence": ["D1:7"], "category": 5},
            ],
        },
        {
            "sample_id": "sample-hills",
            "conversation": {
                "speaker_a": hills[0], "speaker_b": hills[1],
                "session_1_date_time": "8:00 am on 2 February, 2024",
                "session_1": _session(1, hills, _HILLS),
            },
            "qa": [
                {"question": "How many plum trees were planted behind the school?", "answer": 15,
                 "evidence": ["D1:1", "D"], "category": 1},
                {"question": "What did Hao's father give the school?", "answer": "its first bell",
                 "evidence": ["D1:2"], "category": 4},
                {"question": "What does Noriko advise for stopping the bus?", "answer": "to wave with both arms",
                 "evidence": ["D1:9", "D7:7"], "category": 4},
                {"question": "Which factory did Noriko's father build?", "adversarial_answer": "the tea factory",
                 "answer": "none", "evidence": ["D1:6"], "category": 5},
            ],
        },
    ]  # fmt: skip
    return {"data/locomo10.json": _json(samples)}


# -- SyllabusQA: docx -------------------------------------------------------------------------------------------------

_SYLLABI: Mapping[str, Sequence[str | Sequence[Sequence[str]]]] = {
    "Sample Tidal Engineering": (
        "TE 101 Introduction to Tidal Engineering",
        "Meetings: Mondays 10:10 to 12:00 in the boat shed.",
        [["Part", "Weight"], ["Field notebook", "35 %"], ["Midterm", "25 %"], ["Final project", "40 %"]],
        "A notebook that is handed in late loses five points a day.",
        "Rubber boots are required from the second week on.",
    ),
    "Sample Archive Studies": (
        "AS 240 Archive Studies",
        "Office hours: Thursdays 14:00 to 15:00, reading room 3.",
        "Two absences are excused. Every further absence lowers the grade by a third of a letter.",
        [["Week", "Topic"], ["1", "Paper and ink"], ["2", "Descriptive catalogues"]],
        "There is no final examination; a catalogue of thirty items takes its place.",
    ),
}
_SYLLABUS_ROWS = (
    ("Sample Tidal Engineering", "single factual", "When does the class meet?", "Mondays 10:10 to 12:00",
     ["Mondays 10:10 to 12:00 in the boat shed"]),
    ("Sample Tidal Engineering", "multi factual", "What do notebook and midterm weigh?", "35 % and 25 %",
     ["Field notebook | 35 %", "Midterm | 25 %"]),
    ("Sample Tidal Engineering", "single reasoning", "What does a notebook lose that is two days late?", "Ten points",
     ["A notebook that is handed in late loses five points a day."]),
    ("Sample Tidal Engineering", "yes/no", "Are rubber boots needed in the first week?", "No",
     ["Rubber boots are required from the second week on, and gloves from the third."]),
    ("Sample Archive Studies", "multi reasoning", "What do four absences do to the grade?",
     "They lower it by two thirds of a letter", ["Every further absence lowers the grade by a third of a letter."]),
    ("Sample Archive Studies", "summarization", "How is the course examined?",
     "By a catalogue of thirty items in place of a final examination", []),
    ("Sample Archive Studies", "no answer", "Which textbook is required?", "No/insufficient information", []),
    ("Sample Lost Syllabus", "single factual", "Who teaches the course?", "Nobody knows", []),
)  # fmt: skip


def _syllabusqa() -> dict[str, bytes]:
    spans = [f"answer_span_{n}" for n in range(1, 6)]
    steps = [f"reasoning_step_{n}" for n in range(1, 6)]
    told = io.StringIO()
    table = csv.writer(told, lineterminator="\n")
    table.writerow(["id", "syllabus_name", "question_type", "question", "answer", *spans, *steps])
    for number, (name, kind, question, answer, evidence) in enumerate(_SYLLABUS_ROWS, 1):
        held = [*evidence, *[""] * (5 - len(evidence))]
        table.writerow([f"sample-{number}", name, kind, question, answer, *held, *[""] * 5])
    files = {f"syllabi/syllabi_redacted/word/{name}.docx": docx(blocks) for name, blocks in _SYLLABI.items()}
    return {"data/dataset_split/train.csv": told.getvalue().encode(), **files}


_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_PACKAGE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
_RELATIONS = "application/vnd.openxmlformats-package.relationships+xml"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"


def docx(blocks: Sequence[str | Sequence[Sequence[str]]]) -> bytes:
    """A docx of paragraphs (texts) and tables (rows of cells), in this order; without a clock."""
    body = "".join(_paragraph(each) if isinstance(each, str) else _table(each) for each in blocks)
    head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
    package = "http://schemas.openxmlformats.org/package/2006"
    parts = {
        "[Content_Types].xml": f'{head}<Types xmlns="{package}/content-types">'
        f'<Default Extension="rels" ContentType="{_RELATIONS}"/>'
        f'<Override PartName="/word/document.xml" ContentType="{_PACKAGE}"/></Types>',
        "_rels/.rels": f'{head}<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="rId1" Type="{_OFFICE}" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f"{head}<w:document {_W}><w:body>{body}</w:body></w:document>",
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), text)
    return made.getvalue()


def _paragraph(text: str) -> str:
    return f'<w:p><w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'


def _table(rows: Sequence[Sequence[str]]) -> str:
    grid = "".join('<w:gridCol w:w="2000"/>' for _ in rows[0])
    lines = "".join(f"<w:tr>{''.join(f'<w:tc>{_paragraph(cell)}</w:tc>' for cell in row)}</w:tr>" for row in rows)
    return f"<w:tbl><w:tblPr/><w:tblGrid>{grid}</w:tblGrid>{lines}</w:tbl>"


# -- Qasper: papers ---------------------------------------------------------------------------------------------------


def _said(evidence: Sequence[str] = (), **said: Any) -> dict[str, Any]:
    """One annotator's answer."""
    empty = {"unanswerable": False, "extractive_spans": [], "yes_no": None, "free_form_answer": ""}
    return {"answer": {**empty, **said, "evidence": list(evidence), "highlighted_evidence": []}}


def _qasper() -> dict[str, bytes]:
    size = "The corpus holds 4,310 signs photographed in two harbours."
    caption = "Table 1: Characters a sign, by harbour."
    papers = {
        "sample.0001": {
            "title": "Reading Painted Shop Signs",
            "abstract": "We read hand-painted shop signs by the order of their strokes.",
            "full_text": [
                {"section_name": "Data", "paragraphs": [size, "Each sign was typed by two people."]},
                {"section_name": "Results", "paragraphs": ["Stroke order reads 81.5 % of the signs; shape 74 %."]},
            ],
            "figures_and_tables": [{"file": "1.png", "caption": caption}],
            "qas": [
                {"question": "How large is the corpus?", "question_id": "sample-q1",
                 "answers": [_said([size], extractive_spans=["4,310 signs"]), _said([size], free_form_answer="4310")]},
                {"question": "Was each sign typed twice?", "question_id": "sample-q2",
                 "answers": [_said(["Each sign was typed by two people."], yes_no=True)]},
                {"question": "What is counted by harbour?", "question_id": "sample-q3",
                 "answers": [_said([f"FLOAT SELECTED: {caption}"], free_form_answer="characters a sign"),
                             _said(unanswerable=True)]},
            ],
        },
        "sample.0002": {
            "title": "Night Buses as Timetables of Speech",
            "abstract": "Announcements of night buses are aligned with their stops.",
            "full_text": [{"section_name": "Method", "paragraphs": ["Announcements are aligned by their last vowel."]}],
            "figures_and_tables": [],
            "qas": [
                {"question": "By what are announcements aligned?", "question_id": "sample-q4",
                 "answers": [_said(["Announcements are aligned by their last vowel."],
                                   extractive_spans=["their last vowel"])]},
                {"question": "Which buses were left out?", "question_id": "sample-q5",
                 "answers": [_said(unanswerable=True), _said(unanswerable=True)]},
            ],
        },
    }  # fmt: skip
    return {"qasper-train-v0.3.json": _json(papers)}


# -- FinanceBench: a PDF ----------------------------------------------------------------------------------------------

_FILING = "SAMPLE_2025_10K"
_PAGES = (
    ("Sample Ferry Company", "Annual report for the year 2025", "All amounts in millions of Taiwan dollars."),
    ("Statement of income", "Revenue 157.0 (2024: 165.3)", "Operating costs 141.3", "Operating margin 10.0 %",
     "Change in revenue -5.0 %"),
    ("Outlook", "Two ferries will be laid up in the coming winter.", "No dividend is proposed."),
)  # fmt: skip


class _Helvetica:
    """A font that every reader has."""

    resource = "F1"

    def encode(self, text: str) -> bytes:
        return text.encode("ascii")

    def objects(self, first: int) -> list[bytes]:
        return [b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"]


def _filing() -> bytes:
    font, pages = _Helvetica(), []
    for lines in _PAGES:
        page = Canvas()
        for n, line in enumerate(lines):
            page.text(font, 11, 72, 90 + 20 * n, line)
        pages.append(page)
    return write_pdf(pages, [font])


def _financebench() -> dict[str, bytes]:
    def row(n: int, kind: str, question: str, answer: str, page: int, text: str, name: str = _FILING) -> dict[str, Any]:
        evidence = [{"evidence_text": text, "doc_name": name, "evidence_page_num": page}]
        return {"financebench_id": f"sample_{n}", "doc_name": name, "question_type": kind, "question": question,
                "answer": answer, "evidence": evidence}  # fmt: skip

    rows = [
        row(1, "metrics-generated", "What was the operating margin in 2025?", "10.0 %", 1, "Operating margin 10.0 %"),
        row(2, "domain-relevant", "How did revenue change in 2025?", "-5.0 %", 1, "Change in revenue -5.0 %"),
        row(3, "novel-generated", "What becomes of two ferries in the winter?", "They will be laid up", 2,
            "Two ferries will be laid up in the coming winter."),
        row(4, "novel-generated", "Who audits the company?", "Nobody", 0, "audited", "LOST_2025_10K"),
    ]  # fmt: skip
    return {"data/financebench_open_source.jsonl": _jsonl(rows), f"pdfs/{_FILING}.pdf": _filing()}


# -- tw-rag-bench -----------------------------------------------------------------------------------------------------

_PASSAGES = (
    "樣本鎮的渡船頭建於民國五十二年，最初只有一座木造碼頭。",
    "樣本鎮的圖書館藏有三萬冊書，其中八百冊是手抄本。",
    "樣本鎮的魚市清晨四點開市，拍賣由鎮農會主持。",
    "樣本鎮的燈塔高十六公尺，塔身漆成白色。",
    "樣本鎮的小學有十二個班級，校門口種著兩棵鳳凰木。",
    "樣本鎮的公車每日往返縣城九次，末班車在晚間八點。",
    "樣本鎮的廟宇供奉媽祖，三月舉行繞境。",
    "樣本鎮的郵局星期六只開上午。",
)
_ASKED = (
    ("樣本鎮的渡船頭建於哪一年？", "民國五十二年", "樣本鎮的渡船頭建於民國五十二年。", 0),
    ("樣本鎮的圖書館藏有多少冊手抄本？", "八百冊", "樣本鎮的圖書館藏有八百冊手抄本。", 1),
    ("樣本鎮的魚市清晨幾點開市？", "四點", "樣本鎮的魚市清晨四點開市。", 2),
    ("樣本鎮的燈塔高多少公尺？", "十六公尺", "樣本鎮的燈塔高十六公尺。", 3),
)


def _tw_rag() -> dict[str, bytes]:
    rows = []
    for number, (question, answer, reference, gold) in enumerate(_ASKED, 1):
        others = [text for text in _PASSAGES if text != _PASSAGES[gold]][number - 1 : number + 2]
        contexts = [*others[: number - 1], _PASSAGES[gold], *others[number - 1 :]]  # the gold at each place once
        rows.append(
            {"question": question, "contexts": contexts, "reference": reference, "gold_position": number,
             "category": "Sample", "source_chunk": f"Sample/樣本鎮/{number}", "answer_text": answer,
             "item_id": f"rag-sample-{number}"}
        )  # fmt: skip
    return {"ragas.jsonl": _jsonl(rows)}


_FILES = {
    "locomo": _locomo,
    "syllabusqa": _syllabusqa,
    "qasper": _qasper,
    "financebench": _financebench,
    "tw_rag": _tw_rag,
}
