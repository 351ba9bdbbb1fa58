"""The judge study, the grounded items and the full set of the Formosa track in a store.

What belongs here: reading inputs, calling the library, writing products with their records. What does not: rules
(`opentwbench.formosa`) and when something is made (assets, build).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from opentwbench.dataset.files import jsonl_bytes, read_jsonl
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.journal import read_responses
from opentwbench.formosa.accounting import Account, account, total
from opentwbench.formosa.drafting import collect, drafts_bytes, read_drafts
from opentwbench.formosa.grounding import JUDGE_PROMPT, ground, judge_ask, to_judge
from opentwbench.formosa.judge_study import (
    JudgeRefused,
    JudgeResult,
    JudgeStudyError,
    Trial,
    good_by_rule,
    may_ground,
    plant,
    result_of,
    same_judge,
    verdict_records,
)
from opentwbench.formosa.model import Draft, Window
from opentwbench.formosa.output import full_version, items_bytes, make_items
from opentwbench.formosa.panel import Degeneracy, degeneracy
from opentwbench.formosa.served import served_names, served_sum
from opentwbench.formosa.window_files import read_windows, windows_bytes
from resources.formosa_asking import unasked
from resources.formosa_drafts import records_of, started
from resources.formosa_places import (
    GOOD,
    GOOD_WINDOWS,
    ITEMS,
    ITEMS_RECORD,
    STUDIES,
    STUDY,
    VERDICTS,
    Track,
    inputs_of,
    of_category,
)

# -- the judge study --------------------------------------------------------------------------------------------------


def study_inputs(track: Track) -> str:
    """Digest of the good items, the candidates and the prompt.

    The good items are chosen once and stay: else every update of the corpus would ask every judge again.
    """
    given = track.plan.file("good")
    named = inputs_of(given.read_bytes().hex()) if given else ""
    return inputs_of(
        named, track.store.hash_of(GOOD), track.store.hash_of(GOOD_WINDOWS), track.plan.candidates, _prompt()
    )


def _prompt() -> str:
    return JUDGE_PROMPT.prompt_id


def study_is_current(track: Track) -> bool:
    """Whether every candidate has its study under the prompt of today over the good items that are kept."""
    return track.holds(STUDY, study_inputs(track), _STUDY_FILES)


_STUDY_FILES = (GOOD, GOOD_WINDOWS, STUDIES, VERDICTS)


def make_study(track: Track) -> dict[str, Any]:
    """Put planted defects and good drafts before every candidate; returns the record with the figures of each.

    Raises JudgeStudyError where there are too few good drafts, AskingStopped when a judge was not asked to the end.
    """
    _keep_good(track)
    trials = trials_of(track)
    results: list[JudgeResult] = []
    verdicts: list[dict[str, Any]] = []
    asked = 0
    for judge in track.plan.candidates:
        ask = judge_ask([(trial.trial_id, trial.draft, trial.window) for trial in trials], judge)
        folder = track.run_folder("judge-study", ask.run_id)
        outcome = track.asker.ask(ask, ask.record(*started()), ask.prompt, folder)
        asked += outcome.asked if outcome else 0
        replies = list(read_responses(folder))
        results.append(result_of(trials, replies, judge, ask.protocol_id))
        verdicts += verdict_records(trials, replies, judge)
    track.store.write(STUDIES, jsonl_bytes(each.to_json() for each in results))
    track.store.write(VERDICTS, jsonl_bytes(verdicts))
    passed = [each.judge for each in results if each.passed]
    figures = {"asked": asked, "trials": len(trials), "passed": passed, "prompt_id": _prompt()}
    return track.keep(STUDY, study_inputs(track), _STUDY_FILES, figures)


def _keep_good(track: Track) -> None:
    """Choose the good items where none are kept, or where a file of them was named that is another."""
    given = track.plan.file("good")
    if given is None and track.store.exists(GOOD) and track.store.exists(GOOD_WINDOWS):
        return
    windows = track.all_windows()
    pairs = _reviewed(read_drafts(given), windows) if given else _by_rule(track, windows)
    track.store.write(GOOD_WINDOWS, windows_bytes(window for _, window in pairs))
    track.store.write(GOOD, drafts_bytes(draft for draft, _ in pairs))


def _reviewed(drafts: Sequence[Draft], windows: dict[str, Window]) -> list[tuple[Draft, Window]]:
    if unknown := [draft.window_id for draft in drafts if draft.window_id not in windows]:
        raise JudgeStudyError(f"good drafts: no window {unknown[0][:100]}")
    return [(draft, windows[draft.window_id]) for draft in drafts]


def _by_rule(track: Track, windows: dict[str, Window]) -> list[tuple[Draft, Window]]:
    screened = (each for category in track.categories for each in track.screened(category))
    return good_by_rule(screened, windows)


def trials_of(track: Track) -> list[Trial]:
    """The trials over the good items that are kept."""
    windows = read_windows(track.path(GOOD_WINDOWS))
    return plant([(draft, windows[draft.window_id]) for draft in read_drafts(track.path(GOOD))])


def studies(track: Track) -> list[JudgeResult]:
    """The stored study of every candidate; none before there is one."""
    records = read_jsonl(track.path(STUDIES)) if track.store.exists(STUDIES) else []
    return [JudgeResult.from_json(record) for record in records]


def panel_of(track: Track) -> Degeneracy:
    """What the candidates are worth together, from their stored verdicts."""
    by_judge: dict[str, dict[str, bool]] = {}
    for each in read_jsonl(track.path(VERDICTS)):
        by_judge.setdefault(each["judge"], {})[each["item_id"]] = each["verdict"] == "approve"
    return degeneracy(by_judge)


def chosen_judge(track: Track) -> JudgeResult:
    """The passing study of the judge that grounds: the one named, else the first candidate that passes.

    Raises JudgeRefused saying why there is none.
    """
    found = studies(track)
    if track.plan.judge:
        return may_ground(found, track.plan.judge, _prompt())
    for name in track.plan.candidates:
        own = [each for each in found if each.judge == name and each.prompt_id == _prompt() and each.passed]
        if own:
            return own[-1]
    raise JudgeRefused(f"none of {len(track.plan.candidates)} candidates passed its study; no judge may ground")


# -- grounded items ---------------------------------------------------------------------------------------------------


def _grounded_files(category: str) -> tuple[str, str]:
    return of_category("grounded", category, ".json"), of_category("grounded", category)


def grounded_inputs(track: Track, category: str) -> str:
    """Digest of a category's screened drafts, its windows, the judge and its study."""
    names = [of_category(kind, category) for kind in ("screened", "windows", "drafts")]
    judge = chosen_judge(track)
    return inputs_of([track.store.hash_of(name) for name in names], judge.to_json())


def grounded_is_current(track: Track, category: str) -> bool:
    """Whether every draft of the category that passed its screens has its judgement; as `drafts_are_current`."""
    record, items = _grounded_files(category)
    try:
        current = track.holds(record, grounded_inputs(track, category), [items])
    except JudgeRefused:
        return False
    return current and not (track.asker.base_url and track.record(record)["pending"])


def make_grounded(track: Track, category: str) -> dict[str, Any]:
    """Let the judge check each draft of the category against its window; returns the record.

    Raises JudgeRefused, before anything is asked, for a judge without a passing study, and afterwards for one whose
    judgements carry another served name than its study; JudgeChanged when they carry several.
    """
    study = chosen_judge(track)
    judge = study.judge
    windows, screened = track.windows(category), track.screened(category)
    ask = judge_ask(to_judge(screened, windows), judge)
    folder = track.run_folder(category, ask.run_id)
    outcome = track.asker.ask(ask, ask.record(*started()), ask.prompt, folder)
    found = ground(screened, read_responses(folder), windows, judge, ask.protocol_id)
    same_judge(study, found.served)
    items = make_items(found, windows)
    record, name = _grounded_files(category)
    track.store.write(name, items_bytes(items))
    replies = list(read_responses(track.drafts_folder(category)))
    drafted = collect(replies, windows)
    figures = {
        "asked": outcome.asked if outcome else 0,
        "judge": judge,
        "counts": found.counts(),
        "dropped": records_of((each.draft.window_id, finding) for each, finding in found.dropped),
        "account": account(drafted, screened, found).to_json(),
        "served": {
            "drafted": {track.plan.drafter: served_names(replies, windows)},
            "judged": {judge: dict(found.served)},
        },
        "pending": unasked(ask, folder),
    }
    return track.keep(record, grounded_inputs(track, category), [name], figures)


# -- the full set -----------------------------------------------------------------------------------------------------


def items_inputs(track: Track) -> str:
    """Digest of the grounded items of every category."""
    return inputs_of(
        [[track.store.hash_of(name) for name in _grounded_files(category)] for category in track.categories]
    )


def items_are_current(track: Track) -> bool:
    """Whether the full set is that of the grounded items as they are now."""
    return track.holds(ITEMS_RECORD, items_inputs(track), [ITEMS])


def make_full_set(track: Track) -> dict[str, Any]:
    """The grounded items of all categories as one set, with its version and accounts; returns the record.

    Raises DatasetError when two categories give one item.
    """
    items = sorted((i for category in track.categories for i in track.grounded(category)), key=lambda i: i.item_id)
    for one, other in pairwise(items):
        if one.item_id == other.item_id:
            raise DatasetError(f"{one.item_id}: windows {one.window_id} and {other.window_id} give one item")
    accounts = {category: account_of(track, category) for category in track.categories}
    track.store.write(ITEMS, items_bytes(items))
    figures = {
        "items": len(items),
        "version": full_version(items),
        "account": total(accounts.values()).to_json(),
        "by_category": {category: each.to_json() for category, each in accounts.items()},
    }
    return track.keep(ITEMS_RECORD, items_inputs(track), [ITEMS], figures)


def account_of(track: Track, category: str) -> Account:
    """Where the windows of a category went, up to the grounded items."""
    return Account.from_json(track.store.read_json(_grounded_files(category)[0])["account"])


def served_of(track: Track) -> dict[str, dict[str, dict[str, int]]]:
    """'drafted', 'judged' -> asked model -> served name -> replies, over all categories."""
    found: dict[str, dict[str, dict[str, int]]] = {"drafted": {}, "judged": {}}
    for category in track.categories:
        for role, models in track.record(_grounded_files(category)[0]).get("served", {}).items():
            for model, names in models.items():
                found[role][model] = served_sum([found[role].get(model, {}), names])
    return found
