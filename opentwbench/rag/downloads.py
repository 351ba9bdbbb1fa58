"""Where the public data sets come from: sources, sizes and licences, shown before anything is fetched.

Sources are pinned to a commit where the publisher has commits. Sizes and licences are those that were stated when they
were pinned (the SOURCE files of the sample data); a licence that is not stated is said to be so.
What does not belong here: reading the files (adapters).
"""

from __future__ import annotations

import http.client
import io
import tarfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urljoin

from opentwbench.addresses import AddressError, UnknownHost, WebAddress, check_host, check_ip, read_url
from opentwbench.dataset.atomic import write_file
from opentwbench.rag.model import RagError

CHUNK = 1 << 20
TIMEOUT = 60.0
"""Seconds without a byte."""

REDIRECTIONS = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTIONS = 5
"""Archives are served from another host than they are named at."""


class Unreachable(RagError):
    """The source cannot be reached: the machine is offline, or the file is gone."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A data set to fetch. `archive` is a .tar.gz of which `keep` names the files; else `url` is one file."""

    name: str
    url: str
    megabytes: float
    """Roughly what is transferred."""
    licence: str
    notes: str
    archive: bool = True
    keep: tuple[str, ...] = ()
    """Beginnings of the paths, below the archive's one folder, that are written."""
    most: int = 2_000_000_000
    """Most bytes that are taken, and most that they may unpack to."""


_GITHUB = "https://codeload.github.com/{}/tar.gz/{}"

OFFERS = {
    offer.name: offer
    for offer in (
        Offer(
            "locomo",
            "https://raw.githubusercontent.com/snap-research/LoCoMo/3eb6f2c585f5e1699204e3c3bdf7adc5c28cb376/data/locomo10.json",
            2.8,
            "CC BY-NC 4.0: not for commercial use",
            "10 conversations, 1,986 questions, 1,540 without the adversarial ones",
            archive=False,
            keep=("data/locomo10.json",),
        ),
        Offer(
            "syllabusqa",
            _GITHUB.format("umass-ml4ed/SyllabusQA", "72baa744eaa120539134a5b174cf1d51ba7cb064"),
            60.0,
            "not stated in the repository: ask its authors before any use but research",
            "63 syllabi, 5,078 questions, 4,358 without 'no answer'",
            keep=("data/dataset_split/", "syllabi/syllabi_redacted/word/"),
        ),
        Offer(
            "qasper",
            "https://qasper-dataset.s3.us-west-2.amazonaws.com/qasper-train-dev-v0.3.tgz",
            11.0,
            "CC BY 4.0",
            "train and dev; 1,585 papers and 5,049 questions with the test part, which is a file of its own",
            keep=("qasper-",),
        ),
        Offer(
            "financebench",
            _GITHUB.format("patronus-ai/financebench", "cc39aeb4afdf33909ee1412188bf89035950c2eb"),
            600.0,
            "CC BY-NC 4.0 by its Hugging Face card; the repository states none. The filings are public documents",
            "150 questions over 84 filings",
            keep=("data/", "pdfs/"),
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was written."""

    files: int
    bytes: int


def offer(name: str) -> Offer:
    """The offer of that name. Raises RagError when there is none."""
    if name == "tw_rag":
        raise RagError("tw_rag: built by this project, not downloaded")
    if name not in OFFERS:
        raise RagError(f"{name[:80]!r} is no public data set; there are {', '.join(OFFERS)}")
    return OFFERS[name]


def as_text(given: Offer) -> str:
    """The offer in words."""
    return (
        f"{given.name}: {given.notes}\nsource   {given.url}\nsize     about {given.megabytes:g} MB"
        f"\nlicence  {given.licence}\nThe files are test data: they are not part of what this project publishes."
    )


def fetch(given: Offer, out: Path, url: str | None = None, *, allow_private: bool = False) -> Fetched:
    """Fetch the files into a folder, each written whole. `url` takes the place of the offer's (a mirror).

    Raises Unreachable when the source cannot be had, and RagError for what is no archive of its form and for an address
    that `opentwbench.addresses` does not let be asked, a redirection's too.
    """
    data = _download(given.url if url is None else url, given.most, allow_private)
    written = size = 0
    for name, body in _files(given, data):
        written, size = written + 1, size + len(body)
        if size > given.most:  # a small archive can hold a very large one
            raise RagError(f"{given.name}: unpacks to more than {given.most:,} bytes")
        write_file(out / name, body)
    if not written:
        raise RagError(f"{given.name}: none of the expected files is in what was fetched")
    return Fetched(written, size)


class _Plain(http.client.HTTPConnection):
    """A connection that says nothing to an address that `check_ip` refuses.

    The name was looked up before, to refuse it without a packet; this is the answer of the look-up that counts.
    """

    allow_private = False

    def connect(self) -> None:
        super().connect()
        try:
            check_ip(str(self.sock.getpeername()[0]), allow_private=self.allow_private)
        except AddressError:
            self.close()
            raise


class _Encrypted(http.client.HTTPSConnection, _Plain):
    """The same before the TLS handshake: HTTPSConnection connects by the next class in this order."""


def _download(url: str, most: int, allow_private: bool) -> bytes:
    try:
        place = read_url(url, allow_private=allow_private)
    except AddressError as error:
        raise RagError(f"--url: {error}") from None  # without the address, which may hold a password
    said = f"{place.scheme}://{place.host}{place.target.partition('?')[0]}"  # a query may hold a token
    try:
        for _ in range(MOST_REDIRECTIONS + 1):
            check_host(place.host, place.port, allow_private=allow_private)
            with closing(_connection(place, allow_private)) as connection:
                connection.request("GET", place.target, headers={"User-Agent": "opentwbench"})
                answer = connection.getresponse()
                if answer.status == 200:
                    return _bounded(answer, most, said)
                if answer.status not in REDIRECTIONS:
                    raise Unreachable(_advice(said, f"status {answer.status}"))
                url = urljoin(url, answer.getheader("Location") or "")
            place = _redirected(place, url, allow_private)
    except UnknownHost as error:
        raise Unreachable(_advice(said, str(error))) from None
    except AddressError as error:
        raise RagError(f"{said}: {error}") from None
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(_advice(said, str(error)[:120] or type(error).__name__)) from None
    raise Unreachable(_advice(said, f"more than {MOST_REDIRECTIONS} redirections"))


def _redirected(place: WebAddress, url: str, allow_private: bool) -> WebAddress:
    try:
        there = read_url(url, allow_private=allow_private)
    except AddressError as error:
        raise AddressError(f"redirected: {error}") from None
    if there.scheme != place.scheme:
        raise AddressError(f"redirected from {place.scheme} to {there.scheme}")
    return there


def _connection(place: WebAddress, allow_private: bool) -> _Plain:
    # Directly and not through a proxy of the environment: the address checked is the one that is asked.
    kind = _Encrypted if place.scheme == "https" else _Plain
    connection = kind(place.host, place.port, timeout=TIMEOUT)
    connection.allow_private = allow_private
    return connection


def _bounded(answer: http.client.HTTPResponse, most: int, said: str) -> bytes:
    parts, size = [], 0
    while part := answer.read(CHUNK):
        size += len(part)
        if size > most:
            raise RagError(f"{said}: more than {most:,} bytes")
        parts.append(part)
    if answer.length:  # read(amount) ends at a cut connection without a word
        raise Unreachable(_advice(said, f"cut off with {answer.length:,} bytes to come"))
    return b"".join(parts)


def _advice(said: str, reason: str) -> str:
    return (
        f"{said} cannot be fetched ({reason}). Without a network, put the files into a folder by hand and name it with "
        "--data"
    )


def _files(given: Offer, data: bytes) -> Iterator[tuple[str, bytes]]:
    if not given.archive:
        yield given.keep[0], data
        return
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            for member in archive:
                name = _wanted(given, member)
                stream = archive.extractfile(member) if name else None
                if stream is not None:
                    yield name, stream.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise RagError(f"{given.name}: no archive: {type(error).__name__}") from None


def _wanted(given: Offer, member: tarfile.TarInfo) -> str:
    """Where a regular file goes below the folder; '' for what is not taken. No name leaves the folder."""
    parts = PurePosixPath(member.name).parts
    inner = "/".join(parts[1:]) if len(parts) > 1 and not member.name.startswith(given.keep) else "/".join(parts)
    safe = not any(part in ("..", "/", "") for part in parts) and not member.name.startswith("/")
    small = member.size <= 200_000_000
    return inner if member.isfile() and safe and small and inner.startswith(given.keep) else ""
