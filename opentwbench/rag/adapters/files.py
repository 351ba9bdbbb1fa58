"""What the adapters share: finding and reading the original files, and counting what they drop.

A name that stands in a data set never becomes a path: files are listed, and the name is looked up in the list.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import unique_keys
from opentwbench.rag.model import RagError
from opentwbench.rag.readers import check_size

MAX_JSON = 500_000_000
"""Most bytes of a data set's file."""


def find(data: Path, names: Iterable[str], what: str) -> Path:
    """The first of these names (relative, our own) that is there; `data` itself when it is a file. Raises RagError."""
    if data.is_file():
        return data
    tried = list(names)
    for name in tried:
        if (data / name).is_file():
            return data / name
    raise RagError(f"{data}: {what} is not here; looked for {', '.join(tried)}")


def folder(data: Path, names: Iterable[str], what: str) -> Path:
    """The first of these folders that is there. Raises RagError."""
    tried = list(names)
    for name in tried:
        if (data / name).is_dir():
            return data / name
    raise RagError(f"{data}: {what} are not here; looked for {', '.join(tried)}")


def by_stem(where: Path, suffix: str) -> dict[str, Path]:
    """File name without its suffix -> the file, for regular files of a folder."""
    return {path.stem: path for path in sorted(where.iterdir()) if path.suffix.lower() == suffix and path.is_file()}


def read_json(path: Path) -> Any:
    """The value of a JSON file: bounded, no NaN, no key twice in one object, no lone surrogate.

    Raises RagError naming the file.
    """
    check_size(path, MAX_JSON)
    try:
        return _value(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise RagError(f"{path.name}: not JSON: {excerpt(str(error), 200)}") from None


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape that may stand for half a character. Nearly no file has one, so that nothing more is looked for."""


def _value(data: str) -> Any:
    """The value of a JSON text. Raises ValueError, and names where a lone surrogate stands: no file can hold one."""
    value = json.loads(data, parse_constant=_constant, object_pairs_hook=unique_keys)
    if _SURROGATE.search(data) and (places := [place for place, text in _texts(value, "") if _is_cut(text)]):
        raise ValueError(f"a lone surrogate at {places[0] or 'the top'}")
    return value


def _texts(value: object, place: str) -> Iterator[tuple[str, str]]:
    """Every text of a value, keys included, with its place: .qa[3].question."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield f"{place}, a key", key
            yield from _texts(each, f"{place}.{key}")
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _texts(each, f"{place}[{number}]")


def _is_cut(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def read_jsonl(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Where ('file line 3') and record of every line that is not blank. Raises RagError."""
    check_size(path, MAX_JSON)
    with path.open(encoding="utf-8", newline="\n") as file:
        where = f"{path.name} line 1"
        try:
            for number, line in enumerate(file, 1):
                where = f"{path.name} line {number}"
                if line.strip():
                    yield where, record(_value(line), where)
        except (ValueError, RecursionError) as error:
            if isinstance(error, RagError):
                raise
            raise RagError(f"{where}: not JSONL: {excerpt(str(error), 200)}") from None


def read_csv(path: Path, columns: Iterable[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Where and cells of every record. Raises RagError for a missing column, another number of cells or no UTF-8."""
    check_size(path, MAX_JSON)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise RagError(f"{path.name}: not UTF-8 at byte {error.start}") from None
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    lacking = [name for name in columns if name not in (reader.fieldnames or ())]
    if lacking:
        raise RagError(f"{path.name}: no column {', '.join(lacking)}")
    try:
        for number, cells in enumerate(reader, 1):
            if None in cells or None in cells.values():
                raise RagError(f"{path.name} record {number}: another number of cells than the header")
            yield f"{path.name} record {number}", cells
    except csv.Error as error:
        raise RagError(f"{path.name}: not CSV: {excerpt(str(error), 200)}") from None


def record(value: object, where: str) -> dict[str, Any]:
    """A JSON object; raises RagError."""
    if not isinstance(value, dict):
        raise RagError(f"{where}: not an object: {excerpt(value)}")
    return value


def items(value: object, where: str) -> list[Any]:
    """A JSON list; raises RagError."""
    if not isinstance(value, list):
        raise RagError(f"{where}: not a list: {excerpt(value)}")
    return value


def text(source: dict[str, Any], name: str, where: str, *, may_lack: bool = False) -> str:
    """A text of an object, stripped; raises RagError when it is none or, unless `may_lack`, empty."""
    value = source.get(name, "")
    value = "" if value is None else value
    if not isinstance(value, str):
        raise RagError(f"{where}: {name} is no text: {excerpt(value)}")
    if not value.strip() and not may_lack:
        raise RagError(f"{where}: {name} is missing or empty")
    return value.strip()


class Ids:
    """Ids that depend on a question's words and not on its place: an inserted question renumbers nothing."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def of(self, doc_id: str, *words: str) -> str:
        """The document, a hyphen and 12 hex digits of the words; the second of the same gets '-2'."""
        digest = hashlib.sha256("\n".join(words).encode("utf-8", "replace")).hexdigest()[:12]
        name = f"{doc_id}-{digest}"
        self._seen[name] += 1
        return name if self._seen[name] == 1 else f"{name}-{self._seen[name]}"


def distinct(values: Iterable[str]) -> tuple[str, ...]:
    """The values that are not empty, each once, in order."""
    return tuple(dict.fromkeys(value for value in values if value))
