"""A frozen edition as a folder, and whether what it was frozen from is still what it was.

What belongs here: reading edition.json with its sidecar, and holding the pool's journals to the bytes of the freeze.
What does not: freezing (curation.py), and what is written beside the two files in a published folder (output.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import parse_json, read_bytes, read_jsonl
from opentwbench.dataset.manifest import sha256
from opentwbench.evaluation.journal import JOURNAL_NAME, read_run
from opentwbench.formosa.band import CurationError, Difficulty, read_sidecar
from opentwbench.formosa.curation import Edition

EDITION_NAME, SIDECAR_NAME = "edition.json", "difficulty.jsonl"

PIECE = 1 << 20


def read_manifest_of(path: Path) -> Edition:
    """The edition of one edition.json; raises DatasetError for a file that cannot be read, CurationError for another
    form and for one that was changed by hand."""
    return Edition.from_json(parse_json(read_bytes(path).decode(errors="replace"), path.name))


def read_edition(folder: Path) -> tuple[Edition, list[Difficulty]]:
    """An edition and its sidecar; raises as `read_manifest_of`, and CurationError when the sidecar is not the one whose
    hash the edition states."""
    edition = read_manifest_of(folder / EDITION_NAME)
    return edition, read_sidecar_of(edition, folder / SIDECAR_NAME)


def read_sidecar_of(edition: Edition, path: Path) -> list[Difficulty]:
    """The sidecar of an edition at `path`; raises as `read_edition`."""
    if sha256(read_bytes(path)) != edition.sidecar_sha256:
        raise CurationError(
            f"{path.parent.name}/{path.name}: not the sidecar of {edition.edition_id}, its sha256 is another; put the "
            f"file back from a backup, or remove the folder {path.parent.name} and make the edition again from its runs"
        )
    return read_sidecar(read_jsonl(path), path.name)


def hold_earlier(folder: Path, runs: Iterable[Path]) -> None:
    """Hold the edition in `folder`, and those of `runs` that it was frozen from, before another one takes its place.

    Nothing where none lies there. Raises as `read_edition` and `hold_to_journals`, JournalError for what is no run.
    """
    if (folder / EDITION_NAME).is_file():
        hold_to_journals([read_edition(folder)[0]], {read_run(each).run_id: each for each in runs})


def hold_to_journals(editions: Iterable[Edition], folders: Mapping[str, Path]) -> int:
    """Hold every run of `folders` (run id -> folder) to the bytes that the editions were frozen from.

    A journal only grows, so its first bytes are those of every freeze. A run that is not there is passed over, and so
    is a member of an edition from before sizes were kept. Returns how many (edition, journal) pairs were compared.
    Raises CurationError naming the file, the edition and what to do.
    """
    stated: dict[str, dict[int, tuple[str, Edition]]] = {}
    compared = 0
    for edition in editions:
        for each in (*edition.pool, *edition.external):
            source, size = str(each["source"]), int(each.get("bytes", 0))
            if size and (folders.get(source, Path()) / JOURNAL_NAME).is_file():
                compared += 1
                known = stated.setdefault(source, {}).setdefault(size, (str(each["sha256"]), edition))
                if known[0] != each["sha256"]:
                    raise _other(folders[source], edition)
    for source, wanted in stated.items():
        found = _prefixes(folders[source] / JOURNAL_NAME, wanted)
        for size, (digest, edition) in wanted.items():
            if found.get(size) != digest:
                raise _other(folders[source], edition)
    return compared


def _other(folder: Path, edition: Edition) -> CurationError:
    return CurationError(
        f"{excerpt(folder.name)}/{JOURNAL_NAME}: changed since {edition.edition_id} was frozen from it; put the file "
        f"back from a backup, or give both up: remove the folders {excerpt(folder.name)} and {edition.edition_id}, and "
        "the model is asked again"
    )


def _prefixes(path: Path, sizes: Collection[int]) -> dict[int, str]:
    """Size -> sha256 of so many first bytes; sizes beyond the end are left out."""
    hashed, place, found = hashlib.sha256(), 0, {}
    with path.open("rb") as file:
        for size in sorted(sizes):
            while place < size and (piece := file.read(min(PIECE, size - place))):
                hashed.update(piece)
                place += len(piece)
            if place < size:
                break
            found[size] = hashed.copy().hexdigest()
    return found
