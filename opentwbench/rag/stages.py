"""The five stages of a run: prepare, ingest, generate, judge, delete. Each can be started alone and again.

A run is a folder. What it asks is its `Plan`; the folder's name holds the plan's digest, so a changed setting is
another run. A stage writes its record last: a kill leaves a stage that is taken up again where it stood (retrieved
queries, replies and verdicts are kept one by one), never one that is believed done.

    plan.json                      what is asked, without any key, and without any place but the server under test
    prepared/                      documents.jsonl questions.jsonl about.json
    index/                         what the system keeps
    ingested.json                  written when ingestion ended
    retrieval-<digest>.jsonl       one line a query, of the prepared data of that digest
    answers/ verdicts/             journals of the model's replies (opentwbench.evaluation.journal)
    report.json report.md generated_answers.json qa_eval_detailed_results.json

What belongs here: the order of things. What does not: how a system retrieves, and what the figures mean (report.py).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from opentwbench.dataset.atomic import replace_folder, write_file
from opentwbench.dataset.files import jsonl_bytes, read_jsonl
from opentwbench.dataset.manifest import json_bytes
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.model import ErrorClass, Response
from opentwbench.rag import ragas
from opentwbench.rag.adapters import read_benchmark
from opentwbench.rag.asking import Ask, Asked, Service, ask_all, stored
from opentwbench.rag.chunking import Cut
from opentwbench.rag.evidence import Library
from opentwbench.rag.judging import verdict_of
from opentwbench.rag.lines import Lines, read_lines
from opentwbench.rag.model import (
    SYSTEMS,
    Benchmark,
    Document,
    Evidence,
    Judged,
    Part,
    Passage,
    Question,
    RagError,
    Verdict,
)
from opentwbench.rag.prompts import Shown, answer_messages, judge_messages, show
from opentwbench.rag.ragas import RagasVerdict, judge_prompt
from opentwbench.rag.retrieval.system import Ingested, Query, Retrieved, System
from opentwbench.rag.sampling import Sampling, draw

JUDGINGS = ("score", "ragas")
"""How a judge is asked: 0 to 4 against the references, or the four metrics (ragas.py)."""


class Stage(StrEnum):
    """What can be run alone, in this order."""

    PREPARE = "prepare"
    INGEST = "ingest"
    GENERATE = "generate"
    JUDGE = "judge"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that decides what a run asks and how; no place and no key.

    Who answers is a model's name with the parameters of its requests; where an endpoint stands is not in it, so that a
    run goes on when a model moves. A server under test has no name but its address, so `system_url` is part of it.
    """

    benchmark: str
    system: str
    generator: str
    """Model that answers."""
    judge: str
    """Model that judges; '' judges nothing."""
    sampling: Sampling = field(default_factory=Sampling)
    cut: Cut = field(default_factory=Cut)
    top_k: int = 5
    context_characters: int = 8_000
    """How much of the passages a prompt holds."""
    max_queries: int | None = None
    """Ask the first of the questions alone; for trials."""
    retrieval_instruction: str = ""
    """Put before every query."""
    ingest_mode: str = "directory"
    embedding: str = ""
    """Model of the vectors."""
    embedding_parameters: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of its requests: `dimensions` makes other vectors."""
    system_url: str = ""
    """Server of the system under test, where it is one (openviking)."""
    instructions: Mapping[str, str] | None = None
    """Category -> what is added to the general instruction; None takes those of prompts.py."""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"temperature": 0.0, "max_tokens": 512})
    judge_parameters: Mapping[str, Any] = field(default_factory=lambda: {"temperature": 0.0, "max_tokens": 512})
    judge_attempts: int = 3
    judging: str = "score"
    """One of JUDGINGS."""

    def __post_init__(self) -> None:
        """Raises RagError for what could not be run."""
        if self.system not in SYSTEMS:
            raise RagError(f"{self.system[:80]!r} is no system; there are {', '.join(SYSTEMS)}")
        if self.judging not in JUDGINGS:
            raise RagError(f"{self.judging[:80]!r} is no way of judging; there are {', '.join(JUDGINGS)}")
        if not self.generator:
            raise RagError("no model to answer is named")
        if self.system in ("dense", "hybrid") and not self.embedding:
            raise RagError(f"{self.system} needs an embedding model")
        for name, low, high in (
            ("top_k", 1, 1_000),
            ("context_characters", 100, 10_000_000),
            ("judge_attempts", 1, 10),
        ):
            if not low <= getattr(self, name) <= high:
                raise RagError(f"{name} must be {low:,} to {high:,}, got {getattr(self, name)}")
        if self.max_queries is not None and self.max_queries < 1:
            raise RagError(f"max_queries must be at least 1, got {self.max_queries}")

    @property
    def name(self) -> str:
        """The folder of the run: data set, system, and 10 hex digits of everything."""
        digest = hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()
        return f"{self.benchmark}-{self.system}-{digest[:10]}"


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was prepared, read back."""

    benchmark: Benchmark
    digest: str
    """sha256 over documents and questions."""


def prepare(plan: Plan, data: Path, folder: Path) -> Prepared:
    """Read the data set's original files, draw the sample, and write both beside the plan. Raises RagError."""
    benchmark = draw(read_benchmark(plan.benchmark, data), plan.sampling)
    documents = jsonl_bytes(_document_record(document) for document in benchmark.documents)
    questions = jsonl_bytes(_question_record(question) for question in benchmark.questions)
    about = {
        "name": benchmark.name,
        "missing": benchmark.missing,
        "rows": benchmark.rows,
        "dropped": dict(benchmark.dropped),
        "dirt": dict(benchmark.dirt),
        "digest": hashlib.sha256(documents + b"\0" + questions).hexdigest(),
    }
    write_file(folder / "plan.json", json_bytes(asdict(plan)))
    files = {"documents.jsonl": documents, "questions.jsonl": questions, "about.json": json_bytes(about)}
    replace_folder(folder / "prepared", files)
    return read_prepared(folder)


def read_prepared(folder: Path) -> Prepared:
    """What the stage prepare wrote. Raises RagError when it did not run or a file was changed since."""
    place = folder / "prepared"
    if not (place / "about.json").is_file():
        raise RagError(f"{folder.name}: nothing prepared; run the stage prepare")
    try:
        about = json.loads((place / "about.json").read_text(encoding="utf-8"))
        documents = tuple(_document(record) for record in read_jsonl(place / "documents.jsonl"))
        questions = tuple(_question(record) for record in read_jsonl(place / "questions.jsonl"))
        digest = hashlib.sha256(
            (place / "documents.jsonl").read_bytes() + b"\0" + (place / "questions.jsonl").read_bytes()
        ).hexdigest()
        if digest != about["digest"]:
            raise RagError("documents or questions were changed after they were prepared")
        given = {key: about[key] for key in ("missing", "rows", "dropped", "dirt")}
        return Prepared(Benchmark(about["name"], documents, questions, **given), digest)
    except (DatasetError, KeyError, TypeError, ValueError, OSError) as error:
        raise RagError(f"{folder.name}/prepared: {error}; run the stage prepare again") from None


def _document_record(document: Document) -> dict[str, Any]:
    return {"doc_id": document.doc_id, "title": document.title, "parts": [asdict(part) for part in document.parts]}


def _document(record: Mapping[str, Any]) -> Document:
    return Document(record["doc_id"], record["title"], tuple(Part(**part) for part in record["parts"]))


def _question_record(question: Question) -> dict[str, Any]:
    return asdict(question)


def _question(record: Mapping[str, Any]) -> Question:
    evidence = tuple(Evidence(**each) for each in record["evidence"])
    tuples = {name: tuple(record[name]) for name in ("gold", "offered")}
    return Question(**{**record, **tuples, "evidence": evidence})


async def ingest(plan: Plan, folder: Path, system: System) -> Ingested:
    """Hand the documents to the system, unless it holds exactly these. Raises RagError."""
    prepared = read_prepared(folder)
    path = folder / "ingested.json"
    held = _read_record(path)
    if held and held.get("digest") == prepared.digest:
        return Ingested(**held["figures"])
    ingested = await system.ingest(prepared.benchmark.documents)
    write_file(path, json_bytes({"digest": prepared.digest, "figures": asdict(ingested)}))
    return ingested


def _read_record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise RagError(f"{path.name}: not a record of this run: {type(error).__name__}") from None
    return record if isinstance(record, dict) else {}


def asked_questions(plan: Plan, benchmark: Benchmark) -> tuple[Question, ...]:
    """The questions of a run, in order."""
    return benchmark.questions[: plan.max_queries]


async def retrieve(plan: Plan, folder: Path, system: System) -> dict[str, Retrieved]:
    """What the system gives for every question; a query that has its result is not asked again, an error is."""
    prepared = read_prepared(folder)
    held = _read_record(folder / "ingested.json")
    if held.get("digest") != prepared.digest:
        raise RagError(f"{folder.name}: the system does not hold these documents; run the stage ingest")
    path = _retrieval_path(folder, prepared)
    done = read_retrieved(folder, prepared)
    waiting = [
        Query(question.question_id, plan.retrieval_instruction + question.asked)
        for question in asked_questions(plan, prepared.benchmark)
        if question.question_id not in done or done[question.question_id].error
    ]
    if waiting:
        with Lines(path) as lines:
            async for found in system.retrieve(waiting, plan.top_k):
                lines.add(asdict(found))
                done[found.question_id] = found
    return done


def _retrieval_path(folder: Path, prepared: Prepared) -> Path:
    return folder / f"retrieval-{prepared.digest[:12]}.jsonl"


def read_retrieved(folder: Path, prepared: Prepared) -> dict[str, Retrieved]:
    """Question id -> what the system gave; the last line of a question counts. Raises RagError."""
    path = _retrieval_path(folder, prepared)
    try:
        return {record["question_id"]: _retrieved(record) for record in read_lines(path)}
    except (KeyError, TypeError) as error:
        raise RagError(f"{path.name}: not a result of retrieval: {error}") from None


def _retrieved(record: Mapping[str, Any]) -> Retrieved:
    passages = tuple(
        Passage(**{**each, "ranges": tuple((start, end) for start, end in each["ranges"])})
        for each in record["passages"]
    )
    return Retrieved(**{**record, "passages": passages})


def answer_asks(
    plan: Plan, prepared: Prepared, retrieved: Mapping[str, Retrieved], service: Service
) -> dict[str, tuple[Ask, Shown]]:
    """Question id -> its request and what it shows, for every question whose retrieval did not fail."""
    library = Library(prepared.benchmark.documents)
    asks = {}
    for question in asked_questions(plan, prepared.benchmark):
        found = retrieved.get(question.question_id)
        if found is None or found.error:
            continue
        shown = show(found.passages, plan.context_characters, library)
        messages = answer_messages(plan.benchmark, question, shown, prepared.benchmark.missing, plan.instructions)
        asks[question.question_id] = (Ask(question.question_id, service.body(messages)), shown)
    return asks


async def generate(plan: Plan, folder: Path, system: System, service: Service) -> Asked:
    """Retrieve and answer every question that has no answer yet. One that fails is an error of its own (fault 10)."""
    retrieved = await retrieve(plan, folder, system)
    asks = answer_asks(plan, read_prepared(folder), retrieved, service)
    return await ask_all(service, [ask for ask, _ in asks.values()], folder / "answers")


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with what came of it so far."""

    question: Question
    retrieved: Retrieved | None
    shown: Shown | None
    reply: Response | None
    verdict: Verdict | None = None
    judge_replies: tuple[Response, ...] = ()
    ragas: RagasVerdict | None = None
    """The four metrics, where the run is judged by them."""

    @property
    def answer(self) -> str | None:
        """The answer's text; None when there is none to judge."""
        if self.reply is None or self.reply.error or self.reply.content is None:
            return None
        return self.reply.content.rpartition("</think>")[2].strip()


def answered(plan: Plan, folder: Path, service: Service) -> list[Answered]:
    """Every question of the run in the order of the data set (fault 11), with what is stored of it."""
    prepared = read_prepared(folder)
    retrieved = read_retrieved(folder, prepared)
    asks = answer_asks(plan, prepared, retrieved, service)
    replies = stored((ask for ask, _ in asks.values()), folder / "answers")
    result = []
    for question in asked_questions(plan, prepared.benchmark):
        ask, shown = asks.get(question.question_id, (None, None))
        reply = replies.get(ask.key) if ask else None
        result.append(Answered(question, retrieved.get(question.question_id), shown, reply))
    return result


async def judge(plan: Plan, folder: Path, generator: Service, service: Service) -> Asked:
    """Ask the judge for a verdict on every answer; one without a readable verdict is asked again, and again.

    Raises RagError when nothing was answered yet.
    """
    answers = [each for each in answered(plan, folder, generator) if each.answer is not None]
    if not answers:
        raise RagError(f"{folder.name}: no answer to judge; run the stage generate")
    asks: list[Ask] = []
    asked: Asked | None = None
    sent, errors = 0, Counter[ErrorClass]()
    for attempt in range(plan.judge_attempts):
        replies = asked.replies if asked else {}
        waiting = [each for each in answers if _open(plan, each, service, replies, attempt)]
        asks += [judge_ask(plan, each, service, attempt) for each in waiting]
        asked = await ask_all(service, asks, folder / "verdicts")
        sent += asked.sent
        errors.update(asked.errors)
        if asked.stopped:
            break
    assert asked is not None
    return replace(asked, sent=sent, errors=dict(errors))


def judge_ask(plan: Plan, each: Answered, service: Service, attempt: int) -> Ask:
    """The request for a verdict; attempts differ in `repeat` alone, so each has a reply of its own."""
    if plan.judging == "ragas":
        messages = [{"role": "user", "content": ragas_prompt(each)}]
    else:
        messages = judge_messages(each.question, each.answer or "")
    return Ask(each.question.question_id, service.body(messages), attempt)


def ragas_prompt(each: Answered) -> str:
    """What a judge of the four metrics is asked: the contexts as the answering model saw them, cut where it was cut."""
    question, lines = each.question, each.shown.block.split("\n") if each.shown and each.shown.block else []
    contexts = [str(json.loads(line)["text"]) for line in lines]
    return judge_prompt(question.question, contexts, question.gold[0], each.answer or "")


def _open(
    plan: Plan,
    each: Answered,
    service: Service,
    replies: Mapping[tuple[int, str, str], Response],
    attempt: int,
) -> bool:
    """Whether the earlier attempts hold no verdict."""
    earlier = [replies[key] for n in range(attempt) if (key := judge_ask(plan, each, service, n).key) in replies]
    if not earlier:
        return True
    read = ragas.verdict_of(earlier).judged if plan.judging == "ragas" else verdict_of(earlier).judged
    return read is not Judged.SCORED


@dataclass(frozen=True, slots=True)
class JudgeSet:
    """A judge set that was written."""

    path: Path
    rows: int
    lacking: int
    """Questions without an answer to judge; they are in no row."""


def write_judge_set(plan: Plan, folder: Path, generator: Service) -> JudgeSet:
    """Write the judge prompts of all answers as Twinkle Eval's ragas mode takes them, in a folder of its own.

    A row is the prompt as `question` and the question's id as `answer`: the harness appends any other column to the
    prompt, and scores every readable file of a folder. Raises RagError when nothing was answered yet.
    """
    answers = answered(plan, folder, generator)
    given = [each for each in answers if each.answer is not None]
    if not given:
        raise RagError(f"{folder.name}: no answer to judge; run the stage generate")
    rows = [{"question": ragas_prompt(each), "answer": each.question.question_id} for each in given]
    path = folder / "judge_set" / "rag.jsonl"
    write_file(path, jsonl_bytes(rows))
    return JudgeSet(path, len(rows), len(answers) - len(given))


def judged(plan: Plan, folder: Path, generator: Service, service: Service) -> list[Answered]:
    """Every question of the run with its verdict, in the order of the data set."""
    answers = answered(plan, folder, generator)
    asks = [
        judge_ask(plan, each, service, n)
        for each in answers
        if each.answer is not None
        for n in range(plan.judge_attempts)
    ]
    replies = stored(asks, folder / "verdicts")
    return [_with_verdict(plan, each, service, replies) for each in answers]


def _with_verdict(
    plan: Plan, each: Answered, service: Service, replies: Mapping[tuple[int, str, str], Response]
) -> Answered:
    by_metrics = plan.judging == "ragas"
    if each.answer is None:
        none = RagasVerdict(Judged.NO_ANSWER)
        return replace(each, ragas=none) if by_metrics else replace(each, verdict=Verdict(Judged.NO_ANSWER))
    keys = [judge_ask(plan, each, service, n).key for n in range(plan.judge_attempts)]
    own = tuple(replies[key] for key in keys if key in replies)
    if by_metrics:
        return replace(each, ragas=ragas.verdict_of(own), judge_replies=own)
    return replace(each, verdict=verdict_of(own), judge_replies=own)


async def delete(folder: Path, system: System) -> int:
    """Remove what the system ingested; answers, verdicts and reports stay. How many documents or files that were."""
    n = await system.delete()
    (folder / "ingested.json").unlink(missing_ok=True)
    return n


def read_ingested(folder: Path) -> Ingested | None:
    """The figures of the ingestion; None when there was none, or it was deleted."""
    held = _read_record(folder / "ingested.json")
    return Ingested(**held["figures"]) if held else None
