"""Folders in an object store that a kill cannot tear: a reader finds the old files or the new ones, never a mixture.

What belongs here: reading and replacing the files of one folder where nothing can be renamed. What does not: which
products there are (`resources.store`) and folders on a disk (`opentwbench.dataset.atomic`).
How: the new files are written aside, then one object announces them; from then on they are the folder, and whoever
opens it next, reader or writer, finishes the move. The announcement goes when every file is in its place. What a kill
left aside before it announced anything is taken away by the next writer. Somebody who reads the bucket without this
module may see a move under way; the manifest moves last, so that a reader who verifies it notices.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

LAST = "manifest.json"
"""The file that names the others."""

ATTEMPTS = 20
"""How often a folder is read again because it changed meanwhile."""


class FolderChangingError(Exception):
    """A folder was replaced each time it was read."""


@dataclass(frozen=True, slots=True)
class ObjectFolder:
    """The files of one folder: `path` in `fs`, an fsspec file system."""

    fs: Any
    path: str

    def read(self) -> dict[str, bytes]:
        """File name -> bytes, all of one state; empty when there is no folder.

        Raises FolderChangingError when it is never left alone, OSError as the file system does.
        """
        for _ in range(ATTEMPTS):
            self.finish()
            before = self._listed()
            try:
                files = {name: bytes(self.fs.cat_file(f"{self.path}/{name}")) for name in sorted(before)}
            except FileNotFoundError:
                continue
            if self._listed() == before and not self._exists(self._announcement):
                return files
        raise FolderChangingError(f"it was written again each of {ATTEMPTS} times that it was read")

    def replace(self, files: Mapping[str, bytes]) -> bool:
        """Make the folder hold exactly these files; False, and nothing written, when it does."""
        if self.read() == files:
            return False
        hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
        name = hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()[:16]
        aside = f"{self._beside}.aside-{name}"
        for residue in self._residues():
            self.fs.rm(residue, recursive=True)
        for file, data in files.items():
            self.fs.pipe_file(f"{aside}/{file}", data)
        announced = json.dumps({"aside": PurePosixPath(aside).name, "files": hashes}, sort_keys=True).encode()
        self.fs.pipe_file(self._announcement, announced)
        self.finish()
        return True

    def finish(self) -> None:
        """Carry out what is announced, if anything is; a process that is late finds it done.

        What lies aside goes before the announcement: a kill in between leaves the announcement, which the next
        process takes away, where a file left aside would be nobody's.
        """
        try:
            announced = self.fs.cat_file(self._announcement)
        except FileNotFoundError:
            return
        found = json.loads(announced)
        aside = f"{PurePosixPath(self.path).parent}/{PurePosixPath(found['aside']).name}"
        with suppress(FileNotFoundError):  # a file that is not aside any more: every one is in its place
            for name in sorted(found["files"], key=lambda each: (each == LAST, each)):
                if name == LAST:
                    self._remove_all_but(found["files"])
                self.fs.cp_file(f"{aside}/{name}", f"{self.path}/{name}")
            self._remove_all_but(found["files"])
        with suppress(FileNotFoundError):
            self.fs.rm(aside, recursive=True)
        with suppress(FileNotFoundError):
            if self.fs.cat_file(self._announcement) == announced:  # not that of a writer who came since
                self.fs.rm_file(self._announcement)

    @property
    def _beside(self) -> str:
        at = PurePosixPath(self.path)
        return f"{at.parent}/.{at.name}"

    @property
    def _announcement(self) -> str:
        return f"{self._beside}.announced.json"

    def _exists(self, path: str) -> bool:
        return bool(self.fs.exists(path))

    def _listed(self) -> dict[str, tuple[int, str]]:
        """File name -> size and what changes when the object is written."""
        try:
            entries = self.fs.ls(self.path, detail=True)
        except FileNotFoundError:
            return {}
        plain = (entry for entry in entries if entry["type"] == "file" and entry["name"].rstrip("/") != self.path)
        return {
            PurePosixPath(each["name"]).name: (each["size"], str(each.get("ETag") or each.get("created")))
            for each in plain
        }

    def _remove_all_but(self, files: Mapping[str, str]) -> None:
        for name in self._listed().keys() - files.keys():
            self.fs.rm_file(f"{self.path}/{name}")

    def _residues(self) -> list[str]:
        """What writers that were killed before they announced anything left aside."""
        try:
            names = self.fs.ls(str(PurePosixPath(self.path).parent), detail=False)
        except FileNotFoundError:
            return []
        return [
            name for name in names if PurePosixPath(name).name.startswith(f".{PurePosixPath(self.path).name}.aside-")
        ]
