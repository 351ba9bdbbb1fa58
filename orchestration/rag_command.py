"""`otb rag`: run a retrieval system over a question-answering data set and measure it.

What belongs here: arguments, the table, exit statuses. What does not: the stages (`opentwbench.rag.stages`) and the
settings' schema (`resources.rag_settings`).
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NoReturn, ParamSpec

import typer

from opentwbench.dataset.model import DatasetError, Withdrawal
from opentwbench.dataset.withdrawal import WithdrawalReason
from opentwbench.evaluation.client import EndpointError
from opentwbench.evaluation.journal import JournalError
from opentwbench.rag import downloads, report, stages
from opentwbench.rag.asking import Asked
from opentwbench.rag.model import DATASETS, Judged, RagError
from orchestration import variables
from orchestration.local_store import root
from orchestration.withdrawal_commands import DateOption, EvidenceOption, ItemArgument, dated, plain
from resources import rag_runs
from resources.rag_settings import RagRun, merged, read_settings, settings_of
from resources.store import StoreError

USAGE, UNFINISHED, STOPPED = 2, 3, 4

STATUSES = (
    "Exit status: 0 done; 1 a fault of the program; 2 wrong arguments or settings, or files that cannot be read; "
    "3 finished, but some questions have no answer or verdict (the same command asks again); 4 stopped early: key "
    "refused, endpoint broken or spending limit. The same command continues a run and asks nothing twice."
)

P = ParamSpec("P")

app = typer.Typer(help="Benchmark a retrieval system: answers, recall, a judge.", no_args_is_help=True)

ConfigOption = Annotated[Path | None, typer.Option(help="YAML settings (docs/rag.md).", show_default=False)]
DatasetOption = Annotated[str | None, typer.Option(help=f"{', '.join(DATASETS)}.", show_default=False)]
DataOption = Annotated[Path | None, typer.Option(help="Folder of the original files.", show_default=False)]
SystemOption = Annotated[
    str | None, typer.Option(help="bm25, dense, hybrid, openviking or contexts.", show_default=False)
]
JudgingOption = Annotated[str | None, typer.Option(help="score (0 to 4) or ragas (four metrics).", show_default=False)]
SystemUrlOption = Annotated[str | None, typer.Option(help="OpenViking server.", show_default=False)]
ModelOption = Annotated[str | None, typer.Option(help="Model that answers.", show_default=False)]
BaseUrlOption = Annotated[
    str | None, typer.Option(help="Its endpoint up to /v1; judge and embeddings take it too.", show_default=False)
]
KeyOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Environment variable that holds the API key.", show_default=False)
]
JudgeOption = Annotated[str | None, typer.Option(help="Model that judges; none judges nothing.", show_default=False)]
JudgeUrlOption = Annotated[str | None, typer.Option(help="The judge's own endpoint.", show_default=False)]
EmbeddingOption = Annotated[str | None, typer.Option(help="Model of the vectors.", show_default=False)]
DocumentsOption = Annotated[int | None, typer.Option(help="Sample: so many documents.", show_default=False)]
QuestionsOption = Annotated[int | None, typer.Option(help="Sample: so many questions.", show_default=False)]
SeedOption = Annotated[int | None, typer.Option(help="Seed of the sample (42).", show_default=False)]
TopKOption = Annotated[int | None, typer.Option(help="Passages a question (5).", show_default=False)]
MaxQueriesOption = Annotated[int | None, typer.Option(help="Only the first so many questions.", show_default=False)]
StoreOption = Annotated[
    str, typer.Option(envvar=variables.STORE, help="Folder of the store; runs are in its folder rag.")
]
ScriptedOption = Annotated[
    bool, typer.Option("--scripted", help="Ask a scripted endpoint of this machine: shows how it works, no result.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="The outcome as JSON on standard output.")]


def in_words(command: Callable[P, None]) -> Callable[P, None]:
    """What cannot be read, asked or written ends a command with its name, place and reason."""

    @wraps(command)
    def said(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (RagError, EndpointError, JournalError, OSError) as error:
            _stop(str(error))

    return said


def _stop(message: str) -> NoReturn:
    print(f"otb rag: {message}", file=sys.stderr)
    raise typer.Exit(USAGE)


def _command(name: str, text: str, carry_out: Callable[[RagRun, bool], None]) -> None:
    """Add a command that takes the settings of a run."""

    @app.command(name, help=text, epilog=STATUSES)
    @in_words
    def command(
        config: ConfigOption = None,
        dataset: DatasetOption = None,
        data: DataOption = None,
        system: SystemOption = None,
        system_url: SystemUrlOption = None,
        model: ModelOption = None,
        base_url: BaseUrlOption = None,
        api_key_env: KeyOption = None,
        judge: JudgeOption = None,
        judge_base_url: JudgeUrlOption = None,
        judging: JudgingOption = None,
        embedding: EmbeddingOption = None,
        documents: DocumentsOption = None,
        questions: QuestionsOption = None,
        seed: SeedOption = None,
        top_k: TopKOption = None,
        max_queries: MaxQueriesOption = None,
        store: StoreOption = "store",
        scripted: ScriptedOption = False,
        as_json: JsonOption = False,
    ) -> None:
        if scripted and (base_url or judge_base_url):
            raise RagError("--scripted asks no endpoint, and --base-url names one")
        shared = {"base_url": base_url, "api_key_env": api_key_env}
        given = {
            "dataset": dataset,
            "data": None if data is None else str(data),
            "system": {"kind": system, "base_url": system_url},
            "sampling": {"documents": documents, "questions": questions, "seed": seed},
            "retrieval": {"top_k": top_k, "max_queries": max_queries},
            "answers": {"model": model, **shared},
            "judge": {"model": judge, "judging": judging, **shared, **_own_url(judge_base_url)},
            "embedding": {"model": embedding, **shared},
        }
        values = merged(read_settings(config) if config else {}, given)
        if "dataset" not in values:
            raise RagError("name a data set with --dataset, or settings with --config")
        with scripted_models(values) if scripted else nullcontext(values) as asked:
            settings = settings_of(asked, config.name if config else "arguments")
            carry_out(RagRun.of(settings, root(store)), as_json)


@contextmanager
def scripted_models(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Settings that ask the scripted endpoint, which runs as long as they are in use; its models say `scripted/`."""
    from samples.model_endpoint import ModelEndpoint
    from samples.rag.script import JUDGE, WRITER

    with ModelEndpoint(rag=True) as endpoint:
        names = {"answers": WRITER, "judge": JUDGE, "embedding": "scripted/vectors"}
        given = {part: {"model": name, "base_url": endpoint.base_url} for part, name in names.items()}
        yield merged(values, given)


def _own_url(url: str | None) -> dict[str, str]:
    return {"base_url": url} if url else {}


def _prepare(run: RagRun, as_json: bool) -> None:
    prepared = rag_runs.prepare(run)
    benchmark = prepared.benchmark
    account = {
        "run": run.plan.name,
        "documents": len(benchmark.documents),
        "questions": len(benchmark.questions),
        "rows": benchmark.rows,
        "dropped": dict(sorted(benchmark.dropped.items())),
        "dirt": {name: n for name, n in sorted(benchmark.dirt.items()) if n},
    }
    _say(account, as_json)


def _ingest(run: RagRun, as_json: bool) -> None:
    ingested = rag_runs.ingest(run)
    account = {"run": run.plan.name, "documents": ingested.documents, "chunks": ingested.chunks}
    _say({**account, "seconds": round(ingested.seconds, 3), "embedding_tokens": ingested.embedding_tokens}, as_json)


def _generate(run: RagRun, as_json: bool) -> None:
    asked = rag_runs.generate(run)
    counts = rag_runs.outcomes(run)
    lost = {name: n for name, n in sorted(counts.items()) if name != "answered"}
    _ended(run, asked, {"answers": counts.get("answered", 0), "without_answer": lost}, sum(lost.values()), as_json)


def _judge(run: RagRun, as_json: bool) -> None:
    asked = rag_runs.judge(run)
    counts = rag_runs.verdicts(run)
    lost = {kind.value: counts[kind] for kind in Judged if kind is not Judged.SCORED and counts.get(kind)}
    account = {"verdicts": counts.get(Judged.SCORED, 0), "without_verdict": lost}
    _ended(run, asked, account, sum(lost.values()), as_json)


def _ended(run: RagRun, asked: Asked, counted: dict[str, Any], lost: int, as_json: bool) -> None:
    """The account of a round of asking; leaves with its exit status when it was not whole."""
    errors = Counter(reply.error.value for reply in asked.replies.values() if reply.error)
    account = {
        "run": run.plan.name,
        **counted,
        "sent": asked.sent,
        "errors": dict(sorted(errors.items())),
        "tokens": asked.spending.tokens,
        "stopped": asked.stopped,
    }
    _say(account, as_json)
    if asked.stopped:
        print(f"otb rag: {asked.stopped}", file=sys.stderr)
        raise typer.Exit(STOPPED)
    if lost:
        raise typer.Exit(UNFINISHED)


def _report(run: RagRun, as_json: bool) -> None:
    _print(rag_runs.write_report(run), as_json)


def _print(made: dict[str, Any], as_json: bool) -> None:
    print(f"{json.dumps(made, ensure_ascii=False)}\n" if as_json else report.as_markdown(made), end="")


def _run(run: RagRun, as_json: bool) -> None:
    carried = rag_runs.carry_out(run)
    _print(carried.report, as_json)
    print(f"otb rag: {run.folder}", file=sys.stderr)
    if carried.stopped:
        print(f"otb rag: {carried.stopped}", file=sys.stderr)
        raise typer.Exit(STOPPED)
    if not carried.is_whole:
        raise typer.Exit(UNFINISHED)


def _dataset(run: RagRun, as_json: bool) -> None:
    written = stages.write_judge_set(run.plan, run.folder, run.generator)
    account = {"run": run.plan.name, "rows": written.rows, "without_answer": written.lacking}
    _say({**account, "file": str(written.path)}, as_json)
    if written.lacking:
        raise typer.Exit(UNFINISHED)


def _delete(run: RagRun, as_json: bool) -> None:
    removed = asyncio.run(stages.delete(run.folder, run.settings.open_system(run.folder)))
    _say({"run": run.plan.name, "removed": removed}, as_json)


def _say(account: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(account, ensure_ascii=False))
    else:
        print("\n".join(f"{name:<18}{value if value != {} else 'none'}" for name, value in account.items()))


@app.command(epilog="Exit status: 0 published; 2 nothing to build from; 3 withheld by a check.")
@in_words
def build(store: StoreOption = "store", as_json: JsonOption = False) -> None:
    """Build tw-rag-bench from the Formosa track's grounded items: contexts, data set, checks, publication."""
    from resources import rag_products
    from resources.store import Store

    place = Store(str(root(store)))
    try:
        state = rag_products.build(place, place)
    except (DatasetError, StoreError) as error:
        _stop(str(error))
    _say(
        {"state": state.state, "items": state.items, "version": state.version, "against": list(state.against)}, as_json
    )
    if state.against:
        raise typer.Exit(UNFINISHED)


@app.command(epilog="Exit status: 0 recorded; 2 no such item, or a decision that cannot be recorded.")
@in_words
def withdraw(
    item_id: ItemArgument,
    reason: Annotated[WithdrawalReason, typer.Option(help="Why it leaves the scored set.")],
    evidence: EvidenceOption,
    date: DateOption = "",
    store: StoreOption = "store",
) -> None:
    """Take one item of tw-rag-bench out of the scored set: it stays published. The next build makes a new version."""
    from resources import rag_products
    from resources.store import Store

    try:
        decided = dated(Withdrawal(item_id, reason.value, date, evidence))
        listed = rag_products.withdraw(Store(str(root(store))), decided)
    except (DatasetError, StoreError) as error:
        _stop(plain(str(error)))
    print(f"{item_id} is in {listed} and leaves the scored set with the next build: otb rag build --store {store}")


@app.command(epilog="Exit status: 0 every check passed; 2 no such folder; 3 a check did not pass.")
@in_words
def check(
    folder: Annotated[Path, typer.Argument(help="A folder of tw-rag-bench.", show_default=False)],
    as_json: JsonOption = False,
) -> None:
    """Run the blocking checks of tw-rag-bench over a folder."""
    from opentwbench.rag.tw_rag.dataset_checks import CHECKS, run_check

    if not folder.is_dir():
        _stop(f"{folder}: no folder")
    outcomes = [run_check(name, folder) for name in CHECKS]
    if as_json:
        print(json.dumps({each.name: {"passed": each.passed, **each.figures} for each in outcomes}, ensure_ascii=False))
    else:
        print("\n".join(f"{'ok' if each.passed else 'FAILED':<8}{each.name:<26}{each.detail}" for each in outcomes))
    if not all(each.passed for each in outcomes):
        raise typer.Exit(UNFINISHED)


@app.command(epilog="Exit status: 0 done, or shown; 2 wrong arguments; 3 the files cannot be fetched.")
def download(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="Name of a data set.")],
    out: Annotated[Path | None, typer.Option(help="Folder to write.", show_default=False)] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Fetch; without it size and licence are shown alone.")] = False,
    url: Annotated[str | None, typer.Option(help="Fetch from a mirror instead: https.", show_default=False)] = None,
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="The mirror may be in a private network, and http.")
    ] = False,
) -> None:
    """Show where a public data set comes from, its size and its licence; with --yes fetch its files."""
    try:
        offer = downloads.offer(dataset)
        print(downloads.as_text(offer))
        if yes and out is None:
            raise RagError("name a folder with --out")
        if yes and out is not None:
            fetched = downloads.fetch(offer, out, url, allow_private=allow_private)
            print(f"{fetched.files} files, {fetched.bytes:,} bytes in {out}")
    except downloads.Unreachable as error:
        print(f"otb rag: {error}", file=sys.stderr)
        raise typer.Exit(UNFINISHED) from None
    except (RagError, OSError) as error:
        _stop(str(error))


for _name, _text, _function in (
    ("run", "Every stage in order, then the report. Starting again continues.", _run),
    ("prepare", "Read the original files, draw the sample, count what is dropped.", _prepare),
    ("ingest", "Hand the documents to the system under test.", _ingest),
    ("generate", "Retrieve and answer; each answer is kept as it comes.", _generate),
    ("dataset", "Write the judge set of the answers, as Twinkle Eval's ragas mode takes it.", _dataset),
    ("judge", "Ask the judge for a verdict on every answer.", _judge),
    ("delete", "Remove what the system ingested; answers and reports stay.", _delete),
    ("report", "Write the report from what is stored; nothing is asked.", _report),
):
    _command(_name, _text, _function)
