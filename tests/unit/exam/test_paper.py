"""Cross-checks of a pair on typeset papers: what is accepted, what is rejected and why, and what is never believed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pymupdf
import pytest

from opentwbench.exam import key_rows, paper
from opentwbench.exam.model import EXCLUSION_ORDER, Declared, Exclusion, PaperRecord, PaperRejected, RejectionReason
from opentwbench.exam.paper import parse_paper, record_from_json, record_to_json, record_to_report
from samples.key import typeset_key
from samples.paper import typeset_paper
from samples.spec import Grid, Hazard, KeySpec, PaperHeader, PaperSpec, PrintedQuestion, SectionHeading

TOPICS = (
    "輸入裝置",
    "揮發性記憶體",
    "作業系統",
    "資料庫",
    "編譯器",
    "網路協定",
    "試算表",
    "壓縮格式",
    "防火牆",
    "瀏覽器",
)
LETTERS = {n: "CADBBCADDA"[n - 1] for n in range(1, 11)}
HEADER = PaperHeader(
    ("110年樣本公務人員初等考試試題",),
    (("等別", "初等考試"), ("類科", "資訊處理"), ("科目", "計算機大意")),
    "6101",
)


def questions(count: int = 10, options: int = 4, first: int = 0) -> tuple[PrintedQuestion, ...]:
    return tuple(
        PrintedQuestion(
            f"關於{TOPICS[n]}之敘述，下列何者正確？",
            tuple(
                f"{TOPICS[n]}的{name}"
                for name in ("第一種用途", "第二種限制", "第三種例外", "第四種改良", "第五種標準")[:options]
            ),
        )
        for n in range(first, first + count)
    )


def paper_spec(**changes: object) -> PaperSpec:
    return replace(PaperSpec(HEADER, questions()), **changes)


def key_spec(**changes: object) -> KeySpec:
    plain = KeySpec("110年樣本公務人員初等考試", "資訊處理", "計算機大意", LETTERS, Grid.ORDINAL, "6101", single=10)
    return replace(plain, **changes)


@pytest.fixture
def parse(tmp_path: Path):
    """Typesets a pair (and a first key) and parses it."""

    def run(question: PaperSpec | None = None, key: KeySpec | None = None, first: KeySpec | None = None) -> PaperRecord:
        files = {"Q": typeset_paper(question or paper_spec()), "K": typeset_key(key or key_spec())}
        if first:
            files["S"] = typeset_key(first)
        paths = {}
        for name, data in files.items():
            paths[name] = tmp_path / f"{name}.pdf"
            paths[name].write_bytes(data)
        return parse_paper(paths["Q"], paths["K"], paths.get("S"))

    return run


def assert_rejected(record: PaperRecord, reason: RejectionReason, *words: str) -> None:
    assert (record.status, record.reason) == ("rejected", reason), record.detail
    assert record.items == ()
    for word in words:
        assert word in record.detail


def multi_paper(last: int = 10, first: int = 8) -> PaperSpec:
    heading = SectionHeading(
        f"二、複選題（第{first}題至第{last}題，每題3分，占9分）", "所列的五個選項，其中至少有二個是正確答案。"
    )
    return paper_spec(blocks=(*questions(first - 1), heading, *questions(10 - first + 1, 5, first - 1)))


MULTI = {**LETTERS, 8: "ABE", 9: "CD", 10: "AE"}


# ---------------------------------------------------------------- accepted


def test_a_sound_pair_is_accepted(parse) -> None:
    record = parse()
    assert record.accepted, record.detail
    assert record.found == 10
    assert record.declared == Declared(10, None)
    assert {item.q_no: item.key for item in record.items} == LETTERS
    assert all(item.exclusions == () and item.accepted == (item.key,) for item in record.items)
    assert record.notes == ()
    assert record.header["科目"] == "計算機大意"
    assert record.header["key.科目名稱"] == "計算機大意"


def test_rulings_findings_and_text_rules_are_merged_in_order(parse) -> None:
    blocks = (*questions(9), PrintedQuestion("承上題，如下圖所示，何者正確？", ("甲", "乙", "乙", "丁")))
    key = key_spec(
        cells={**LETTERS, 2: "#", 3: "#", 4: "#", 5: "#", 10: "#"},
        corrected=True,
        remarks=("第2題答Ｂ給分", "第3題一律給分", "第4題除未作答者不給分外，其餘均給分", "第10題答Ｂ或Ｃ或BC者均給分"),
    )
    record = parse(paper_spec(blocks=blocks), key)
    assert record.accepted, record.detail
    items = {item.q_no: item for item in record.items}
    assert (items[2].key, items[2].corrected, items[2].exclusion) == ("B", True, None)
    assert items[2].remark == "第2題答Ｂ給分"
    assert items[3].exclusion is Exclusion.VOIDED
    assert items[4].exclusion is Exclusion.CREDITED_UNLESS_BLANK
    assert items[5].exclusion is Exclusion.REMARK_UNREAD
    assert items[10].accepted == ("B", "C", "BC")
    last = items[10].exclusions
    assert last[0] is Exclusion.SEVERAL_ANSWERS_ACCEPTED
    assert {Exclusion.IDENTICAL_OPTIONS, Exclusion.FIGURE, Exclusion.FOLLOW_UP} <= set(last)
    assert list(last) == sorted(last, key=EXCLUSION_ORDER.index)
    assert record.notes == ("the key has no remark for the # of Q5",)


def test_multi_select_section_excludes_by_range_also_with_one_letter(parse) -> None:
    record = parse(multi_paper(), key_spec(cells={**MULTI, 9: "C"}, single=7, multi=3))
    assert record.accepted, record.detail
    assert record.declared == Declared(7, 3)
    excluded = {item.q_no for item in record.items if item.exclusion is Exclusion.MULTI_SELECT}
    assert excluded == {8, 9, 10}
    assert record.items[7].key == "ABE"
    assert Exclusion.NOT_FOUR_CHOICE in record.items[7].exclusions


def test_five_options_without_a_section_are_not_four_choice(parse) -> None:
    record = parse(paper_spec(blocks=(*questions(9), *questions(1, 5, 9))), key_spec(cells={**LETTERS, 10: "E"}))
    assert record.accepted, record.detail
    assert record.items[9].key == "E"
    assert record.items[9].exclusion is Exclusion.NOT_FOUR_CHOICE


# ---------------------------------------------------------------- counts (hazard 4)

MISPRINT = {"single": 7, "multi": 3, "hazards": frozenset({Hazard.MISPRINTED_COUNT})}


def test_misprint_is_resolved_from_the_papers_range(parse) -> None:
    record = parse(multi_paper(), key_spec(cells=MULTI, **MISPRINT))
    assert record.accepted, record.detail
    assert record.declared == Declared(7, 3)
    assert len(record.notes) == 1
    assert "misprint resolved from the paper's range" in record.notes[0]
    assert "10+3" in record.notes[0]


def test_misprint_is_resolved_from_the_first_key(parse) -> None:
    misprinted = key_spec(cells=MULTI, corrected=True, **MISPRINT)
    record = parse(multi_paper(), misprinted, key_spec(cells=MULTI, single=7, multi=3))
    assert record.accepted, record.detail
    assert record.declared == Declared(7, 3)
    assert "misprint resolved from the first key" in record.notes[0]


def test_misprint_without_another_print_is_never_believed(parse) -> None:
    """Same sheet, but the paper prints no section: nothing says how many of the ten are single-answer questions."""
    record = parse(paper_spec(blocks=(*questions(7), *questions(3, 5, 7))), key_spec(cells=MULTI, **MISPRINT))
    assert_rejected(record, RejectionReason.COUNT_MISMATCH, "10 questions were read")


@pytest.mark.parametrize("single", [9, 11, 70])
def test_a_wrong_declared_count_is_a_mismatch(parse, single: int) -> None:
    assert_rejected(parse(key=key_spec(single=single)), RejectionReason.COUNT_MISMATCH, f"{single}+0")


def test_the_papers_own_count_settles_a_misprinted_total(parse) -> None:
    notes = ("本科目共10題，每題10分，須用2B鉛筆在試卡上依題號清楚劃記。",)
    record = parse(paper_spec(header=replace(HEADER, notes=notes)), key_spec(single=9))
    assert record.accepted, record.detail
    assert record.declared == Declared(10, None)
    assert "the paper's own count" in record.notes[0]


def test_the_papers_own_count_against_the_questions_read(parse) -> None:
    notes = ("本科目共12題，每題10分，須用2B鉛筆在試卡上依題號清楚劃記。",)
    record = parse(paper_spec(header=replace(HEADER, notes=notes)))
    assert_rejected(record, RejectionReason.COUNT_MISMATCH, "the paper says 12")


@pytest.mark.parametrize("count", [8, 9])
def test_questions_and_cells_must_be_as_many(parse, count: int) -> None:
    cells = {n: LETTERS[n] for n in range(1, count + 1)}
    record = parse(key=key_spec(cells=cells, single=count))
    assert_rejected(record, RejectionReason.COUNT_MISMATCH, f"10 questions on the paper, {count} cells")
    assert record.q_no == count + 1
    assert (record.found, record.declared) == (10, Declared(count, None))


def test_several_letters_where_the_sheet_declares_single_answers(parse) -> None:
    record = parse(key=key_spec(cells={**LETTERS, 4: "BD"}))
    assert_rejected(record, RejectionReason.COUNT_MISMATCH, "1 cells with several letters, 0 multi-select")
    assert record.q_no == 4


def test_several_letters_outside_the_section(parse) -> None:
    record = parse(multi_paper(), key_spec(cells={**MULTI, 4: "BD"}, single=7, multi=3))
    assert_rejected(record, RejectionReason.COUNT_MISMATCH, "outside the multi-select section 8 to 10")


def test_declared_section_of_another_size_than_the_printed_range(parse) -> None:
    record = parse(multi_paper(first=7), key_spec(cells=MULTI, single=7, multi=3))
    assert_rejected(record, RejectionReason.COUNT_MISMATCH)


# ---------------------------------------------------------------- the pair


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"code": "6201"}, "code 6101 on the paper, 6201 on the key"),
        ({"exam_name": "109年樣本公務人員初等考試"}, "year 110 on the paper, 109 on the key"),
        ({"exam_name": "110年專門職業獸醫師航海人員特種考試"}, "examination name"),
        ({"subject": "法學大意"}, "subject 計算機大意 on the paper, 法學大意 on the key"),
        ({"subject": "計算機概論"}, "subject"),
    ],
)
def test_contradicting_headers_are_a_pair_mismatch(parse, changes: dict[str, str], words: str) -> None:
    assert_rejected(parse(key=key_spec(**changes)), RejectionReason.PAIR_MISMATCH, words)


@pytest.mark.parametrize(
    "changes",
    [
        {"code": ""},
        {"exam_name": "１１０年樣本公務人員初等考試"},
        {"subject": "計算機大意試題更正"},
        {"subject": "計算機大意（包括程式設計）"},
        {"category": "資訊處理、統計、會計"},
    ],
)
def test_what_is_printed_otherwise_or_not_at_all_contradicts_nothing(parse, changes: dict[str, str]) -> None:
    record = parse(key=key_spec(**changes))
    assert record.accepted, record.detail


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ("醫學\ue129（包括解剖學、胚胎學等科目）", "醫學（一）", True),
        ("醫學㈠（包括解剖學、胚胎學等科目）", "醫學(二)（包括解剖學、胚胎學等科目）", False),
        ("行政法", "行政法概要", False),
        ("綜合法學㈠（憲法、行政法、國際公法）", "綜合法學(一)（刑法、刑事訴訟法、法律倫理）", False),
        ("外國文（俄文兼試移民英文）", "外國文（泰文兼試移民英文）、外國文（俄文兼試移民英文）", True),
        ("臺灣史地概要", "台灣史地概要", True),
        ("法學知識與英文", "法學知識与英文", True),
    ],
)
def test_subjects_of_two_headers(ours: str, theirs: str, same: bool) -> None:
    from opentwbench.exam.pairing import _subject

    assert (_subject(ours, theirs) == "") is same


# ---------------------------------------------------------------- the readers and the first key


def test_readers_that_disagree_reject(parse, monkeypatch: pytest.MonkeyPatch) -> None:
    true_rows = key_rows.read_rows

    def wrong(path: Path, _pages: object = ()) -> key_rows.RowReading:
        reading = true_rows(path)
        return replace(reading, cells={**reading.cells, 6: "E"})

    monkeypatch.setattr(paper, "read_rows", wrong)
    record = parse()
    assert_rejected(record, RejectionReason.READERS_DISAGREE, "Q6 C / E")
    assert record.q_no == 6


def test_a_second_reader_that_cannot_read_rejects(parse, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(path: Path, _pages: object = ()) -> key_rows.RowReading:
        raise PaperRejected(RejectionReason.KEY_INCOMPLETE, "answer row holds 'X'", page=1)

    monkeypatch.setattr(paper, "read_rows", fails)
    assert_rejected(parse(), RejectionReason.READERS_DISAGREE, "second reader", "answer row holds 'X'")


def test_key_changes_name_what_was_corrected(parse) -> None:
    key = key_spec(cells={**LETTERS, 2: "#"}, corrected=True, remarks=("第2題答Ｂ給分",))
    record = parse(key=key, first=key_spec())
    assert record.accepted, record.detail
    assert record.key_changes == ("Q2 A -> #",)
    assert record.items[1].key == "B"


def test_a_letter_changed_without_a_mark_is_rejected(parse) -> None:
    key = key_spec(cells={**LETTERS, 2: "#", 7: "B"}, corrected=True, remarks=("第2題答Ｂ給分",))
    record = parse(key=key, first=key_spec())
    assert_rejected(record, RejectionReason.READERS_DISAGREE, "says B, the first key A, without a #")
    assert record.q_no == 7


def test_a_first_key_of_another_length_is_rejected(parse) -> None:
    first = key_spec(cells={n: LETTERS[n] for n in range(1, 10)}, single=9)
    assert_rejected(parse(first=first), RejectionReason.COUNT_MISMATCH, "9 cells on the first key")


@pytest.mark.parametrize(
    ("key", "first", "words"),
    [
        (key_spec(), key_spec(), "the key is not titled as corrected"),
        (key_spec(corrected=True), key_spec(corrected=True), "the first key is titled as a corrected one"),
        (key_spec(), key_spec(corrected=True), "the first key is titled as a corrected one"),
    ],
)
def test_first_and_corrected_key_confused_is_rejected(parse, key: KeySpec, first: KeySpec, words: str) -> None:
    assert_rejected(parse(key=key, first=first), RejectionReason.PAIR_MISMATCH, words)


def test_a_remark_for_a_cell_without_mark_is_said_and_excluded(parse) -> None:
    record = parse(key=key_spec(corrected=True, remarks=("第2題答Ｂ給分",)))
    assert record.accepted, record.detail
    assert record.notes == ("the key has a remark for Q2, whose cell is no #",)
    assert record.items[1].exclusion is Exclusion.REMARK_UNREAD


def test_a_key_that_names_an_option_that_was_not_read(parse) -> None:
    record = parse(key=key_spec(cells={**LETTERS, 5: "E"}))
    assert_rejected(record, RejectionReason.OPTIONS_INCOMPLETE, "names E", "ABCD")
    assert record.q_no == 5


# ---------------------------------------------------------------- files


def test_files_that_are_no_papers(tmp_path: Path) -> None:
    question, key = tmp_path / "Q.pdf", tmp_path / "K.pdf"
    question.write_bytes(typeset_paper(paper_spec()))
    key.write_bytes(typeset_key(key_spec()))
    page = tmp_path / "page.pdf"
    page.write_bytes(b"\xef\xbb\xbf<!DOCTYPE html><html></html>")
    locked = tmp_path / "locked.pdf"
    with pymupdf.open(key) as document:
        document.save(locked, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="x", owner_pw="y")
    scan = tmp_path / "scan.pdf"
    with pymupdf.open() as document:
        document.new_page().draw_rect(pymupdf.Rect(10, 10, 90, 90))
        document.save(scan)
    expected = [
        ((tmp_path / "absent.pdf", key), RejectionReason.NOT_A_PDF, "question paper"),
        ((question, tmp_path / "absent.pdf"), RejectionReason.NOT_A_PDF, "key"),
        ((page, key), RejectionReason.NOT_A_PDF, "question paper"),
        ((question, page), RejectionReason.NOT_A_PDF, "key"),
        ((question, locked), RejectionReason.ENCRYPTED, "key"),
        ((locked, key), RejectionReason.ENCRYPTED, "question paper"),
        ((scan, key), RejectionReason.NO_TEXT_LAYER, "question paper"),
        ((question, scan), RejectionReason.NO_TEXT_LAYER, "key"),
        ((question, question), RejectionReason.KEY_INCOMPLETE, "key"),
        ((key, key), RejectionReason.NO_QUESTIONS, "question paper"),
        ((tmp_path, key), RejectionReason.NOT_A_PDF, "question paper"),
    ]
    for files, reason, role in expected:
        record = parse_paper(*files)
        assert_rejected(record, reason, role)
        assert (record.question_file, record.key_file) == tuple(map(str, files))
        assert str(tmp_path) not in record.detail, "a local path would make equal builds differ"


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.95, 0.999])
@pytest.mark.parametrize("role", ["question paper", "key"])
def test_a_file_that_was_cut_short_is_none(tmp_path: Path, role: str, share: float) -> None:
    files = {"question paper": tmp_path / "Q.pdf", "key": tmp_path / "K.pdf"}
    files["question paper"].write_bytes(typeset_paper(paper_spec()))
    files["key"].write_bytes(typeset_key(key_spec()))
    data = files[role].read_bytes()
    files[role].write_bytes(data[: int(len(data) * share)])
    assert_rejected(parse_paper(*files.values()), RejectionReason.NOT_A_PDF, role)


def test_bytes_behind_the_end_of_a_whole_file_do_no_harm(tmp_path: Path) -> None:
    question, key = tmp_path / "Q.pdf", tmp_path / "K.pdf"
    question.write_bytes(typeset_paper(paper_spec()) + b"\r\n" * 20)
    key.write_bytes(typeset_key(key_spec()) + b"\0" * 200)
    record = parse_paper(question, key)
    assert record.accepted, record.detail


def test_a_fault_of_ours_is_a_rejected_record(parse, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(path: Path) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(paper, "read_questions", fault)
    assert_rejected(parse(), RejectionReason.NOT_A_PDF, "fault while parsing: ZeroDivisionError: planted")


# ---------------------------------------------------------------- records


def records(parse) -> Iterable[PaperRecord]:
    corrected = key_spec(cells={**LETTERS, 2: "#", 3: "#"}, corrected=True, remarks=("第2題答Ｂ給分", "第3題一律給分"))
    yield parse()
    yield parse(key=corrected, first=key_spec())
    yield parse(multi_paper(), key_spec(cells=MULTI, **MISPRINT))
    yield parse(key=key_spec(code="6201"))
    yield parse(key=key_spec(cells={**LETTERS, 5: "E"}))


def test_json_round_trip_loses_nothing(parse) -> None:
    for record in records(parse):
        assert record_from_json(json.loads(json.dumps(record_to_json(record)))) == record


@pytest.mark.parametrize("damage", [{"status": 1, "reason": "none such"}, {"declared": {}}, {"surplus": 1}])
def test_json_of_another_shape_is_an_error(parse, damage: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        record_from_json({**record_to_json(parse()), **damage})


def test_report_has_exactly_the_promised_keys(parse) -> None:
    for record in records(parse):
        report = record_to_report(record)
        assert list(report) == [
            "question_file", "key_file", "status", "reason", "detail", "declared", "found", "items",
        ]  # fmt: skip
        for item, true in zip(report["items"], record.items, strict=True):
            assert list(item) == ["q_no", "question", "options", "key", "accepted", "exclusion"]
            assert item["exclusion"] == (true.exclusion.value if true.exclusion else None)
        json.dumps(report)
    assert record_to_report(parse())["declared"] == {"single": 10, "multi": 0}
    lost = record_to_report(parse(key=key_spec(cells={**LETTERS, 5: "E"})))
    assert lost["reason"] == "options_incomplete"
    assert lost["detail"].endswith("(page 1, question 5)")
