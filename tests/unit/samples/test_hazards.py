"""Every sample hazard defeats reading in text order; without hazards that reading is right."""

import pytest
from support.naive_parser import NaiveKey, NaivePaper, parse_key, parse_paper

from samples.examples import HEADER, PLAIN, key_with, paper_with, plain_key, plain_paper
from samples.key import typeset_key
from samples.ministry import true_text
from samples.paper import hazards_of, typeset_paper
from samples.sittings import papers
from samples.spec import KEY_HAZARDS, Grid, Hazard, KeySpec, Layout, PaperSpec, Passage, SectionHeading

PAPER_HAZARDS = [hazard for hazard in Hazard if hazard not in KEY_HAZARDS]


def faults_of_paper(naive: NaivePaper, spec: PaperSpec) -> list[str]:
    """What the naive reading has wrong, by white-space-free comparison with the specification."""
    faults = []
    if set(naive.questions) != set(range(1, len(spec.questions) + 1)):
        faults.append("numbers")
    for number, question in enumerate(spec.questions, 1):
        read = naive.questions.get(number)
        options = {"ABCDE"[i]: meant(text) for i, text in enumerate(question.options)}
        if read is None or squeeze(read.stem) != meant(question.stem):
            faults.append(f"stem {number}")
        if read is None or {k: squeeze(v) for k, v in read.options.items()} != options:
            faults.append(f"options {number}")
    printed = dict(spec.header.fields)
    if any(naive.header.get(label) != value for label, value in printed.items()):
        faults.append("header")
    return faults


def faults_of_key(naive: NaiveKey, spec: KeySpec) -> list[str]:
    """What the naive reading of a key sheet has wrong."""
    faults = [] if naive.cells == dict(spec.cells) else ["cells"]
    header = (naive.header.get("考試名稱"), naive.header.get("類科名稱"), naive.header.get("科目名稱"))
    if header != (spec.exam_name, spec.category, spec.subject):
        faults.append("header")
    if naive.declared != spec.single:
        faults.append("declared")
    return faults


def meant(marked: str) -> str:
    """What a person reads: a raised 3 is no 3, so 10³ must not come out as 103."""
    return squeeze(true_text(marked))


def squeeze(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("layout", list(Layout))
@pytest.mark.parametrize("late", [False, True])
def test_naive_reading_is_right_on_a_plain_paper(layout: Layout, late: bool) -> None:
    spec = plain_paper(layout, late=late)
    naive = parse_paper(typeset_paper(spec), layout.value)
    faults = faults_of_paper(naive, spec)
    # The computer layout prints label and value of a header field apart, without any hazard.
    assert [fault for fault in faults if fault != "header" or layout is not Layout.LETTER_DOT] == []
    assert len(naive.questions) == len(PLAIN) == 4


@pytest.mark.parametrize("grid", list(Grid))
def test_naive_reading_is_right_on_a_plain_key(grid: Grid) -> None:
    base = plain_key()
    spec = KeySpec(base.exam_name, base.category, base.subject, base.cells, grid, single=40)
    assert faults_of_key(parse_key(typeset_key(spec)), spec) == []


@pytest.mark.parametrize("hazard", PAPER_HAZARDS)
def test_every_paper_hazard_breaks_naive_reading(hazard: Hazard) -> None:
    spec = paper_with(hazard)
    faults = faults_of_paper(parse_paper(typeset_paper(spec)), spec)
    assert faults, f"{hazard} breaks nothing"


@pytest.mark.parametrize("hazard", sorted(KEY_HAZARDS))
def test_every_key_hazard_breaks_naive_reading(hazard: Hazard) -> None:
    spec = key_with(hazard)
    assert faults_of_key(parse_key(typeset_key(spec)), spec), f"{hazard} breaks nothing"


def test_a_hazard_is_on_the_right_kind_of_sheet() -> None:
    with pytest.raises(ValueError, match="key sheets"):
        paper_with(Hazard.GLUED_FIRST_CELL)
    with pytest.raises(ValueError, match="question papers"):
        key_with(Hazard.NUMBER_GLUED)


def test_the_sample_ministry_holds_every_hazard() -> None:
    seen: set[Hazard] = set()
    for paper in papers():
        seen |= paper.paper_hazards | paper.key_hazards
        for entry in paper.entries:
            seen |= hazards_of(entry.printed())
        kinds = {type(part) for part in paper.parts}
        seen |= {Hazard.SECTION_AFTER_D} if SectionHeading in kinds else set()
        seen |= {Hazard.PASSAGE_AFTER_D} if Passage in kinds else set()
    assert seen == set(Hazard)


def test_the_header_belongs_to_no_question() -> None:
    naive = parse_paper(typeset_paper(plain_paper()))
    assert HEADER.code not in str(naive.questions)
