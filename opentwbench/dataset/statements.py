"""What the files of a data-set folder say of one another: the parts of a check that every track's folder has.

What belongs here: manifest against bytes, withdrawals against rows, changelog against version, the card against the one
made again, the licence. What does not: what only one track's files say (its dataset_checks.py).
Each function returns what differs, in words; [] when nothing does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import parse_json, read_bytes
from opentwbench.dataset.manifest import CARD_NAME, MANIFEST_NAME, STATS_NAME, WITHDRAWN_NAME, sha256
from opentwbench.dataset.versions import CHANGELOG_HEADER


def read_figures(folder: Path) -> dict[str, Any]:
    """The object in build_stats.json; raises DatasetError."""
    return parse_json(read_bytes(folder / STATS_NAME).decode(errors="replace"), STATS_NAME)


def differing(told: Iterable[tuple[str, object, object]]) -> list[str]:
    """Of (what, as it is said, as the files give it) those that differ."""
    return [
        f"{what} is {excerpt(said)}, the files give {excerpt(found)}" for what, said, found in told if said != found
    ]


def other_bytes(folder: Path, names: Iterable[str], listed: Mapping[str, Any]) -> list[str]:
    """Files that the manifest does not list, or lists with other bytes. Raises DatasetError for a missing one."""
    found = []
    for name in names:
        data, entry = read_bytes(folder / name), listed.get(name)
        if entry is None:
            found.append(f"{name}: not listed in {MANIFEST_NAME}")
        elif (entry.get("sha256"), entry.get("bytes")) != (sha256(data), len(data)):
            found.append(f"{name}: its bytes are not those of {MANIFEST_NAME}")
    return found


def foreign_withdrawals(withdrawn: Iterable[str], published: Collection[str]) -> list[str]:
    """Withdrawals of items that are not published."""
    return [f"{WITHDRAWN_NAME}: {excerpt(each)} is not published" for each in withdrawn if each not in published]


def is_newest(log: str, version: str, items: int) -> bool:
    """Whether a changelog begins with the section of this version and of so many items."""
    return log.startswith(f"{CHANGELOG_HEADER}\n## {version}\n\n{items} 題 items.")


def card_differences(folder: Path, again: str) -> list[str]:
    """The first line of the card that is not what its figures give."""
    said = read_bytes(folder / CARD_NAME).decode(errors="replace")
    for number, (one, other) in enumerate(zip_longest(said.split("\n"), again.split("\n")), 1):
        if one != other:
            return [f"{CARD_NAME} line {number}: {excerpt(one)}, the files give {excerpt(other)}"]
    return []


def licence_differences(folder: Path, name: str, text: str, licence_id: str) -> list[str]:
    """A licence file `name` without the licence's `text`, a card whose front matter names no `licence_id`."""
    found = []
    if read_bytes(folder / name) != text.encode():
        found.append(f"{name}: not the licence's text")
    head = read_bytes(folder / CARD_NAME).decode(errors="replace").split("\n---\n")[0]
    if f"\nlicense: {licence_id}\n" not in head:
        found.append(f"{CARD_NAME}: no license: {licence_id} in the front matter")
    return found
