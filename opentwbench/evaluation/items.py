"""The items that a run asks: streamed from data-set folders or JSONL files, never held.

What belongs here: which items a run asks, in which order and of which version, and the little that scores need of them.
What does not: the row contract of data sets (dataset/contract.py) and the frozen sample (sample.py).
A line needs question, A to D, answer and item_id; Formosa and retrieval items have further columns of their own.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opentwbench.dataset.contract import MAX_TEXT, OPTION_COLUMNS, excerpt
from opentwbench.dataset.files import JSONL_NAME, MAX_LINE_BYTES
from opentwbench.dataset.manifest import MANIFEST_NAME, WITHDRAWN_NAME, read_manifest, read_withdrawals
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.journal import DigestSet
from opentwbench.evaluation.json_reading import loads
from opentwbench.evaluation.model import AskedItem
from opentwbench.exam.subjects import REGISTRY

VERSION_DIGITS = 12
"""Hex digits of a version, as those of a data set's."""

MAX_ID = 200
"""Most characters of an item id."""


@dataclass(frozen=True, slots=True)
class ItemFile:
    """One file of items and what is known of it."""

    path: Path
    subject: str = ""
    """Slug of the subject, for every item of the file; '' takes it from each item's id."""
    version: str = ""
    sha256: str = ""
    """What the manifest says of the file; '' when there is no manifest."""
    withdrawn: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ItemSet:
    """The items of a run, read again each time they are iterated. Raises DatasetError naming file, line and reason."""

    files: tuple[ItemFile, ...]
    item_set: str = "scored"
    """'scored' leaves withdrawn items out, 'published' keeps them."""
    chosen: frozenset[str] | None = None
    """Only these ids: a sample. None is all."""
    most: int | None = None
    """At most so many, the first ones; None is all."""

    def __iter__(self) -> Iterator[AskedItem]:
        left = self.most if self.most is not None else 1 << 62
        for file in self.files:
            for item in read_items(file.path, file.subject):
                if left <= 0:
                    return
                if self._holds(file, item.item_id):
                    left -= 1
                    yield item

    def _holds(self, file: ItemFile, item_id: str) -> bool:
        if self.item_set == "scored" and item_id in file.withdrawn:
            return False
        return self.chosen is None or item_id in self.chosen

    @property
    def version(self) -> str:
        """The version of one data set as it is; of several, a hash over their names and versions."""
        return combined_version({file.subject or file.path.name: file.version for file in self.files})


def combined_version(versions: Mapping[str, str]) -> str:
    """One version as it is; of several, 12 hex digits of the sha256 over their sorted lines 'name version'."""
    if len(versions) == 1:
        return next(iter(versions.values()))
    lines = "".join(f"{name} {version}\n" for name, version in sorted(versions.items()))
    return hashlib.sha256(lines.encode()).hexdigest()[:VERSION_DIGITS]


def item_file(path: Path) -> ItemFile:
    """A data-set folder (its manifest gives version and withdrawals), or a JSONL file (its bytes give the version)."""
    if path.is_dir() and (path / MANIFEST_NAME).exists():
        manifest = read_manifest(path)
        entry = manifest["files"].get(JSONL_NAME, {})
        withdrawn = frozenset(each.item_id for each in read_withdrawals(path / WITHDRAWN_NAME))
        return ItemFile(path / JSONL_NAME, path.name, manifest["version"], entry.get("sha256", ""), withdrawn)
    file = path / JSONL_NAME if path.is_dir() else path
    if not file.is_file():
        raise DatasetError(f"{excerpt(str(path), 200)}: no data-set folder and no JSONL file")
    return ItemFile(file, "", _digest(file)[:VERSION_DIGITS])


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_items(path: Path, subject: str = "") -> Iterator[AskedItem]:
    """The items of a JSONL file in order, streamed."""
    with path.open("rb") as file:
        for number in range(1, 1 << 62):
            line = file.readline(MAX_LINE_BYTES + 1)
            if not line:
                return
            where = f"{path.name} line {number}"
            if len(line) > MAX_LINE_BYTES:
                raise DatasetError(f"{where}: more than {MAX_LINE_BYTES} bytes")
            yield _item(line, subject, where)


def _item(line: bytes, subject: str, where: str) -> AskedItem:
    try:
        row = loads(line)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{where}: not JSON: {excerpt(str(error))}") from None
    if not isinstance(row, dict):
        raise DatasetError(f"{where}: not a JSON object")
    texts: list[Any] = [row.get(name) for name in _TEXTS]
    for name, value in zip(_TEXTS, texts, strict=True):
        # One loop without a call: a run reads every item twice, and its endpoint waits for it.
        if type(value) is not str or not value or value.isspace() or len(value) > MAX_TEXT:
            raise DatasetError(f"{where}: {name} is no text of 1 to {MAX_TEXT} characters: {excerpt(value)}")
    question, key, item_id, *options = texts
    if key not in OPTION_COLUMNS:
        raise DatasetError(f"{where}: answer is none of A-D: {excerpt(key)}")
    if len(item_id) > MAX_ID or not item_id.isprintable() or not item_id.isascii():
        raise DatasetError(f"{where}: no item id: {excerpt(item_id)}")
    year = row.get("year_roc")
    slug, field = _subject_of(item_id, subject)
    by_letter = dict(zip(OPTION_COLUMNS, options, strict=True))
    return AskedItem(item_id, question, by_letter, key, slug, field, year if type(year) is int else None)


_TEXTS = ("question", "answer", "item_id", *OPTION_COLUMNS)

_BY_KEY = {subject.key: subject for subject in REGISTRY.values()}


def _subject_of(item_id: str, slug: str) -> tuple[str, str]:
    """Slug and field of an item: its folder's, else those of the registry's subject that its id begins with."""
    found = REGISTRY.get(slug) if slug else _BY_KEY.get(item_id.rpartition("-")[0])
    if found is not None:
        return found.slug, found.field
    return slug or item_id.rpartition("-")[0], ""


class Roster(Mapping[str, AskedItem]):
    """What scores need of a run's items (key, subject, field, year; no texts), in 30 to 80 bytes an item.

    Made by one pass over the items, which thereby are all read and checked before the first request.
    Raises DatasetError for an id that stands twice, for a file that is not the one of its manifest, for no item at all.
    An id is known by 16 bytes of its hash.
    """

    def __init__(self, items: ItemSet) -> None:
        self._facts: list[tuple[str, str, str, int | None]] = []
        self._fact_of = _DigestMap()
        self._last = AskedItem("", "", {}, "", "")
        known: dict[tuple[str, str, str, int | None], int] = {}
        for file in items.files:
            if file.sha256 and _digest(file.path) != file.sha256:
                raise DatasetError(f"{file.path.name} of {file.subject}: its bytes are not those of {MANIFEST_NAME}")
        for item in items:
            fact = (item.key, item.subject, item.subject_group, item.year_roc)
            number = known.setdefault(fact, len(known))
            if number == len(self._facts):
                self._facts.append(fact)
            if not self._fact_of.put(_digest_of(item.item_id), number):
                raise DatasetError(f"item {excerpt(item.item_id)} stands twice; a run asks each item once a repeat")
        if not self._fact_of:
            raise DatasetError("no items to ask")

    def __len__(self) -> int:
        return len(self._fact_of)

    def __contains__(self, item_id: object) -> bool:
        return isinstance(item_id, str) and self._fact_of.find(_digest_of(item_id)) is not None

    def __getitem__(self, item_id: str) -> AskedItem:
        # Judging and counting a response look the same item up one after the other.
        if self._last.item_id == item_id:
            return self._last
        number = self._fact_of.find(_digest_of(item_id))
        if number is None:
            raise KeyError(item_id)
        key, subject, field, year = self._facts[number]
        self._last = AskedItem(item_id, "", {}, key, subject, field, year)
        return self._last

    def __iter__(self) -> Iterator[str]:
        raise TypeError("a roster holds no ids, only their hashes: look ids up, or iterate over the ItemSet")


def _digest_of(item_id: str) -> bytes:
    return hashlib.blake2b(item_id.encode("utf-8", "replace"), digest_size=16).digest()


class _DigestMap(DigestSet):
    """A digest set in which each digest carries a number of 32 bits."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = array("I", bytes(4 * (len(self._slots) // 16)))

    def put(self, digest: bytes, number: int) -> bool:
        """Take a digest in with its number; False when it was there, which changes nothing."""
        if not self.add(digest):
            return False
        self._numbers[self._place(digest) // 16] = number  # growing may have moved it
        return True

    def find(self, digest: bytes) -> int | None:
        """The number, None for a digest that is not there."""
        place = self._place(digest)
        return self._numbers[place // 16] if self._slots[place : place + 16] == digest else None

    def _grow(self) -> None:
        slots, numbers = self._slots, self._numbers
        super()._grow()
        self._numbers = array("I", bytes(4 * (len(self._slots) // 16)))
        for start in range(0, len(slots), 16):
            digest = bytes(slots[start : start + 16])
            if digest != self._EMPTY:
                self._numbers[self._place(digest) // 16] = numbers[start // 16]


def item_set(paths: Sequence[Path], **settings: Any) -> ItemSet:
    """The items of folders and files, in the order given."""
    return ItemSet(tuple(item_file(path) for path in paths), **settings)
