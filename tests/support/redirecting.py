"""A loopback server that redirects, or answers a body, and says what it heard."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Loopback:
    """A server that answers every request with one status, Location and body, and keeps what it was asked."""

    def __init__(self, status: int, location: str = "", body: bytes = b"", promised: int | None = None) -> None:
        heard: list[tuple[str, str]] = []

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                heard.append((self.path, self.headers.get("Authorization") or self.headers.get("X-API-Key") or ""))
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(status)
                if location:
                    self.send_header("Location", location)
                self.send_header("Content-Length", str(len(body) if promised is None else promised))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_DELETE = answer  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:
                """Nothing: the test looks at what was heard."""

        self.heard = heard
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Loopback:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
