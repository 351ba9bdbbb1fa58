"""What a push to the Hub would add, change and delete, and whether what is read back is what was sent.

What belongs here: pure comparisons of bytes, names and rows. What does not: asking a hub (`resources.hub_client`) and
deciding which bytes may go out (publication.py).
A hub holds git: a regular file is known by its git blob name, a large one (LFS) by its sha256, so that both sides are
compared without fetching a byte.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opentwbench.dataset.contract import COLUMNS, ItemRow, excerpt
from opentwbench.dataset.files import JSONL_NAME
from opentwbench.dataset.manifest import WITHDRAWN_NAME
from opentwbench.dataset.model import DatasetError

COMBINED = "tw-exam-bench"
"""The one data set that holds every subject. Source: issue 8 of the project."""

OWN_FILES = frozenset({".gitattributes"})
"""What the Hub puts into every repository by itself: neither sent nor deleted."""

NAMESPACE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9]|[-_.](?![-.])){0,94}[A-Za-z0-9]|[A-Za-z0-9]")
"""A user or organisation. Source: huggingface_hub.utils.validate_repo_id (no '--', no '..', no such mark at an end)."""

VERSIONED = (JSONL_NAME, WITHDRAWN_NAME)
"""The files that a version is the hash of (versions.py); what a tag names must hold these, whatever the card says."""


class HubNameError(DatasetError):
    """A namespace or a data set that no repository is made for."""


def repository(namespace: str, name: str, known: Collection[str]) -> str:
    """`namespace/name` for a data set of the registry; raises HubNameError for any other name.

    `known` are the names that repositories are made for: what comes from outside never becomes one.
    """
    if not NAMESPACE.fullmatch(namespace):
        raise HubNameError(f"{excerpt(namespace)} is no user or organisation of a hub")
    if name not in known:
        raise HubNameError(f"{excerpt(name)} is no data set of the registry")
    return f"{namespace}/{name}"


def tag_of(version: str) -> str:
    """The tag of a version. A 'v' in front, because twelve hex digits alone read as a commit."""
    return f"v{version}"


def git_oid(data: bytes) -> str:
    """The name of a git blob: sha1 over its header and bytes. Source: Pro Git, "Git Internals - Git Objects"."""
    digest = hashlib.sha1(b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file as a hub lists it."""

    size: int
    git_oid: str
    """Of the bytes, or of the pointer that stands for a large file."""
    sha256: str = ""
    """Of the bytes of a large file (LFS); '' for a regular one."""

    def holds(self, data: bytes) -> bool:
        """Whether the hub's file is these bytes."""
        if self.size != len(data):
            return False
        return hashlib.sha256(data).hexdigest() == self.sha256 if self.sha256 else git_oid(data) == self.git_oid


@dataclass(frozen=True, slots=True)
class RemoteState:
    """A repository at one moment. `head` '' means that there is none."""

    head: str = ""
    files: Mapping[str, RemoteFile] | None = None
    """The files at the head."""
    tags: Mapping[str, str] | None = None
    """Tag -> commit."""

    @property
    def exists(self) -> bool:
        """Whether the repository is there (for whoever asked)."""
        return bool(self.head)


@dataclass(frozen=True, slots=True)
class HubPlan:
    """What separates a repository from the files that it shall hold. Every path is in exactly one of the kinds."""

    create: bool
    """The repository itself is to be made."""
    add: tuple[str, ...]
    change: tuple[str, ...]
    delete: tuple[str, ...]
    same: tuple[str, ...]
    send_bytes: int
    """Bytes of the files to add and change."""
    tag: str = ""
    """The tag that is missing; '' when it stands."""

    @property
    def commits(self) -> bool:
        """Whether a commit is needed."""
        return bool(self.add or self.change or self.delete)

    @property
    def empty(self) -> bool:
        """Whether the repository is as it shall be."""
        return not (self.create or self.commits or self.tag)

    def to_json(self) -> dict[str, Any]:
        """The plan for a program to read."""
        kinds = {kind: list(getattr(self, kind)) for kind in ("add", "change", "delete", "same")}
        return {"create": self.create, **kinds, "send_bytes": self.send_bytes, "tag": self.tag, "empty": self.empty}


def plan(files: Mapping[str, bytes], state: RemoteState, version: str) -> HubPlan:
    """What makes a repository hold exactly these files (path -> bytes) under the tag of their version.

    Whatever else it holds is deleted: a file that no check has judged must not stand beside those that passed.
    """
    there = {path: file for path, file in (state.files or {}).items() if path not in OWN_FILES}
    add = sorted(files.keys() - there.keys())
    both = sorted(files.keys() & there.keys())
    change = [path for path in both if not there[path].holds(files[path])]
    changed = set(change)
    return HubPlan(
        create=not state.exists,
        add=tuple(add),
        change=tuple(change),
        delete=tuple(sorted(there.keys() - files.keys())),
        same=tuple(path for path in both if path not in changed),
        send_bytes=sum(len(files[path]) for path in (*add, *change)),
        tag="" if tag_of(version) in (state.tags or {}) else tag_of(version),
    )


def moved_tag(
    files: Mapping[str, bytes], tagged: Mapping[str, RemoteFile], versioned: Sequence[str] = VERSIONED
) -> tuple[str, ...]:
    """Which of the files that a version is made of differ at the commit that its tag names; empty when it is right.

    The card may change under one version, and the tag stays at the first commit of it: a tag is never moved.
    """
    return tuple(p for p in versioned if p in files and (p not in tagged or not tagged[p].holds(files[p])))


# -- rows read back ---------------------------------------------------------------------------------------------------


def row_differences(
    expected: Sequence[ItemRow], found: Sequence[Mapping[str, Any]], limit: int = 5
) -> tuple[int, tuple[str, ...]]:
    """How many rows read back differ from those sent, and the first `limit` of them in words.

    A row is the same when it has the contract's columns in their order and every value is of the same type and equal:
    "001" is not 1, and None is no text.
    """
    words: list[str] = []
    count = abs(len(expected) - len(found))
    if count:
        words.append(f"{len(expected)} rows were sent, {len(found)} came back")
    for number, (row, record) in enumerate(zip(expected, found, strict=False)):
        problem = next(_row_problems(row, record), "")
        if problem:
            count += 1
            words.append(f"row {number} ({row.item_id}): {problem}")
    return count, tuple(words[:limit])


def _row_problems(row: ItemRow, record: Mapping[str, Any]) -> Iterator[str]:
    if tuple(record) != COLUMNS:
        yield f"columns {excerpt(list(record), 120)}"
        return
    for column in COLUMNS:
        sent, came = getattr(row, column), record[column]
        if type(sent) is not type(came) or sent != came:
            yield f"{column}: sent {excerpt(sent)}, came back {type(came).__name__} {excerpt(came)}"
