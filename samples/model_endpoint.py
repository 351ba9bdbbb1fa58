"""A model endpoint that answers by script: the OpenAI chat-completions API on the loopback interface, without a model.

    python -m samples.model_endpoint --port 8080 --latency 0.05
    with ModelEndpoint(latency=0.05) as endpoint: ...      # the same in a process of its own

Which letter it answers is a pure function of the question: of the script's answers where it knows the stem, of the
stem's hash otherwise. Latency, faults and quirks of real endpoints are rules that can be planted while it runs. Every
request is counted by the hash of its body, so that a test can tell what was asked and what was asked twice.
What belongs here: the server and its handle. What does not: anything of the platform; it knows no protocol and no rule
of extraction.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import random
import re
import ssl
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Self

from aiohttp import web

from samples import formosa_script
from samples.rag import script as rag_script

CHAT_PATH = "/v1/chat/completions"
EMBEDDINGS_PATH = "/v1/embeddings"
CONTROL_PATH = "/control"

DIMENSION = 64
"""Of the scripted vectors."""

HTML_PAGE = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><h1>502</h1></body></html>"


class Kind(StrEnum):
    """What a rule makes of a request. The first group are failures, the second are replies that real endpoints give."""

    STATUS = "status"
    """Status `status` with an error object (`text` its message, `code` its code) and, when set, Retry-After."""
    HTML = "html"
    """An HTML page with status `status`."""
    DROP = "drop"
    """The connection is closed without an answer."""
    CUT = "cut"
    """Half of the announced body, then the connection is closed."""
    BROKEN_JSON = "broken_json"
    """Status 200 and half of the JSON, announced as such."""
    UNKNOWN_PARAMETER = "unknown_parameter"
    """400 whenever the body holds the parameter `text`, naming it."""
    CONTEXT_OVERFLOW = "context_overflow"
    """400 as vLLM and OpenAI word it."""
    OVERSIZE = "oversize"
    """A well-formed reply whose content has `size` characters."""
    ERROR_IN_200 = "error_in_200"
    """Status 200 with an error object and no choices."""

    TEXT = "text"
    """The content is `text`; {letter} in it becomes the letter."""
    NULL_CONTENT = "null_content"
    REASONING_ONLY = "reasoning_only"
    """content null and the answer in `reasoning_content`."""
    REASONING_BESIDE = "reasoning_beside"
    """The answer in content, a thought in `reasoning`."""
    THINK = "think"
    """A closed <think> block with another letter boxed in it, then the answer."""
    THINK_OPEN = "think_open"
    """A <think> block that never closes, cut by the budget: finish_reason length."""
    LENGTH = "length"
    """Text without an answer, finish_reason length."""
    EMPTY = "empty"
    REFUSAL = "refusal"
    PARTS = "parts"
    """content as a list of text parts."""
    NO_USAGE = "no_usage"
    NO_CHOICES = "no_choices"
    DELAY = "delay"
    """The usual answer after further `seconds`."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Applies to the next `times` requests (None: all) in whose last message `pattern` is found ('' in all)."""

    kind: Kind
    pattern: str = ""
    times: int | None = 1
    seconds: float = 0.0
    """Waits this long before whatever it does."""
    status: int = 500
    retry_after: str = ""
    text: str = ""
    code: str = ""
    size: int = 1_000_000


@dataclass(slots=True)
class Script:
    """How the endpoint behaves beside its rules."""

    latency: float = 0.0
    """Seconds each answer takes."""
    jitter: float = 0.0
    """Up to this many seconds more, uniformly."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """Question text -> text of the option to choose; where it is absent, the hash of the stem decides."""
    api_key: str = ""
    """When set, any other bearer token is answered with 401."""
    reply: str = ""
    """The content with {letter}; '' answers in a box when a system message speaks of one, else 「答案：X」."""
    at_once: int = 0
    """More requests at a time than this are answered with 429; 0 is no limit."""
    retry_after: str = ""
    """Retry-After of those."""
    formosa: bool = False
    """Answer as the drafting model, the judges and the pool of `formosa_script`."""
    rag: bool = False
    """Answer as the model and the judges of the retrieval benchmark (`rag.script`)."""
    knows: str = ""
    """With `formosa`: a benchmark.jsonl whose answers the pool knows, read when asked and again when it changes."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as the endpoint reads it off a user message: the stem and the options shown, by letter."""

    stem: str
    options: Mapping[str, str]


_OPTION = re.compile(r"^([A-J])[.:] ?", re.MULTILINE)


def read_question(message: str) -> Asked:
    """Stem and options of a message that ends in lines 'A. ...' or 'A: ...'; a message without them is all stem.

    The run A, B, C ... from the last A on counts, so that an 'A.' at the start of a line of the stem is no option.
    """
    marks = list(_OPTION.finditer(message))
    last_a = max((n for n, mark in enumerate(marks) if mark[1] == "A"), default=None)
    if last_a is None:
        return Asked(_stem(message), {})
    run = [mark for n, mark in enumerate(marks[last_a:]) if mark[1] == "ABCDEFGHIJ"[n : n + 1]]
    ends = [mark.start() - 1 for mark in run[1:]] + [len(message)]
    options = {mark[1]: message[mark.end() : end] for mark, end in zip(run, ends, strict=True)}
    return Asked(_stem(message[: run[0].start()]), options)


def _stem(text: str) -> str:
    return text.strip().removeprefix("題目：").strip()


def choose(asked: Asked, answers: Mapping[str, str]) -> str:
    """The letter that the endpoint answers."""
    known = answers.get(asked.stem)
    for letter, text in asked.options.items():
        if known is not None and text.strip() == known.strip():
            return letter
    letters = "".join(asked.options) or "ABCD"
    return letters[hashlib.sha256(asked.stem.encode("utf-8", "replace")).digest()[0] % len(letters)]


class Endpoint:
    """The server's state and its one handler. Runs in one event loop."""

    def __init__(self, script: Script, rules: Iterable[Rule] = ()) -> None:
        self.script = script
        self._rules: list[list[Any]] = [[rule, rule.times] for rule in rules]
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        """Requests whose answer was handed to the connection, with status 200 and a completion."""
        self.statuses: Counter[int] = Counter()
        self.tags: dict[str, str] = {}
        """Body hash -> the first 60 characters of the stem, for messages."""
        self.last_body: dict[str, Any] = {}
        self.under_way = 0
        self.most_at_once = 0
        self.authorised = 0
        """Requests that carried an Authorization header."""
        self.arrivals: list[float] = []
        """When each request came, on the monotonic clock, in seconds."""
        self._known: tuple[tuple[str, int], Mapping[str, str]] = (("", 0), {})

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        if request.path == CHAT_PATH and request.method == "POST":
            return await self._chat(request)
        if request.path == EMBEDDINGS_PATH and request.method == "POST":
            return _embeddings(await request.json())
        if request.path == CONTROL_PATH:
            return await self._control(request)
        if request.path == "/v1/models":
            return web.json_response({"object": "list", "data": [{"id": "scripted", "object": "model"}]})
        return _error(404, "no such path", "not_found")

    async def _chat(self, request: web.BaseRequest) -> web.StreamResponse:
        raw = await request.read()
        digest = hashlib.sha256(raw).hexdigest()
        body = json.loads(raw)
        message = body["messages"][-1]["content"]
        asked = read_question(message)
        self._note(digest, asked, body, "Authorization" in request.headers)
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        try:
            response = await self._respond(request, body, message, asked)
        finally:
            self.under_way -= 1
        self.statuses[response.status] += 1
        if response.status == 200:
            self.answered[digest] += 1
        return response

    def _note(self, digest: str, asked: Asked, body: dict[str, Any], authorised: bool) -> None:
        self.asked[digest] += 1
        self.tags.setdefault(digest, asked.stem[:60])
        self.last_body = body
        self.authorised += authorised
        self.arrivals.append(time.monotonic())

    async def _respond(
        self, request: web.BaseRequest, body: dict[str, Any], message: str, asked: Asked
    ) -> web.StreamResponse:
        script = self.script
        if script.api_key and request.headers.get("Authorization") != f"Bearer {script.api_key}":
            return _error(401, "Incorrect API key provided", "invalid_api_key")
        if script.at_once and self.under_way > script.at_once:
            return _error(429, "Rate limit reached", "rate_limit_exceeded", script.retry_after)
        rule = self._take(message, body) if self._rules else None
        wait = script.latency + (random.random() * script.jitter if script.jitter else 0.0)
        wait += rule.seconds if rule else 0.0
        if wait:
            await asyncio.sleep(wait)
        letter = choose(asked, script.answers)
        if rule:
            return await _by_rule(request, rule, body, letter)
        if script.formosa:
            content = formosa_script.reply(body, read_question, self._answers_now)
            return _json(_completion(body, {"role": "assistant", "content": content}))
        if script.rag and (said := rag_script.reply(body)) is not None:
            return _json(_completion(body, {"role": "assistant", "content": said}))
        return _json(_completion(body, _usual(body, letter, script.reply)))

    def _answers_now(self) -> Mapping[str, str]:
        path = self.script.knows
        state = (path, os.stat(path).st_mtime_ns) if path and os.path.exists(path) else ("", 0)  # noqa: PTH110, PTH116
        if state != self._known[0]:
            self._known = (state, _answers(path) if path else {})
        return self._known[1]

    def _take(self, message: str, body: Mapping[str, Any]) -> Rule | None:
        for planted in self._rules:
            rule, left = planted
            if left == 0 or not re.search(rule.pattern, message):
                continue
            if rule.kind is Kind.UNKNOWN_PARAMETER and rule.text not in body:
                continue
            planted[1] = None if left is None else left - 1
            return rule  # type: ignore[no-any-return]
        return None

    async def _control(self, request: web.BaseRequest) -> web.Response:
        """GET: what was asked. POST: "rules" adds some, "script" changes settings, "heal" and "forget" clear."""
        if request.method == "GET":
            return web.json_response(self._stats(counts="counts" in request.query))
        change = await request.json()
        if change.get("heal"):
            self._rules.clear()
        if change.get("forget"):
            for counted in (self.asked, self.answered, self.statuses, self.arrivals, self.tags):
                counted.clear()
            self.most_at_once = self.authorised = 0
        for entry in change.get("rules", ()):
            rule = Rule(**{**entry, "kind": Kind(entry["kind"])})
            self._rules.append([rule, rule.times])
        for name, value in change.get("script", {}).items():
            setattr(self.script, name, value)
        return web.json_response({})

    def _stats(self, *, counts: bool) -> dict[str, Any]:
        stats: dict[str, Any] = {
            "requests": self.asked.total(),
            "distinct": len(self.asked),
            "answered": self.answered.total(),
            "most_at_once": self.most_at_once,
            "authorised": self.authorised,
            "statuses": {str(status): n for status, n in self.statuses.items()},
            "last_body": self.last_body,
            "first_arrival": self.arrivals[0] if self.arrivals else None,
            "arrivals": self.arrivals[-1_000:],
        }
        if counts:
            stats |= {"asked": dict(self.asked), "answered_by_hash": dict(self.answered), "tags": self.tags}
        return stats


def _embeddings(body: Mapping[str, Any]) -> web.Response:
    """A vector a text, from its character pairs: texts that share them are near each other. Given in reverse order."""
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    data = [{"object": "embedding", "index": n, "embedding": _vector(text)} for n, text in enumerate(texts)]
    tokens = sum(map(len, texts))
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return _json({"object": "list", "model": body.get("model", "scripted"), "data": data[::-1], "usage": usage})


def _vector(text: str) -> list[float]:
    vector = [0.001] * DIMENSION
    for n in range(len(text) - 1):
        pair = text[n : n + 2].lower().encode("utf-8", "replace")
        vector[hashlib.sha256(pair).digest()[0] % DIMENSION] += 1.0
    return vector


def _usual(body: Mapping[str, Any], letter: str, reply: str) -> dict[str, Any]:
    if reply:
        return {"role": "assistant", "content": reply.replace("{letter}", letter)}
    boxed = any("boxed" in message["content"] for message in body["messages"] if message["role"] == "system")
    return {"role": "assistant", "content": f"\\boxed{{{letter}}}" if boxed else f"答案：{letter}"}


def _completion(body: Mapping[str, Any], message: dict[str, Any], finish: str = "stop") -> dict[str, Any]:
    prompt = sum(len(m["content"]) for m in body["messages"])
    said = len(message.get("content") or "") if isinstance(message.get("content"), str) else 0
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model", "scripted"),
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said},
    }


def _json(value: Mapping[str, Any]) -> web.Response:
    return web.Response(body=json.dumps(value, ensure_ascii=False).encode(), content_type="application/json")


def _error(status: int, message: str, code: str, retry_after: str = "", parameter: str | None = None) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "param": parameter, "code": code}
    headers = {"Retry-After": retry_after} if retry_after else None
    return web.json_response({"error": error}, status=status, headers=headers)


async def _by_rule(request: web.BaseRequest, rule: Rule, body: Mapping[str, Any], letter: str) -> web.StreamResponse:
    usual = _usual(body, letter, "")
    if rule.kind in (Kind.DROP, Kind.CUT):
        return await _broken_off(request, rule, json.dumps(_completion(body, usual)).encode())
    if rule.kind in _FAILURES:
        return _failure(rule, body, usual)
    return _json(_quirk(rule, body, usual, letter))


async def _broken_off(request: web.BaseRequest, rule: Rule, whole: bytes) -> web.StreamResponse:
    """Nothing, or half a body, and then the connection is closed."""
    response = web.StreamResponse(status=200 if rule.kind is Kind.CUT else 599)
    if rule.kind is Kind.CUT:
        response.content_type = "application/json"
        response.content_length = len(whole)
        await response.prepare(request)
        await response.write(whole[: len(whole) // 2])
    response.set_status(599)  # never counted as answered
    if request.transport is not None:
        request.transport.close()
    return response


_FAILURES = frozenset(
    (Kind.STATUS, Kind.HTML, Kind.BROKEN_JSON, Kind.UNKNOWN_PARAMETER, Kind.CONTEXT_OVERFLOW, Kind.ERROR_IN_200)
)


def _failure(rule: Rule, body: Mapping[str, Any], usual: dict[str, Any]) -> web.Response:
    if rule.kind is Kind.STATUS:
        return _error(rule.status, rule.text or "scripted failure", rule.code or "scripted", rule.retry_after)
    if rule.kind is Kind.HTML:
        return web.Response(status=rule.status, text=HTML_PAGE, content_type="text/html")
    if rule.kind is Kind.BROKEN_JSON:
        whole = json.dumps(_completion(body, usual))
        return web.Response(text=whole[: len(whole) // 2], content_type="application/json")
    if rule.kind is Kind.UNKNOWN_PARAMETER:
        message = f"Unsupported parameter: '{rule.text}' is not supported with this model."
        return _error(400, message, "unsupported_parameter", parameter=rule.text)
    if rule.kind is Kind.ERROR_IN_200:
        return _json({"error": {"message": rule.text or "provider returned error", "code": rule.status}})
    message = "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens."
    return _error(400, message, "context_length_exceeded", parameter="messages")


def _quirk(rule: Rule, body: Mapping[str, Any], usual: dict[str, Any], letter: str) -> dict[str, Any]:
    """A completion that differs from the usual one as `rule` says."""
    said = usual["content"]
    other = "ABCD"[("ABCD".find(letter) + 1) % 4]
    messages: dict[Kind, tuple[dict[str, Any], str]] = {
        Kind.TEXT: ({"content": rule.text.replace("{letter}", letter)}, "stop"),
        Kind.NULL_CONTENT: ({"content": None}, "stop"),
        Kind.REASONING_ONLY: ({"content": None, "reasoning_content": f"想了一想。{said}"}, "stop"),
        Kind.REASONING_BESIDE: ({"content": said, "reasoning": "想了一想。"}, "stop"),
        Kind.THINK: ({"content": f"<think>也許是 \\boxed{{{other}}}</think>\n{said}"}, "stop"),
        Kind.THINK_OPEN: ({"content": "<think>題目要找的是這個，先看每個選項"}, "length"),
        Kind.LENGTH: ({"content": "先看題目的意思，再逐項檢查"}, "length"),
        Kind.EMPTY: ({"content": ""}, "stop"),
        Kind.REFUSAL: ({"content": "抱歉，我無法回答這個問題。"}, "stop"),
        Kind.PARTS: ({"content": [{"type": "text", "text": said}]}, "stop"),
        Kind.OVERSIZE: ({"content": "長" * rule.size}, "stop"),
    }
    message, finish = messages.get(rule.kind, ({"content": said}, "stop"))
    reply = _completion(body, {"role": "assistant", **message}, finish)
    if rule.kind is Kind.NO_USAGE:
        del reply["usage"]
    if rule.kind is Kind.NO_CHOICES:
        reply["choices"] = []
    return reply


class ModelEndpoint:
    """The endpoint in a process of its own, as a context manager. `base_url` ends in /v1."""

    def __init__(self, *, certificate: str = "", **script: Any) -> None:
        self._script = Script(**script)
        self._certificate = certificate
        self._process: subprocess.Popen[str] | None = None
        self._root = ""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "samples.model_endpoint", "--port", "0", "--until-closed"]
        command += ["--certificate", self._certificate] if self._certificate else []
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=_environment())
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the loopback endpoint did not start")
        self._root = line.strip().removesuffix("/v1")
        self._control({"script": asdict(self._script)})
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()  # its end of input is its end
        self._process.wait(10)
        if self._process.stdout is not None:
            self._process.stdout.close()

    @property
    def base_url(self) -> str:
        """What a client takes as its base URL."""
        return f"{self._root}/v1"

    @property
    def pid(self) -> int:
        """The process that serves."""
        assert self._process is not None
        return self._process.pid

    def plant(self, *rules: Rule) -> None:
        """Add rules; of those that fit a request the one planted first applies."""
        self._control({"rules": [asdict(rule) for rule in rules]})

    def heal(self) -> None:
        """Remove every rule."""
        self._control({"heal": True})

    def set(self, **script: Any) -> None:
        """Change settings of the script."""
        self._control({"script": script})

    def forget(self) -> None:
        """Set every count to zero."""
        self._control({"forget": True})

    def stats(self, *, counts: bool = False) -> dict[str, Any]:
        """Totals; with `counts` also 'asked' and 'answered_by_hash' (body hash -> n) and 'tags' (body hash -> stem)."""
        return self._control(None, "?counts" if counts else "")

    def _control(self, change: Mapping[str, Any] | None, query: str = "") -> dict[str, Any]:
        data = None if change is None else json.dumps(change).encode()
        request = urllib.request.Request(f"{self._root}{CONTROL_PATH}{query}", data)
        # A proxy of the surroundings has no part in a talk between two processes of one machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _trusting())
        with opener.open(request, timeout=30) as answer:
            return json.load(answer)  # type: ignore[no-any-return]


def _trusting() -> urllib.request.HTTPSHandler:
    """Any certificate: the handle speaks to the process it started itself, on the loopback interface."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return urllib.request.HTTPSHandler(context=context)


def _environment() -> dict[str, str]:
    """This process's surroundings, with the project importable wherever it was started."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH", ""))))}


async def serve(endpoint: Endpoint, port: int, tls: ssl.SSLContext | None, *, until_closed: bool) -> None:
    """Serve on 127.0.0.1 until interrupted, or until standard input ends; prints the base URL first."""
    # The low-level server: routing would cost a third of every request.
    # A client that gave up is no longer waited for: else its request would count as under way for as long as it sleeps.
    server = web.Server(endpoint.handle, handler_cancellation=True)
    runner = web.ServerRunner(server, access_log=None, handle_signals=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls, backlog=1024, shutdown_timeout=0.1)
    await site.start()
    bound = runner.addresses[0][1]
    print(f"{'https' if tls else 'http'}://127.0.0.1:{bound}/v1", flush=True)
    try:
        if until_closed:
            await asyncio.to_thread(sys.stdin.read)
        else:
            await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def _answers(path: str) -> dict[str, str]:
    """Question -> text of the right option, from a benchmark.jsonl."""
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        rows = [json.loads(line) for line in file]
    return {row["question"].strip(): row[row["answer"]] for row in rows}


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m samples.model_endpoint", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter  # the description shows commands, a line each
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds each answer takes")
    parser.add_argument("--jitter", type=float, default=0.0, help="up to this many seconds more")
    parser.add_argument("--knows", default="", metavar="BENCHMARK_JSONL", help="answer these questions rightly")
    parser.add_argument("--formosa", action="store_true", help="draft, judge and answer as scripted models of Formosa")
    parser.add_argument("--certificate", default="", metavar="PEM", help="speak TLS with this certificate and key")
    parser.add_argument("--until-closed", action="store_true", help="end when standard input ends")
    given = parser.parse_args(arguments)
    tls = None
    if given.certificate:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(given.certificate)
    script = Script(given.latency, given.jitter, _answers(given.knows) if given.knows else {})
    script.formosa, script.knows = given.formosa, given.knows
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(Endpoint(script), given.port, tls, until_closed=given.until_closed))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
