"""Grounding: what a judgement makes of a draft, with planted and native verdicts."""

from __future__ import annotations

import pytest
from support.formosa import judgement_json, make_draft, make_screened, make_window, reply

from opentwbench.evaluation.model import ErrorClass
from opentwbench.formosa.grounding import (
    JUDGE_PROMPT,
    JudgeChanged,
    Judgement,
    Reason,
    ground,
    judge_ask,
    judgement_id,
    quoted,
    read_judgement,
    to_judge,
    verdict_on,
)
from opentwbench.formosa.model import Caution, Exclusion, Finding, Notice, Screened

WINDOW = make_window(1)
NEEDS_QUOTE = Screened(make_draft(1), (), (Notice(Caution.ANSWER_NOT_IN_WINDOW, "第1燈會"),))


def said(quote: str = "", verdict: str = "approve", reason: str = "supported") -> Judgement | Finding:
    return read_judgement(reply("x", judgement_json(verdict, reason, quote), "judge"))


def test_the_prompt_is_frozen_and_holds_no_more_than_the_draft() -> None:
    assert JUDGE_PROMPT.prompt_id == "formosa-judge-865591fbd46e"
    (question,) = judge_ask([("id", make_draft(1), WINDOW)], "judge").questions()
    user = question.body["messages"][1]["content"]
    assert user.startswith(f"材料：\n{WINDOW.text}\n\n題目：") and user.endswith("標示的答案：B")
    assert make_draft(1).quote not in user.replace(WINDOW.text, "")  # the judge finds its own sentence


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "approve",
        "{}",
        judgement_json("yes"),
        judgement_json("approve", "fine"),
        judgement_json("approve", "wrong_key"),
        judgement_json("reject", "supported"),
        judgement_json(quote="長" * 2_001),
        '{"verdict": "approve", "reason": "supported", "quote": null}',
        '{"verdict": "approve", "reason": "supported"}',
        '{"verdict": ["approve"], "reason": {}, "quote": ""}',
    ],
)
def test_a_reply_that_is_no_verdict_is_silence(text: str | None) -> None:
    found = read_judgement(reply("x", text, "judge"))
    assert isinstance(found, Finding) and found.exclusion is Exclusion.JUDGE_SILENT
    assert verdict_on(make_screened(1), found, WINDOW) == found


def test_an_error_is_silence() -> None:
    found = read_judgement(reply("x", None, "judge", error=ErrorClass.TIMEOUT))
    assert isinstance(found, Finding) and found.evidence.startswith("timeout")


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (Reason.WRONG_KEY, Exclusion.UNGROUNDED),
        (Reason.UNSUPPORTED, Exclusion.UNGROUNDED),
        (Reason.SEVERAL_ANSWERS, Exclusion.JUDGE_REJECTED),
        (Reason.MALFORMED_OPTIONS, Exclusion.JUDGE_REJECTED),
    ],
)
def test_a_rejection_is_in_its_kind(reason: Reason, kind: Exclusion) -> None:
    found = verdict_on(make_screened(1), said(verdict="reject", reason=reason), WINDOW)
    assert found == Finding(kind, reason.value)


@pytest.mark.parametrize(
    "quote",
    [
        "鎮民每年四月舉辦第1燈會，主祭是媽祖第1分靈。",  # one character is another
        "這句話不在材料裡面，是評審自己寫的。",
        "燈會",  # too short to support anything
        "。，、！？…",
        "鎮民每年三月舉辦第2燈會",
    ],
)
def test_a_quotation_that_is_none_grounds_nothing(quote: str) -> None:
    for screened in (make_screened(1), NEEDS_QUOTE):
        found = verdict_on(screened, said(quote), WINDOW)
        assert found is not None and found.exclusion is Exclusion.QUOTE_MISSING


@pytest.mark.parametrize(
    "quote",
    [
        "鎮民每年三月舉辦第1燈會，主祭是媽祖第1分靈。",
        "「鎮民每年三月舉辦第１燈會, 主祭是媽祖第１分靈」",
        "　鎮民每年三月 舉辦第1燈會",
        WINDOW.text,
    ],
)
def test_a_real_quotation_grounds_under_folding(quote: str) -> None:
    for screened in (make_screened(1), NEEDS_QUOTE):
        assert verdict_on(screened, said(quote), WINDOW) is None
    assert quoted("臺灣的媽祖信仰", "他說台灣的媽祖信仰，很盛。")


def test_without_a_quotation_the_answer_itself_must_stand_in_the_window() -> None:
    assert verdict_on(make_screened(1), said(), WINDOW) is None
    found = verdict_on(NEEDS_QUOTE, said(), WINDOW)
    assert found is not None and found.exclusion is Exclusion.QUOTE_MISSING


def test_native_drafts_are_all_grounded() -> None:
    """90 sound drafts with the judge's own quotations: none is dropped."""
    screened = [make_screened(n) for n in range(90)]
    windows = {make_window(n).window_id: make_window(n) for n in range(90)}
    replies = [reply(judgement_id(s.draft), judgement_json(quote=s.draft.quote), "judge") for s in screened]
    found = ground(screened, replies, windows, "judge", JUDGE_PROMPT.prompt_id)
    assert (len(found.grounded), found.dropped, found.unjudged) == (90, (), ())


def test_every_draft_that_passed_is_judged_dropped_or_waiting() -> None:
    excluded = make_screened(0, findings=(Finding(Exclusion.OPTIONS_COMBINED, "以上皆是"),))
    screened = [excluded, *(make_screened(n) for n in range(1, 7))]
    windows = {make_window(n).window_id: make_window(n) for n in range(7)}
    assert [draft for _, draft, _ in to_judge(screened, windows)] == [s.draft for s in screened[1:]]
    ids = [judgement_id(s.draft) for s in screened]
    replies = [
        reply(ids[0], judgement_json(), "judge"),
        reply(ids[1], judgement_json(), "judge"),
        reply(ids[2], judgement_json("reject", "unsupported"), "judge"),
        reply(ids[3], judgement_json("reject", "several_answers"), "judge"),
        reply(ids[4], judgement_json(quote="不在材料裡的一句話"), "judge"),
        reply(ids[5], "?", "judge"),
        reply(ids[6], None, "judge", error=ErrorClass.SERVER),
    ]
    found = ground(screened, replies, windows, "judge", JUDGE_PROMPT.prompt_id)
    assert found.counts() == {
        "judged": 5,
        "grounded": 1,
        "judge_silent": 1,
        "quote_missing": 1,
        "ungrounded": 1,
        "judge_rejected": 1,
        "unjudged": 1,
    }


def test_judgements_of_several_models_ground_nothing() -> None:
    windows = {make_window(n).window_id: make_window(n) for n in range(4)}
    screened = [make_screened(n) for n in range(4)]

    def by(*names: str | None) -> dict[str, int]:
        said = judgement_json(quote="")
        replies = [
            reply(judgement_id(each.draft), said, "judge", served_model=names[n % len(names)])
            for n, each in enumerate(screened)
        ]
        return dict(ground(screened, replies, windows, "judge", JUDGE_PROMPT.prompt_id).served)

    assert by("judge-2026-01-01") == {"judge-2026-01-01": 4}
    assert by(None) == {} and by("judge", None) == {"judge": 2}
    with pytest.raises(JudgeChanged, match=r"judge: replies came from 2 models: .*cheap-model"):
        by("judge", "cheap-model")
