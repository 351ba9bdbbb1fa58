"""Drafting: the frozen prompt, every reply in one kind, files, and what a newer corpus leaves to ask."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from support.formosa import draft_json, make_draft, make_formosa_item, make_window, reply

from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.client import Endpoint, Rates
from opentwbench.evaluation.costs import Limit
from opentwbench.evaluation.journal import read_responses, write_run
from opentwbench.evaluation.model import ErrorClass
from opentwbench.evaluation.runner import Tally, run
from opentwbench.formosa.asking import Ask, AskingError, Prompt
from opentwbench.formosa.drafting import (
    DRAFT_PROMPT,
    collect,
    draft_ask,
    drafts_bytes,
    letters_of,
    lost_ground,
    read_draft,
    read_drafts,
    renewal,
)
from opentwbench.formosa.json_replies import Repair
from opentwbench.formosa.model import Draft, Exclusion, Finding
from samples.model_endpoint import Kind, ModelEndpoint, Rule


def test_the_prompt_begins_as_published_and_is_frozen() -> None:
    begins = (
        "你是臺灣的測驗命題委員，正在編寫一份「認識臺灣」的知識評測集。 "
        "受測者只會看到題目，看不到任何參考資料，必須靠自己對臺灣的認識作答。"
    )
    assert DRAFT_PROMPT.system.startswith(begins)
    # A changed prompt is another column: whoever changes it changes this line, and says so in the changelog.
    assert DRAFT_PROMPT.prompt_id == "formosa-draft-cda07b58363f"
    assert replace(DRAFT_PROMPT, temperature=0.5).prompt_id != DRAFT_PROMPT.prompt_id


def test_only_title_and_text_of_a_window_reach_the_prompt() -> None:
    window = make_window(3, text="大括號 {title} 留著", attribution="不可出現", url="https://no.example")
    (question,) = draft_ask([window], "m").questions()
    system, user = question.body["messages"]
    assert system["content"] == DRAFT_PROMPT.system
    assert user["content"] == "主題：第3鎮\n材料：\n大括號 {title} 留著"
    assert question.item_id == window.window_id
    assert question.body["temperature"] == 0.0


@pytest.mark.parametrize("template", ["{window}", "{title}{window}{more}", "{title!r}{window}", "{title.x}{window}"])
def test_a_template_of_other_fields_is_refused(template: str) -> None:
    with pytest.raises(AskingError, match="exactly title, window"):
        Prompt("x", "", template, ("title", "window"), 10)


def test_a_wish_that_cannot_be_recorded_is_refused() -> None:
    for model, extra in (("", {}), ("a\nb", {}), ("m", {"messages": []})):
        with pytest.raises(AskingError):
            Ask(model, DRAFT_PROMPT, (), extra)
    assert Ask("m", DRAFT_PROMPT, ()).run_id != Ask("m", DRAFT_PROMPT, (), {"seed": 1}).run_id


# -- reading ----------------------------------------------------------------------------------------------------------

OPTIONS = dict(make_draft(1).options)

FAULTS = {
    Exclusion.MALFORMED: [
        "題目是：今天星期幾？",
        draft_json(make_draft(1))[:-9],
        draft_json(make_draft(1), note="x"),
        draft_json(make_draft(1), answer=1),
        draft_json(make_draft(1), options=list(OPTIONS.values())),
        draft_json(make_draft(1), options={}),
        draft_json(make_draft(1), options={**OPTIONS, "A": None}),
        draft_json(make_draft(1), quote=None),
        "[]",
    ],
    Exclusion.EMPTY: ["", " \n", None],
    Exclusion.REFUSED: ["抱歉，我無法回答這個問題。", "I cannot help with that."],
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in FAULTS.items() for text in texts])
def test_a_faulty_reply_is_in_its_kind(kind: Exclusion, text: str | None) -> None:
    found = read_draft(reply("w", text))
    assert isinstance(found, Finding) and found.exclusion is kind
    assert found.evidence and len(found.evidence) < 200


def test_sound_replies_are_drafts() -> None:
    for n in range(50):
        assert read_draft(reply(make_window(n).window_id, draft_json(make_draft(n)))) == make_draft(n)


def test_a_draft_that_speaks_of_declining_is_no_refusal() -> None:
    draft = make_draft(1, stem="第1鎮的居民為何無法回答調查？")
    assert read_draft(reply(draft.window_id, draft_json(draft))) == draft


def test_filtered_and_cut_replies_say_so() -> None:
    assert read_draft(reply("w", None, finish_reason="content_filter")) == Finding(Exclusion.REFUSED, "filtered")
    cut = read_draft(reply("w", '{"question": "第', finish_reason="length"))
    assert isinstance(cut, Finding) and cut.evidence.startswith("cut by the budget")


def test_what_shape_cannot_tell_is_left_to_the_screens() -> None:
    found = read_draft(reply("w", draft_json(make_draft(1), answer="甲", options={"A": "x", "E": "y"})))
    assert isinstance(found, Draft) and found.key == "甲"


def test_every_window_is_in_one_kind() -> None:
    ids = [make_window(n).window_id for n in range(8)]
    replies = [
        reply(ids[0], draft_json(make_draft(0))),
        reply(ids[1], f"```json\n{draft_json(make_draft(1))}\n```"),
        reply(ids[1], draft_json(make_draft(1)), request_hash="f" * 64),  # under another request: a second draft
        reply(ids[2], "沒有"),
        reply(ids[3], ""),
        reply(ids[4], "抱歉，我無法回答。"),
        reply(ids[5], None, error=ErrorClass.SERVER),
        reply("Food/舊/000000000000", draft_json(make_draft(9))),
    ]
    found = collect(replies, ids)
    counts = {name: n for name, n in found.counts().items() if n}
    assert counts == {
        "windows": 8,
        "well_formed": 2,
        "malformed": 1,
        "empty": 1,
        "refused": 1,
        "duplicate_draft": 1,
        "unknown_window": 1,
        "unanswered": 3,
        "repaired_surroundings": 1,
    }
    assert found.open_sums() == [] and found.unanswered == tuple(sorted(ids[5:]))
    assert replace(found, windows=9).open_sums() == ["9 windows, 8 in kinds"]


def test_drafts_on_disk(tmp_path: Path) -> None:
    drafts = [make_draft(n) for n in range(5)]
    path = tmp_path / "drafts.jsonl"
    path.write_bytes(drafts_bytes(drafts))
    assert read_drafts(path) == drafts
    for bad in ('{"window_id": "x"}\n', drafts_bytes([make_draft(0, key=3)]).decode()):
        path.write_text(bad, "utf-8")
        with pytest.raises(DatasetError, match=r"drafts.jsonl line 1"):
            read_drafts(path)


# -- asking -----------------------------------------------------------------------------------------------------------


def ask(tmp_path: Path, base_url: str, numbers: range, limit: Limit | None = None):  # type: ignore[no-untyped-def]
    plan = draft_ask([make_window(n) for n in numbers], "scripted")
    write_run(tmp_path, plan.record("2026-11-30T00:00:00+00:00", "test"), plan.prompt)
    endpoint = Endpoint(base_url, attempts=1)
    return asyncio.run(run(plan, tmp_path, endpoint, Rates(2), Tally(len(numbers)), limit=limit or Limit()))


def test_drafting_is_journalled_resumed_and_stopped_by_its_limit(tmp_path: Path) -> None:
    with ModelEndpoint(reply=draft_json(make_draft(0))) as endpoint:
        endpoint.plant(Rule(Kind.STATUS, times=1, pattern="第2鎮"))
        first = ask(tmp_path, endpoint.base_url, range(4))
        assert (first.asked, first.errors) == (4, {ErrorClass.SERVER: 1})
        # Only the one that failed is asked again; then two windows that a newer corpus added.
        assert ask(tmp_path, endpoint.base_url, range(4)).asked == 1
        assert ask(tmp_path, endpoint.base_url, range(1, 6)).asked == 2
        stopped = ask(tmp_path, endpoint.base_url, range(40), Limit(tokens=1))
        assert "spending stop" in stopped.stopped and stopped.asked == 0
    ids = [make_window(n).window_id for n in range(6)]
    found = collect(read_responses(tmp_path), ids)
    assert (len(found.drafts), found.unanswered) == (6, ())


# -- a newer corpus ---------------------------------------------------------------------------------------------------


def test_only_changed_windows_are_drafted_again_and_items_lose_their_ground() -> None:
    before = [make_window(n).window_id for n in range(5)]
    after = [*before[1:], "Food/新/0123456789ab"]
    found = renewal(before, after)
    assert (found.to_draft, found.lost, found.kept) == (
        ("Food/新/0123456789ab",),
        (before[0],),
        tuple(sorted(before[1:])),
    )
    items = [make_formosa_item(n) for n in range(5)]
    assert [item.window_id for item in lost_ground(items, after)] == [before[0]]
    assert lost_ground(items, before) == []


def test_letters_before_the_permutation() -> None:
    drafts = [make_draft(0), make_draft(4), make_draft(1), make_draft(1, key="E")]
    assert letters_of(drafts) == {"A": 2, "B": 1, "C": 0, "D": 0, "other": 1}


def test_repairs_are_counted_for_drafts_only() -> None:
    counted: Counter[Repair] = Counter()
    read_draft(reply("w", "```\n{}\n```"), counted)
    assert counted == Counter()
