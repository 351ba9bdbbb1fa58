"""Taiwan.md from a folder or from a commit of a git checkout: every file becomes an article or is counted as left out.

What belongs here: finding files, frontmatter, provenance. What does not: cleaning (cleaning.py), windows (windows.py).
Paths from outside are never part of a shell string, links are not followed, and every file is bounded in size.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path, PurePosixPath
from urllib.parse import quote

import yaml

from opentwbench.formosa.cleaning import clean
from opentwbench.formosa.model import Article, Fault, LeftOut

MAX_BYTES = 2_000_000
"""Of one file. The longest article of the snapshot has under 0.2 MB."""
MAX_FILES = 50_000
KNOWLEDGE = "knowledge"

_SITE = frozenset({"About", "resources"})
_LANGUAGES = frozenset({"en", "es", "fr", "ja", "ko"})
_STRAY = frozenset({"zh-TW"})
CATEGORY = re.compile(r"[A-Z][A-Za-z]{1,39}")
"""A category's folder; its name becomes part of the store's paths."""
_LANGUAGE_SUFFIX = re.compile(r"\.[a-z]{2}(?:-[A-Za-z]{2})?\.md$")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_FENCE = re.compile(r"(?:\A|\n)---[ \t]*(?:\n|\Z)")


class CorpusError(ValueError):
    """A corpus that cannot be read as a whole. Names the place and the reason."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Every Markdown file of the corpus: `articles`, or `left_out` under its reason."""

    commit: str
    articles: tuple[Article, ...]
    left_out: Mapping[LeftOut, tuple[str, ...]] = field(default_factory=dict)
    """Reason -> paths, sorted."""

    @property
    def faults(self) -> dict[Fault, tuple[str, ...]]:
        """Fault of frontmatter -> paths of the articles that have it."""
        return {
            fault: paths
            for fault in Fault
            if (paths := tuple(article.path for article in self.articles if fault in article.faults))
        }


def read_folder(folder: Path, commit: str = "") -> Corpus:
    """The corpus in a plain folder that holds `knowledge` (or is it). `commit` is stated by whoever copied it.

    Raises CorpusError when there is no such folder, no file in it, or more than `MAX_FILES`.
    """
    return _corpus(_folder_files(_root(folder)), commit)


def _root(folder: Path) -> Path:
    root = folder / KNOWLEDGE if (folder / KNOWLEDGE).is_dir() else folder
    if not root.is_dir():
        raise CorpusError(f"{folder.name}: no such folder")
    return root


def state_of(place: Path, commit: str = "") -> str:
    """What tells one state of the corpus from another, without cleaning it: the commit's full name, or a sha256 over
    path and bytes of every Markdown file of the folder. Raises CorpusError as the readers do.
    """
    if commit:
        return _commit_name(place, commit)
    total = sha256()
    for path, data in _folder_files(_root(place)):
        body = data.value.encode() if isinstance(data, LeftOut) else data
        total.update(f"{path}\0{len(body)}\0".encode() + body)
    return total.hexdigest()


def read_commit(checkout: Path, commit: str = "HEAD") -> Corpus:
    """The corpus as one commit of a git checkout has it; what lies in the working tree plays no part.

    Raises CorpusError when git refuses, or the commit has no `knowledge` folder.
    """
    name = _commit_name(checkout, commit)
    return _corpus(_commit_files(checkout, name), name)


def _commit_name(checkout: Path, commit: str) -> str:
    if commit.startswith("-"):
        raise CorpusError(f"{commit!r} is no commit")
    name = _git(checkout, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{commit}}").decode().strip()
    if not _COMMIT.fullmatch(name):
        raise CorpusError(f"git names the commit {name!r}")
    return name


def _git(checkout: Path, *arguments: str) -> bytes:
    command = ["git", "-C", str(checkout), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CorpusError(f"git {arguments[0]}: {type(error).__name__}") from error
    if done.returncode:
        raise CorpusError(f"git {arguments[0]}: {done.stderr.decode(errors='replace').strip()[:200]}")
    return done.stdout


def _commit_files(checkout: Path, commit: str) -> Iterator[tuple[str, bytes | LeftOut]]:
    for entry in _git(checkout, "ls-tree", "-r", "-z", "-l", commit, f"{KNOWLEDGE}/").split(b"\0"):
        if not entry:
            continue
        about, raw = entry.split(b"\t", 1)
        mode, _, blob, size = about.decode().split()
        path = raw.decode(errors="replace").removeprefix(f"{KNOWLEDGE}/")
        if not path.endswith(".md"):
            continue
        if mode == "120000":
            yield path, LeftOut.LINK
        elif early := _placed(path):
            yield path, early
        elif int(size) > MAX_BYTES:
            yield path, LeftOut.TOO_LARGE
        else:
            yield path, _git(checkout, "cat-file", "blob", blob)


def _folder_files(root: Path) -> Iterator[tuple[str, bytes | LeftOut]]:
    for place, folders, names in os.walk(root, followlinks=False):
        folders.sort()
        for name in sorted(names):
            file = Path(place) / name
            if not name.endswith(".md"):
                continue
            path = file.relative_to(root).as_posix()
            if file.is_symlink() or not file.is_file():
                yield path, LeftOut.LINK
            elif early := _placed(path):
                yield path, early
            else:
                with file.open("rb") as source:
                    data = source.read(MAX_BYTES + 1)
                yield path, LeftOut.TOO_LARGE if len(data) > MAX_BYTES else data


def _placed(path: str) -> LeftOut | None:
    """Why a path alone leaves a file out, or None for an article's place."""
    parts = PurePosixPath(path).parts
    if parts[-1].startswith("_"):
        return LeftOut.HUB_PAGE
    for folders, reason in (
        (_SITE, LeftOut.SITE_PAGE),
        (_STRAY, LeftOut.STRAY_COPY),
        (_LANGUAGES, LeftOut.OTHER_LANGUAGE),
    ):
        if parts[0] in folders:
            return reason
    if _LANGUAGE_SUFFIX.search(parts[-1]):
        return LeftOut.OTHER_LANGUAGE
    return None if len(parts) == 2 and CATEGORY.fullmatch(parts[0]) else LeftOut.MISPLACED


def _corpus(files: Iterable[tuple[str, bytes | LeftOut]], commit: str) -> Corpus:
    articles: list[Article] = []
    left_out: dict[LeftOut, list[str]] = {}
    for count, (path, data) in enumerate(files, 1):
        if count > MAX_FILES:
            raise CorpusError(f"more than {MAX_FILES} files")
        made = data if isinstance(data, LeftOut) else read_article(path, data, commit)
        if isinstance(made, LeftOut):
            left_out.setdefault(made, []).append(path)
        else:
            articles.append(made)
    if not articles:
        raise CorpusError(f"no article; {sum(map(len, left_out.values()))} files left out")
    return Corpus(
        commit,
        tuple(sorted(articles, key=lambda article: article.path)),
        {reason: tuple(sorted(left_out[reason])) for reason in LeftOut if reason in left_out},
    )


def read_article(path: str, data: bytes, commit: str) -> Article | LeftOut:
    """One file as an article, or why it is none. A fault of its frontmatter is named and the article is used."""
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return LeftOut.NOT_UTF8
    start, fields, faults = _frontmatter(text)
    category, name = path.split("/")[0], PurePosixPath(path).stem
    named = fields.get("category")
    if not faults and not named:
        faults.append(Fault.NO_CATEGORY)
    elif named and str(named).strip() != category:
        faults.append(Fault.OTHER_CATEGORY)
    title = str(fields.get("title") or "").strip()
    if fields and not title:
        faults.append(Fault.NO_TITLE)
    # Headings part blocks and are no text: a window can neither end on one nor have a question about one.
    texts = [block.text for block in clean(text[start:]) if not block.heading]
    if not texts:
        return LeftOut.NO_TEXT
    cleaned, spans = _joined(texts)
    url = f"https://taiwan.md/{category.lower()}/{quote(name)}/"
    shown = " ".join((title or name).split())[:200]
    return Article(
        path=path,
        category=category,
        title=shown,
        url=url,
        attribution=f"「{shown}」, Taiwan.md (Che-Yu Wu and contributors), {url}, CC BY-SA 4.0",
        commit=commit,
        sha256=sha256(data).hexdigest(),
        body_start=start,
        body_end=len(text),
        text=cleaned,
        blocks=spans,
        faults=tuple(faults),
    )


def _joined(texts: list[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    spans, place = [], 0
    for text in texts:
        spans.append((place, place + len(text)))
        place += len(text) + 2
    return "\n\n".join(texts), tuple(spans)


def _frontmatter(text: str) -> tuple[int, dict[str, object], list[Fault]]:
    """Where the body begins, the fields, and what is wrong with them. A `---` rule further down opens nothing."""
    opening = _FENCE.match(text)
    if not opening:
        return 0, {}, [Fault.MISSING]
    closing = _FENCE.search(text, opening.end() - 1)
    if not closing:
        return 0, {}, [Fault.INVALID]
    try:
        fields = yaml.safe_load(text[opening.end() : closing.start() + 1])
    except (yaml.YAMLError, ValueError, RecursionError):
        return closing.end(), {}, [Fault.INVALID]
    if not isinstance(fields, dict):
        return closing.end(), {}, [Fault.INVALID]
    return closing.end(), fields, []
