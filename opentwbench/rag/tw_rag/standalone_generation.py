#!/usr/bin/env python3
"""Let a model answer every item from its four passages. Needs Python 3.11 or newer and nothing else.

    python run_rag_generation.py --base-url http://127.0.0.1:8080/v1 --model NAME --out responses.jsonl \\
        [--api-key-env VARIABLE] [--items ragas.jsonl] [--concurrency 8] [--max-tokens 512]

May be stopped and started again: every answer is on the disk before it counts, and only what has none is asked. An
answer that ends in an error is written with its error and asked again by the next start.

For maintainers: this file goes into the data set's folder byte for byte. It repeats the prompt of prompts.py in plain
Python, because whoever runs it installs nothing; a test holds the two equal.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

SYSTEM = (
    "請只根據下列段落回答問題。直接寫出答案，不要開場白，也不要提到段落編號。段落中沒有答案時，只回覆：「資料不足」"
)
CONTEXT_CHARACTERS = 8_000
"""How much of the passages a prompt holds."""

ATTEMPTS = 6
MAX_REPLY = 8 << 20
"""Most bytes of a reply that are read."""


def messages(question: str, contexts: Sequence[str]) -> list[dict[str, str]]:
    """The messages that ask for an answer."""
    lines, left = [], CONTEXT_CHARACTERS
    for number, context in enumerate(contexts, 1):
        text = context[:left]
        if text:
            lines.append(json.dumps({"passage": number, "from": "", "text": text}, ensure_ascii=False))
        left -= len(text)
    block, asked = "\n".join(lines), json.dumps(question, ensure_ascii=False)
    user = f"Passages, one JSON object a line:\n{block}\n\nQuestion: {asked}"
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": user}]


def request_body(item: dict[str, Any], model: str, max_tokens: int) -> dict[str, Any]:
    """The body of one request."""
    said = messages(item["question"], item["contexts"])
    return {"model": model, "temperature": 0.0, "max_tokens": max_tokens, "messages": said}


def answer_of(content: str) -> str:
    """The answer after a closed thought."""
    return content.rpartition("</think>")[2].strip()


def writable(text: str) -> str:
    """The text with halves of characters replaced: JSON may carry them and no UTF-8 file can."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class NoRedirection(urllib.request.HTTPRedirectHandler):
    """A redirection would carry the key to another host."""

    def redirect_request(self, *args: Any) -> None:
        """None is refused."""


OPENER = urllib.request.build_opener(NoRedirection())


def ask(url: str, key: str, body: dict[str, Any]) -> dict[str, Any]:
    """One answer, or its error; overload, broken connections and replies that are none are tried again."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    error = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(min(60.0, 2.0**attempt))
        try:
            with OPENER.open(urllib.request.Request(url, data, headers), timeout=600) as answer:
                content = json.loads(answer.read(MAX_REPLY))["choices"][0]["message"]["content"]
            if isinstance(content, str):
                return {"answer": answer_of(writable(content)), "error": ""}
            return {"answer": None, "error": "no content"}
        except urllib.error.HTTPError as refused:
            error = f"HTTP {refused.code}"
            if refused.code in (401, 403):
                raise SystemExit(f"{error}: the endpoint refuses the key") from None
            if refused.code not in (408, 409, 429) and refused.code < 500:
                break
        # A connection cut in the headers or the body, no JSON, JSON nested beyond reading, and JSON of another form.
        except (
            OSError,
            http.client.HTTPException,
            ValueError,
            KeyError,
            IndexError,
            TypeError,
            RecursionError,
        ) as broken:
            error = type(broken).__name__
    return {"answer": None, "error": error}


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSONL file; a last line without its end was cut by a kill and is passed over."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1], 1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise SystemExit(f"{path.name} line {number}: not a JSON object")
        found.append(record)
    return found


def mend(path: Path) -> None:
    """Cut off a last line without its end, so that the next one is not written behind it."""
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        with path.open("r+b") as file:
            file.truncate(whole)


def main() -> int:
    """The command; 0, or 3 when some answers ended in an error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url", default=os.environ.get("OPENAI_BASE_URL", ""), help="endpoint up to /v1")
    parser.add_argument("--api-key-env", default="OPENAI_API_KEY", help="environment variable that holds the key")
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--items", type=Path, default=Path(__file__).with_name("ragas.jsonl"))
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--max-tokens", type=int, default=512)
    given = parser.parse_args()
    if not given.base_url.startswith(("http://", "https://")) or "@" in given.base_url.split("/")[2]:
        raise SystemExit("name the endpoint (http or https, no user or password) with --base-url or OPENAI_BASE_URL")
    done: set[str] = set()
    if given.out.exists():
        mend(given.out)
        lines = read_lines(given.out)
        if other := [each for each in lines if each.get("model") != given.model]:
            raise SystemExit(f"{given.out.name} holds answers of {str(other[0].get('model'))[:80]}; name another file")
        done = {str(each["item_id"]) for each in lines if not each.get("error")}
    waiting = [item for item in read_lines(given.items) if item["item_id"] not in done]
    key = os.environ.get(given.api_key_env, "")
    url = given.base_url.rstrip("/") + "/chat/completions"
    given.out.parent.mkdir(parents=True, exist_ok=True)
    failed = 0
    with given.out.open("a", encoding="utf-8", newline="\n") as out, ThreadPoolExecutor(given.concurrency) as pool:
        under_way: dict[Future[dict[str, Any]], str] = {}
        while waiting or under_way:
            while waiting and len(under_way) < given.concurrency:
                item = waiting.pop(0)
                body = request_body(item, given.model, given.max_tokens)
                under_way[pool.submit(ask, url, key, body)] = item["item_id"]
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                record = {"item_id": under_way.pop(future), "model": given.model, **future.result()}
                failed += bool(record["error"])
                out.write(json.dumps(record, ensure_ascii=False) + "\n")
                out.flush()
                os.fsync(out.fileno())
    print(f"{given.out}: {failed} answers ended in an error", file=sys.stderr)
    return 3 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
