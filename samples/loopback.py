"""A loopback ministry: serves a mirror folder under the ministry's real URL shape, with faults on demand.

The mirror is a folder with index.csv, urls.csv (url,path) and the files it names. The server listens on 127.0.0.1 only.
It answers as the ministry does: ETag and Last-Modified, 304 to a conditional request, and for a missing file an HTML
page with status 200. Faults (a delay, 429, 500, a cut connection ...) are planted by URL pattern and count, and every
request is logged, so that a test can say what was asked and what was not.

    python -m samples.loopback FOLDER [--port N]
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import hashlib
import re
import socketserver
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate, parsedate_to_datetime
from enum import StrEnum
from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from opentwbench.exam.index import INDEX_URL, PAPER_ENDPOINT

INDEX_PATH = urlsplit(INDEX_URL).path
PAPER_PATH = urlsplit(PAPER_ENDPOINT).path

HTML_ERROR_PAGE = (
    "\ufeff<!DOCTYPE html>\r\n<html><head><title>系統訊息</title></head><body>查無此檔案</body></html>\r\n"
).encode()
"""What the ministry answers for a missing file: it starts with a BOM. Source: the mirror's README."""


class FaultKind(StrEnum):
    """What goes wrong with one answer."""

    DELAY = "delay"
    """The answer comes after `seconds`."""
    DRIP = "drip"
    """The body comes in pieces of `size` bytes with `seconds` between them."""
    STATUS = "status"
    """An HTML page with `status` and, where given, a Retry-After or Location header."""
    CUT = "cut"
    """Half the body under the full Content-Length, then the connection is closed."""
    SHORT = "short"
    """Half the body, announced as if it were all."""
    DROP = "drop"
    """The connection is closed without an answer."""
    HTML = "html"
    """The ministry's HTML page with status 200."""
    CONTENT_TYPE = "content_type"
    """The right body under `content_type`."""
    ENCODED = "encoded"
    """The body under a Content-Encoding that nobody asked for."""
    OVERSIZE = "oversize"
    """The body followed by zeros up to `size` bytes, with its Content-Length."""
    OVERSIZE_UNDECLARED = "oversize_undeclared"
    """The same in chunks, without a Content-Length."""
    NO_VALIDATORS = "no_validators"
    """The right body without ETag and Last-Modified, whatever the request's conditions say."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A planted fault: it applies to the next `times` requests (None: to all) whose target matches `pattern`."""

    kind: FaultKind
    pattern: str = ""
    """A regular expression searched in the target, e.g. 't=Q&code=101010'; '' matches every request."""
    times: int | None = 1
    seconds: float = 0.0
    size: int = 1_024
    status: int = 500
    retry_after: str = ""
    location: str = ""
    content_type: str = "text/html; charset=utf-8"


@dataclass(slots=True)
class LoggedRequest:
    """One request as it came in and how it was answered. `at` is a monotonic clock in seconds."""

    target: str
    headers: Mapping[str, str]
    at: float
    connection: int
    """The client's port: two requests with the same one used one connection."""
    status: int = 0
    body_bytes: int = 0
    fault: str = ""

    @property
    def url(self) -> str:
        """The ministry's URL that this request stands for."""
        home = INDEX_URL if urlsplit(self.target).path == INDEX_PATH else PAPER_ENDPOINT
        parts = urlsplit(home)
        return f"{parts.scheme}://{parts.netloc}{self.target}"


@dataclass(slots=True)
class _Answer:
    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


class LoopbackMinistry:
    """The server. Use it as a context manager; `base_url` is what a retriever takes as its source.

    `missing` says how a missing file is answered: 'html' (status 200), 'redirect' (302) or 'not_found' (404).
    `folder` may be exchanged while it runs, which is how a test makes the next day.
    """

    def __init__(
        self,
        folder: Path,
        *,
        port: int = 0,
        missing: str = "html",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        if missing not in ("html", "redirect", "not_found"):
            raise ValueError(f"missing is html, redirect or not_found, not {missing!r}")
        for name in ("index.csv", "urls.csv"):
            if not (folder / name).is_file():
                raise FileNotFoundError(f"{folder} is no mirror of the ministry: it has no {name}")
        self.folder = folder
        self.missing = missing
        self._faults: list[list[Any]] = []
        self._log: list[LoggedRequest] = []
        self._lock = threading.Lock()
        self._under_way = 0
        self.most_at_once = 0
        self._server = _Server(("127.0.0.1", port), self, tls)
        self._thread: threading.Thread | None = None
        scheme = "https" if tls else "http"
        self.base_url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> LoopbackMinistry:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Serve in a background thread until `stop`."""
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop listening and close every open connection."""
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._thread = None
        self._server.server_close()
        self._server.close_connections()

    def plant(self, *faults: Fault) -> None:
        """Plant faults; of those that match a request, the one planted first applies."""
        with self._lock:
            self._faults += [[fault, fault.times] for fault in faults]

    def heal(self) -> None:
        """Remove every fault."""
        with self._lock:
            self._faults.clear()

    @property
    def log(self) -> tuple[LoggedRequest, ...]:
        """Every request since the start or the last `forget`, in order of arrival."""
        with self._lock:
            return tuple(self._log)

    def forget(self) -> None:
        """Empty the log."""
        with self._lock:
            self._log.clear()
            self.most_at_once = 0

    @contextlib.contextmanager
    def _logged(self, request: LoggedRequest) -> Iterator[Fault | None]:
        with self._lock:
            self._log.append(request)
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
            fault = self._take_fault(request.target)
            request.fault = fault.kind.value if fault else ""
        try:
            yield fault
        finally:
            with self._lock:
                self._under_way -= 1

    def _take_fault(self, target: str) -> Fault | None:
        for planted in self._faults:
            fault, left = planted
            if left != 0 and re.search(fault.pattern, target):
                planted[1] = None if left is None else left - 1
                return fault  # type: ignore[no-any-return]
        return None

    def _find(self, target: str) -> Path | None:
        """The file for a request target, None when the mirror has none."""
        parts = urlsplit(target)
        if parts.path == INDEX_PATH:
            return self.folder / "index.csv"
        if parts.path != PAPER_PATH:
            return None
        listed = _listed_files(self.folder / "urls.csv", (self.folder / "urls.csv").stat().st_mtime_ns)
        relative = listed.get(_asked(parts.query))
        return None if relative is None else _inside(self.folder, relative)

    def _answer(self, request: LoggedRequest, validators: bool) -> _Answer:
        path = self._find(request.target)
        if path is None or not path.is_file():
            return self._missing()
        body = path.read_bytes()
        kind = "text/csv; charset=utf-8" if path.name == "index.csv" else "application/pdf"
        if not validators:
            return _Answer(200, body, {"Content-Type": kind})
        etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        changed = int(path.stat().st_mtime)
        headers = {"Content-Type": kind, "ETag": etag, "Last-Modified": formatdate(changed, usegmt=True)}
        if _not_modified(request.headers, etag, changed):
            return _Answer(304, b"", headers)
        return _Answer(200, body, headers)

    def _missing(self) -> _Answer:
        html = {"Content-Type": "text/html; charset=utf-8"}
        if self.missing == "html":
            return _Answer(200, HTML_ERROR_PAGE, html)
        if self.missing == "redirect":
            return _Answer(302, b"", html | {"Location": "/exam/wFrmErrorPage.aspx"})
        return _Answer(404, HTML_ERROR_PAGE, html)


def _asked(query: str) -> tuple[tuple[str, str], ...]:
    """The parameters of a request in a fixed order, so that their own order does not matter."""
    return tuple(sorted(parse_qsl(query, keep_blank_values=True)))


@lru_cache(maxsize=4)
def _listed_files(urls: Path, changed_ns: int) -> dict[tuple[tuple[str, str], ...], str]:
    """urls.csv as parameters -> relative path. `changed_ns` is its time of change, so that a new list is read again."""
    with urls.open(encoding="utf-8-sig", newline="") as file:
        return {_asked(urlsplit(row["url"]).query): row["path"] for row in csv.DictReader(file)}


def _inside(folder: Path, relative: str) -> Path | None:
    """The named file when it lies inside the folder, None otherwise: a mirror's list is not trusted."""
    path = (folder / relative).resolve()
    return path if path.is_relative_to(folder.resolve()) else None


def _not_modified(headers: Mapping[str, str], etag: str, changed: int) -> bool:
    """Whether the request's conditions are met; an ETag takes precedence. Source: RFC 9110, section 13.2.2."""
    if "if-none-match" in headers:
        return etag in [tag.strip() for tag in headers["if-none-match"].split(",")]
    if "if-modified-since" in headers:
        with contextlib.suppress(ValueError, TypeError):
            return changed <= parsedate_to_datetime(headers["if-modified-since"]).timestamp()
    return False


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], ministry: LoopbackMinistry, tls: ssl.SSLContext | None) -> None:
        self.ministry = ministry
        self._connections: set[Any] = set()
        super().__init__(address, _Handler)
        if tls:
            # The handshake belongs to the connection's own thread, or one slow client would hold up all.
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def server_bind(self) -> None:
        # HTTPServer's own version looks the host name up, which can hang without a network.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        for connection in list(self._connections):
            self.shutdown_request(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Silent: a client that goes away or refuses the certificate is what the tests do on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "LoopbackMinistry"
    sys_version = ""
    timeout = 60
    disable_nagle_algorithm = True  # header and body are two writes; together they would wait 40 ms a request
    server: _Server

    def do_GET(self) -> None:
        """Answer one request, with its fault where one is planted."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = LoggedRequest(self.path, headers, time.monotonic(), self.client_address[1])
        with self.server.ministry._logged(request) as fault:
            self._serve(request, fault)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the log is for the test, not for standard error."""

    def _serve(self, request: LoggedRequest, fault: Fault | None) -> None:
        kind = fault.kind if fault else None
        if kind is FaultKind.DROP:
            self.close_connection = True
            return
        if fault and kind is FaultKind.DELAY:
            time.sleep(fault.seconds)
        if fault and kind is FaultKind.STATUS:
            answer = _status_answer(fault)
        elif kind is FaultKind.HTML:
            answer = _Answer(200, HTML_ERROR_PAGE, {"Content-Type": "text/html; charset=utf-8"})
        else:
            answer = self.server.ministry._answer(request, kind is not FaultKind.NO_VALIDATORS)
        request.status = answer.status
        if fault and answer.status == 200:
            self._send_faulty(request, answer, fault)
        else:
            self._send(request, answer, answer.body)

    def _send_faulty(self, request: LoggedRequest, answer: _Answer, fault: Fault) -> None:
        body, half = answer.body, answer.body[: len(answer.body) // 2]
        if fault.kind is FaultKind.CUT:
            self._send(request, answer, half, announced=len(body))
            self.close_connection = True
        elif fault.kind is FaultKind.SHORT:
            self._send(request, answer, half)
        elif fault.kind is FaultKind.CONTENT_TYPE:
            answer.headers["Content-Type"] = fault.content_type
            self._send(request, answer, body)
        elif fault.kind is FaultKind.ENCODED:
            answer.headers["Content-Encoding"] = "gzip"
            self._send(request, answer, body)
        elif fault.kind is FaultKind.OVERSIZE:
            self._send(request, answer, body + bytes(max(0, fault.size - len(body))))
        elif fault.kind is FaultKind.OVERSIZE_UNDECLARED:
            self._send_chunked(request, answer, body + bytes(max(0, fault.size - len(body))))
        elif fault.kind is FaultKind.DRIP:
            self._send(request, answer, body, piece=fault.size, pause=fault.seconds)
        else:
            self._send(request, answer, body)

    def _send(
        self,
        request: LoggedRequest,
        answer: _Answer,
        body: bytes,
        *,
        announced: int | None = None,
        piece: int = 65_536,
        pause: float = 0.0,
    ) -> None:
        self._head(answer)
        if answer.status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(body) if announced is None else announced))
        self.end_headers()
        for start in range(0, len(body), piece):
            self.wfile.write(body[start : start + piece])
            request.body_bytes += len(body[start : start + piece])
            time.sleep(pause)

    def _send_chunked(self, request: LoggedRequest, answer: _Answer, body: bytes) -> None:
        self._head(answer)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for start in range(0, len(body), 65_536):
            part = body[start : start + 65_536]
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            request.body_bytes += len(part)
        self.wfile.write(b"0\r\n\r\n")

    def _head(self, answer: _Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)


def _status_answer(fault: Fault) -> _Answer:
    headers = {"Content-Type": "text/html; charset=utf-8"}
    if fault.retry_after:
        headers["Retry-After"] = fault.retry_after
    if fault.location:
        headers["Location"] = fault.location
    return _Answer(fault.status, b"" if fault.status == 304 else b"<!DOCTYPE html><p>fault</p>", headers)


def main(arguments: list[str] | None = None) -> int:
    """Serve a folder until interrupted; prints the base URL, which `otb build exam --source` takes."""
    parser = argparse.ArgumentParser(prog="python -m samples.loopback", description="Serve a mirror of the ministry.")
    parser.add_argument("folder", type=Path, help="a folder with index.csv, urls.csv and the files it names")
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    options = parser.parse_args(arguments)
    try:
        ministry = LoopbackMinistry(options.folder, port=options.port)
    except OSError as error:
        parser.error(str(error))
    with ministry:
        print(ministry.base_url, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
