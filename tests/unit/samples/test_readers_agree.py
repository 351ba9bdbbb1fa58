"""The platform's readers over every sample paper, compared with the truth question by question."""

import json
from pathlib import Path
from typing import Any

import pytest

from opentwbench.exam.model import EXCLUSION_ORDER, PaperItem, PaperRecord
from opentwbench.exam.paper import parse_paper
from samples.sittings import papers

PAPERS = [
    f"{paper.sitting.code}-{paper.category_code}-{paper.subject_code}"
    for paper in papers()
    if not paper.missing and paper.kind != "申論題"
]


def parse(mirror: Path, paper: dict[str, Any]) -> PaperRecord:
    first = mirror / paper["first_key_file"]
    corrected = paper["corrected_key_file"]
    if corrected:
        return parse_paper(mirror / paper["question_file"], mirror / corrected, first)
    return parse_paper(mirror / paper["question_file"], first)


def squeezed(text: str) -> str:
    """White space between scripts is the typesetter's, not the item's."""
    return "".join(text.split())


def differences(item: PaperItem, true: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Field -> (true, read) where they differ. What a drawn option 'says' is not compared: it says nothing."""
    read = {
        "question": squeezed(item.question),
        "options": {letter: squeezed(text) for letter, text in item.options.items()},
        "key": item.key,
        "accepted": list(item.accepted),
        "corrected": item.corrected,
        "exclusion": item.exclusion.value if item.exclusion else None,
    }
    expected = {name: true[name] for name in read}
    expected["question"] = squeezed(true["question"])
    expected["options"] = {letter: squeezed(text) for letter, text in true["options"].items()}
    compared = set(read)
    if true["exclusion"] == "not_text":
        assert "not_text" in [exclusion.value for exclusion in item.exclusions]
        compared -= {"options", "exclusion"}
    return {name: (expected[name], read[name]) for name in sorted(compared) if read[name] != expected[name]}


@pytest.mark.parametrize("name", PAPERS)
def test_every_question_is_read_as_it_was_written(mirror: Path, name: str) -> None:
    truth = json.loads((mirror / "truth.json").read_text(encoding="utf-8"))
    paper = next(paper for paper in truth["papers"] if paper["paper"] == name)
    record = parse(mirror, paper)
    assert (record.status, record.reason) == (paper["status"], paper["reason"])
    if paper["status"] == "rejected":
        assert record.items == ()
        return
    found = {item.q_no: item for item in record.items}
    assert list(found) == [question["q_no"] for question in paper["questions"]]
    wrong = {q["item"]: d for q in paper["questions"] if (d := differences(found[q["q_no"]], q))}
    assert wrong == {}


def test_the_truth_speaks_the_vocabulary_of_the_model(mirror: Path) -> None:
    truth = json.loads((mirror / "truth.json").read_text(encoding="utf-8"))
    used = {question["exclusion"] for paper in truth["papers"] for question in paper["questions"]} - {None}
    assert used <= {exclusion.value for exclusion in EXCLUSION_ORDER}
    assert len(used) == 12
