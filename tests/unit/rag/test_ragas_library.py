"""Our one-prompt judge against the real ragas library: 20 items, one judge by script, every difference explained.

Equal by construction are the shares (faithfulness, context recall). Different by definition are context precision (the
library's is rank-aware) and answer relevancy (the library embeds questions), and what becomes of an unreadable judge.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.ragas_library import Opinion, need_ragas, ours, rules, score
from support.tw_rag import write_tw_rag

from opentwbench.dataset.files import read_jsonl
from opentwbench.rag import stages
from opentwbench.rag.model import Judged
from opentwbench.rag.ragas import METRICS
from opentwbench.rag.ragas_figures import JudgedAnswer, ragas_figures
from resources.rag_settings import RagRun, settings_of
from samples.model_endpoint import Kind, ModelEndpoint, Rule

ITEMS = 20
SILENT, EVASIVE, HALF, BLIND, GENEROUS = 3, 6, 9, 12, 15
"""Items of which the judge thinks otherwise: no readable reply; a refusal; half of answer and reference supported; no
context useful; one context too many."""


def opinion(number: int, row: dict, answer: str) -> Opinion:
    """The gold alone helps, all is supported, the answer answers the question: but for the five."""
    place = row["gold_position"] - 1
    usual = Opinion(
        row["question"], answer, tuple(row["contexts"]), tuple(n == place for n in range(4)), (True,), (True,), 1.0,
        row["question"],
    )  # fmt: skip
    return {
        SILENT: replace(usual, speaks=False),
        EVASIVE: replace(usual, relevancy=0.0, evasive=True),
        HALF: replace(usual, supported=(True, False), attributed=(False, True), relevancy=0.5, asked_back="幾點？"),
        BLIND: replace(usual, useful=(False,) * 4),
        GENEROUS: replace(usual, useful=tuple(n in (place, (place + 1) % 4) for n in range(4))),
    }.get(number, usual)


def average_precision(useful: Sequence[bool]) -> float:
    """Mean over the relevant ranks of the precision at that rank: for one relevant context at position p it is 1/p."""
    ranks = [rank for rank, helps in enumerate(useful, 1) if helps]
    return sum(n / rank for n, rank in enumerate(ranks, 1)) / len(ranks) if ranks else 0.0


@pytest.mark.ragas
def test_twenty_items_by_the_library_and_by_our_judge(tmp_path: Path) -> None:
    need_ragas()
    write_tw_rag(tmp_path / "set", ITEMS)
    rows = read_jsonl(tmp_path / "set" / "ragas.jsonl")
    given = [(row, opinion(n, row, f"答案是{row['answer_text']}。")) for n, row in enumerate(rows)]
    views = [view for _, view in given]
    with ModelEndpoint() as endpoint:
        for view in views:
            asked = f'Passages, one JSON object a line(?s:.*)Question: "{view.question}"'
            endpoint.plant(Rule(Kind.TEXT, asked, None, text=view.answer), *rules(view))
        model = {"base_url": endpoint.base_url, "attempts": 1}
        run = RagRun.of(
            settings_of(
                {
                    "dataset": "tw_rag",
                    "data": str(tmp_path / "set"),
                    "answers": {"model": "writer", **model},
                    "judge": {"model": "judge", **model},
                }
            ),
            tmp_path,
        )
        answers = asyncio.run(judged(run))
        theirs = score(
            [{**row, "answer": each.answer} for (row, _), each in zip(given, answers, strict=True)], endpoint.base_url
        )
    assert len(answers) == len(theirs) == ITEMS
    for number, (view, each, found) in enumerate(zip(views, answers, theirs, strict=True)):
        assert each.ragas is not None and each.answer == view.answer
        if number == SILENT:
            # Asked three times, counted, in no mean; the library raises (and `evaluate` then leaves a NaN out).
            assert (each.ragas.judged, each.ragas.attempts) == (Judged.UNPARSED, 3)
            assert all("error" in found[name] for name in METRICS)
            continue
        assert each.ragas.scores == ours(view)
        assert found["faithfulness"] == each.ragas.scores["faithfulness"]
        assert found["context_recall"] == each.ragas.scores["context_recall"]
        assert found["context_precision"] == pytest.approx(average_precision(view.useful))
        if number == EVASIVE:
            assert found["answer_relevancy"] == each.ragas.scores["answer_relevancy"] == 0.0
        elif number == HALF:  # a cosine of two questions, whatever the judge would have rated
            assert 0 < found["answer_relevancy"] < 1 and found["answer_relevancy"] != pytest.approx(0.5, abs=0.01)
        else:
            assert found["answer_relevancy"] == pytest.approx(1.0)

    # The two context precisions never are one metric: ours is at its target wherever the gold stands.
    plain = [n for n in range(ITEMS) if n not in (SILENT, BLIND, GENEROUS)]
    positions = {n: rows[n]["gold_position"] for n in plain}
    assert set(positions.values()) == {1, 2, 3, 4}
    assert all(theirs[n]["context_precision"] == pytest.approx(1 / positions[n]) for n in plain)
    section = ragas_figures([JudgedAnswer(each.question, each.answer, each.ragas, True) for each in answers])
    assert (section["judge"]["scored"], section["judge"]["unparsed"]) == (ITEMS - 1, 1)
    assert section["context_precision"]["exactly_on_target"] == len(plain)
    assert section["context_precision"]["error"] == pytest.approx(0.0)  # one judged 0 and one 1/2 against 1/4


async def judged(run: RagRun) -> list[stages.Answered]:
    stages.prepare(run.plan, Path(run.settings.data), run.folder)
    system = run.settings.open_system(run.folder)
    await stages.ingest(run.plan, run.folder, system)
    await stages.generate(run.plan, run.folder, system, run.generator)
    await stages.judge(run.plan, run.folder, run.generator, run.judge)
    return stages.judged(run.plan, run.folder, run.generator, run.judge)
