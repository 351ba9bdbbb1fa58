"""What a run comes to: figures over all questions, by category and by language, as JSON, Markdown and two result files.

The JSON holds the keys of the OpenViking benchmark's reports, so that tables made for those read ours, and beside them
what those do not say: what was left out of each mean, the ceiling of recall, the judge's own record, percentiles, and
whether a model judged itself. A mean without a value is null, never 0.
What belongs here: a pure function of what a run stored. What does not: asking anything.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from opentwbench.dataset.atomic import write_file
from opentwbench.dataset.card import markdown
from opentwbench.dataset.manifest import json_bytes
from opentwbench.formosa.folding import stands_in
from opentwbench.rag.evidence import COVERED, Library, Located, recall
from opentwbench.rag.judging import BEST, judge_figures, same_model
from opentwbench.rag.metrics import f1, is_refusal, mean, percentile
from opentwbench.rag.model import Benchmark, Judged
from opentwbench.rag.ragas_figures import JudgedAnswer, ragas_figures
from opentwbench.rag.ragas_figures import as_markdown as ragas_figures_markdown
from opentwbench.rag.retrieval.system import Ingested
from opentwbench.rag.stages import Answered, Plan

REPORT_JSON = "benchmark_metrics_report.json"
REPORT_MD = "report.md"
ANSWERS_JSON = "generated_answers.json"
DETAILS_JSON = "qa_eval_detailed_results.json"
SHARES = (0.5, 0.95, 0.99)

CAUTIOUS_APPROVAL = 0.95
"""A judge that gives the best score to this share of answers is named in the report: it may approve of anything."""


@dataclass(frozen=True, slots=True)
class Line:
    """One question's figures; None where there is nothing to measure."""

    question_id: str
    category: str
    language: str
    outcome: str
    """'answered', 'retrieval_error', 'answer_error' or 'not_asked'."""
    recall: float | None
    ceiling: float | None
    """Recall with its whole document at the head of the prompt, under the same budget of characters."""
    f1: float | None
    refused: bool
    judged: str
    accuracy: int | None
    judge_refusal: bool
    retrieval_seconds: float | None
    answer_seconds: float | None
    input_tokens: int | None
    output_tokens: int | None
    estimated: bool
    """The tokens of the answer are an estimate: the endpoint reports none."""
    evidence: int
    unlocated: int


def lines_of(plan: Plan, benchmark: Benchmark, answers: Sequence[Answered]) -> list[Line]:
    """The figures of every question, in order."""
    library = Library(benchmark.documents)
    return [_line(plan, benchmark, library, each) for each in answers]


def _line(plan: Plan, benchmark: Benchmark, library: Library, each: Answered) -> Line:
    question, reply = each.question, each.reply
    located = library.locate(question)
    answer, verdict = each.answer, each.verdict
    tokens = _tokens(each)
    return Line(
        question_id=question.question_id,
        category=question.category,
        language=question.language,
        outcome=outcome_of(each),
        recall=recall(located, each.shown.ranges) if each.shown else None,
        ceiling=_ceiling(located, plan.context_characters),
        f1=None if answer is None else f1(answer, question.gold),
        refused=answer is not None and is_refusal(answer, benchmark.missing),
        judged=verdict.judged.value if verdict else "",
        accuracy=verdict.score if verdict else None,
        judge_refusal=bool(verdict and verdict.refusal),
        retrieval_seconds=each.retrieved.seconds if each.retrieved and not each.retrieved.error else None,
        answer_seconds=reply.latency_ms / 1000 if reply and not reply.error else None,
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        estimated=tokens[2],
        evidence=len(question.evidence),
        unlocated=located.unlocated,
    )


def outcome_of(each: Answered) -> str:
    """What became of a question: 'answered', 'retrieval_error', 'answer_error' or 'not_asked'."""
    if each.retrieved is None:
        return "not_asked"
    if each.retrieved.error:
        return "retrieval_error"
    if each.reply is None:
        return "not_asked"
    return "answered" if each.answer is not None else "answer_error"


def _ceiling(located: Located, budget: int) -> float | None:
    return recall(located, {located.doc_id: ((0, budget),)})


def _tokens(each: Answered) -> tuple[int | None, int | None, bool]:
    """Input and output tokens; estimated, and so marked, where the endpoint reports none (fault 14)."""
    reply = each.reply
    if reply is None or reply.error:
        return None, None, False
    estimated = reply.prompt_tokens is None or reply.completion_tokens is None
    written = len(reply.content or "") + len(reply.reasoning or "")
    shown = (each.shown.characters if each.shown else 0) + len(each.question.asked)
    return (
        reply.prompt_tokens if reply.prompt_tokens is not None else shown,
        reply.completion_tokens if reply.completion_tokens is not None else written,
        estimated,
    )


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over some questions, each with the number of questions in it."""

    questions: int
    recall: float | None
    recall_n: int
    ceiling: float | None
    f1: float | None
    f1_n: int
    accuracy: float | None
    """0 to 4, over verdicts alone."""
    accuracy_n: int
    refusals: int
    judge_refusals: int
    by_outcome: Mapping[str, int] = field(default_factory=dict)

    @property
    def normalised(self) -> float | None:
        """Accuracy between 0 and 1."""
        return None if self.accuracy is None else self.accuracy / BEST


def figures(lines: Iterable[Line]) -> Figures:
    """The means of some questions."""
    held = list(lines)
    recalls = _values(held, lambda line: line.recall)
    scores, accuracies = _values(held, lambda line: line.f1), _values(held, lambda line: line.accuracy)
    return Figures(
        questions=len(held),
        recall=mean(recalls),
        recall_n=len(recalls),
        ceiling=mean(_values(held, lambda line: line.ceiling)),
        f1=mean(scores),
        f1_n=len(scores),
        accuracy=mean(accuracies),
        accuracy_n=len(accuracies),
        refusals=sum(line.refused for line in held),
        judge_refusals=sum(line.judge_refusal for line in held),
        by_outcome=dict(sorted(Counter(line.outcome for line in held).items())),
    )


def _values(lines: Iterable[Line], value: Callable[[Line], float | None]) -> list[float]:
    return [float(found) for line in lines if (found := value(line)) is not None]


def report(plan: Plan, benchmark: Benchmark, ingested: Ingested | None, answers: Sequence[Answered]) -> dict[str, Any]:
    """The report of a run as JSON."""
    lines = lines_of(plan, benchmark, answers)
    whole = figures(lines)
    return {
        "Insertion Efficiency (Total Dataset)": _insertion(ingested),
        "Query Efficiency (Average Per Query)": {
            "Average Retrieval Time (s)": _round(mean(_values(lines, lambda line: line.retrieval_seconds))),
            "Average Input Tokens": _round(mean(_values(lines, lambda line: line.input_tokens)), 2),
            "Average Output Tokens": _round(mean(_values(lines, lambda line: line.output_tokens)), 2),
        },
        "Dataset": plan.benchmark,
        "Total Queries Evaluated": whole.questions,
        "Performance Metrics": {
            "Average F1 Score": _round(whole.f1),
            "Average Recall": _round(whole.recall),
            "Average Accuracy (Hit 0-4)": _round(whole.accuracy),
            "Average Accuracy (normalization)": _round(whole.normalised),
        },
        "run": plan.name,
        "system": plan.system,
        "top_k": plan.top_k,
        "seed": plan.sampling.seed,
        "models": {"answer": plan.generator, "judge": plan.judge, "embedding": plan.embedding},
        "self_judged": _self_judged(plan, answers),
        "rows": benchmark.rows,
        "dropped": _dropped(benchmark, len(answers)),
        "dirt": dict(sorted((name, n) for name, n in benchmark.dirt.items() if n)),
        "recall": _recall(plan, lines, answers, whole),
        "f1": {"value": _round(whole.f1), "n": whole.f1_n},
        "judge": _judge(answers, whole),
        "refusals": {"by_the_answer": whole.refusals, "by_the_judge": whole.judge_refusals},
        "outcomes": dict(whole.by_outcome),
        "latency_seconds": {
            "retrieval": _percentiles(_values(lines, lambda line: line.retrieval_seconds)),
            "answer": _percentiles(_values(lines, lambda line: line.answer_seconds)),
        },
        "tokens": {
            "input": sum(line.input_tokens or 0 for line in lines),
            "output": sum(line.output_tokens or 0 for line in lines),
            "answers_estimated": sum(line.estimated for line in lines),
        },
        **_ragas(plan, answers),
        "by_category": _groups(lines, lambda line: line.category),
        "by_language": _groups(lines, lambda line: line.language),
    }


def _ragas(plan: Plan, answers: Sequence[Answered]) -> dict[str, Any]:
    """The section of the four metrics, for a run that is judged by them."""
    if plan.judging != "ragas":
        return {}
    held = [
        JudgedAnswer(each.question, each.answer, each.ragas, plan.system == "contexts")
        for each in answers
        if each.ragas is not None
    ]
    return {"ragas": ragas_figures(held)}


def _dropped(benchmark: Benchmark, asked: int) -> dict[str, int]:
    """Why rows were not asked; with the asked ones they make all rows."""
    beyond = len(benchmark.questions) - asked
    dropped = {**benchmark.dropped, **({"beyond_max_queries": beyond} if beyond else {})}
    return dict(sorted(dropped.items()))


def _insertion(ingested: Ingested | None) -> dict[str, Any]:
    if ingested is None:
        return {"state": "nothing is ingested"}
    return {
        "Total Insertion Time (s)": round(ingested.seconds, 3),
        "Total Input Tokens": ingested.input_tokens,
        "Total Output Tokens": ingested.output_tokens,
        "Total Embedding Tokens": ingested.embedding_tokens,
        "documents": ingested.documents,
        "chunks": ingested.chunks,
        "requests_estimated": ingested.estimated,
    }


def _self_judged(plan: Plan, answers: Sequence[Answered]) -> bool:
    """Whether one model answered and judged, by the names asked for and by those that the endpoints report."""
    if plan.judge and same_model(plan.generator, plan.judge):
        return True
    answering = {each.reply.served_model for each in answers if each.reply and each.reply.served_model}
    judging = {reply.served_model for each in answers for reply in each.judge_replies if reply.served_model}
    return any(same_model(first, second) for first in answering for second in judging)


def _recall(plan: Plan, lines: Sequence[Line], answers: Sequence[Answered], whole: Figures) -> dict[str, Any]:
    return {
        "value": _round(whole.recall),
        "n": whole.recall_n,
        "measured_on": f"what the prompt showed (at most {plan.context_characters} characters of passages)",
        "found_means": f"{COVERED:.0%} of an evidence's characters shown, at their place in their own document",
        "ceiling_whole_document": _round(whole.ceiling),
        "questions_without_evidence": sum(line.evidence == 0 for line in lines),
        "questions_without_located_evidence": sum(0 < line.evidence == line.unlocated for line in lines),
        "evidence": sum(line.evidence for line in lines),
        "evidence_not_located": sum(line.unlocated for line in lines),
        "passages_cut": sum(each.shown.cut for each in answers if each.shown),
        "passages_of_no_place": sum(
            not passage.ranges for each in answers if each.retrieved for passage in each.retrieved.passages
        ),
    }


def _judge(answers: Sequence[Answered], whole: Figures) -> dict[str, Any]:
    counted = judge_figures(each.verdict for each in answers if each.verdict is not None)
    approval = counted.approved / counted.scored if counted.scored else None
    return {
        "accuracy": _round(whole.accuracy),
        "n": whole.accuracy_n,
        **{name: value for name, value in asdict(counted).items() if name != "approved"},
        "parse_rate": _round(counted.parse_rate),
        "approval_rate": _round(approval),
        "approves_nearly_everything": approval is not None and approval >= CAUTIOUS_APPROVAL,
    }


def _percentiles(values: Sequence[float]) -> dict[str, Any]:
    return {"n": len(values), **{f"p{share * 100:g}": _round(percentile(values, share)) for share in SHARES}}


def _groups(lines: Sequence[Line], name: Callable[[Line], str]) -> dict[str, Any]:
    """Figures by group, in the order of the names (fault 15)."""
    return {
        group: {
            key: _round(value) if isinstance(value, float) else value
            for key, value in asdict(figures(line for line in lines if name(line) == group)).items()
        }
        for group in sorted({name(line) for line in lines})
    }


def _round(value: float | None, digits: int = 4) -> float | None:
    return None if value is None else round(value, digits)


def write_report(
    folder: Path, plan: Plan, benchmark: Benchmark, ingested: Ingested | None, answers: Sequence[Answered]
) -> dict[str, Any]:
    """Write the report's files into the run's folder; gives the report."""
    made = report(plan, benchmark, ingested, answers)
    lines = lines_of(plan, benchmark, answers)
    pairs = list(zip(answers, lines, strict=True))
    write_file(folder / REPORT_JSON, json_bytes(made))
    write_file(folder / REPORT_MD, as_markdown(made).encode())
    write_file(folder / ANSWERS_JSON, _json([_answer(n, each, line) for n, (each, line) in enumerate(pairs)]))
    write_file(folder / DETAILS_JSON, _json([_detail(n, each, line) for n, (each, line) in enumerate(pairs)]))
    return made


def _json(records: list[dict[str, Any]]) -> bytes:
    return (json.dumps(records, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode("utf-8", "replace")


def _answer(number: int, each: Answered, line: Line) -> dict[str, Any]:
    retrieved = each.retrieved
    return {
        "_global_index": number,
        "sample_id": each.question.doc_id,
        "question_id": each.question.question_id,
        "question": each.question.question,
        "gold_answers": list(each.question.gold),
        "category": each.question.category,
        "evidence": [evidence.span or evidence.text for evidence in each.question.evidence],
        "retrieval": {
            "latency_sec": line.retrieval_seconds,
            "uris": [passage.source for passage in retrieved.passages] if retrieved else [],
            "error": retrieved.error if retrieved else "",
        },
        "llm": {"final_answer": each.answer, "error": each.reply.error.value if each.reply else ""},
        "metrics": {"Recall": _round(line.recall)},
        "token_usage": {
            "total_input_tokens": line.input_tokens,
            "llm_output_tokens": line.output_tokens,
            "estimated": line.estimated,
        },
    }


def _detail(number: int, each: Answered, line: Line) -> dict[str, Any]:
    verdict = each.verdict
    return {
        "_global_index": number,
        "question_id": each.question.question_id,
        "question": each.question.question,
        "gold_answers": list(each.question.gold),
        "category": each.question.category,
        "llm": {"final_answer": each.answer},
        "outcome": line.outcome,
        "metrics": {"Recall": _round(line.recall), "F1": _round(line.f1), "Accuracy": line.accuracy},
        **({"ragas": _ragas_detail(each)} if each.ragas else {}),
        "refused": line.refused,
        "llm_evaluation": {
            "outcome": line.judged,
            "reasoning": verdict.reason if verdict else "",
            "normalized_score": line.accuracy,
            "refusal": line.judge_refusal,
            "attempts": verdict.attempts if verdict else 0,
            "complete": line.judged == Judged.SCORED.value,
        },
    }


def _ragas_detail(each: Answered) -> dict[str, Any]:
    """The four metrics of one answer, where its gold stands, and whether it holds the keyed answer."""
    assert each.ragas is not None
    question, keyed = each.question, each.question.keyed
    offered = {name: place for place, name in enumerate(question.offered, 1)}
    return {
        "outcome": each.ragas.judged.value,
        "scores": dict(each.ragas.scores) if each.ragas.scores else None,
        "attempts": each.ragas.attempts,
        "gold_position": offered.get(question.doc_id),
        "answer_found": stands_in(keyed, each.answer) if keyed and each.answer is not None else None,
    }


def as_markdown(made: Mapping[str, Any]) -> str:
    """The report for people. Names that come from outside are escaped."""
    judge, latency = made["judge"], made["latency_seconds"]
    lines = [
        f"# {markdown(made['Dataset'])} with {markdown(made['system'])}, top {made['top_k']}",
        "",
        f"Run {markdown(made['run'])}. Answers: {markdown(made['models']['answer'])}. "
        f"Judge: {markdown(made['models']['judge'] or 'none')}.",
        *(["", "**Self-judged: one model wrote the answers and judged them.**"] if made["self_judged"] else []),
        *(
            ["", "**The judge gave nearly every answer the best score: its accuracy says little.**"]
            if judge["approves_nearly_everything"]
            else []
        ),
        "",
        "| | questions | recall (n) | ceiling | F1 (n) | judge 0-4 (n) | refusals |",
        "|---|---|---|---|---|---|---|",
        _row("all", _whole(made)),
        *(_row(name, group) for name, group in made["by_category"].items()),
        *(_row(f"language {name}", group) for name, group in made["by_language"].items()),
        "",
        f"Recall is measured on {made['recall']['measured_on']}. Found means: {made['recall']['found_means']}. "
        "The ceiling is the recall with the question's whole document at the head of the prompt, under that budget.",
        f"Left out of recall: {made['recall']['questions_without_evidence']} questions without evidence, and "
        f"{made['recall']['questions_without_located_evidence']} "
        "with evidence that their document does not hold as quoted.",
        *(ragas_figures_markdown(made["ragas"], _shown) if "ragas" in made else ["", *_judge_lines(judge)]),
        f"Retrieval: median {_shown(latency['retrieval']['p50'])} s, 95 % {_shown(latency['retrieval']['p95'])} s, "
        f"99 % {_shown(latency['retrieval']['p99'])} s. "
        f"Answers: median {_shown(latency['answer']['p50'])} s, 95 % {_shown(latency['answer']['p95'])} s.",
        f"Tokens: {made['tokens']['input']:,} in, {made['tokens']['output']:,} out; "
        f"{made['tokens']['answers_estimated']} answers estimated, because the endpoint reports none.",
        f"Rows: {made['rows']:,} = {made['Total Queries Evaluated']:,} asked"
        + "".join(f" + {n:,} {markdown(name)}" for name, n in made["dropped"].items())
        + ".",
    ]
    return "\n".join(lines) + "\n"


def _judge_lines(judge: Mapping[str, Any]) -> list[str]:
    return [
        f"Judge: {judge['scored']} verdicts, {judge['unparsed']} without one in the form asked for, "
        f"{judge['errors']} errors, {judge['not_judged']} answers that were not there to judge; "
        f"parse rate {_shown(judge['parse_rate'])}, approval rate {_shown(judge['approval_rate'])}."
    ]


def _whole(made: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "questions": made["Total Queries Evaluated"],
        "recall": made["recall"]["value"],
        "recall_n": made["recall"]["n"],
        "ceiling": made["recall"]["ceiling_whole_document"],
        "f1": made["f1"]["value"],
        "f1_n": made["f1"]["n"],
        "accuracy": made["judge"]["accuracy"],
        "accuracy_n": made["judge"]["n"],
        "refusals": made["refusals"]["by_the_answer"],
    }


def _row(name: str, group: Mapping[str, Any]) -> str:
    return (
        f"| {markdown(name)} | {group['questions']} | {_shown(group['recall'])} ({group['recall_n']}) "
        f"| {_shown(group['ceiling'])} | {_shown(group['f1'])} ({group['f1_n']}) "
        f"| {_shown(group['accuracy'])} ({group['accuracy_n']}) | {group['refusals']} |"
    )


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
