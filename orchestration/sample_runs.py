"""Runs of the scripted sample models in a store: what `make demo` shows the board and the apparatus studies with.

What belongs here: which model is run under which condition, and writing runs as the runner does. What does not: what a
model says (samples/models.py). Nothing is asked of an endpoint: the journal is written at once, the same every time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from opentwbench.dataset.files import jsonl_bytes
from opentwbench.evaluation.items import ItemSet, Roster, item_set
from opentwbench.evaluation.journal import JOURNAL_NAME, Journal, write_run
from opentwbench.evaluation.model import AskedItem, ErrorClass, Response
from opentwbench.evaluation.prompts import shown_letter
from opentwbench.evaluation.protocols import BOX, BOX_PLACEHOLDER, REASONING_BUDGET, Protocol
from opentwbench.evaluation.replies import Reply
from opentwbench.evaluation.runner import Plan, questions, response_of
from opentwbench.evaluation.runs import Wish, prepare
from opentwbench.evaluation.sample import draw
from resources.apparatus import VERDICTS
from resources.board_tables import MODEL_CARDS
from resources.store import Store
from resources.warehouse_tables import Places
from samples.models import MODELS, Question, SampleModel, card, say, verdicts

PER_SUBJECT = 20
"""Items a subject in the demo's sample; the real one draws 150, more than the demo has."""

STAND_INS = ("tw-roc-constitution-bench", "tw-chinese-language-bench")
"""Subjects whose items stand in for Formosa on the second axis: the demo has no corpus of its own."""

JUDGED = 60
"""Items that the made judge panel looks at."""

STARTED = "2026-11-01T00:00:00+00:00"
"""When the sample runs say that they started: they are the same on every day."""

NOTES = {"made by": "samples/models.py: scripted replies, no model was asked"}


def write_sample_runs(store: Store) -> int:
    """Write cards, runs and judge verdicts of the sample models over what is published; how many runs there are.

    A run that is there already stays. Raises StoreError for a store that is not local, DatasetError for items that
    cannot be read.
    """
    places = Places(store)
    store.write(MODEL_CARDS, jsonl_bytes(card(model) for model in MODELS))
    everything = item_set(places.published, item_set="scored")
    items = list(everything)
    edition = draw(items, "demo", per_subject=PER_SUBJECT)
    formosa = frozenset(item.item_id for item in items if item.subject in STAND_INS)
    store.write(VERDICTS, jsonl_bytes(verdicts([item.item_id for item in items[:JUDGED]])))
    sets = {
        "exam": everything,
        "exam_sample": replace(everything, chosen=frozenset(edition.ids)),
        "formosa": replace(everything, chosen=formosa),
    }
    rosters = {name: Roster(of) for name, of in sets.items()}
    by_id = {item.item_id: item for item in items}
    wishes = [wish for model in MODELS for wish in _wishes(model)]
    for model, benchmark, protocol in wishes:
        _write_run(places, model, benchmark, protocol, sets[benchmark], rosters[benchmark], by_id)
    return len(wishes)


def _wishes(model: SampleModel) -> Iterator[tuple[SampleModel, str, Protocol]]:
    yield from ((model, benchmark, BOX) for benchmark in ("exam", "exam_sample", "formosa"))
    yield model, "exam", BOX_PLACEHOLDER
    if model.thinks:
        yield model, "exam", BOX.with_budget(REASONING_BUDGET)


def _write_run(
    places: Places,
    model: SampleModel,
    benchmark: str,
    protocol: Protocol,
    items: ItemSet,
    roster: Roster,
    by_id: dict[str, AskedItem],
) -> None:
    wish = Wish(model.name, protocol, benchmark, serving_precision="native", notes=NOTES)
    plan, record = prepare(wish, items, roster)
    folder = places.runs / record.run_id
    write_run(folder, replace(record, started=STARTED), protocol)
    if not (folder / JOURNAL_NAME).exists():
        with Journal(folder) as journal:
            journal.append_all(_replies(plan, model, benchmark, by_id))


def _replies(plan: Plan, model: SampleModel, benchmark: str, by_id: dict[str, AskedItem]) -> Iterator[Response]:
    placeholder = plan.protocol.name == BOX_PLACEHOLDER.name
    for question in questions(plan):
        item = by_id[question.item_id]
        key = shown_letter(item.key, question.option_order) or ""
        said = say(model, Question(item.question, key, benchmark, plan.protocol.max_tokens, placeholder))
        reply = Reply(
            content=said.content,
            finish_reason=said.finish_reason,
            prompt_tokens=len(question.payload) // 3,
            completion_tokens=said.completion_tokens,
            error=ErrorClass(said.error),
            error_detail="scripted" if said.error else "",
            latency_ms=said.latency_ms,
            attempts=said.attempts,
        )
        yield response_of(question, plan, reply)
