"""`otb formosa draft | judge-study | ground | curate | build`: from windows to the published folder.

What belongs here: arguments, files, exit statuses. What does not: rules (`opentwbench.formosa`) and asking
(`opentwbench.evaluation.runner`). Starting a command again continues it: nothing that was answered is asked twice.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from opentwbench.dataset.atomic import write_file
from opentwbench.dataset.files import jsonl_bytes, parse_json, read_bytes, read_jsonl
from opentwbench.dataset.manifest import json_bytes, sha256
from opentwbench.evaluation.journal import (
    read_responses,
)
from opentwbench.evaluation.protocols import REGISTRY
from opentwbench.formosa.accounting import Account, account, banded, total
from opentwbench.formosa.asking import Ask
from opentwbench.formosa.band import read_band, read_sidecar
from opentwbench.formosa.curation import (
    Edition,
    external,
    freeze,
    member_record,
    sidecar_of,
    transfer,
)
from opentwbench.formosa.dataset_checks import CHECKS
from opentwbench.formosa.dataset_checks import judge as judge_folder
from opentwbench.formosa.digests import code_version
from opentwbench.formosa.drafting import collect, draft_ask, drafts_bytes, read_drafts
from opentwbench.formosa.edition_files import hold_earlier
from opentwbench.formosa.grounding import JUDGE_PROMPT, Grounding, ground, judge_ask, to_judge
from opentwbench.formosa.judge_study import JudgeResult, may_ground, plant, result_of, same_judge, verdict_records
from opentwbench.formosa.model import Draft, Screened, Window
from opentwbench.formosa.orthography import read_lexicon, slips
from opentwbench.formosa.output import (
    SLUG,
    Release,
    full_version,
    items_bytes,
    items_from,
    make_items,
    sidecar_bytes,
    write_release,
)
from opentwbench.formosa.panel import degeneracy
from opentwbench.formosa.pool import member_of_run, member_of_submission, roles
from opentwbench.formosa.screens import screen_all, with_more
from opentwbench.formosa.served import served_names
from opentwbench.formosa.window_files import read_findings, read_windows, with_findings
from resources.formosa_asking import Asker, AskingStopped

USAGE, UNFINISHED, STOPPED = 2, 3, 4

STATUSES = (
    "Exit status: 0 done; 1 a fault of the program; 2 wrong arguments, a file that cannot be read, or a judge that may "
    "not ground; 3 something is unanswered, or nothing is well-formed or passes; 4 the run stopped early (limit, "
    "endpoint)."
)

Windows = Annotated[Path, typer.Argument(help="Windows, one JSON object a line.", show_default=False)]
BaseUrl = Annotated[str, typer.Option(help="OpenAI-compatible endpoint, up to /v1.", show_default=False)]
KeyEnv = Annotated[str, typer.Option(help="Environment variable with the API key.", show_default=False)]
Runs = Annotated[Path, typer.Option(help="Folder of the journals.")]
Out = Annotated[Path, typer.Option(help="Where the products go.")]
Concurrency = Annotated[int, typer.Option(min=1, max=4096, help="Requests at a time, at most.")]
MostTokens = Annotated[int | None, typer.Option(min=1, help="Spending stop.", show_default=False)]

LexiconFolder = Annotated[
    Path | None, typer.Option(help="Lists of characters and terms: apply every screen.", show_default=False)
]
Findings = Annotated[
    Path | None, typer.Option(help="Further findings, e.g. a maintainer's, one a line.", show_default=False)
]


def add_to(app: typer.Typer) -> None:
    """Add the commands to `otb formosa`."""
    app.command(name="draft", epilog=STATUSES)(draft)
    app.command(name="judge-study", epilog=STATUSES)(judge_study)
    app.command(name="ground", epilog=STATUSES)(ground_drafts)
    app.command(name="curate", epilog=STATUSES)(curate)
    app.command(name="build", epilog=STATUSES)(build)


def draft(
    windows: Windows,
    model: Annotated[str, typer.Option(help="Drafting model.", show_default=False)],
    base_url: BaseUrl,
    api_key_env: KeyEnv = "",
    runs: Runs = Path("formosa/runs"),
    out: Out = Path("formosa/drafts"),
    concurrency: Concurrency = 16,
    max_total_tokens: MostTokens = None,
) -> None:
    """Draft one question a window. Windows that were answered are not asked again; changed windows are."""
    try:
        known = read_windows(windows)
        ask = draft_ask(list(known.values()), model)
        stopped = _ask(ask, runs, base_url, api_key_env, concurrency, max_total_tokens)
        found = collect(read_responses(runs / ask.run_id), known)
    except (OSError, ValueError) as error:
        _stop(str(error))
    write_file(out / "drafts.jsonl", drafts_bytes(found.drafts))
    rejected = [{"window_id": i, "exclusion": f.exclusion.value, "evidence": f.evidence} for i, f in found.rejected]
    write_file(out / "rejected.jsonl", jsonl_bytes(rejected))
    _report({**found.counts(), "prompt": ask.protocol_id, "stopped": stopped})
    raise typer.Exit(STOPPED if stopped else UNFINISHED if found.unanswered or not found.drafts else 0)


def judge_study(
    good: Annotated[Path, typer.Argument(help="Good drafts, one JSON object a line.", show_default=False)],
    windows: Windows,
    judge: Annotated[list[str], typer.Option(help="A candidate judge, once a judge.", show_default=False)],
    base_url: BaseUrl,
    api_key_env: KeyEnv = "",
    runs: Runs = Path("formosa/judge-runs"),
    out: Out = Path("formosa/judges"),
    concurrency: Concurrency = 16,
    max_total_tokens: MostTokens = None,
) -> None:
    """Put planted defects and good drafts before candidate judges; only one that passes may ground."""
    try:
        known = read_windows(windows)
        trials = plant([(each, known[each.window_id]) for each in read_drafts(good)])
        results, verdicts, stopped = list[JudgeResult](), list[dict[str, Any]](), ""
        for name in judge:
            ask = judge_ask(((t.trial_id, t.draft, t.window) for t in trials), name)
            stopped = _ask(ask, runs, base_url, api_key_env, concurrency, max_total_tokens) or stopped
            replies = list(read_responses(runs / ask.run_id))
            results.append(result_of(trials, replies, name, ask.protocol_id))
            verdicts += verdict_records(trials, replies, name)
    except KeyError as error:
        _stop(f"{good.name}: no window {error}")
    except (OSError, ValueError) as error:
        _stop(str(error))
    write_file(out / "studies.jsonl", jsonl_bytes(each.to_json() for each in results))
    write_file(out / "verdicts.jsonl", jsonl_bytes(verdicts))
    by_judge: dict[str, dict[str, bool]] = {name: {} for name in judge}
    for each in verdicts:
        by_judge[each["judge"]][each["item_id"]] = each["verdict"] == "approve"
    panel = degeneracy(by_judge)
    _report(
        {
            "trials": len(trials),
            "judges": {each.judge: _judge_figures(each) for each in results},
            "effective_judges": round(panel.effective, 3),
            "constant": list(panel.constant),
            "decides_alone": dict(panel.decides.alone),
            "stopped": stopped,
        }
    )
    raise typer.Exit(STOPPED if stopped else 0 if any(each.passed for each in results) else UNFINISHED)


def _judge_figures(result: JudgeResult) -> dict[str, Any]:
    rates = {"approval": result.good.approval} | {d.value: each.detection for d, each in result.planted.items()}
    shown = {name: [r.hits, r.n, round(r.low, 4), round(r.high, 4)] for name, r in rates.items()}
    return {**shown, "passed": result.passed, "failures": result.failures()}


def ground_drafts(
    drafts: Annotated[Path, typer.Argument(help="Drafts, one JSON object a line.", show_default=False)],
    windows: Windows,
    judge: Annotated[str, typer.Option(help="A judge whose stored study passes.", show_default=False)],
    base_url: BaseUrl,
    studies: Annotated[Path, typer.Option(help="Stored studies of judges.")] = Path("formosa/judges/studies.jsonl"),
    lexicon: LexiconFolder = None,
    findings: Findings = None,
    api_key_env: KeyEnv = "",
    runs: Runs = Path("formosa/runs"),
    out: Out = Path("formosa/grounded"),
    concurrency: Concurrency = 16,
    max_total_tokens: MostTokens = None,
) -> None:
    """Let a judge check each draft against its window; what it approves and quotes becomes an item."""
    try:
        study = may_ground(_studies(studies), judge, JUDGE_PROMPT.prompt_id)  # before anything is asked
        known, given = read_windows(windows), read_drafts(drafts)
        screened = _screened(given, known, lexicon, findings)
        ask = judge_ask(to_judge(screened, known), judge)
        stopped = _ask(ask, runs, base_url, api_key_env, concurrency, max_total_tokens)
        found = ground(screened, read_responses(runs / ask.run_id), known, judge, ask.protocol_id)
        same_judge(study, found.served)
        items = make_items(found, known)
    except KeyError as error:
        _stop(f"{drafts.name}: no window {error}")
    except (OSError, ValueError) as error:
        _stop(str(error))
    write_file(out / "items.jsonl", items_bytes(items))
    dropped = [
        {"window_id": s.draft.window_id, "exclusion": f.exclusion.value, "evidence": f.evidence}
        for s, f in found.dropped
    ]
    write_file(out / "dropped.jsonl", jsonl_bytes(dropped))
    _report({**found.counts(), "items": len(items), "version": full_version(items), "stopped": stopped})
    raise typer.Exit(STOPPED if stopped else UNFINISHED if found.unjudged or not items else 0)


def curate(
    items: Annotated[Path, typer.Argument(help="The full grounded set (items.jsonl).", show_default=False)],
    *,
    run_folder: Annotated[
        list[Path] | None, typer.Option("--run", help="A run of the pool, once a model.", show_default=False)
    ] = None,
    submission: Annotated[
        list[Path] | None, typer.Option(help="A submission of the pool, once a model.", show_default=False)
    ] = None,
    band: Annotated[str, typer.Option(help="Pass counts to keep, LOW-HIGH, e.g. 0-6 of seven.", show_default=False)],
    name: Annotated[str, typer.Option(help="What the edition is called.", show_default=False)],
    date: Annotated[str, typer.Option(help="Its date, YYYY-MM-DD.", show_default=False)],
    validate: Annotated[list[Path] | None, typer.Option(help="A run of a model outside the pool.")] = None,
    out: Out = Path("formosa/edition"),
) -> None:
    """Freeze an edition: who of the pool passes which item, the band, and what leaving one model out says of it."""
    try:
        grounded = items_from(read_bytes(items), items.name)
        measured = full_version(grounded)
        hold_earlier(out, [*(run_folder or ()), *(validate or ())])
        known = {each.protocol_id: each for each in REGISTRY.values()}
        pool = [member_of_run(folder, grounded, measured) for folder in run_folder or ()]
        pool += [member_of_submission(folder, known, measured) for folder in submission or ()]
        beside = [member_of_run(folder, grounded, measured) for folder in validate or ()]
        sidecar = sidecar_of([item.item_id for item in grounded], [*pool, *beside])
        cut = read_band(band, len(pool))
        by_model = roles(grounded)
        data = sidecar_bytes(sidecar)
        records = [[member_record(each) for each in of] for of in (pool, beside)]
        edition = freeze(name, date, measured, cut, sidecar, sha256(data), records[0], records[1], by_model)
        table = transfer(sidecar, edition.models, cut, by_model) if len(pool) > 2 else None
        outside = [external(sidecar, edition.models, cut, each.model, by_model.get(each.model, ())) for each in beside]
    except (OSError, ValueError) as error:
        _stop(str(error))
    write_file(out / "difficulty.jsonl", data)
    write_file(out / "edition.json", json_bytes(edition.to_json()))
    rows: list[dict[str, Any]] = [
        {"model": r.model, "full": r.full.value, "n": r.band.n, "band": r.band.value, "pool_mean": r.pool_mean}
        | {"bias": r.bias, "net": r.net, "net_low": r.net_low, "net_high": r.net_high, "roles": list(r.roles)}
        for r in (*(table.rows if table else ()), *outside)
    ]
    kinds = {kind: len(getattr(edition.cut, kind)) for kind in ("kept", "easier", "harder", "unmeasured")}
    unparsed = {str(each["model"]): each["unparsed"] for each in edition.pool}
    said = table.verdict() if table else "fewer than three models: nothing can be left out"
    rho = table.agreement.rho if table else None
    _report(
        {"edition": edition.edition_id, **kinds, "unparsed": unparsed, "transfer": rows, "rank_agreement": rho}
        | {"verdict": said, "served_otherwise": {m: list(names) for m, names in edition.served_otherwise.items()}}
    )
    raise typer.Exit(0 if edition.cut.kept else UNFINISHED)


def build(
    windows: Windows,
    model: Annotated[str, typer.Option(help="The model that drafted.", show_default=False)],
    judge: Annotated[str, typer.Option(help="The judge that grounded.", show_default=False)],
    edition: Annotated[Path, typer.Option(help="Folder of the edition.")] = Path("formosa/edition"),
    studies: Annotated[Path, typer.Option(help="Stored studies of judges.")] = Path("formosa/judges/studies.jsonl"),
    lexicon: LexiconFolder = None,
    findings: Findings = None,
    runs: Runs = Path("formosa/runs"),
    out: Out = Path("formosa") / SLUG,
) -> None:
    """Write the published folder from the journals and a frozen edition, and judge it. Nothing is asked."""
    try:
        known = read_windows(windows)
        passed = may_ground(_studies(studies), judge, JUDGE_PROMPT.prompt_id)
        frozen = Edition.from_json(parse_json(read_bytes(edition / "edition.json").decode(), "edition.json"))
        sidecar = read_sidecar(read_jsonl(edition / "difficulty.jsonl"))
        whole = _Journals(known, model, judge, runs, lexicon, findings)
        words = read_lexicon(lexicon) if lexicon else None
        grounding = whole.grounding(known)
        same_judge(passed, grounding.served)
        items = make_items(grounding, known)
        categories = sorted({window.category for window in known.values()})
        of = {item.item_id: item.category for item in items}
        parts = {}
        for category in categories:
            own = {i: window for i, window in known.items() if window.category == category}
            mine = {item_id for item_id, of_item in of.items() if of_item == category}
            parts[category] = banded(whole.account(own), frozen.cut, mine)
        table = transfer(sidecar, frozen.models, frozen.band, frozen.roles) if len(frozen.models) > 2 else None
        names = [str(each["model"]) for each in frozen.external]
        outside = [external(sidecar, frozen.models, frozen.band, n, frozen.roles.get(n, ())) for n in names]
        made = Release(
            tuple(items), frozen, tuple(sidecar), table, (passed,), total(parts.values()), parts,
            code_version(), tuple(outside), served=whole.served(model, judge),
        )  # fmt: skip
        written = write_release(made, out)
    except (OSError, ValueError) as error:
        _stop(str(error))
    look = None if words is None else partial(slips, lexicon=words)
    outcomes = [judge_folder(name, out, look, made.code_version, known)[0] for name in CHECKS]
    checks = {each.name: each.detail if each.blocks else "passed" for each in outcomes}
    figures = made.account.to_json()
    _report({"version": written, "edition": frozen.edition_id, "account": figures, "checks": checks})
    raise typer.Exit(UNFINISHED if any(each.blocks for each in outcomes) else 0)


class _Journals:
    """What the stored replies of one drafting model and one judge say; read once."""

    def __init__(
        self,
        known: Mapping[str, Window],
        model: str,
        judge: str,
        runs: Path,
        lexicon: Path | None,
        findings: Path | None,
    ) -> None:
        self._judge = judge
        self._drafted = list(read_responses(runs / draft_ask([], model).run_id))
        self._judged = list(read_responses(runs / judge_ask([], judge).run_id))
        # Over all categories at once: a near-duplicate is one wherever its twin stands.
        self._screened = _screened(collect(self._drafted, known).drafts, known, lexicon, findings)

    def screened(self, windows: Mapping[str, Window]) -> list[Screened]:
        """The drafts of these windows."""
        return [each for each in self._screened if each.draft.window_id in windows]

    def grounding(self, windows: Mapping[str, Window]) -> Grounding:
        """What the judge made of them."""
        return ground(self.screened(windows), self._judged, windows, self._judge, JUDGE_PROMPT.prompt_id)

    def served(self, model: str, judge: str) -> dict[str, dict[str, dict[str, int]]]:
        """The names that the replies carry, by role and asked model."""
        drafted, judged = served_names(self._drafted), served_names(self._judged)
        return {"drafted": {model: drafted}, "judged": {judge: judged}}

    def account(self, windows: Mapping[str, Window]) -> Account:
        """Their account, up to the grounded items."""
        return account(collect(self._drafted, windows), self.screened(windows), self.grounding(windows))


def _screened(
    drafts: Sequence[Draft], windows: Mapping[str, Window], lexicon: Path | None, findings: Path | None
) -> list[Screened]:
    """Drafts after the screens of a lexicon, when one is given, and with the findings of a file."""
    seen = read_findings(findings) if findings else {}
    if lexicon is None:
        return [with_findings(each, windows[each.window_id], seen) for each in drafts]
    return with_more(screen_all(drafts, windows, read_lexicon(lexicon)), seen)


def _studies(path: Path) -> list[JudgeResult]:
    return [JudgeResult.from_json(record) for record in read_jsonl(path)]


def _ask(ask: Ask, runs: Path, base_url: str, key_env: str, concurrency: int, most: int | None) -> str:
    """Carry the requests out; why it stopped, '' when it did not."""
    begun = (datetime.now(UTC).isoformat(timespec="seconds"), version("opentwbench"))
    try:
        asker = Asker(base_url, key_env, concurrency, most or 0)
        asker.ask(ask, ask.record(*begun), ask.prompt, runs / ask.run_id)
    except AskingStopped as error:
        return str(error)
    return ""


def _report(figures: Mapping[str, Any]) -> None:
    print(json.dumps(figures, ensure_ascii=False, indent=2))


def _stop(message: str) -> NoReturn:
    print(f"otb formosa: {message}", file=sys.stderr)
    raise typer.Exit(USAGE)
