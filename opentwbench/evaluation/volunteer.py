#!/usr/bin/env python3
"""Run a model on the questions of this bundle and write the result file. Needs Python 3.11 or newer and nothing else.

    python3 run.py ask --base-url http://127.0.0.1:8000/v1 --model NAME [--api-key-env VARIABLE] [--concurrency 8]
    python3 run.py results        # replies.jsonl -> results.jsonl, when every question has its reply
    python3 run.py verify         # is the bundle whole, do the results follow from the replies?

`ask` may be stopped and started again: every reply is on the disk before it counts and nothing is asked twice.
results.jsonl and provenance.json (fill it in) are what is sent back; replies.jsonl stays with you.

For maintainers: this file goes into the bundle byte for byte (bundle.py). It repeats the rendering of prompts.py and
two rules of extraction.py in plain Python, because a volunteer installs nothing; tests hold it equal to them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

LETTERS = "ABCD"
ORDINALS = {"甲": "A", "乙": "B", "丙": "C", "丁": "D"}
ATTEMPTS = 6
MAX_REPLY = 8 << 20
"""Most bytes of a reply that are read."""

OPTION = "([A-Da-d甲乙丙丁])"
BOX = re.compile(r"\\boxed\{\s*" + OPTION + r"\s*\}")
LEAD = re.compile(r"\s*[(（]?" + OPTION + r"[)）.。、:：\s]")
MARKED = re.compile(r"(?:答案|正確選項|正解|答|選)\s*(?:[是為:：]\s*)?(?:[(（]\s*)?" + OPTION)
ANY = re.compile(r"(?<![A-Za-z])([A-Da-d])(?![A-Za-z])")

Item = dict[str, str]
Reply = dict[str, Any]


class Stopped(Exception):
    """The run cannot go on; the message says why and what to do."""


# -- rendering and reading --------------------------------------------------------------------------------------------


def option_order(question: str, shuffle: str) -> str:
    """The original letters in the order shown, a pure function of the question."""
    letters = list(LETTERS)
    if shuffle == "stem_seed":
        seed = int.from_bytes(hashlib.sha256(question.encode()).digest()[:8], "big")
        random.Random(seed).shuffle(letters)
    return "".join(letters)


def request_body(item: Item, protocol: dict[str, Any], model: str) -> dict[str, Any]:
    """The body of one request."""
    order = option_order(item["question"], protocol["shuffle"])
    options = {place: item[letter] for place, letter in zip(LETTERS, order, strict=True)}
    user = {"role": "user", "content": protocol["user_template"].format(question=item["question"], **options)}
    system = protocol["system"]
    messages = [user] if system is None else [{"role": "system", "content": system}, user]
    names = ("temperature", "max_tokens", "top_p", "frequency_penalty", "presence_penalty")
    return {
        "model": model,
        **{name: protocol[name] for name in names if protocol[name] is not None},
        "messages": messages,
    }


def letter_of(found: Any) -> str | None:
    """The letter that a match holds."""
    return ORDINALS.get(found[1], found[1].upper()) if found else None


def read_strict(content: str) -> str | None:
    """The first box anywhere in the reply."""
    return letter_of(BOX.search(content))


def read_lenient(content: str) -> str | None:
    """After the last </think>: a box, a leading letter, a marked letter, the first free-standing letter."""
    text = content.rpartition("</think>")[2]
    return letter_of(BOX.search(text) or LEAD.match(text) or MARKED.search(text) or ANY.search(text))


def result_row(item: Item, key: str, content: str | None, shuffle: str) -> dict[str, Any]:
    """One row of the result file."""
    strict, lenient = read_strict(content or ""), read_lenient(content or "")
    order = option_order(item["question"], shuffle)
    return {
        "qh": hashlib.sha256(item["question"].encode()).hexdigest()[:16],
        "ok": lenient is not None and order[LETTERS.index(lenient)] == key,
        "boxp": strict is not None,
        "lenp": lenient is not None,
        "item_id": item["item_id"],
        "strict": strict,
        "lenient": lenient,
    }


# -- the bundle -------------------------------------------------------------------------------------------------------


class Bundle:
    """The folder in which this file lies. Raises Stopped when it is not the one that was sent out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self.manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
            for name, digest in self.manifest["files"].items():
                if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
                    raise Stopped(f"{name} is not the file that was sent out: unpack the bundle again")
            self.protocol = json.loads((folder / "protocol.json").read_text(encoding="utf-8"))
            self.keys = json.loads((folder / "keys.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError) as error:
            raise Stopped(f"the bundle is not whole ({error}): unpack it again") from None
        self.replies_path = folder / "replies.jsonl"

    def items(self) -> Iterator[Item]:
        """The questions in order."""
        with (self.folder / "questions.jsonl").open(encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)

    def replies(self) -> dict[str, Reply]:
        """Item id -> reply. A last line that was cut is left out; any other damage stops."""
        found: dict[str, Reply] = {}
        if self.replies_path.exists():
            for number, line in enumerate(self.replies_path.read_bytes().split(b"\n")[:-1], start=1):
                try:
                    record = json.loads(line)
                    found[record["item_id"]] = record
                except (ValueError, KeyError, TypeError):
                    raise Stopped(f"replies.jsonl line {number} is damaged: remove that line") from None
        return found

    def results(self) -> list[dict[str, Any]]:
        """The rows that follow from the replies; raises Stopped while questions have none."""
        replies = self.replies()
        missing = [item["item_id"] for item in self.items() if item["item_id"] not in replies]
        if missing:
            raise Stopped(f"{len(missing)} questions have no reply yet, the first is {missing[0]}: run ask again")
        shuffle = self.protocol["shuffle"]
        return [
            result_row(item, self.keys[item["item_id"]], replies[item["item_id"]]["content"], shuffle)
            for item in self.items()
        ]


# -- asking -----------------------------------------------------------------------------------------------------------


class NoRedirection(urllib.request.HTTPRedirectHandler):
    """A redirection would carry the key to another host."""

    def redirect_request(self, *args: Any) -> None:
        """None is refused."""


OPENER = urllib.request.build_opener(NoRedirection())


def endpoint(base_url: str) -> str:
    """The URL that is asked. Raises Stopped for what is no http(s) address or holds a user or password."""
    if not base_url.startswith(("http://", "https://")) or "@" in base_url.split("/")[2]:
        raise Stopped("--base-url must begin with http:// or https:// and hold no user or password")
    return base_url.rstrip("/") + "/chat/completions"


def ask_once(url: str, key: str, body: dict[str, Any]) -> dict[str, Any]:
    """The content and finish reason of one reply; raises OSError or ValueError when there is none."""
    headers = {"Content-Type": "application/json", "User-Agent": "opentwbench-bundle"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    request = urllib.request.Request(url, json.dumps(body, ensure_ascii=False).encode(), headers)
    with OPENER.open(request, timeout=600) as answer:
        raw = answer.read(MAX_REPLY + 1)
    if len(raw) > MAX_REPLY:
        raise ValueError("a reply of more than 8 MB")
    choice = json.loads(raw)["choices"][0]
    content = choice["message"].get("content")
    if content is not None and not isinstance(content, str):
        raise ValueError("content is no text")
    return {"content": content, "finish_reason": choice.get("finish_reason")}


def ask(url: str, key: str, body: dict[str, Any]) -> dict[str, Any]:
    """One reply, with retries; raises Stopped for what asking again would not mend."""
    said = ""
    for attempt in range(1, ATTEMPTS + 1):
        pause = min(60.0, 2.0**attempt) * random.random()
        try:
            return ask_once(url, key, body)
        except urllib.error.HTTPError as error:
            said = f"status {error.code}"
            if error.code not in (408, 429) and error.code < 500:
                raise Stopped(f"the endpoint answers {said}: look at the base URL, the model and the key") from None
            asked = error.headers.get("Retry-After", "")
            pause = max(pause, float(asked)) if asked.isdigit() and int(asked) <= 600 else pause
        except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
            said = type(error).__name__
        if attempt < ATTEMPTS:
            time.sleep(pause)
    raise Stopped(f"no reply after {ATTEMPTS} attempts ({said}); what is answered is kept, run ask again")


def run(bundle: Bundle, url: str, model: str, key: str, concurrency: int) -> None:
    """Ask what has no reply yet."""
    done = bundle.replies()
    models = {reply["model"] for reply in done.values()}
    if models - {model}:
        raise Stopped(f"replies.jsonl holds replies of {sorted(models)[0]}: one bundle folder holds one model")
    open_items = [item for item in bundle.items() if item["item_id"] not in done]
    total, lock = len(open_items) + len(done), threading.Lock()
    whole = b"\n".join(bundle.replies_path.read_bytes().split(b"\n")[:-1]) if bundle.replies_path.exists() else b""
    with bundle.replies_path.open("r+b" if bundle.replies_path.exists() else "w+b") as out:
        out.truncate(len(whole) + 1 if whole else 0)
        out.seek(0, os.SEEK_END)

        def one(item: Item) -> None:
            reply = ask(url, key, request_body(item, bundle.protocol, model))
            line = json.dumps({"item_id": item["item_id"], "model": model, **reply}, ensure_ascii=True) + "\n"
            with lock:
                out.write(line.encode())
                out.flush()
                os.fsync(out.fileno())
                done[item["item_id"]] = {}
                if len(done) % 100 == 0 or len(done) == total:
                    print(f"{len(done)} of {total}", flush=True)

        work_through(open_items, one, concurrency)


def work_through(items: list[Item], one: Any, concurrency: int) -> None:
    """Call `one` on every item, `concurrency` at a time; the first failure ends it."""
    pending: list[Future[None]] = []
    with ThreadPoolExecutor(concurrency) as pool:
        for item in items:
            if len(pending) >= concurrency:
                ended, running = wait(pending, return_when=FIRST_COMPLETED)
                pending = list(running)
                for each in ended:
                    each.result()
            pending.append(pool.submit(one, item))
        for each in pending:
            each.result()


# -- the command ------------------------------------------------------------------------------------------------------


def write_results(bundle: Bundle) -> Path:
    """results.jsonl, and a provenance.json to fill in when there is none."""
    path = bundle.folder / "results.jsonl"
    rows = bundle.results()
    aside = path.with_suffix(".aside")
    aside.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    aside.replace(path)
    about = bundle.folder / "provenance.json"
    if not about.exists():
        about.write_text(json.dumps(provenance(bundle), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return path


def provenance(bundle: Bundle) -> dict[str, Any]:
    """The record to fill in: no host and no user name, and consent is the volunteer's to give."""
    model = next((reply["model"] for reply in bundle.replies().values()), "")
    names = ("benchmark", "dataset_version", "protocol_id")
    return {
        "model": model,
        **{name: bundle.manifest[name] for name in names},
        "hardware": "",
        "driver": "",
        "runtime": "",
        "runtime_version": "",
        "batch_settings": "",
        "serving_precision": "unknown",
        "consent": False,
    }


def verify(bundle: Bundle) -> tuple[int, int]:
    """Whether results.jsonl is what the replies give; its rows and the rows with a box. Raises Stopped when not."""
    path = bundle.folder / "results.jsonl"
    if not path.exists():
        raise Stopped("there is no results.jsonl yet: run results")
    rows = bundle.results()
    if path.read_text(encoding="utf-8") != "".join(json.dumps(row) + "\n" for row in rows):
        raise Stopped("results.jsonl is not what the replies and keys give: run results again")
    return len(rows), sum(row["boxp"] for row in rows)


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 done, 2 wrong arguments, 3 stopped (the message says why)."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\nFor maintainers")[0])
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(dest="command", required=True)
    asking = commands.add_parser("ask", help="ask the model every question")
    asking.add_argument("--base-url", required=True, help="up to and with /v1")
    asking.add_argument("--model", required=True, help="the model's name as the endpoint knows it")
    asking.add_argument("--api-key-env", default="", help="environment variable that holds the API key")
    asking.add_argument("--concurrency", type=int, default=8, help="requests at a time")
    commands.add_parser("results", help="write results.jsonl from the replies")
    commands.add_parser("verify", help="check the bundle and the results")
    given = parser.parse_args(arguments)
    try:
        bundle = Bundle(Path(__file__).resolve().parent)
        if given.command == "ask":
            key = os.environ.get(given.api_key_env, "") if given.api_key_env else ""
            if given.api_key_env and not key:
                raise Stopped(f"the environment variable {given.api_key_env} is not set")
            run(bundle, endpoint(given.base_url), given.model, key, max(1, given.concurrency))
            print("every question has its reply: run results")
        elif given.command == "results":
            print(f"{write_results(bundle)}: fill in provenance.json, run verify, and send both files")
        else:
            rows, boxed = verify(bundle)
            print(f"the results follow from the replies: {rows} rows, {boxed} with a box")
    except Stopped as stopped:
        print(f"stopped: {stopped}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
