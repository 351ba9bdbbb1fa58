"""Windows, drafts and screens of the Formosa track in a store: made, recorded, and told current from stale.

What belongs here: reading inputs, calling the library, writing products with their records. What does not: rules
(`opentwbench.formosa`) and when something is made (assets, build).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.journal import read_responses, read_run
from opentwbench.evaluation.submissions import read_folded
from opentwbench.exam.exclusion_lists import ListError, read_id_list
from opentwbench.formosa.corpus import Corpus, check_stated, read_commit, read_folder, state_of
from opentwbench.formosa.curation import NAME, is_day, is_name
from opentwbench.formosa.drafting import (
    DRAFT_PROMPT,
    collect,
    draft_ask,
    drafts_bytes,
    lost_ground,
    read_drafts,
    renewal,
)
from opentwbench.formosa.model import Finding, Window
from opentwbench.formosa.orthography import OWN, Lexicon, read_lexicon
from opentwbench.formosa.screens import figures, screen_all, with_more
from opentwbench.formosa.window_files import read_findings, screened_bytes, windows_bytes
from opentwbench.formosa.windows import cut
from resources.formosa_asking import unasked
from resources.formosa_places import HISTORY, SCREENS, WINDOWS, Track, inputs_of, of_category
from resources.formosa_plan import FormosaPlan, PlanError
from resources.store import StoreError

OWN_LISTS = "own"
"""In the place of a folder of lists: the small list of the project's own, for its samples."""


def started() -> tuple[str, str]:
    """When a run starts, and the version of the client that starts it."""
    return datetime.now(UTC).isoformat(timespec="seconds"), version("opentwbench")


def records_of(found: Iterable[tuple[str, Finding]]) -> list[dict[str, str]]:
    """(window id, finding) as records."""
    return [{"window_id": name, "exclusion": f.exclusion.value, "evidence": f.evidence} for name, f in found]


# -- settings ---------------------------------------------------------------------------------------------------------


def check_plan(plan: FormosaPlan) -> None:
    """Hold every setting that is given to what will read it, before anybody is asked: a band that no pool of this size
    has, or a list that is not there, would be found only when drafts, judges and pool are paid for.

    Raises PlanError naming the setting, with the reader's own reason. What is missing is not said here.
    """
    if plan.edition and not is_name(plan.edition):
        raise PlanError(f"edition: a name fits {NAME}, got {excerpt(plan.edition)}")
    if plan.date and not is_day(plan.date):
        raise PlanError(f"date: it reads YYYY-MM-DD, got {excerpt(plan.date)}")
    _hold("stated", partial(check_stated, plan.stated))
    models = {"model": (plan.model,) if plan.model else (), "judges": (*plan.judges, plan.judge)}
    for setting, names in {**models, "pool": plan.pool, "external": plan.external}.items():
        for name in filter(None, names):
            _hold(setting, partial(draft_ask, [], name))
    members = len(plan.pool) + len(plan.runs) + len(plan.submissions)
    if members or plan.band:
        _hold("band", partial(plan.band_of, members))
    if members == 1:
        raise PlanError("pool: a pool has at least two models")
    if twice := [name for name, n in Counter((*plan.pool, *plan.external)).items() if n > 1]:
        raise PlanError(f"pool: {excerpt(twice[0])} is named twice, in the pool or beside it")
    _check_files(plan)


def _check_files(plan: FormosaPlan) -> None:
    """Every file and folder that the settings name, by its reader."""
    readers: dict[str, Callable[[Path], object]] = {
        "lexicon": read_lexicon,
        "good": read_drafts,
        "findings": read_findings,
        "withdrawn": read_id_list,
    }
    for setting, read in readers.items():
        path = plan.file(setting)
        if path is not None and not (setting == "lexicon" and plan.lexicon == OWN_LISTS):
            _hold(setting, partial(read, path))
    for each in plan.runs:
        _hold("runs", partial(read_run, Path(each)))
    for each in plan.submissions:
        _hold("submissions", partial(read_folded, Path(each)))


def _hold(setting: str, read: Callable[[], object]) -> None:
    """Call a reader; what it refuses is said of the setting."""
    try:
        read()
    except (OSError, ValueError, ListError) as error:
        raise PlanError(f"{setting}: {error}") from error


# -- windows ----------------------------------------------------------------------------------------------------------


def windows_inputs(track: Track) -> str:
    """Digest of the corpus as it is now and of how it is cut."""
    plan = track.plan
    return inputs_of(state_of(plan.place, plan.commit), plan.stated, plan.cutting)


def windows_are_current(track: Track) -> bool:
    """Whether the windows are those of the corpus as it is now."""
    return track.holds(WINDOWS, windows_inputs(track), _window_files(track.categories))


def _window_files(categories: Iterable[str]) -> list[str]:
    return [of_category("windows", category) for category in categories]


def make_windows(track: Track) -> dict[str, Any]:
    """Cut the corpus into windows, by category; returns the record. What an update takes away is named before it goes.

    Raises CorpusError for a corpus that cannot be read, PlanError when none is named.
    """
    plan, inputs = track.plan, windows_inputs(track)
    corpus = read_commit(plan.place, plan.commit) if plan.commit else read_folder(plan.place, plan.stated)
    made: dict[str, list[Window]] = {}
    for article in corpus.articles:
        made.setdefault(article.category, []).extend(cut(article, *plan.cutting))
    update = _update(track, made, inputs)
    for category in set(track.categories) - made.keys():
        track.store.remove(of_category("windows", category))
    for category, own in made.items():
        track.store.write(of_category("windows", category), windows_bytes(own))
    return track.keep(WINDOWS, inputs, _window_files(made), {**_window_figures(corpus, made), "update": update})


def _window_figures(corpus: Corpus, made: Mapping[str, Sequence[Window]]) -> dict[str, Any]:
    sizes = [len(window.text) for own in made.values() for window in own]
    return {
        "commit": corpus.commit,
        "articles": len(corpus.articles),
        "left_out": {reason.value: len(paths) for reason, paths in corpus.left_out.items()},
        "frontmatter_faults": {fault.value: list(paths) for fault, paths in corpus.faults.items()},
        "windows": len(sizes),
        "median_characters": median(sizes) if sizes else 0,
        "categories": {category: len(own) for category, own in sorted(made.items())},
    }


def _update(track: Track, made: Mapping[str, Sequence[Window]], inputs: str) -> dict[str, Any]:
    """What differs from the windows before; kept as a line of the history, once for each change."""
    before = [name for category in track.categories for name in _names(track, category)]
    now = [window.window_id for own in made.values() for window in own]
    changed = renewal(before, now)
    lost = lost_ground(track.items(), now)
    update = {
        "before": track.record(WINDOWS).get("inputs", ""),
        "after": inputs,
        "kept": len(changed.kept),
        "to_draft": len(changed.to_draft),
        "gone": len(changed.lost),
        "lost_ground": [{"item_id": item.item_id, "window_id": item.window_id} for item in lost],
    }
    if not before or not (changed.to_draft or changed.lost):
        return update
    history = track.store.read(HISTORY) if track.store.exists(HISTORY) else b""
    line = json.dumps(update, ensure_ascii=False, sort_keys=True).encode() + b"\n"
    # A kill between this line and the record makes the same step again: it is noted once.
    steps = [(each["before"], each["after"]) for each in map(json.loads, history.splitlines())]
    if (update["before"], update["after"]) not in steps[-1:]:
        track.store.write(HISTORY, history + line)
    return update


def _names(track: Track, category: str) -> list[str]:
    """Ids of a category's windows as they were; a file that cannot be read names none and is made anew."""
    try:
        return list(track.windows(category))
    except (DatasetError, StoreError):
        return []


# -- drafts -----------------------------------------------------------------------------------------------------------


def drafts_record(category: str) -> str:
    """The record of a category's drafts."""
    return of_category("drafts", category, ".json")


def _drafts_files(category: str) -> tuple[str, str]:
    return drafts_record(category), of_category("drafts", category)


def drafts_inputs(track: Track, category: str) -> str:
    """Digest of a category's windows, the model and the prompt."""
    windows = track.store.hash_of(of_category("windows", category))
    return inputs_of(windows, track.plan.drafter, DRAFT_PROMPT.prompt_id)


def drafts_are_current(track: Track, category: str) -> bool:
    """Whether every window of the category has its reply; one without is asked again where there is an endpoint."""
    record, drafts = _drafts_files(category)
    current = track.holds(record, drafts_inputs(track, category), [drafts])
    return current and not (track.asker.base_url and track.record(record)["pending"])


def make_drafts(track: Track, category: str) -> dict[str, Any]:
    """Ask for a draft of every window of the category that has none; returns the record.

    Raises AskingStopped when the model was not asked to the end, and what the runner raises.
    """
    windows = track.windows(category)
    ask = draft_ask(list(windows.values()), track.plan.drafter)
    folder = track.drafts_folder(category)
    outcome = track.asker.ask(ask, ask.record(*started()), ask.prompt, folder)
    found = collect(read_responses(folder), windows)
    record, drafts = _drafts_files(category)
    # By window and not by arrival: of two drafts that ask the same, the same one stays however fast replies came.
    ordered = sorted(found.drafts, key=lambda draft: draft.window_id)
    track.store.write(drafts, drafts_bytes(ordered))
    figures = {
        "asked": outcome.asked if outcome else 0,
        "counts": found.counts(),
        "rejected": records_of(found.rejected),
        "pending": unasked(ask, folder),
    }
    return track.keep(record, drafts_inputs(track, category), [drafts], figures)


# -- screens ----------------------------------------------------------------------------------------------------------


def lexicon_of(track: Track) -> Lexicon | None:
    """The lists that texts are screened with; None when none were named: then nothing is published."""
    named = track.plan.lexicon
    return OWN if named == OWN_LISTS else read_lexicon(track.plan.file("lexicon")) if named else None  # type: ignore[arg-type]


def _lists_digest(track: Track) -> list[str]:
    named, findings = track.plan.lexicon, track.plan.file("findings")
    folder = [] if named in ("", OWN_LISTS) else sorted(track.plan.file("lexicon").glob("*.json"))  # type: ignore[union-attr]
    files = [*folder, *([findings] if findings else [])]
    return [named if named in ("", OWN_LISTS) else "given", *(inputs_of(f.name, f.read_bytes().hex()) for f in files)]


def _screen_files(track: Track) -> list[str]:
    return [of_category("screened", category) for category in track.categories]


def screens_inputs(track: Track) -> str:
    """Digest of all drafts, all windows and the lists."""
    names = [of_category(kind, category) for kind in ("windows", "drafts") for category in track.categories]
    return inputs_of([track.store.hash_of(name) for name in names], _lists_digest(track))


def screens_are_current(track: Track) -> bool:
    """Whether the screened drafts are those of the drafts as they are now."""
    return track.holds(SCREENS, screens_inputs(track), _screen_files(track))


def make_screens(track: Track) -> dict[str, Any]:
    """Every draft of every category under every screen: a near-duplicate is one wherever its twin stands.

    Returns the record. Raises DatasetError for lists or drafts that cannot be read, StoreError before there are drafts.
    """
    windows = track.all_windows()
    drafts = [draft for category in track.categories for draft in track.drafts(category)]
    more = track.plan.file("findings")
    found = screen_all(drafts, windows, lexicon_of(track) or OWN)
    screened = with_more(found, read_findings(more) if more else {})
    for category in track.categories:
        own = [each for each in screened if windows[each.draft.window_id].category == category]
        track.store.write(of_category("screened", category), screened_bytes(own))
    by_category = Counter(windows[each.draft.window_id].category for each in screened if each.bucket is None)
    made = {**figures(screened), "lexicon": _lists_digest(track)[0] or "none", "pass_by_category": dict(by_category)}
    return track.keep(SCREENS, screens_inputs(track), _screen_files(track), made)
