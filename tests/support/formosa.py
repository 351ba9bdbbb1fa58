"""Windows, drafts and replies for the tests of the Formosa track, made by the project: no article of the corpus."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

from opentwbench.evaluation.model import Response
from opentwbench.formosa.drafting import DRAFT_PROMPT
from opentwbench.formosa.grounding import JUDGE_PROMPT
from opentwbench.formosa.model import Draft, FormosaItem, Screened, Window

ATTRIBUTION = "甲鎮誌, Taiwan.md contributors, https://example.org/x, CC BY-SA 4.0"


def make_window(n: int, **changes: Any) -> Window:
    """Window number n: a text of its own, one article a window, three categories."""
    category = ("Food", "History", "Nature")[n % 3]
    text = f"第{n}鎮位於南方，一九{n:02d}年設立第{n}圖書館。鎮民每年三月舉辦第{n}燈會，主祭是媽祖第{n}分靈。"
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    article = f"{category}/第{n}鎮.md"
    window = Window(
        window_id=f"{category}/第{n}鎮/{digest}",
        article=article,
        category=category,
        title=f"第{n}鎮",
        start=0,
        end=len(text),
        text=text,
        url=f"https://example.org/{category}/{n}",
        attribution=ATTRIBUTION,
        commit="0" * 40,
    )
    return replace(window, **changes)


def make_draft(n: int, **changes: Any) -> Draft:
    """A sound draft on window n: the keyed answer stands in the window, the others do not; the key moves."""
    right, key = f"第{n}燈會", "ABCD"[n % 4]
    wrong = iter((f"第{n + 1000}花季", f"第{n + 1000}市集", f"第{n + 1000}廟會"))
    options = {letter: right if letter == key else next(wrong) for letter in "ABCD"}
    draft = Draft(
        window_id=make_window(n).window_id,
        stem=f"第{n}鎮的鎮民每年三月舉辦哪一項活動？",
        options=options,
        key=key,
        quote=f"鎮民每年三月舉辦第{n}燈會，主祭是媽祖第{n}分靈。",
        model="drafter",
        prompt_id=DRAFT_PROMPT.prompt_id,
    )
    return replace(draft, **changes)


def make_screened(n: int, **changes: Any) -> Screened:
    """A draft that passed its screens."""
    return replace(Screened(make_draft(n)), **changes)


def draft_json(draft: Draft, **changes: Any) -> str:
    """What a model writes that drafts this."""
    record = {"question": draft.stem, "options": dict(draft.options), "answer": draft.key, "quote": draft.quote}
    return json.dumps({**record, **changes}, ensure_ascii=False)


def judgement_json(verdict: str = "approve", reason: str = "supported", quote: str = "") -> str:
    """What a judge writes."""
    return json.dumps({"verdict": verdict, "reason": reason, "quote": quote}, ensure_ascii=False)


def reply(identity: str, content: str | None, model: str = "drafter", prompt_id: str = "", **changes: Any) -> Response:
    """A stored reply; `prompt_id` '' is the drafting prompt's for the drafter and the judge's for others."""
    default = DRAFT_PROMPT.prompt_id if model == "drafter" else JUDGE_PROMPT.prompt_id
    response = Response(
        run_id="run-1",
        repeat=0,
        item_id=identity,
        request_hash=hashlib.sha256(f"{identity} {model}".encode()).hexdigest(),
        protocol_id=prompt_id or default,
        model=model,
        option_order="",
        content=content,
        reasoning=None,
        finish_reason="stop",
        prompt_tokens=10,
        completion_tokens=10,
        reasoning_tokens=None,
        latency_ms=1.0,
        attempts=1,
    )
    return replace(response, **changes)


def make_formosa_item(n: int, **changes: Any) -> FormosaItem:
    """Item number n, grounded by a judge named 'judge'."""
    from opentwbench.exam.fingerprint import item_id

    window, draft = make_window(n), make_draft(n)
    item = FormosaItem(
        item_id=item_id("formosa", draft.stem, draft.options),
        question=draft.stem,
        options=dict(draft.options),
        answer=draft.key,
        category=window.category,
        article=window.article,
        title=window.title,
        window_id=window.window_id,
        start=window.start,
        end=window.end,
        url=window.url,
        attribution=window.attribution,
        commit=window.commit,
        drafting_model=draft.model,
        prompt_id=draft.prompt_id,
        judge="judge",
        quote=draft.quote,
    )
    return replace(item, **changes)
