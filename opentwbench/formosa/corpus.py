"""Taiwan.md from a folder or from a commit of a git checkout: every file becomes an article or is counted as left out.

What belongs here: finding files, frontmatter, provenance. What does not: cleaning (cleaning.py), windows (windows.py).
Paths from outside are never part of a shell string, links are not followed, and every file is bounded in size.
"""

from __future__ import annotations

import os
import re
import subprocess
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote

import yaml

from opentwbench.dataset.contract import PRIVATE_USE, WIDE_SPACE, excerpt
from opentwbench.formosa.cleaning import clean
from opentwbench.formosa.model import Article, Fault, LeftOut
from opentwbench.formosa.windows import MAX_BLOCK

if TYPE_CHECKING:
    from hashlib import _Hash

MAX_BYTES = 2_000_000
"""Of one file. The longest article of the snapshot has under 0.2 MB."""
MAX_FILES = 50_000
MAX_FRONT = 65_536
"""Characters of frontmatter. The longest of the snapshot has 13,932."""
MAX_TITLE = 200
MAX_NAME = 255
"""Bytes of a file's name: what file systems hold. A git tree holds longer ones."""
KNOWLEDGE = "knowledge"

HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Characters that are not seen and do harm in a title, a prompt or a table: controls but tab and line feed, bidi
controls, invisible formats, lone surrogates (YAML escapes make them), tags. The joiners of emoji and of scripts
(U+200C, U+200D) and variation selectors stay. The snapshot holds none."""
_BREAKS = re.compile("\r|\x0b|\x0c|\x85|\u2028|\u2029")
_PRIVATE = re.compile(PRIVATE_USE)
BAD_IN_NAME = re.compile(f"{HARMFUL.pattern}|{PRIVATE_USE}|{WIDE_SPACE}|[\t\n]")

_SITE = frozenset({"About", "resources"})
_LANGUAGES = frozenset({"en", "es", "fr", "ja", "ko"})
_STRAY = frozenset({"zh-TW"})
CATEGORY = re.compile(r"[A-Z][A-Za-z]{1,39}")
"""A category's folder; its name becomes part of the store's paths."""
_LANGUAGE_SUFFIX = re.compile(r"\.[a-z]{2}(?:-[A-Za-z]{2})?\.md$")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_STATED = re.compile(r"[0-9a-f]{7,64}")
STATE = "sha256:"
"""How a `commit` begins that is none but a state: of the folder in `Corpus`, of the file in `Article`."""
_FENCE = re.compile(r"(?:\A|\n)---[ \t]*(?:\n|\Z)")


class CorpusError(ValueError):
    """A corpus that cannot be read as a whole. Names the place and the reason."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Every Markdown file of the corpus: `articles`, or `left_out` under its reason."""

    commit: str
    """As `state_of` names it, or as stated."""
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
    """The corpus in a plain folder that holds `knowledge` (or is it). `commit` is stated by whoever copied it, 7 to 64
    hex digits. Without one the corpus names the folder's state (`state_of`) and each article that of its own file, so
    that an edit elsewhere changes no window and no item.

    Raises CorpusError when there is no such folder, no file in it, more than `MAX_FILES`, or `commit` is none.
    """
    check_stated(commit)
    total = sha256()
    made = _corpus(_hashed(_folder_files(_root(folder)), total), commit)
    if commit:
        return made
    return replace(made, commit=STATE + total.hexdigest())


def check_stated(commit: str) -> None:
    """Raises CorpusError for a stated commit that is none: it is published with every item."""
    if commit and not _STATED.fullmatch(commit):
        raise CorpusError(f"a commit is stated as 7 to 64 hex digits, got {excerpt(commit)}")


def _hashed(files: Iterable[tuple[str, bytes | LeftOut]], total: _Hash) -> Iterator[tuple[str, bytes | LeftOut]]:
    """The files as they come, each with its path and bytes added to `total`."""
    for path, data in files:
        body = data.value.encode() if isinstance(data, LeftOut) else data
        # A name that is no UTF-8 is hashed as the bytes that it is.
        total.update(f"{path}\0{len(body)}\0".encode(errors="surrogateescape") + body)
        yield path, data


def _root(folder: Path) -> Path:
    root = folder / KNOWLEDGE if (folder / KNOWLEDGE).is_dir() else folder
    if not root.is_dir():
        raise CorpusError(f"{folder.name}: no such folder")
    return root


def state_of(place: Path, commit: str = "") -> str:
    """What tells one state of the corpus from another, without cleaning it: the commit's full name, or `sha256:` and
    the digest over path and bytes of every Markdown file of the folder. Raises CorpusError as the readers do.
    """
    if commit:
        return _commit_name(place, commit)
    total = sha256()
    for count, _ in enumerate(_hashed(_folder_files(_root(place)), total), 1):
        _check_number(count)
    return STATE + total.hexdigest()


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
        path = raw.decode(errors="surrogateescape").removeprefix(f"{KNOWLEDGE}/")
        if not path.endswith(".md"):
            continue
        if not mode.startswith("100"):  # 120000 is a link, 160000 another repository
            yield path, LeftOut.LINK
        elif early := _placed(path):
            yield path, early
        elif int(size) > MAX_BYTES:
            yield path, LeftOut.TOO_LARGE
        else:
            yield path, _git(checkout, "cat-file", "blob", blob)


def _folder_files(root: Path) -> Iterator[tuple[str, bytes | LeftOut]]:
    for place, folders, names in os.walk(root, onerror=_unlisted, followlinks=False):
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
                yield path, _bytes(file)


def _unlisted(error: OSError) -> None:
    name = Path(os.fsdecode(error.filename)).name
    raise CorpusError(f"{excerpt(name)}: its files cannot be listed: {error.strerror}")


def _bytes(file: Path) -> bytes | LeftOut:
    try:
        with file.open("rb") as source:
            data = source.read(MAX_BYTES + 1)
    except OSError:
        return LeftOut.UNREADABLE
    return LeftOut.TOO_LARGE if len(data) > MAX_BYTES else data


def _placed(path: str) -> LeftOut | None:
    """Why a path alone leaves a file out, or None for an article's place."""
    parts = PurePosixPath(path).parts
    if _unusable(path, parts[-1]):
        return LeftOut.BAD_NAME
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


def _unusable(path: str, name: str) -> bool:
    long = len(name.encode(errors="surrogateescape")) > MAX_NAME
    return long or bool(BAD_IN_NAME.search(path)) or not unicodedata.is_normalized("NFC", path)


def _check_number(files: int) -> None:
    if files > MAX_FILES:
        raise CorpusError(f"more than {MAX_FILES} files")


def _corpus(files: Iterable[tuple[str, bytes | LeftOut]], commit: str) -> Corpus:
    articles: list[Article] = []
    left_out: dict[LeftOut, list[str]] = {}
    for count, (path, data) in enumerate(files, 1):
        _check_number(count)
        made = data if isinstance(data, LeftOut) else read_article(path, data, commit)
        if isinstance(made, LeftOut):
            left_out.setdefault(made, []).append(path.encode(errors="surrogateescape").decode(errors="replace"))
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
    title, body = _title(fields), text[start:]
    faults += _faults(fields, faults, category, title)
    if HARMFUL.search(title) or HARMFUL.search(body):
        faults.append(Fault.CONTROL)
    title = " ".join(unicodedata.normalize("NFC", _harmless(title)).split())[:MAX_TITLE].strip() or name
    # Headings part blocks and are no text: a window can neither end on one nor have a question about one.
    texts = [block.text for block in clean(_harmless(body)) if not block.heading]
    if unusable := _unusable_text(title, texts):
        return unusable
    cleaned, spans = joined(texts)
    url = f"https://taiwan.md/{category.lower()}/{quote(name)}/"
    digest = sha256(data).hexdigest()
    return Article(
        path=path,
        category=category,
        title=title,
        url=url,
        attribution=f"「{title}」, Taiwan.md (Che-Yu Wu and contributors), {url}, CC BY-SA 4.0",
        commit=commit or STATE + digest,
        sha256=digest,
        body_start=start,
        body_end=len(text),
        text=cleaned,
        blocks=spans,
        faults=tuple(faults),
    )


def _faults(fields: Mapping[str, object], faults: list[Fault], category: str, title: str) -> list[Fault]:
    """What is wrong with fields that were read, beside the faults of reading them."""
    found = []
    named = fields.get("category")
    if not faults and not named:
        found.append(Fault.NO_CATEGORY)
    elif named and (not isinstance(named, str) or named.strip() != category):
        found.append(Fault.OTHER_CATEGORY)
    if fields and not _harmless(title).strip():
        found.append(Fault.NO_TITLE)
    return found


def _title(fields: Mapping[str, object]) -> str:
    """The title as it is written, '' where it is missing or no single text."""
    title = fields.get("title")
    return title if isinstance(title, str) else ""


def _harmless(text: str) -> str:
    return HARMFUL.sub("", _BREAKS.sub("\n", text))


def _unusable_text(title: str, texts: list[str]) -> LeftOut | None:
    if not texts:
        return LeftOut.NO_TEXT
    if max(map(len, texts)) > MAX_BLOCK:
        return LeftOut.LONG_PARAGRAPH
    return LeftOut.PRIVATE_USE if any(_PRIVATE.search(text) for text in (title, *texts)) else None


def joined(texts: list[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """An article's text from those of its blocks, an empty line between two, and where each begins and ends."""
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
    front = text[opening.end() : closing.start() + 1]
    fields = _read_fields(front) if len(front) <= MAX_FRONT else None
    return closing.end(), fields or {}, [Fault.INVALID] if fields is None else []


class _Texts(yaml.BaseLoader):  # type: ignore[misc]
    """Scalars stay the texts that they are: no number, date or tag is made of one. An alias is refused, because nine
    lines of them name a billion values."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """A node as it comes; ComposerError for an anchor or an alias."""
        event = self.peek_event()
        if getattr(event, "anchor", None) is not None:
            raise yaml.composer.ComposerError(None, None, "an anchor or alias", event.start_mark)
        return super().compose_node(parent, index)


def _read_fields(front: str) -> dict[str, object] | None:
    """The mapping that frontmatter is; None for anything else."""
    try:
        fields = yaml.load(front, _Texts)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None
