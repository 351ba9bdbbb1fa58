"""Asking a hub: huggingface_hub's own calls under the project's patience, with words that hold no token.

What belongs here: one repository's state, its commit and its tag, and when to ask again. What does not: which bytes may
go out (`resources.hub_publishing`) and what a push changes (`opentwbench.dataset.hub_plan`).

A push is one loop: look at the repository, take the next step towards what it shall be (make it, commit, tag), look
again. So a push that was killed or cut at any request is resumed by the next one, and what is unknown after a cut
(did the commit arrive?) is seen at the next look. All files go in one commit on the head that was looked at.
"""

from __future__ import annotations

import contextlib
import io
import logging
import random
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

import httpx2
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, hf_hub_url
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import _http, disable_progress_bars, parse_ratelimit_headers
from huggingface_hub.utils import logging as hub_logging

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.hub_plan import HubPlan, RemoteFile, RemoteState, moved_tag, plan, tag_of
from opentwbench.evaluation.client import NO_SECRET, Secret
from opentwbench.waiting import backoff, retry_after

T = TypeVar("T")

KIND = "dataset"

MAX_ANSWER = 1 << 30
"""Bytes of one answer that are read; a larger one is refused."""

LOOKS = 20
"""Looks at one repository in one push without an error: three steps are all there is, so more is a hub that forgets."""


class HubError(Exception):
    """The hub, or the way to it, did not do what was asked. The message holds no token."""


class HubRefused(HubError):
    """The hub refuses: asking again is of no use. `everything` is True when it would refuse every other push too."""

    def __init__(self, message: str, *, everything: bool = False) -> None:
        super().__init__(message)
        self.everything = everything


class HubConflict(HubError):
    """Somebody else changed the repository, or a tag is not where it was put: a person has to look."""


class _Again(Exception):
    """Worth asking again. `pause`: seconds that the hub asks for, None when it does not say."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.reason, self.pause = reason, pause


class _Absent(Exception):
    """There is no such repository for whoever asks."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long to ask again."""

    attempts: int = 6
    """Attempts at one step."""
    backoff_seconds: float = 1.0
    most_seconds: float = 60.0
    longest_pause: float = 600.0
    """A Retry-After beyond this ends the push, which can be resumed, instead of holding a process for hours."""
    timeout_seconds: float = 120.0
    """For one read or write on the connection."""


class Pause:
    """Nobody asks before the time that the hub has named: shared by all pushes that run at once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], object] = time.sleep):
        self._clock, self._sleep = clock, sleep
        self._open_at = float("-inf")
        self._lock = threading.Lock()

    def hold(self, seconds: float) -> None:
        """Let nobody through for this long."""
        with self._lock:
            self._open_at = max(self._open_at, self._clock() + seconds)

    def wait(self, seconds: float = 0.0) -> None:
        """Wait `seconds`, and at least until the hub may be asked."""
        with self._lock:
            seconds = max(seconds, self._open_at - self._clock())
        if seconds > 0:
            self._sleep(seconds)


@dataclass(frozen=True, slots=True)
class Pushed:
    """A repository that holds what it shall hold."""

    commit: str
    """The head, which holds exactly the files."""
    first: HubPlan
    """What the first look found missing."""
    retries: int
    """How often a step was tried again."""


class HubClient:
    """A hub as one token sees it. `endpoint` '' is huggingface_hub's own (HF_ENDPOINT, else the public Hub)."""

    def __init__(
        self,
        endpoint: str = "",
        token: Secret = NO_SECRET,
        patience: Patience | None = None,
        *,
        private: bool = False,
        pause: Pause | None = None,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._token = token
        # False, not None: no token of the machine's own login is ever taken instead of the one that was named.
        self._api = HfApi(endpoint=endpoint or None, token=token.reveal() or False)
        self.endpoint = str(self._api.endpoint)
        self.patience = patience or Patience()
        self.private = private
        self._pause = pause or Pause()
        self._draw = draw

    def __repr__(self) -> str:
        return f"HubClient({self.endpoint!r})"

    def session(self) -> contextlib.AbstractContextManager[None]:
        """One client and its connections for every call inside; without it each call makes its own."""
        return _watched(self.patience.timeout_seconds)

    # -- looking ----------------------------------------------------------------------------------------------------

    def state(self, repository: str) -> RemoteState:
        """The repository as it is now; raises HubError when it cannot be looked at."""
        return self._patiently(lambda: self._look(repository))

    def files(self, repository: str, commit: str) -> dict[str, RemoteFile]:
        """The files of a commit."""
        return self._patiently(lambda: self._files(repository, commit))

    def read(self, repository: str, commit: str, path: str) -> bytes:
        """One file of a commit, of at most MAX_ANSWER bytes."""

        def ask() -> bytes:
            url = hf_hub_url(repository, path, repo_type=KIND, revision=commit, endpoint=self.endpoint)
            answer = _http.get_session().get(url, headers=self._api._build_hf_headers())
            _http.hf_raise_for_status(answer)
            return bytes(answer.content)

        return self._patiently(lambda: self._ask(ask))

    def _look(self, repository: str) -> RemoteState:
        try:
            refs = self._ask(lambda: self._api.list_repo_refs(repository, repo_type=KIND))
        except _Absent:
            return RemoteState()
        head = next((branch.target_commit for branch in refs.branches if branch.name == "main"), "")
        if not head:
            raise HubError(f"{repository} has no branch main")
        tags = {tag.name: tag.target_commit for tag in refs.tags}
        return RemoteState(head, self._files(repository, head), tags)

    def _files(self, repository: str, commit: str) -> dict[str, RemoteFile]:
        def ask() -> dict[str, RemoteFile]:
            tree = self._api.list_repo_tree(repository, recursive=True, revision=commit, repo_type=KIND)
            files = (entry for entry in tree if isinstance(entry, RepoFile))
            return {f.path: RemoteFile(f.size, f.blob_id, f.lfs.sha256 if f.lfs else "") for f in files}

        return self._ask(ask)

    # -- pushing ----------------------------------------------------------------------------------------------------

    def push(
        self, repository: str, files: Mapping[str, bytes], version: str, title: str, versioned: Sequence[str]
    ) -> Pushed:
        """Make the repository hold exactly these files in one commit, under the tag of their version.

        Resumes whatever an earlier push left. Raises HubRefused, HubConflict or HubError; the repository then holds
        the files of before or these, never a mixture.
        """
        walk = _Walk(self, repository, files, version, title, tuple(versioned))
        with self.session():
            for _ in range(LOOKS):
                if self._patiently(walk.step, walk.count):
                    return Pushed(walk.head, walk.first, walk.retries)
        raise HubError(f"{repository} is not as it was made, after {LOOKS} looks")

    def _create(self, repository: str) -> None:
        visible = "private" if self.private else "public"
        self._ask(lambda: self._api.create_repo(repository, repo_type=KIND, exist_ok=True, visibility=visible))

    def _commit(self, repository: str, files: Mapping[str, bytes], step: HubPlan, head: str, title: str) -> str:
        # Byte streams, so that large files go as one plain request each, which can be watched and repeated; the Xet
        # transfer takes bytes and paths alone.
        changed = [CommitOperationAdd(path, io.BytesIO(files[path])) for path in (*step.add, *step.change)]
        gone = [CommitOperationDelete(path, is_folder=False) for path in step.delete]
        made = self._ask(
            lambda: self._api.create_commit(
                repository,
                [*changed, *gone],
                commit_message=title,
                repo_type=KIND,
                parent_commit=head,
                num_threads=1,
            )
        )
        return str(made.oid)

    def _tag(self, repository: str, tag: str, commit: str) -> None:
        self._ask(lambda: self._api.create_tag(repository, tag=tag, revision=commit, repo_type=KIND, exist_ok=True))

    # -- patience ---------------------------------------------------------------------------------------------------

    def _patiently(self, step: Callable[[], T], count: Callable[[], object] = lambda: None) -> T:
        attempt = 1
        while True:
            self._pause.wait()
            try:
                return step()
            except _Again as again:
                reason, pause = again.reason, again.pause
            except _Absent:
                raise HubError("the repository is not there") from None
            if attempt >= self.patience.attempts:
                raise HubError(f"given up after {attempt} attempts: {reason}")
            self._wait(attempt, pause)
            attempt += 1
            count()

    def _wait(self, attempt: int, pause: float | None) -> None:
        if pause is None:
            own = backoff(attempt, self.patience.backoff_seconds, self.patience.most_seconds, self._draw, kept=0.5)
            self._pause.wait(own)
        elif pause > self.patience.longest_pause:
            raise HubError(f"the hub asks for a pause of {pause:.0f} s; push again later")
        else:
            self._pause.hold(pause)

    def _ask(self, call: Callable[[], T]) -> T:
        """Call the client. Raises _Again, _Absent or a HubError that names no secret."""
        try:
            with self.session():
                return call()
        except Exception as error:  # a hub can answer anything, and the client raises what it stumbles over
            failure = self._failure(error)
        # Outside the handler: with the client's error as its context, its words would be printed with it.
        raise failure

    def _failure(self, error: BaseException) -> Exception:
        for each in _chain(error):
            if isinstance(each, (_Again, HubError)):
                return each
        if isinstance(error, HfHubHTTPError):
            return self._answered(error)
        return HubRefused(self._words(f"{type(error).__name__}: {error}"))

    def _answered(self, error: HfHubHTTPError) -> Exception:
        status, code = error.response.status_code, error.response.headers.get("X-Error-Code")
        anonymous = not self._token.reveal()
        if code == "RepoNotFound" and (status == 404 or anonymous):
            return _Absent()
        words = self._words(f"{status}: {error.server_message or error.response.reason_phrase}")
        if status in (409, 412):
            return _Again(f"a conflict ({words})")
        if status == 401:
            why = "no token was given" if anonymous else "the hub does not know the token"
            return HubRefused(f"{why} ({words})", everything=True)
        if status == 403:
            return HubRefused(f"the token may not do this ({words})", everything=True)
        return HubRefused(words)

    def _words(self, text: str) -> str:
        """A message that may repeat what was sent: without the token, bounded, on one line."""
        secret = self._token.reveal()
        for form in {secret, quote(secret, safe="")} - {""}:
            text = text.replace(form, "***")
        return excerpt(" ".join(text.split()), 300)


class _Walk:
    """One push: the steps from what a repository is to what it shall be."""

    def __init__(
        self,
        client: HubClient,
        repository: str,
        files: Mapping[str, bytes],
        version: str,
        title: str,
        versioned: tuple[str, ...],
    ) -> None:
        self.client, self.repository, self.files = client, repository, files
        self.version, self.title, self.versioned = version, title, versioned
        self.head = ""
        self.retries = 0
        self._first: HubPlan | None = None
        self._base = ""
        """The head that the commit was first built on."""
        self._committed = ""

    @property
    def first(self) -> HubPlan:
        """What the first look found missing."""
        assert self._first is not None
        return self._first

    def count(self) -> None:
        """A step is tried again."""
        self.retries += 1

    def step(self) -> bool:
        """Look, and take one step; True when there is nothing left to do."""
        state = self.client._look(self.repository)
        todo = plan(self.files, state, self.version)
        self._first = self._first or todo
        self.head = state.head
        if todo.create:
            self.client._create(self.repository)
        elif todo.commits:
            self._commit(state, todo)
        elif todo.tag:
            self.client._tag(self.repository, todo.tag, state.head)
        else:
            self._check_tag(state)
            return True
        return False

    def _commit(self, state: RemoteState, todo: HubPlan) -> None:
        if self._committed and state.head == self._committed:
            raise HubError(f"{self.repository} holds other bytes than those that were sent")
        if self._base and state.head != self._base:
            raise HubConflict(f"{self.repository} was changed by somebody else meanwhile: plan again, then push")
        self._base = state.head
        self._committed = self.client._commit(self.repository, self.files, todo, state.head, self.title)

    def _check_tag(self, state: RemoteState) -> None:
        tag = tag_of(self.version)
        commit = (state.tags or {})[tag]
        tagged = state.files or {} if commit == state.head else self.client._files(self.repository, commit)
        if differ := moved_tag(self.files, tagged, self.versioned):
            raise HubConflict(f"the tag {tag} of {self.repository} names other bytes of {', '.join(differ[:5])}")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what caused it: the client wraps what a large upload raises."""
    for _ in range(10):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


# -- the connection ---------------------------------------------------------------------------------------------------


class _Client(httpx2.Client):
    """Reads every answer whole, and turns what is worth asking again into _Again.

    The library would otherwise retry some of its requests by a clock of its own, and others not at all.
    """

    def send(self, request: httpx2.Request, *, stream: bool = False, **settings: Any) -> httpx2.Response:
        """Send one request; raises _Again for 429, 5xx and a connection that fails or is cut."""
        del stream
        try:
            answer = super().send(request, stream=True, **settings)
            data = _whole(answer)
        except httpx2.TransportError as error:
            failure = _Again(f"{type(error).__name__} at {request.method} {request.url.path[:200]}")
        else:
            if answer.status_code != 429 and answer.status_code < 500:
                # Decoded by now, so the encoding it came in is no longer that of its body.
                headers = [(k, v) for k, v in answer.headers.multi_items() if k.lower() not in _ENCODED]
                return httpx2.Response(answer.status_code, headers=headers, content=data, request=answer.request)
            where = f"{answer.status_code} at {request.method} {request.url.path[:200]}"
            failure = _Again(where, _asked_pause(answer))
        raise failure


_ENCODED = ("content-encoding", "content-length", "transfer-encoding")


def _whole(answer: httpx2.Response) -> bytes:
    parts, size = [], 0
    try:
        for part in answer.iter_bytes():
            size += len(part)
            if size > MAX_ANSWER:
                raise HubError(f"an answer of more than {MAX_ANSWER} bytes")
            parts.append(part)
    finally:
        answer.close()
    return b"".join(parts)


def _asked_pause(answer: httpx2.Response) -> float | None:
    """Seconds that the hub asks for: Retry-After, else the reset of its rate limit."""
    pause = retry_after(answer.headers.get("Retry-After"))
    limit = parse_ratelimit_headers(answer.headers) if answer.status_code == 429 and pause is None else None
    return float(limit.reset_in_seconds) if limit and limit.remaining == 0 else pause


_users = 0
_before: list[Callable[[], httpx2.Client]] = []
_lock = threading.Lock()


@contextlib.contextmanager
def _watched(timeout: float) -> Iterator[None]:
    """The library's one client is ours while any call of ours runs, and afterwards what it was.

    Its HF_HUB_OFFLINE is not asked: it keeps libraries from asking a hub by accident, and a push is asked for by name.
    """
    global _users
    with _lock:
        if not _users:
            _quiet()
            _before.append(_http._GLOBAL_CLIENT_FACTORY)
            _http.set_client_factory(lambda: _client(timeout))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _http.set_client_factory(_before.pop())


def _client(timeout: float) -> httpx2.Client:
    return _Client(follow_redirects=True, timeout=httpx2.Timeout(timeout, connect=min(timeout, 30.0)))


def _quiet() -> None:
    """What a hub says of itself reaches a person through our own words alone: it may repeat what it was sent."""
    hub_logging.set_verbosity_error()
    disable_progress_bars()
    warnings.filterwarnings("ignore", module=r"huggingface_hub\.")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
