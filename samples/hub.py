"""A loopback hub: what the real huggingface_hub client asks of the Hub for data sets, on 127.0.0.1, with faults.

It keeps repositories in memory: commits, branches, tags, LFS objects. A commit is taken whole or not at all, as on the
Hub. Asked with HF_ENDPOINT or `HfApi(endpoint=...)`. What it answers, by the client's own calls (huggingface_hub 2.4):
creation, validate-yaml, preupload, LFS batch, upload and verify, commit, tag, refs, tree (in pages), paths-info, info,
resolve. What it has not: models, spaces, pull requests, Xet storage, a viewer.

    python -m samples.hub TOKEN [--port N]        prints HF_ENDPOINT; TOKEN may write
"""

from __future__ import annotations

import argparse
import base64
import binascii
import contextlib
import hashlib
import json
import re
import secrets
import socketserver
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import yaml

from samples.loopback import FaultKind

GITATTRIBUTES = b"*.parquet filter=lfs diff=lfs merge=lfs -text\n*.bin filter=lfs diff=lfs merge=lfs -text\n"
"""What the Hub puts into a new data set, shortened: which names are large files whatever their size."""

LFS_BYTES = 10 << 20
"""From this size on a file is a large one. Source: the Hub's documentation of regular files (10 MB)."""

PAGE = 1_000
"""Entries of one page of a tree. Source: huggingface_hub.HfApi._iter_repo_tree_pages."""

MAX_BODY = 1 << 30

WRITE, READ = "write", "read"


@dataclass(frozen=True, slots=True)
class HubFault:
    """A planted fault: after `after` matching requests it applies to the next `times` (None: to all).

    `kind` is STATUS (answers `status` with `body`, nothing is done), DELAY, DROP (the connection is closed with half of
    the request read, nothing is done) or CUT (the request is carried out, half of the answer is sent).
    """

    kind: FaultKind
    pattern: str = ""
    """A regular expression searched in 'METHOD target', e.g. 'POST .*/commit/'; '' matches every request."""
    times: int | None = 1
    after: int = 0
    status: int = 500
    retry_after: str = ""
    seconds: float = 0.0
    body: str = '{"error": "planted"}'


@dataclass(slots=True)
class HubRequest:
    """One request as it came in, and how it was answered (0: without an answer)."""

    method: str
    target: str
    headers: Mapping[str, str]
    at: float
    status: int = 0
    fault: str = ""

    @property
    def line(self) -> str:
        """What patterns are searched in."""
        return f"{self.method} {self.target}"


@dataclass(frozen=True, slots=True)
class Blob:
    """A file of a commit. A large one is stored by its sha256 and stands in the tree as a pointer."""

    data: bytes
    large: bool = False

    @property
    def sha256(self) -> str:
        """What LFS calls the content."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def pointer(self) -> bytes:
        """The LFS pointer. Source: git-lfs, docs/spec.md."""
        return f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {len(self.data)}\n".encode()

    @property
    def oid(self) -> str:
        """The git name of what stands in the tree."""
        stored = self.pointer if self.large else self.data
        return hashlib.sha1(b"blob %d\0" % len(stored) + stored).hexdigest()


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit: every file of it."""

    oid: str
    title: str
    files: Mapping[str, Blob]


@dataclass(slots=True)
class Repository:
    """A data set on the hub."""

    private: bool
    commits: list[Commit]
    """Oldest first; the last is the head of main."""
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def head(self) -> Commit:
        """The last commit of main."""
        return self.commits[-1]


class _Refused(Exception):
    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


@dataclass(slots=True)
class _Answer:
    body: bytes = b"{}"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


def _json(value: object, **headers: str) -> _Answer:
    return _Answer(json.dumps(value).encode(), 200, {"Content-Type": "application/json", **headers})


class LoopbackHub:
    """The server. Use it as a context manager; `endpoint` is its HF_ENDPOINT. `tokens` are READ or WRITE by token."""

    def __init__(self, tokens: Mapping[str, str], *, lfs_bytes: int = LFS_BYTES, page: int = PAGE, port: int = 0):
        self.tokens = dict(tokens)
        self.lfs_bytes = lfs_bytes
        self.page = page
        self.repositories: dict[str, Repository] = {}
        self.objects: dict[str, bytes] = {}
        self.most_at_once = 0
        """Most repositories written to at the same time."""
        self._key = secrets.token_hex(8)
        self._writing: dict[str, int] = {}
        self._faults: list[list[Any]] = []
        self._log: list[HubRequest] = []
        self._lock = threading.RLock()
        self._server = _Server(("127.0.0.1", port), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> LoopbackHub:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def plant(self, *faults: HubFault) -> None:
        """Plant faults; of those that match a request, the one planted first applies."""
        with self._lock:
            self._faults += [[fault, fault.after, fault.times] for fault in faults]

    def heal(self) -> None:
        """Remove every fault and forget the requests."""
        with self._lock:
            self._faults.clear()
            self._log.clear()
            self.most_at_once = 0

    @property
    def log(self) -> tuple[HubRequest, ...]:
        """Every request since the start or the last `heal`, in order of arrival."""
        with self._lock:
            return tuple(self._log)

    def files(self, name: str, revision: str = "main") -> dict[str, bytes]:
        """The files of a repository at a revision, without the hub's own .gitattributes."""
        held = self._commit(self.repositories[name], revision).files
        return {path: blob.data for path, blob in held.items() if path != ".gitattributes"}

    def write(self, name: str, files: Mapping[str, bytes | None], title: str = "by hand") -> None:
        """Commit to a repository as somebody else would; None deletes. It is made when missing."""
        with self._lock:
            repository = self.repositories.setdefault(name, _new(private=False))
            kept = {**repository.head.files, **{path: Blob(data) for path, data in files.items() if data is not None}}
            self._add(repository, {p: b for p, b in kept.items() if files.get(p, b"") is not None}, title)

    # -- one request ------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _logged(self, request: HubRequest) -> Iterator[HubFault | None]:
        with self._lock:
            self._log.append(request)
            found = self._take_fault(request.line)
            request.fault = found.kind.value if found else ""
            name = _written(request)
            if name:
                self._writing[name] = self._writing.get(name, 0) + 1
                self.most_at_once = max(self.most_at_once, sum(1 for n in self._writing.values() if n))
        try:
            yield found
        finally:
            with self._lock:
                if name:
                    self._writing[name] -= 1

    def _take_fault(self, line: str) -> HubFault | None:
        for planted in self._faults:
            fault, ahead, left = planted
            if left == 0 or not re.search(fault.pattern, line):
                continue
            if ahead:
                planted[1] = ahead - 1
                continue
            planted[2] = None if left is None else left - 1
            return fault  # type: ignore[no-any-return]
        return None

    def _answer(self, request: HubRequest, body: bytes) -> _Answer:
        parts = urlsplit(request.target)
        query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        try:
            with self._lock:
                return self._route(request, parts.path, query, body)
        except _Refused as refused:
            headers = {"Content-Type": "application/json", "X-Error-Message": refused.message}
            if refused.code:
                headers["X-Error-Code"] = refused.code
            return _Answer(json.dumps({"error": refused.message}).encode(), refused.status, headers)

    def _route(self, request: HubRequest, path: str, query: dict[str, str], body: bytes) -> _Answer:
        method = request.method
        if path == "/api/repos/create" and method == "POST":
            return self._create(request, json.loads(body))
        if path == "/api/validate-yaml" and method == "POST":
            return _validated(json.loads(body)["content"])
        if found := re.fullmatch(r"/lfs/([0-9a-f]{64})", path):
            return self._store_object(request, found[1], query, body)
        if found := re.fullmatch(r"/datasets/([^/]+/[^/]+)\.git/info/lfs/objects/(batch|verify)", path):
            return self._lfs(request, found[1], found[2], json.loads(body))
        if found := re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            return self._resolve(request, found[1], unquote(found[2]), unquote(found[3]))
        if found := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)(?:/([a-z-]+)(?:/([^/]+)(?:/(.+))?)?)?", path):
            revision, below = unquote(found[3] or "main"), unquote(found[4] or "")
            return self._api(request, found[1], found[2] or "revision", revision, below, query, body)
        raise _Refused(404, "Not Found")

    def _api(
        self,
        request: HubRequest,
        name: str,
        what: str,
        revision: str,
        below: str,
        query: dict[str, str],
        body: bytes,
    ) -> _Answer:
        repository = self._repository(request, name)
        if what == "refs":
            return _json(self._refs(repository))
        if what == "revision":
            return _json(self._info(name, repository, self._commit(repository, revision)))
        if what == "tree":
            return self._tree(request, self._commit(repository, revision), below, query)
        if what == "paths-info":
            return self._paths(self._commit(repository, revision), body)
        self._may_write(request)
        if what == "preupload":
            return _json({"files": [self._mode(repository, each) for each in json.loads(body)["files"]]})
        if what == "commit":
            return self._take_commit(name, repository, body)
        if what == "tag":
            return self._take_tag(repository, revision, json.loads(body))
        raise _Refused(404, "Not Found")

    # -- who asks ---------------------------------------------------------------------------------------------------

    def _right(self, request: HubRequest) -> str:
        """'' for nobody; raises for a token that the hub does not know."""
        given = request.headers.get("authorization", "")
        if not given:
            return ""
        right = self.tokens.get(given.removeprefix("Bearer "))
        if right is None:
            raise _Refused(401, "Invalid credentials in Authorization header")
        return right

    def _may_write(self, request: HubRequest) -> None:
        right = self._right(request)
        if not right:
            raise _Refused(401, "Unauthorized")
        if right != WRITE:
            raise _Refused(403, "Forbidden: you need write access to this repository")

    def _repository(self, request: HubRequest, name: str) -> Repository:
        right = self._right(request)
        found = self.repositories.get(name)
        if found is None or (found.private and not right):
            # The Hub does not tell whoever shows no token whether there is a private one.
            raise _Refused(404 if right else 401, "Repository not found", "RepoNotFound")
        return found

    # -- reading ----------------------------------------------------------------------------------------------------

    def _commit(self, repository: Repository, revision: str) -> Commit:
        wanted = {"main": repository.head.oid, **repository.tags}.get(revision, revision)
        for commit in repository.commits:
            if commit.oid == wanted:
                return commit
        raise _Refused(404, f"Invalid rev id: {revision[:80]}", "RevisionNotFound")

    def _refs(self, repository: Repository) -> dict[str, Any]:
        tags = [{"name": t, "ref": f"refs/tags/{t}", "targetCommit": oid} for t, oid in repository.tags.items()]
        main = {"name": "main", "ref": "refs/heads/main", "targetCommit": repository.head.oid}
        return {"branches": [main], "converts": [], "tags": tags}

    def _info(self, name: str, repository: Repository, commit: Commit) -> dict[str, Any]:
        siblings = [{"rfilename": path} for path in sorted(commit.files)]
        about = {"id": name, "author": name.split("/")[0], "sha": commit.oid, "private": repository.private}
        return {**about, "disabled": False, "gated": False, "tags": [], "siblings": siblings}

    def _tree(self, request: HubRequest, commit: Commit, below: str, query: dict[str, str]) -> _Answer:
        entries = _entries(commit, below, query.get("recursive", "").lower() == "true")
        if below and not entries:
            raise _Refused(404, f"{below[:80]} does not exist on the revision", "EntryNotFound")
        start = int(query.get("cursor", "0"))
        headers = {}
        if start + self.page < len(entries):
            base = re.sub(r"[?&]cursor=[0-9]+", "", request.target)
            url = f"{self.endpoint}{base}{'&' if '?' in base else '?'}cursor={start + self.page}"
            headers["Link"] = f'<{url}>; rel="next"'
        return _json(entries[start : start + self.page], **headers)

    def _paths(self, commit: Commit, body: bytes) -> _Answer:
        wanted = set(parse_qs(body.decode()).get("paths", []))
        return _json([entry for entry in _entries(commit, "", True) if entry["path"] in wanted])

    def _resolve(self, request: HubRequest, name: str, revision: str, path: str) -> _Answer:
        commit = self._commit(self._repository(request, name), revision)
        blob = commit.files.get(path)
        if blob is None:
            raise _Refused(404, "Entry not found", "EntryNotFound")
        headers = {"ETag": f'"{blob.oid}"', "X-Repo-Commit": commit.oid, "Accept-Ranges": "none"}
        if blob.large:
            headers |= {"X-Linked-Etag": f'"{blob.sha256}"', "X-Linked-Size": str(len(blob.data))}
        return _Answer(blob.data, 200, {"Content-Type": "application/octet-stream", **headers})

    # -- writing ----------------------------------------------------------------------------------------------------

    def _create(self, request: HubRequest, asked: Mapping[str, Any]) -> _Answer:
        self._may_write(request)
        name = f"{asked['organization']}/{asked['name']}"
        if name in self.repositories:
            raise _Refused(409, "You already created this dataset repo")
        self.repositories[name] = _new(private=asked.get("visibility") == "private")
        return _json({"url": f"{self.endpoint}/datasets/{name}", "name": name, "id": secrets.token_hex(12)})

    def _mode(self, repository: Repository, asked: Mapping[str, Any]) -> dict[str, Any]:
        path = str(asked["path"])
        large = asked["size"] >= self.lfs_bytes or path.endswith((".parquet", ".bin"))
        held = repository.head.files.get(path)
        mode = "lfs" if large else "regular"
        return {"path": path, "uploadMode": mode, "shouldIgnore": False, "oid": held.oid if held else None}

    def _lfs(self, request: HubRequest, name: str, what: str, asked: Mapping[str, Any]) -> _Answer:
        self._repository(request, name)
        self._may_write(request)
        if what == "verify":
            if len(self.objects.get(asked["oid"], b"")) != asked["size"]:
                raise _Refused(422, "the object is not there")
            return _json({})
        objects = [self._transfer(name, each) for each in asked["objects"]]
        return _json({"transfer": "basic", "objects": objects})

    def _transfer(self, name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        about = {"oid": asked["oid"], "size": asked["size"]}
        if asked["oid"] in self.objects:
            return about
        href = f"{self.endpoint}/lfs/{asked['oid']}?signature={self._key}"
        verify = f"{self.endpoint}/datasets/{name}.git/info/lfs/objects/verify"
        return {**about, "actions": {"upload": {"href": href}, "verify": {"href": verify}}}

    def _store_object(self, request: HubRequest, oid: str, query: Mapping[str, str], body: bytes) -> _Answer:
        # As the storage behind the Hub: the address is signed, and a second proof of who asks is refused.
        if request.method != "PUT" or query.get("signature") != self._key or "authorization" in request.headers:
            raise _Refused(400, "InvalidRequest")
        if hashlib.sha256(body).hexdigest() != oid:
            raise _Refused(400, "BadDigest")
        self.objects[oid] = body
        return _Answer(b"", 200, {"ETag": f'"{oid}"'})

    def _take_commit(self, name: str, repository: Repository, body: bytes) -> _Answer:
        lines = [json.loads(line) for line in body.splitlines() if line.strip()]
        header = next((line["value"] for line in lines if line["key"] == "header"), {})
        if header.get("parentCommit", repository.head.oid) != repository.head.oid:
            raise _Refused(412, "A commit has happened since. Please refresh and try again.")
        files = dict(repository.head.files)
        for line in lines:
            self._apply(files, line["key"], line["value"])
        oid = self._add(repository, files, str(header.get("summary", "")))
        return _json({"success": True, "commitOid": oid, "commitUrl": f"{self.endpoint}/datasets/{name}/commit/{oid}"})

    def _apply(self, files: dict[str, Blob], key: str, value: Mapping[str, Any]) -> None:
        path = str(value.get("path", ""))
        if key != "header" and (not path or path.startswith("/") or ".." in path.split("/")):
            raise _Refused(400, "Invalid path")
        if key == "file":
            try:
                files[path] = Blob(base64.b64decode(value["content"], validate=True))
            except binascii.Error:
                raise _Refused(400, "Invalid base64") from None
            if len(files[path].data) >= self.lfs_bytes:
                raise _Refused(400, f"{path} is too large to be a regular file")
        elif key == "lfsFile":
            if value["oid"] not in self.objects:
                raise _Refused(400, f"LFS object {value['oid']} was never uploaded")
            files[path] = Blob(self.objects[value["oid"]], large=True)
        elif key == "deletedFile":
            if files.pop(path, None) is None:
                raise _Refused(404, "A file with this name doesn't exist", "EntryNotFound")
        elif key != "header":
            raise _Refused(400, f"Unknown operation {key}")

    def _add(self, repository: Repository, files: Mapping[str, Blob], title: str) -> str:
        parent = repository.head.oid
        said = json.dumps([parent, title, len(repository.commits), sorted((p, b.oid) for p, b in files.items())])
        oid = hashlib.sha1(said.encode()).hexdigest()
        repository.commits.append(Commit(oid, title, dict(files)))
        return oid

    def _take_tag(self, repository: Repository, revision: str, asked: Mapping[str, Any]) -> _Answer:
        if asked["tag"] in repository.tags:
            raise _Refused(409, "Tag reference exists already")
        repository.tags[asked["tag"]] = self._commit(repository, revision).oid
        return _json({})


def _new(*, private: bool) -> Repository:
    first = Commit(secrets.token_hex(20), "initial commit", {".gitattributes": Blob(GITATTRIBUTES)})
    return Repository(private, [first])


def _written(request: HubRequest) -> str:
    """The repository that a request writes to, '' for one that reads."""
    found = re.search(r"/datasets/([^/]+/[^/.]+)(?:/(?:preupload|commit|tag)/|\.git/info/lfs)", request.target)
    return found[1] if found and request.method == "POST" else ""


def _entries(commit: Commit, below: str, recursive: bool) -> list[dict[str, Any]]:
    """Files and folders under a folder ('' is the root), in the form of the Hub's tree, by path."""
    prefix = f"{below}/" if below else ""
    found: dict[str, dict[str, Any]] = {}
    for path, blob in commit.files.items():
        if not path.startswith(prefix):
            continue
        steps = path[len(prefix) :].split("/")
        folders = [prefix + "/".join(steps[:n]) for n in range(1, len(steps))]
        for folder in folders if recursive else folders[:1]:
            oid = hashlib.sha1(folder.encode()).hexdigest()
            found[folder] = {"type": "directory", "oid": oid, "size": 0, "path": folder}
        if recursive or not folders:
            found[path] = _entry(path, blob)
    return [found[path] for path in sorted(found)]


def _entry(path: str, blob: Blob) -> dict[str, Any]:
    entry = {"type": "file", "oid": blob.oid, "size": len(blob.data), "path": path}
    if blob.large:
        entry["lfs"] = {"oid": blob.sha256, "size": len(blob.data), "pointerSize": len(blob.pointer)}
    return entry


def _validated(content: str) -> _Answer:
    """As the Hub does before a card is committed: its front matter must be YAML."""
    front = re.match(r"---\n(.*?)\n---\n", content, re.DOTALL)
    try:
        metadata = yaml.safe_load(front[1]) if front else {}
    except yaml.YAMLError as error:
        metadata = str(error)
    if isinstance(metadata, dict):
        return _json({"errors": [], "warnings": []})
    body = {"error": "Invalid metadata", "errors": [{"message": str(metadata)[:200]}], "warnings": []}
    return _Answer(json.dumps(body).encode(), 400, {"Content-Type": "application/json"})


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], hub: LoopbackHub) -> None:
        self.hub = hub
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        # HTTPServer's own version looks the host name up, which can hang without a network.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Silent: a client that goes away is what the tests do on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "LoopbackHub"
    sys_version = ""
    timeout = 60
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        """Answer one request, with its fault where one is planted."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = HubRequest(self.command, self.path, headers, time.monotonic())
        with self.server.hub._logged(request) as fault:
            self._serve(request, fault, min(int(headers.get("content-length", "0")), MAX_BODY))

    do_POST = do_PUT = do_HEAD = do_DELETE = do_GET  # noqa: N815 - the names that BaseHTTPRequestHandler calls

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the log is for the test, not for standard error."""

    def _serve(self, request: HubRequest, fault: HubFault | None, length: int) -> None:
        kind = fault.kind if fault else None
        if kind is FaultKind.DROP:
            self.rfile.read(length // 2)
            self.close_connection = True
            return
        body = self.rfile.read(length)
        if len(body) < length:  # the client went away in the middle: no server acts on half a request
            self.close_connection = True
            return
        if fault and kind is FaultKind.DELAY:
            time.sleep(fault.seconds)
        if fault and kind is FaultKind.STATUS:
            headers = {"Content-Type": "application/json"}
            if fault.retry_after:
                headers["Retry-After"] = fault.retry_after
            answer = _Answer(fault.body.encode(), fault.status, headers)
        else:
            answer = self.server.hub._answer(request, body)
        self._send(request, answer, cut=kind is FaultKind.CUT)

    def _send(self, request: HubRequest, answer: _Answer, *, cut: bool) -> None:
        request.status = answer.status
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body) + cut))
        if cut:
            self.close_connection = True
            if not answer.body or request.method == "HEAD":
                # Nothing to cut in two: the headers are, so that this is no whole answer either.
                self._headers_buffer = self._headers_buffer[: len(self._headers_buffer) // 2]
                self.flush_headers()
                return
        self.end_headers()
        if request.method != "HEAD":
            self.wfile.write(answer.body[: len(answer.body) // 2] if cut else answer.body)


def main(arguments: list[str] | None = None) -> int:
    """Serve an empty hub until interrupted; prints its HF_ENDPOINT."""
    parser = argparse.ArgumentParser(prog="python -m samples.hub", description="A loopback hub, in memory.")
    parser.add_argument("token", help="the token that may write")
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    options = parser.parse_args(arguments)
    with LoopbackHub({options.token: WRITE}, port=options.port) as hub:
        print(hub.endpoint, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
