"""The scripted sample models: the same every time, marked as samples, with every fault that a study looks for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from opentwbench.apparatus.detectors import each, visible
from opentwbench.apparatus.judge_panel import Defect, read_verdicts
from opentwbench.apparatus.loops import loop
from opentwbench.evaluation.board_rows import model_card_row
from opentwbench.evaluation.extraction import read
from opentwbench.evaluation.model import ErrorClass
from samples.models import LARGE_BUDGET, MODELS, PLANTED_EACH, Question, card, say, verdicts

ASKED = [Question(f"第 {n} 題：下列何者正確？", "ABCD"[n % 4], "exam") for n in range(400)]


def test_the_same_question_gets_the_same_reply() -> None:
    for model in MODELS:
        assert [say(model, asked) for asked in ASKED[:20]] == [say(model, asked) for asked in ASKED[:20]]


def test_nothing_can_take_them_for_results() -> None:
    names = [model.name for model in MODELS]
    assert len(set(names)) == len(names) == 12
    for model in MODELS:
        row = model_card_row(card(model), "cards.jsonl line 1")
        assert row["is_sample"] is True and row["model"].startswith("sample/")


def accuracy(model_name: str) -> float:
    model = next(model for model in MODELS if model.name == model_name)
    right = 0
    for asked in ASKED:
        said = say(model, asked)
        right += read("lenient", said.content).answer == asked.key
    return right / len(ASKED)


def test_abilities_are_ordered() -> None:
    small, middle, large = (accuracy(f"sample/{name}") for name in ("laurel-2b", "cypress-27b", "myrtle-pro"))
    assert small < 0.45 < middle < 0.9 < large


def test_every_error_is_a_class_and_every_reply_has_tokens() -> None:
    for model in MODELS:
        for asked in ASKED:
            said = say(model, asked)
            assert ErrorClass(said.error) is ErrorClass.NONE or said.content is None
            assert (said.completion_tokens is None) == bool(said.error)


def test_a_larger_budget_cuts_fewer_replies_and_loops_occur() -> None:
    thinkers = [model for model in MODELS if model.thinks]
    assert len(thinkers) == 3
    small = [say(model, asked) for model in thinkers for asked in ASKED]
    large = [say(model, replace(asked, budget=LARGE_BUDGET)) for model in thinkers for asked in ASKED]
    cut = [sum(said.finish_reason == "length" for said in of) for of in (small, large)]
    assert 0 < cut[1] < cut[0]
    assert sum(loop(said.content) is not None for said in small) > 10
    assert not any(loop(said.content) for said in small if said.finish_reason == "stop")


def test_a_placeholder_is_copied() -> None:
    parsed = [
        sum(
            read("strict", say(model, replace(asked, placeholder=shown)).content).answer is not None
            for model in MODELS
            for asked in ASKED[:100]
        )
        for shown in (False, True)
    ]
    assert parsed[1] < 0.9 * parsed[0]


def test_scripted_faults_are_what_the_detectors_find() -> None:
    for model in MODELS:
        found = Counter(name for asked in ASKED for name, _ in each(visible(say(model, asked).content)))
        scripted = {"glyph": "glyphs"}
        assert set(found) <= {scripted.get(name, name) for name in model.faults}, model.name
    assert sum(bool(model.faults) for model in MODELS) >= 8


def test_the_panel_is_read_as_verdicts() -> None:
    read_back = read_verdicts(verdicts(["a-1", "a-2"]))
    assert len(read_back) == 3 * (2 + 3 * PLANTED_EACH)
    assert {each.planted for each in read_back} == {None, *Defect}


@pytest.mark.parametrize("benchmark", ["exam", "exam_sample", "formosa"])
def test_models_tuned_for_taiwan_gain_on_the_second_axis_alone(benchmark: str) -> None:
    tuned = next(model for model in MODELS if model.name == "sample/cypress-27b-tw")
    right = sum(
        read("lenient", say(tuned, replace(asked, benchmark=benchmark)).content).answer == asked.key for asked in ASKED
    )
    assert (right / len(ASKED) > 0.82) == (benchmark == "formosa")
