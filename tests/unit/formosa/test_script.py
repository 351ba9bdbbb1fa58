"""The scripted endpoint's drafts, judgements and answers: sound ones are sound, every fault is met by its screen."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from support import formosa as support
from support.formosa import make_window

from opentwbench.evaluation.model import Response
from opentwbench.formosa.drafting import DRAFT_PROMPT, collect, draft_inputs
from opentwbench.formosa.grounding import JUDGE_PROMPT, judge_values
from opentwbench.formosa.judge_study import Defect, good_by_rule, plant
from opentwbench.formosa.model import Caution, Draft, Exclusion, Window
from opentwbench.formosa.orthography import OWN
from opentwbench.formosa.screens import screen
from samples.formosa_script import (
    DRAFTER,
    JUDGES,
    POOL,
    RATES,
    UNREAD,
    Written,
    answer_reply,
    draft_reply,
    facts,
    fault_of,
    judge_reply,
    reply,
)
from samples.model_endpoint import read_question

N = 1_500


@cache
def windows() -> tuple[Window, ...]:
    """Windows with a number, a quoted title, a term and clauses each."""
    found = []
    for n in range(N):
        text = (
            f"甲鎮第{n}處位於海邊，居民多半務農，附近設有漁港。一九五〇年代的《甲鎮第{n}誌》記有「花燈祭」，"
            f"燈會共展出{5000 + n}盞花燈，遊客逐年增加。"
        )
        found.append(make_window(n % 50, window_id=f"Food/甲鎮{n}/{n:012x}", title=f"甲鎮第{n}處", text=text))
    return tuple(found)


@cache
def drafted() -> dict[str, tuple[str, str]]:
    """Window id -> fault and reply."""
    return {w.window_id: (fault_of(f"{DRAFTER} {w.text}"), draft_reply(DRAFTER, w.text, w.title)) for w in windows()}


def response(identity: str, text: str) -> Response:
    return support.reply(identity, text, DRAFTER, DRAFT_PROMPT.prompt_id)


def test_every_kind_of_fact_is_asked_and_a_window_without_one_is_refused() -> None:
    found = facts(windows()[0].text, windows()[0].title)
    assert {kind: found[kind][0].answer for kind in found} == {
        "number": "5000", "title": "甲鎮第0誌", "term": "花燈祭", "clause": "居民多半務農",
    }  # fmt: skip
    assert "無法命題" in draft_reply(DRAFTER, "短。", "無")


def test_faults_come_at_their_declared_rates() -> None:
    counted = Counter(fault for fault, _ in drafted().values())
    assert set(counted) == {*RATES, ""}
    for name, rate in RATES.items():
        assert rate * N / 3 < counted[name] < rate * N * 2.5, (name, counted[name])
    keys = Counter(json.loads(text)["answer"] for fault, text in drafted().values() if not fault)
    assert 0.80 < keys["A"] / keys.total() < 0.88


MEETS: dict[str, Exclusion] = {
    "three_options": Exclusion.OPTIONS_MALFORMED,
    "equal_options": Exclusion.OPTIONS_NOT_DISTINCT,
    "all_of_the_above": Exclusion.OPTIONS_COMBINED,
    "mixed_options": Exclusion.OPTIONS_MIXED,
    "asks_nothing": Exclusion.STEM_MALFORMED,
    "pronoun": Exclusion.NOT_SELF_CONTAINED,
    "points_at_text": Exclusion.NOT_SELF_CONTAINED,
    "document_local": Exclusion.DOCUMENT_LOCAL,
    "answer_in_stem": Exclusion.ANSWER_IN_STEM,
    "simplified": Exclusion.SIMPLIFIED_ONLY,
    "mainland": Exclusion.MAINLAND_TERM,
    "cut": Exclusion.MALFORMED,
    "other_fields": Exclusion.MALFORMED,
    "empty": Exclusion.EMPTY,
    "refused": Exclusion.REFUSED,
}


def test_each_fault_is_met_by_its_screen_and_sound_drafts_by_none() -> None:
    known = {window.window_id: window for window in windows()}
    got = collect([response(name, text) for name, (_, text) in drafted().items()], known)
    bucket: dict[str, Exclusion | None] = {name: finding.exclusion for name, finding in got.rejected}
    bucket |= {draft.window_id: screen(draft, known[draft.window_id], OWN).bucket for draft in got.drafts}
    # A figure whose letters became words differs in kind from the others: it is excluded for that.
    met: dict[str, Counter[Exclusion | None]] = {}
    for name, (fault, _) in drafted().items():
        met.setdefault(fault, Counter())[bucket[name]] += 1
    for fault, exclusion in MEETS.items():
        assert set(met[fault]) == {exclusion}, (fault, met[fault])
    assert set(met[""]) == set(met["fenced"]) == set(met["trailing_comma"]) == set(met["thought"]) == {None}
    cautions = [
        notice.caution
        for draft in got.drafts
        for notice in screen(draft, known[draft.window_id], OWN).notices
        if drafted()[draft.window_id][0] == "ungrounded_fact"
    ]
    assert Caution.ANSWER_NOT_IN_WINDOW in cautions


def judge_message(draft: Draft, window: Window) -> str:
    return JUDGE_PROMPT.messages(judge_values(draft, window))[1]["content"]


def sound(number: int) -> list[tuple[Draft, Window]]:
    known = {window.window_id: window for window in windows()}
    got = collect([response(name, text) for name, (fault, text) in drafted().items() if not fault], known)
    return good_by_rule([screen(draft, known[draft.window_id], OWN) for draft in got.drafts], known, number)


def test_ten_judges_find_what_they_are_declared_to_find() -> None:
    pairs = sound(150)
    assert len(pairs) == 150 and len(JUDGES) == 10
    trials = plant(pairs, 150)
    reasons = {
        None: "supported", Defect.WRONG_KEY: "wrong_key",
        Defect.UNGROUNDED_FACT: "unsupported", Defect.MALFORMED_OPTIONS: "malformed_options",
    }  # fmt: skip
    for name, judge in JUDGES.items():
        rejected: Counter[Defect | None] = Counter()
        for trial in trials:
            said = judge_reply(name, judge_message(trial.draft, trial.window))
            rejected[trial.planted] += said.startswith("{") and json.loads(said)["verdict"] == "reject"
        for planted, reason in reasons.items():
            declared = judge.rejects_good if planted is None else judge.finds[reason]
            share = rejected[planted] / 150
            assert abs(share - declared * (1 - judge.silent)) < 0.13, (name, planted, share)


def test_the_careful_judge_quotes_what_stands_in_the_window() -> None:
    draft, window = sound(1)[0]
    said = json.loads(judge_reply("scripted/judge-twin", judge_message(draft, window)))
    assert said["verdict"] == "approve" and said["quote"] in window.text


@pytest.mark.parametrize("model", POOL)
def test_pool_models_know_as_much_as_they_are_declared_to(model: str) -> None:
    options = dict(zip("ABCD", "甲乙丙丁", strict=True))
    stems = [f"第{n}題？" for n in range(800)]
    right = sum(answer_reply(model, stem, options, {stem: "丙"}) == "\\boxed{C}" for stem in stems)
    # P(3/4 u + 1/4 v < a) for even u and v: a line between a quarter and three quarters, a parabola above.
    able = POOL[model]
    knows = 1 - (1 - able) ** 2 / 0.375 if able > 0.75 else (able - 0.125) / 0.75
    assert abs(right / 800 - knows * (1 - UNREAD)) < 0.05


def test_a_pool_without_answers_guesses() -> None:
    options = dict(zip("ABCD", "甲乙丙丁", strict=True))
    said = Counter(answer_reply("scripted/pool-a", f"第{n}題？", options, {}) for n in range(400))
    assert all(said[f"\\boxed{{{letter}}}"] > 60 for letter in "ABCD")


def test_the_three_kinds_of_request_are_told_apart(tmp_path: Path) -> None:
    window = windows()[3]
    (_, values), *_ = draft_inputs([window])
    draft = {"model": DRAFTER, "messages": DRAFT_PROMPT.messages(values)}
    assert reply(draft, read_question, dict) == draft_reply(DRAFTER, window.text, window.title)
    good, its_window = sound(1)[0]
    judge = {"model": "scripted/judge-no", "messages": JUDGE_PROMPT.messages(judge_values(good, its_window))}
    assert '"reject"' in reply(judge, read_question, dict)
    asked = {"model": "scripted/pool-a", "messages": [{"role": "user", "content": "甲？\nA. 一\nB. 二\nC. 三\nD. 四"}]}
    assert reply(asked, read_question, lambda: {"甲？": "二"}) in {f"\\boxed{{{letter}}}" for letter in "ABCD"}


def test_a_sound_draft_is_written_with_its_sentence() -> None:
    from samples.formosa_script import draft as write

    made = write(windows()[0].text, windows()[0].title, "seed")
    assert isinstance(made, Written) and made.quote in windows()[0].text and made.options[made.key] in made.quote
