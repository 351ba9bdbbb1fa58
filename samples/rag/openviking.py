"""A loopback server with the API shape of OpenViking: uploads, resources, find, read, delete. It knows no ranking but
shared character pairs. What does not belong here: anything of the platform.
"""

from __future__ import annotations

import io
import zipfile
from typing import Any

from aiohttp import web

LINES = 4
"""Lines of a stored leaf."""


class OpenVikingServer:
    """The server's state; `files` is URI -> text of every leaf."""

    def __init__(self, key: str = "") -> None:
        self.key = key
        self.files: dict[str, str] = {}
        self.uploads: dict[str, tuple[str, bytes]] = {}
        self.failures: list[int] = []
        """Statuses that the next calls get instead of an answer."""
        self.hit: dict[str, Any] = {}
        """Fields that every result of a search has instead of its own; what a server that lies would say."""
        self.calls: list[str] = []

    def application(self) -> web.Application:
        """The routes."""
        app = web.Application(middlewares=[self._guard])
        app.router.add_post("/api/v1/resources/temp_upload", self._upload)
        app.router.add_post("/api/v1/resources", self._add)
        app.router.add_post("/api/v1/search/find", self._find)
        app.router.add_get("/api/v1/content/read", self._read)
        app.router.add_delete("/api/v1/fs", self._delete)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.calls.append(f"{request.method} {request.path}")
        if self.key and request.headers.get("X-API-Key") != self.key:
            return _error(401, "UNAUTHENTICATED", "no such key")
        if self.failures:
            return _error(self.failures.pop(0), "INTERNAL", "as planned")
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _upload(self, request: web.Request) -> web.Response:
        field = (await request.post())["file"]
        assert isinstance(field, web.FileField)
        name = f"upload_{len(self.uploads)}"
        self.uploads[name] = (field.filename, field.file.read())
        return _ok({"temp_file_id": name})

    async def _add(self, request: web.Request) -> web.Response:
        body = await request.json()
        name, data = self.uploads.pop(body["temp_file_id"])
        if name.endswith(".zip"):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                for each in archive.namelist():
                    self._store(f"{body['to']}/{each.removesuffix('.md')}", archive.read(each).decode())
        else:
            self._store(body["to"], data.decode())
        return _ok({"root_uri": body["to"]})

    def _store(self, folder: str, text: str) -> None:
        lines = text.splitlines()
        for number in range(0, len(lines), LINES):
            self.files[f"{folder}/part_{number // LINES}.md"] = "\n".join(lines[number : number + LINES])

    async def _find(self, request: web.Request) -> web.Response:
        body = await request.json()
        wanted = _pairs(body["query"])
        held = {uri: text for uri, text in self.files.items() if uri.startswith(body["target_uri"])}
        ranked = sorted(held, key=lambda uri: (-len(wanted & _pairs(held[uri])), uri))[: body["limit"]]
        hits = [
            {"uri": uri, "level": 2, "score": 0.5, "abstract": "a summary", "context_type": "resource"} | self.hit
            for uri in ranked
        ]
        return _ok({"memories": [], "resources": hits, "skills": [], "total": len(hits)})

    async def _read(self, request: web.Request) -> web.Response:
        text = self.files.get(request.query["uri"])
        return _error(404, "NOT_FOUND", "no such file") if text is None else _ok(text)

    async def _delete(self, request: web.Request) -> web.Response:
        gone = [uri for uri in self.files if uri.startswith(request.query["uri"])]
        for uri in gone:
            del self.files[uri]
        return _ok({"uri": request.query["uri"], "estimated_deleted_count": len(gone)})


def _pairs(text: str) -> set[str]:
    low = text.lower()
    return {low[n : n + 2] for n in range(len(low) - 1)}


def _ok(result: Any) -> web.Response:
    return web.json_response({"status": "ok", "result": result})


def _error(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"status": "error", "error": {"code": code, "message": message}}, status=status)
