"""Data sets to the Hub: what passed the gate is planned, pushed, read back and only then recorded as published.

What belongs here: one data set from the store to its repository. What does not: the gate
(`opentwbench.dataset.publication`), the comparison (`opentwbench.dataset.hub_plan`), requests (`resources.hub_client`),
and Dagster (`resources.hub`).
The bytes come from the gate itself: it hashes the data set's files, demands a passing verdict of every blocking check
over exactly these, and hands over what may go out. There is no other way for a byte into a push.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opentwbench.dataset.contract import ItemRow, excerpt
from opentwbench.dataset.files import JSONL_NAME, rows_from_jsonl
from opentwbench.dataset.hub_combined import SAMPLE_NAME, Before, Part, Sample, combine
from opentwbench.dataset.hub_plan import (
    COMBINED,
    VERSIONED,
    HubPlan,
    RemoteState,
    moved_tag,
    plan,
    repository,
    row_differences,
    tag_of,
)
from opentwbench.dataset.manifest import CHANGELOG_NAME, MANIFEST_NAME, sha256
from opentwbench.dataset.model import DatasetError
from opentwbench.dataset.publication import PublicationRefused, publish
from opentwbench.dataset.versions import compare
from opentwbench.evaluation.client import NO_SECRET, EndpointError, Secret
from opentwbench.evaluation.sample import SampleError, read_edition, standing
from opentwbench.exam.subjects import REGISTRY
from resources import exam_products as products
from resources.connections import NOT_APPLIED
from resources.hub_client import HubClient, HubError, HubRefused, Patience, Pause
from resources.hub_reading import READ_SECONDS, ReadBackError, read_back
from resources.store import Store

NAMES = frozenset(REGISTRY) | {COMBINED}
"""The data sets that repositories are made for."""

TOKEN_ENV = "HF_TOKEN"

MAX_PUSHES = 8
"""Most pushes at once: the Hub counts requests by account, and a push is a dozen of them."""


@dataclass(frozen=True, slots=True)
class HubSettings:
    """Which hub, and as whom. The token is named by its environment variable and never configured."""

    namespace: str = ""
    """User or organisation; '' is off."""
    endpoint: str = ""
    """'' is huggingface_hub's own: HF_ENDPOINT, else the public Hub."""
    token_env: str = TOKEN_ENV
    private: bool = False
    """Make repositories private, and read them back with the token."""
    sample: str = ""
    """File of the sample's edition; '' while the combined set has none, 'none' to take it away."""
    patience: Patience = field(default_factory=Patience)
    read_seconds: float = READ_SECONDS

    def open(self) -> Hub:
        """The hub; raises HubError when it is off, or when the variable holds no token."""
        if not self.namespace:
            raise HubError("the Hub is off: no namespace is configured (--namespace, OTB_HUB_NAMESPACE)")
        value = os.environ.get(self.token_env, "")
        try:
            token = Secret(value) if value else NO_SECRET
        except EndpointError:
            raise HubError(f"the environment variable {self.token_env} holds no token") from None
        return Hub(self, token)


@dataclass(frozen=True, slots=True)
class Release:
    """One data set as it may go out."""

    name: str
    version: str
    files: Mapping[str, bytes]
    configs: Mapping[str, Sequence[ItemRow]]
    """What each configuration must read, in order."""
    versioned: tuple[str, ...] = VERSIONED
    parts: Mapping[str, str] = field(default_factory=dict)
    """Subject -> version, of the combined set."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Subject -> why it is not in the combined set."""

    @property
    def title(self) -> str:
        """The commit's title."""
        return f"Version {self.version}: {len(next(iter(self.configs.values()))):,} items"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a push or a verification of one data set ended."""

    name: str
    repository: str
    version: str
    commit: str
    rows: Mapping[str, int]
    """Configuration -> rows that were read back equal; empty when nothing had to be read again."""
    plan: HubPlan
    retries: int = 0

    @property
    def changed(self) -> bool:
        """Whether anything was pushed."""
        return not self.plan.empty


class NotTheSame(HubError):
    """What a reader gets is not what passed the gate."""


class _Held:
    """A publication target that holds what the gate hands over."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def put(self, files: Mapping[str, bytes]) -> bool:
        self.files = dict(files)
        return True


def subject_release(store: Store, slug: str) -> Release:
    """A subject's bytes, as the gate hands them over. Raises PublicationRefused as `subject_publication` does."""
    held = _Held()
    with store.folder(store.dataset(slug)) as folder:
        published = publish(folder, products.verdicts(store, slug), held)
    rows = rows_of(held.files[JSONL_NAME])
    return Release(slug, published.version, held.files, {"default": rows})


def combined_release(store: Store, sample: str = "") -> Release:
    """The combined set of every subject that passes the gate.

    Raises PublicationRefused when a subject of the version published last is withheld now, or its sample is named no
    more: readers would lose it in silence. A subject that was never in it is left out, with its reason. `sample`: the
    edition's file, or NOT_APPLIED to take the sample away.
    """
    before = published_before(store)
    if not sample and _has_sample(store):
        raise PublicationRefused(
            f"{COMBINED} holds a sample and no edition is named (--sample, OTB_HUB_SAMPLE; {NOT_APPLIED} takes it away)"
        )
    parts, left_out = [], {}
    for slug in store.slugs("datasets"):
        if slug not in REGISTRY:
            continue
        try:
            parts.append(_part(store, slug))
        except PublicationRefused as refused:
            left_out[slug] = str(refused)
    if lost := sorted(left_out.keys() & before.parts.keys()):
        raise PublicationRefused(f"{lost[0]}, which {COMBINED} holds, is withheld: {left_out[lost[0]]}")
    found = combine(parts, _sample(sample, parts), before)
    versions = {part.slug: part.version for part in parts}
    return Release(COMBINED, found.version, found.files, found.configs, found.versioned, versions, left_out)


def _part(store: Store, slug: str) -> Part:
    release, subject = subject_release(store, slug), REGISTRY[slug]
    rows = tuple(release.configs["default"])
    return Part(slug, subject.name_zh, subject.name_en, subject.field, release.version, rows, release.files)


def _sample(path: str, parts: Sequence[Part]) -> Sample | None:
    """The edition as far as it is published: withdrawn items stay, as in the data sets; lost ones leave."""
    if path in ("", NOT_APPLIED):
        return None
    try:
        edition = read_edition(Path(path))
    except SampleError as error:
        raise DatasetError(f"{COMBINED}: {error}") from None
    published = {row.item_id for part in parts for row in part.rows}
    aliases: dict[str, str] = {}
    for part in parts:
        aliases |= json.loads(part.files[MANIFEST_NAME])["aliases"]
    return Sample(edition.name, edition.digest, standing(edition, published, (), aliases).scored)


def _has_sample(store: Store) -> bool:
    record = store.read_json_or_none(store.hub(COMBINED))
    return record is not None and any(Path(name).name == SAMPLE_NAME for name in record["files"])


def published_before(store: Store) -> Before:
    """The combined set that was published last, as it was recorded."""
    record = store.read_json_or_none(store.hub(COMBINED))
    if record is None:
        return Before()
    changelog = (
        store.read(store.hub_changelog(COMBINED)).decode() if store.exists(store.hub_changelog(COMBINED)) else ""
    )
    known = sha256(changelog.encode()) == record["files"].get(CHANGELOG_NAME)
    return Before(record["version"], record["parts"], changelog if known else None)


def rows_of(data: bytes) -> list[ItemRow]:
    """The rows of a benchmark.jsonl; raises DatasetError naming line and column."""
    with tempfile.TemporaryDirectory(prefix="otb-") as temporary:
        path = Path(temporary) / JSONL_NAME
        path.write_bytes(data)
        return rows_from_jsonl(path)


class Hub:
    """The hub of one namespace, for the one token of the environment."""

    def __init__(self, settings: HubSettings, token: Secret = NO_SECRET, pause: Pause | None = None) -> None:
        self.settings = settings
        self._token = token
        self.client = HubClient(settings.endpoint, token, settings.patience, private=settings.private, pause=pause)

    def __repr__(self) -> str:
        return f"Hub({self.settings.namespace!r}, {self.client.endpoint!r})"

    def repository(self, name: str) -> str:
        """The repository of a data set; raises HubNameError for a name that is not the registry's."""
        return repository(self.settings.namespace, name, NAMES)

    def plan(self, release: Release) -> tuple[HubPlan, dict[str, int], RemoteState]:
        """What a push would change: files, and items by kind of change (empty when no row changes). Changes nothing.

        The combined set and rows there that cannot be read have no item counts.
        """
        state = self.client.state(self.repository(release.name))
        found = plan(release.files, state, release.version)
        items: dict[str, int] = {}
        if JSONL_NAME in found.change and release.name != COMBINED:
            items = self._items(release, state)
        return found, items, state

    def _items(self, release: Release, state: RemoteState) -> dict[str, int]:
        data = self.client.read(self.repository(release.name), state.head, JSONL_NAME)
        try:
            there = rows_of(data)
        except DatasetError:
            return {"unreadable": 1}
        return {
            kind: count for kind, count in compare(there, list(release.configs["default"])).counts().items() if count
        }

    def need_token(self) -> None:
        """Raise HubRefused where no token was named: nothing can be pushed without one."""
        if not self._token.reveal():
            raise HubRefused(f"a push needs a token: set {self.settings.token_env}", everything=True)

    def publish(self, store: Store, release: Release) -> Outcome:
        """Push a data set, read it back as its readers do, and record it. Resumes what an earlier push left half-done.

        Raises HubRefused, HubConflict, NotTheSame or HubError; then nothing is recorded, and the repository holds the
        files of before or these.
        """
        self.need_token()
        place = self.repository(release.name)
        with self.client.session():
            pushed = self.client.push(place, release.files, release.version, release.title, release.versioned)
        record = self._record(release, place, pushed.commit)
        if not pushed.first.empty or store.read_json_or_none(store.hub(release.name)) != record:
            rows = self._read_back(place, pushed.commit, release)
            if release.name == COMBINED:
                store.write(store.hub_changelog(COMBINED), release.files[CHANGELOG_NAME])
            products.keep_hub_namespace(store, self.settings.namespace)
            # Last: what is recorded has been read back.
            store.write_json(store.hub(release.name), record)
        else:
            rows = {}
        return Outcome(release.name, place, release.version, pushed.commit, rows, pushed.first, pushed.retries)

    def verify(self, release: Release) -> Outcome:
        """Compare what the hub holds with what passes the gate now: every file, the tag, and every row as it is read.

        Changes nothing. Raises NotTheSame naming what differs.
        """
        place = self.repository(release.name)
        state = self.client.state(place)
        found = plan(release.files, state, release.version)
        if not found.empty:
            kinds = ("add", "change", "delete")
            words = [f"{kind} {path}" for kind in kinds for path in getattr(found, kind)]
            missing = "there is no repository" if found.create else ", ".join(words[:5]) or f"no tag {found.tag}"
            raise NotTheSame(f"{place} is not what passed the checks: {missing}")
        commit = (state.tags or {})[tag_of(release.version)]
        tagged = self.client.files(place, commit)
        if differ := moved_tag(release.files, tagged, release.versioned):
            raise NotTheSame(
                f"the tag {tag_of(release.version)} of {place} names other bytes of {', '.join(differ[:5])}"
            )
        rows = self._read_back(place, state.head, release)
        return Outcome(release.name, place, release.version, state.head, rows, found)

    def _record(self, release: Release, place: str, commit: str) -> dict[str, Any]:
        return {
            "repository": place,
            "version": release.version,
            "tag": tag_of(release.version),
            "commit": commit,
            "files": {path: sha256(data) for path, data in sorted(release.files.items())},
            "rows": {config: len(rows) for config, rows in release.configs.items()},
            "parts": dict(release.parts),
        }

    def _read_back(self, place: str, commit: str, release: Release) -> dict[str, int]:
        """Configuration -> rows read back equal. A configuration without a row cannot be loaded and is refused."""
        # With the token only where nobody else can read: what is public must be readable by anybody.
        token = self._token if self.settings.private else NO_SECRET
        configs, counts = list(release.configs), {}
        try:
            with read_back(self.client.endpoint, place, commit, configs, token, self.settings.read_seconds) as files:
                for config, path in files.items():
                    counts[config] = _compare(config, release.configs[config], path)
        except ReadBackError as error:
            failure = f"{place} cannot be read back: {excerpt(str(error), 300)}"
        else:
            return counts
        raise NotTheSame(failure)


def _compare(config: str, expected: Sequence[ItemRow], path: Path) -> int:
    with path.open(encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    count, words = row_differences(expected, found)
    if count:
        raise NotTheSame(f"{config}: {count} rows came back different: {'; '.join(words)}")
    return len(found)


def in_parallel(
    names: Iterable[str], act: Callable[[str], Outcome], jobs: int
) -> Iterator[tuple[str, Outcome | HubError | PublicationRefused | DatasetError]]:
    """Each data set's outcome, or what stood against it, in the order of the names; at most `jobs` at once.

    What the hub refuses for everything (an unknown token) is asked once: those not begun get the same refusal.
    """
    stop: list[HubRefused] = []

    def one(name: str) -> Outcome | HubError | PublicationRefused | DatasetError:
        if stop:
            return stop[0]
        try:
            return act(name)
        except HubRefused as refused:
            if refused.everything:
                stop.append(refused)
            return refused
        except (HubError, PublicationRefused, DatasetError) as refused:
            return refused

    named = list(names)
    with ThreadPoolExecutor(max_workers=min(max(jobs, 1), MAX_PUSHES)) as pool:
        yield from zip(named, pool.map(one, named), strict=True)
