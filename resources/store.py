"""The store: one URL under which every product of the platform has its place.

What belongs here: the path of each product (docs/architecture.md, "The store"), reading, and atomic writing.
What does not: what the products mean. No Dagster either, so that the command line can look at a store at once;
`resources.settings.StoreResource` is the configured form that assets receive.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec

from opentwbench.dataset.atomic import write_file
from resources.object_folders import ObjectFolder

NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
"""What a slug or check name may look like before it becomes part of a path."""

SHA256 = re.compile(r"[0-9a-f]{64}")
"""What a version of the index is called."""

YEARS = range(1, 1000)
"""ROC years that can be a file name."""

CACHE_VARIABLE = "OTB_CACHE"
"""The environment variable that names the local folder of retrieved papers for a store that is not local."""

OBJECT_STORES = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "az"})
"""Protocols without folders: s3fs answers a request for one by creating a bucket that is missing."""

CREDENTIALS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID")
"""Environment variables whose values are shown nowhere."""

NO_BUCKET = "cannot be written: there is no such bucket"


class StoreError(Exception):
    """The store cannot be used as asked: a name that is no name, or a product that is not there."""


class StoreUnusableError(StoreError):
    """What was named as a store cannot hold one."""


class Store:
    """Products by name under one fsspec URL; a plain path is a local folder.

    Every write is atomic: aside, fsync and rename on a local disk, one whole object on an object store, where folders
    are replaced as `resources.object_folders` says. What is not local needs a local folder for its cache: `cache`, or
    the environment variable OTB_CACHE. Credentials come from the environment (S3: AWS_*), never in the URL.
    """

    def __init__(self, url: str, cache: Path | None = None) -> None:
        self.url = url
        if not url.strip():
            raise StoreUnusableError("a store needs the name of a folder, and '' would be the folder one works in")
        if "@" in url.partition("://")[2].partition("/")[0]:  # not shown: it may hold a secret
            raise StoreUnusableError("a store's URL holds no credentials; they come from the environment")
        try:
            # A listing that another process made old is none.
            self._fs, root = fsspec.core.url_to_fs(url, use_listings_cache=False)
        except (ImportError, ValueError) as error:
            raise StoreUnusableError(f"{url}: no store can be opened there ({error})") from error
        self._root = root.rstrip("/")
        protocols = self._fs.protocol if isinstance(self._fs.protocol, tuple) else (self._fs.protocol,)
        self.is_local = "file" in protocols
        if self.is_local:
            place = Path(self._root)
            nearest = next(each for each in (place, *place.parents) if each.exists())
            if not nearest.is_dir():
                raise StoreUnusableError(f"{url}: a store is a folder, and {nearest} is none")
        self._has_folders = not OBJECT_STORES.intersection(protocols)
        self.cache_folder: Path = cache or self._default_cache()

    def _default_cache(self) -> Path:
        if self.is_local:
            return Path(self._root) / "cache"
        if named := os.environ.get(CACHE_VARIABLE):
            return Path(named)
        raise StoreUnusableError(
            f"{self.url}: the cache of retrieved papers is always local; name its folder ({CACHE_VARIABLE})"
        )

    # -- names ------------------------------------------------------------------------------------------------------

    def index_csv(self) -> str:
        """The index last seen, as it came."""
        return "index/index.csv"

    def index_record(self) -> str:
        """Digest and counts of the index last seen."""
        return "index/index.json"

    def index_history(self) -> str:
        """Every version of the index that was seen, one line each, oldest first."""
        return "index/history.jsonl"

    def index_version(self, sha256: str) -> str:
        """One version of the index as it came, by the hash of its bytes."""
        if not SHA256.fullmatch(sha256):
            raise StoreError(f"{sha256[:100]!r} is no sha256 of an index")
        return f"index/versions/{sha256}.csv"

    def papers(self, year_roc: int) -> str:
        """Parse records of one sitting year, one line an index row."""
        return f"papers/{_year(year_roc)}.jsonl"

    def papers_record(self, year_roc: int) -> str:
        """What that year was made from, and the digest of its papers by subject."""
        return f"papers/{_year(year_roc)}.json"

    def items(self, slug: str) -> str:
        """Every printed question of a subject with its bucket."""
        return f"items/{_name(slug)}.jsonl"

    def accounting(self, slug: str) -> str:
        """The accounting of a subject and what its items were made from."""
        return f"items/{_name(slug)}.accounting.json"

    def dataset(self, slug: str) -> str:
        """Folder of one subject's benchmark files."""
        return f"datasets/{_name(slug)}"

    def removals(self, slug: str) -> str:
        """Every item that ever left the publication, and why."""
        return f"datasets/{_name(slug)}.removed.jsonl"

    def dataset_record(self, slug: str) -> str:
        """What the data set was made from: kept beside the folder, so that it never changes the folder's bytes."""
        return f"datasets/{_name(slug)}.json"

    def verdict(self, slug: str, check: str) -> str:
        """One check's verdict and the hashes of the files it judged."""
        return f"verdicts/{_name(slug)}/{_name(check)}.json"

    def publication(self, slug: str) -> str:
        """Folder of one subject in the local publication target."""
        return f"publications/{_name(slug)}"

    def hub(self, name: str) -> str:
        """What of a data set was pushed to the Hub and read back equal."""
        return f"hub/{_name(name)}.json"

    def hub_changelog(self, name: str) -> str:
        """The changelog of a data set that only the Hub has as a whole (the combined one)."""
        return f"hub/{_name(name)}.changelog.md"

    def release(self) -> str:
        """The accounts and figures of all subjects together."""
        return "release/release.json"

    def release_suite(self) -> str:
        """The verdict of the row contract's suite over the whole release."""
        return "release/release_suite.json"

    def hub_namespace(self) -> str:
        """Whom data sets are pushed to the Hub as: what their cards name."""
        return "hub/namespace.json"

    def applied_lists(self) -> str:
        """Paths of the lists that the last run applied, by name."""
        return "lists.json"

    def key_attributions(self) -> str:
        """What people found disagreements of keys to be: one line each, only added to."""
        return "release/key_attributions.jsonl"

    def study(self, study_id: str) -> str:
        """The result of one apparatus study."""
        return f"apparatus/{_name(study_id)}.json"

    # -- reading ----------------------------------------------------------------------------------------------------

    def exists(self, path: str) -> bool:
        """Whether a product is there."""
        with self._asking(path):
            return bool(self._fs.exists(self._at(path)))

    def read(self, path: str) -> bytes:
        """The bytes of one product; StoreError when it is not there."""
        with self._asking(path):
            return bytes(self._fs.cat_file(self._at(path)))

    def hash_of(self, path: str) -> str:
        """Sha256 (hex) of a product, '' when it is not there."""
        data = self._read_or_none(path)
        return "" if data is None else hashlib.sha256(data).hexdigest()

    def read_range(self, path: str, start: int, end: int) -> bytes:
        """The bytes `start` to `end` (not included) of one product."""
        with self._asking(path):
            return bytes(self._fs.cat_file(self._at(path), start=start, end=end))

    def read_json(self, path: str) -> Any:
        """A JSON product; StoreError names the file when it cannot be read."""
        return self._json(path, self.read(path))

    def read_json_or_none(self, path: str) -> Any:
        """A JSON product, or None when there is none yet."""
        data = self._read_or_none(path)
        return None if data is None else self._json(path, data)

    def lines(self, path: str) -> Iterator[bytes]:
        """The lines of one JSONL product without their ends, one at a time; StoreError when it is not there."""
        with self._asking(path):
            file = self._fs.open(self._at(path), "rb")
        with file:
            while True:
                with self._asking(path):
                    line = file.readline()
                if not line:
                    return
                yield line.rstrip(b"\n")

    def years(self) -> list[int]:
        """The sitting years whose papers are recorded, ascending."""
        found = (Path(name).stem for name in self._names("papers") if name.endswith(".jsonl"))
        return sorted(int(stem) for stem in found if stem.isdigit())

    def slugs(self, kind: str) -> list[str]:
        """The subjects that have a folder or record under datasets, publications or items."""
        names = (Path(name).name.split(".")[0] for name in self._names(kind))
        return sorted({name for name in names if NAME.fullmatch(name)})

    # -- writing ----------------------------------------------------------------------------------------------------

    def write(self, path: str, data: bytes) -> bool:
        """Put one product in place, whole or not at all; False, and nothing written, when it holds these bytes."""
        if self._read_or_none(path) == data:
            return False
        if self.is_local:
            write_file(Path(self._at(path)), data)
            return True
        with self._asking(path, NO_BUCKET):
            if self._has_folders:
                self._fs.makedirs(os.path.dirname(self._at(path)), exist_ok=True)  # noqa: PTH120 - a URL, no local path
            self._fs.pipe_file(self._at(path), data)
        return True

    def write_json(self, path: str, value: Any) -> bool:
        """Put one JSON product in place: keys sorted, so that equal values are equal bytes. False when unchanged."""
        return self.write(path, (json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1) + "\n").encode())

    def remove(self, path: str) -> None:
        """Take one product away; nothing happens when it is not there."""
        with self._asking(path):
            if self._fs.exists(self._at(path)):
                self._fs.rm(self._at(path), recursive=True)

    @contextmanager
    def folder(self, path: str, *, write: bool = False) -> Iterator[Path]:
        """A folder product as a local path: the folder itself in a local store, else a copy.

        With `write`, the files that a copy holds at the end take the place of those in the store, all or none.
        """
        if self.is_local:
            yield Path(self._at(path))
            return
        kept = ObjectFolder(self._fs, self._at(path))
        with tempfile.TemporaryDirectory(prefix="otb-") as temporary:
            copy = Path(temporary) / Path(path).name
            with self._asking(path):
                found = kept.read()
            if found:
                copy.mkdir()
            for name, data in found.items():
                (copy / name).write_bytes(data)
            yield copy
            if write and copy.is_dir():
                files = {file.name: file.read_bytes() for file in sorted(copy.iterdir()) if file.is_file()}
                with self._asking(path, NO_BUCKET):
                    kept.replace(files)

    def _read_or_none(self, path: str) -> bytes | None:
        """The bytes of a product, None when it is not there: one request where asking first would be two or three."""
        with self._asking(path):
            try:
                return bytes(self._fs.cat_file(self._at(path)))
            except FileNotFoundError:
                return None

    def _json(self, path: str, data: bytes) -> Any:
        try:
            return json.loads(data)
        except ValueError as error:
            raise StoreError(f"{self.url}: {path} is not JSON: {error}") from None

    @contextmanager
    def _asking(self, path: str, missing: str = "is not there yet") -> Iterator[None]:
        """Raise StoreError for what a store cannot do, without credentials; a local disk's own errors are left."""
        try:
            yield
        except FileNotFoundError as error:
            kind = StoreUnusableError if missing == NO_BUCKET else StoreError
            raise kind(f"{self.url}: {path} {missing}") from (error if self.is_local else None)
        except Exception as error:  # each file system has its own exceptions
            if self.is_local:
                raise
            raise StoreError(f"{self.url}: {path}: {_shown(error)}") from None

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}"

    def _names(self, folder: str) -> list[str]:
        with self._asking(folder):
            if not self._fs.exists(self._at(folder)):
                return []
            return sorted(str(name) for name in self._fs.ls(self._at(folder), detail=False))


def _shown(error: Exception) -> str:
    text = f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"
    for variable in CREDENTIALS:
        text = text.replace(os.environ.get(variable) or "\0", "***")
    return text


def _name(name: str) -> str:
    if not NAME.fullmatch(name) or len(name) > 100:
        raise StoreError(f"{name!r} is no name of a subject or check (lower-case letters, digits, - and _)")
    return name


def _year(year_roc: int) -> int:
    if year_roc not in YEARS:
        raise StoreError(f"{year_roc!r} is no ROC year")
    return year_roc
