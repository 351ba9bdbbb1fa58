"""A connector to an OpenViking server, over its documented HTTP API.

Used: POST /api/v1/resources/temp_upload, POST /api/v1/resources, POST /api/v1/search/find, GET /api/v1/content/read,
DELETE /api/v1/fs. Source: OpenViking, docs/en/api (02-resources, 03-filesystem, 06-retrieval, 12-content). Its replies
are {"status": "ok", "result": ...} or {"status": "error", "error": {"code", "message"}}.
Documents go up as Markdown under names of our own ('doc-' and 12 hex digits), so no title becomes a path and every URI
that comes back tells its document. What was uploaded is remembered by the hash of its content: when a document changed
or is gone, everything under the root is removed and uploaded anew, so that nothing stale is found. What comes back is
bounded and checked; a summary that the server wrote is shown to the model and covers no evidence.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import math
import re
import time
import zipfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from opentwbench.dataset.atomic import write_file
from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.manifest import json_bytes
from opentwbench.evaluation.client import NO_SECRET, Secret
from opentwbench.evaluation.replies import detail, valid_text
from opentwbench.rag.evidence import Library
from opentwbench.rag.model import Document, Passage, RagError
from opentwbench.rag.retrieval.system import Ingested, Query, Retrieved, read_about
from opentwbench.waiting import backoff

PROGRESS_NAME = "openviking.json"
MODES = ("directory", "per_file")
MAX_BODY = 16 << 20
ATTEMPTS = 4

_NAME = re.compile(r"doc-[0-9a-f]{12}")


class ServerError(RagError):
    """What the server answered instead of a result; `status` is 0 when nothing came."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Server:
    """Where the server is. `root` is the URI under which everything of this run is kept, and deleted."""

    base_url: str
    root: str
    secret: Secret = NO_SECRET
    timeout: float = 600.0

    def __post_init__(self) -> None:
        """Raises RagError for what is no place of ours."""
        if not self.base_url.startswith(("http://", "https://")):
            raise RagError(f"openviking: the base URL must begin with http:// or https://: {excerpt(self.base_url)}")
        parts = urlsplit(self.base_url)
        if parts.username or parts.password or parts.query or parts.fragment or not parts.hostname:
            raise RagError("openviking: the base URL must name a host and hold no user, password, query or fragment")
        if not re.fullmatch(r"viking://resources/[A-Za-z0-9_-]{3,100}", self.root):
            raise RagError(f"openviking: the root must be viking://resources/ and a name: {excerpt(self.root)}")


def markdown(document: Document) -> str:
    """A document as the server gets it: its title, its headings, its parts."""
    lines, heading = [f"# {document.title}" if document.title else ""], ""
    for part in document.parts:
        if part.heading and part.heading != heading:
            lines.append(f"## {part.heading}")
        heading = part.heading
        lines.append(part.text)
    return "\n\n".join(line for line in lines if line) + "\n"


def name_of(doc_id: str) -> str:
    """The file's name of a document, without its suffix."""
    return "doc-" + hashlib.sha256(doc_id.encode("utf-8", "replace")).hexdigest()[:12]


class OpenViking:
    """The server as a system under test. `mode` is 'directory' (one archive) or 'per_file'."""

    def __init__(self, folder: Path, server: Server, library: Library, mode: str = "directory") -> None:
        if mode not in MODES:
            raise RagError(f"openviking: ingest_mode is {' or '.join(MODES)}, not {excerpt(mode)}")
        self._folder, self._server, self._library, self._mode = folder, server, library, mode

    @property
    def _progress(self) -> Path:
        return self._folder / PROGRESS_NAME

    async def ingest(self, documents: Sequence[Document]) -> Ingested:
        """Upload the documents; what an earlier start uploaded and is unchanged is not uploaded again.

        Raises RagError for two documents that would go up under one name, and ServerError.
        """
        started = time.perf_counter()
        wanted = {document.doc_id: _content_hash(document) for document in documents}
        if len({name_of(doc_id) for doc_id in wanted}) < len(documents):
            raise RagError("openviking: two documents have one name")
        done = self._ingested()
        async with self._session() as session:
            if any(wanted.get(doc_id) != held for doc_id, held in done.items()):
                await self._clear(session)
                done = {}
            waiting = [document for document in documents if document.doc_id not in done]
            groups = [waiting] if self._mode == "directory" else [[document] for document in waiting]
            for group in filter(None, groups):
                await self._add(session, group)
                done |= {document.doc_id: wanted[document.doc_id] for document in group}
                write_file(self._progress, json_bytes({"root": self._server.root, "documents": done}))
        return Ingested(len(done), 0, time.perf_counter() - started)

    def _ingested(self) -> dict[str, str]:
        """Document id -> hash of the content that was uploaded; '' where a record does not tell."""
        if not self._progress.is_file():
            return {}
        record = read_about(self._progress)
        held = record.get("documents")
        if record.get("root") != self._server.root or not isinstance(held, dict | list):
            return {}
        return {str(doc_id): str(held[doc_id]) if isinstance(held, dict) else "" for doc_id in held}

    async def _clear(self, session: aiohttp.ClientSession) -> None:
        """Remove everything under the root. The record goes last: a kill in between clears again."""
        try:
            await self._call(session, "DELETE", "/api/v1/fs", query={"uri": self._server.root, "recursive": "true"})
        except ServerError as error:
            if error.status != 404:
                raise
        self._progress.unlink(missing_ok=True)

    async def _add(self, session: aiohttp.ClientSession, group: Sequence[Document]) -> None:
        if self._mode == "per_file":
            name = name_of(group[0].doc_id)
            upload, target = (
                (f"{name}.md", markdown(group[0]).encode("utf-8", "replace")),
                f"{self._server.root}/{name}",
            )
        else:
            upload, target = ("documents.zip", _archive(group)), self._server.root
        form = {"file": upload}
        temporary = _text(await self._call(session, "POST", "/api/v1/resources/temp_upload", form=form), "temp_file_id")
        body = {"temp_file_id": temporary, "to": target, "reason": "a benchmark of retrieval", "wait": True}
        await self._call(session, "POST", "/api/v1/resources", body=body)

    async def retrieve(self, queries: Sequence[Query], k: int) -> AsyncIterator[Retrieved]:
        """One result a query. Seconds are those of the search and of reading what it found."""
        names = {name_of(doc_id): doc_id for doc_id in self._library}
        async with self._session() as session:
            for query in queries:
                started = time.perf_counter()
                try:
                    found = await self._find(session, query.text, k, names)
                except ServerError as error:
                    yield Retrieved(query.question_id, (), time.perf_counter() - started, str(error))
                    continue
                yield Retrieved(query.question_id, found, time.perf_counter() - started)

    async def _find(
        self, session: aiohttp.ClientSession, text: str, k: int, names: Mapping[str, str]
    ) -> tuple[Passage, ...]:
        body = {"query": text, "target_uri": self._server.root, "limit": k}
        result = await self._call(session, "POST", "/api/v1/search/find", body=body)
        hits = result.get("resources") if isinstance(result, dict) else None
        if not isinstance(hits, list):
            raise ServerError("openviking: find gave no list of resources")
        return tuple([await self._passage(session, hit, names) for hit in hits[:k]])

    async def _passage(self, session: aiohttp.ClientSession, hit: Any, names: Mapping[str, str]) -> Passage:
        uri, level = _text(hit, "uri"), hit.get("level")
        doc_id = self._document_of(uri, names)
        text = await self._read(session, uri) if level == 2 else _summary(hit)
        return Passage(
            doc_id=doc_id,
            label=self._library[doc_id].title if doc_id else "",
            text=valid_text(text),
            ranges=self._library.ranges(doc_id, text) if level == 2 and doc_id else (),
            score=_score(hit.get("score")),
            source=uri[:500],
        )

    def _document_of(self, uri: str, names: Mapping[str, str]) -> str:
        """The document of a URI; '' for what is none of ours. Raises ServerError for one that nobody uploaded."""
        named = _NAME.search(uri.removeprefix(self._server.root)) if uri.startswith(self._server.root + "/") else None
        if named is None:
            return ""
        if named[0] not in names:
            raise ServerError(
                f"openviking: a result of {named[0]}, which is no document of this run; delete and ingest"
            )
        return names[named[0]]

    async def _read(self, session: aiohttp.ClientSession, uri: str) -> str:
        result = await self._call(session, "GET", "/api/v1/content/read", query={"uri": uri})
        if not isinstance(result, str):
            raise ServerError("openviking: read gave no text")
        return result

    async def delete(self) -> int:
        """Remove everything under the root; how many documents that were."""
        n = len(self._ingested())
        async with self._session() as session:
            await self._clear(session)
        return n

    def _session(self) -> aiohttp.ClientSession:
        headers = {"User-Agent": "opentwbench", "Accept-Encoding": "identity"}
        if key := self._server.secret.reveal():
            headers["X-API-Key"] = key
        timeout = aiohttp.ClientTimeout(total=self._server.timeout)
        return aiohttp.ClientSession(headers=headers, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar())

    async def _call(
        self,
        session: aiohttp.ClientSession,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        form: Mapping[str, tuple[str, bytes]] | None = None,
    ) -> Any:
        """The result of one call, with retries for what may pass. Raises ServerError."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self._once(session, method, path, query, body, form)
            except ServerError as error:
                if attempt == ATTEMPTS or (error.status and error.status != 429 and error.status < 500):
                    raise
            await asyncio.sleep(backoff(attempt, 0.2, 10.0))
        raise AssertionError("unreachable")

    async def _once(
        self,
        session: aiohttp.ClientSession,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: Mapping[str, Any] | None,
        form: Mapping[str, tuple[str, bytes]] | None,
    ) -> Any:
        data = None
        if form is not None:
            data = aiohttp.FormData()
            for field, (name, content) in form.items():
                data.add_field(field, content, filename=name)
        url = self._server.base_url.rstrip("/") + path
        try:
            async with session.request(
                method, url, params=query, json=body, data=data, allow_redirects=False
            ) as response:
                status, raw = response.status, await response.content.read(MAX_BODY + 1)
                while len(raw) <= MAX_BODY and (more := await response.content.read(MAX_BODY + 1 - len(raw))):
                    raw += more
        except TimeoutError:
            raise ServerError("openviking: no reply in time") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ServerError(f"openviking: {type(error).__name__}") from None
        return _result(status, raw, self._server.secret.reveal())


def _content_hash(document: Document) -> str:
    """sha256 of what is uploaded of a document."""
    return hashlib.sha256(markdown(document).encode("utf-8", "replace")).hexdigest()


def _archive(group: Sequence[Document]) -> bytes:
    """The documents as one zip archive, the same bytes for the same documents."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for document in group:
            archive.writestr(
                zipfile.ZipInfo(f"{name_of(document.doc_id)}.md"), markdown(document).encode("utf-8", "replace")
            )
    return out.getvalue()


def _result(status: int, raw: bytes, secret: str) -> Any:
    if len(raw) > MAX_BODY:
        raise ServerError(f"openviking: a body of more than {MAX_BODY} bytes", status)
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError):
        raise ServerError(f"openviking: status {status}, no JSON", status) from None
    if not isinstance(record, dict):
        raise ServerError(f"openviking: status {status}, no object", status)
    if status == 200 and record.get("status") == "ok":
        return record.get("result")
    error = record.get("error")
    said = error.get("message") or error.get("code") if isinstance(error, dict) else ""
    raise ServerError(f"openviking: status {status}: {detail(str(said), secret)}"[:300], status)


def _text(record: Any, name: str) -> str:
    value = record.get(name) if isinstance(record, dict) else None
    if not isinstance(value, str) or not value or valid_text(value) != value:
        raise ServerError(f"openviking: a reply without {name}")
    return value


def _summary(hit: Mapping[str, Any]) -> str:
    value = hit.get("abstract")
    if value is not None and not isinstance(value, str):
        raise ServerError("openviking: a result whose abstract is no text")
    return value or ""


def _score(value: Any) -> float:
    """A result's score, 0 where it has none. Raises ServerError for what is no finite number of 64 bits."""
    if value is None:
        return 0.0
    try:
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ServerError("openviking: a result whose score is no finite number")
    return number
