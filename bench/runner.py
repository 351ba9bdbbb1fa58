"""How fast and how small the runner is, beside a bare aiohttp loop and the real Twinkle Eval, in one run.

    python -m bench.runner [--items 5000] [--latencies 0 50 200] [--times 3] [--without-twinkle]
    python -m bench.runner --memory [--sizes 22021 253674] [--no-network]

Throughput: the same items against the same loopback endpoint (a process of its own), latencies in milliseconds. Ours
is everything from reading the items to the scores: checked, asked, journalled with a sync, extracted by every method,
graded and summed, over 256 connections. The bare loop sends the same texts over as many connections, from bodies that
were made beforehand, parses the replies and keeps nothing; it runs on asyncio's own event loop, and again on uvloop,
which ours runs on. Twinkle Eval runs the same file with its defaults (it has no
setting for concurrency: six threads on two cores); its time is counted from its first request to its last result file,
so without its start and end.
Each client is a process of its own; they take turns, and the ratio is the median over the turns. Seconds are noisy on a
shared machine: read the ratios, and the processor time, which the neighbours disturb less.
Memory: the largest resident size of a whole run (read, ask, journal, score) for each number of items; --no-network
takes the replies from memory instead of an endpoint, which is quicker and leaves out some 20 MB of connections.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from samples.model_endpoint import ModelEndpoint

CONNECTIONS = 256
NO_NETWORK = "none"
Timed = Callable[[], None]
"""A client that is ready: what it does from here on is measured."""

TWINKLE = Path(__file__).resolve().parent.parent / "tests" / "twinkle" / ".venv" / "bin" / "twinkle-eval"


def write_items(path: Path, n: int) -> None:
    """Items of the usual size: a stem of some 60 characters, options of some ten."""
    with path.open("w", encoding="utf-8") as out:
        for number in range(n):
            options = {letter: f"第{letter}個選項之敘述{number}" for letter in "ABCD"}
            row = {"question": f"依本題第{number}項之規定，下列敘述何者正確？" + "說明文字" * 10, **options}
            more = {"answer": "ABCD"[number % 4], "year_roc": 100 + number % 15, "item_id": f"sample-{number:012x}"}
            out.write(json.dumps({**row, **more}, ensure_ascii=False) + "\n")


def _bodies(items: Path) -> list[dict[str, Any]]:
    """Request bodies with the texts of the items, as large as ours."""
    from opentwbench.evaluation.protocols import BOX

    rows = (json.loads(line) for line in items.read_text(encoding="utf-8").splitlines())
    fixed = {"model": "scripted", **BOX.decoding()}
    texts = (BOX.user_template.format(**{name: row[name] for name in ("question", *"ABCD")}) for row in rows)
    system = {"role": "system", "content": BOX.system}
    return [{**fixed, "messages": [system, {"role": "user", "content": text}]} for text in texts]


async def _bare(bodies: list[dict[str, Any]], url: str) -> None:
    import aiohttp

    waiting = iter(bodies)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONNECTIONS)) as session:

        async def work() -> None:
            for body in waiting:
                async with session.post(f"{url}/chat/completions", json=body) as response:
                    await response.json()

        await asyncio.gather(*(work() for _ in range(CONNECTIONS)))


def bare(items: Path, n: int, url: str, folder: Path) -> Timed:
    """The bare loop: bodies made beforehand, encoded and sent, replies parsed, nothing kept."""
    bodies = _bodies(items)
    assert len(bodies) == n, len(bodies)
    asyncio.run(_bare(bodies[:1], url))  # imports are no part of the measurement
    return lambda: asyncio.run(_bare(bodies, url))


def bare_uvloop(items: Path, n: int, url: str, folder: Path) -> Timed:
    """The bare loop on the event loop that ours runs on."""
    import uvloop

    bodies = _bodies(items)
    asyncio.run(_bare(bodies[:1], url))
    return lambda: uvloop.run(_bare(bodies, url))


def ours(items: Path, n: int, url: str, folder: Path) -> Timed:
    """Our runner, from the items to the scores."""
    import uvloop

    from opentwbench.evaluation.client import Endpoint, Rates
    from opentwbench.evaluation.items import Roster, item_set
    from opentwbench.evaluation.protocols import BOX
    from opentwbench.evaluation.runner import Plan, Tally, run
    from opentwbench.evaluation.runs import scoring_watch

    if url == NO_NETWORK:
        _answer_from_memory()
        url = "http://127.0.0.1:1/v1"

    def timed() -> None:
        asked = item_set([items])
        roster = Roster(asked)
        plan = Plan("bench", "scripted", BOX, asked)
        rates = Rates(CONNECTIONS, adaptive=False)
        scorer, watch = scoring_watch(roster)
        outcome = uvloop.run(run(plan, folder / "run", Endpoint(url), rates, Tally(len(roster)), watch=watch))
        summary = scorer.summary()
        assert outcome.complete, outcome
        assert summary.replies == n, summary

    return timed


def _answer_from_memory() -> None:
    """Put a client that answers at once in the place of the real one."""
    from opentwbench.evaluation import client, replies, runner

    class Answering(client.Client):
        async def ask(self, body: Any, payload: bytes | None = None) -> replies.Reply:
            await asyncio.sleep(0)
            return replies.Reply("\\boxed{A}", None, "stop", 200, 9, None, "scripted")

    runner.Client = Answering  # type: ignore[misc]


CLIENTS: dict[str, Callable[[Path, int, str, Path], Timed]] = {
    "bare": bare,
    "bare on uvloop": bare_uvloop,
    "ours": ours,
}


def client_main(name: str, items: Path, n: int, url: str, folder: Path) -> None:
    """One client in this process; prints its seconds, processor seconds and largest size."""
    timed = CLIENTS[name](items, n, url, folder)
    start, used = time.perf_counter(), time.process_time()
    timed()
    figures = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - used, "mb": _largest()}
    print(json.dumps(figures))


def _largest() -> float:
    """Largest resident size of this process in MB (ru_maxrss is in kB on Linux)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: str, items: Path, n: int, url: str) -> dict[str, float]:
    """One client in a fresh process."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        command = [sys.executable, "-m", "bench.runner", "--client", name, str(items), str(n), url, folder]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def measure_twinkle(items: Path, n: int, endpoint: ModelEndpoint) -> dict[str, float]:
    """The real Twinkle Eval with its defaults, from its first request to its end."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        (folder / "data").mkdir()
        (folder / "data" / "benchmark.jsonl").write_bytes(items.read_bytes())
        # JSON is YAML.
        (folder / "config.yaml").write_text(json.dumps(twinkle_config(endpoint.base_url, str(folder / "data"), "box")))
        endpoint.forget()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        offline = {**os.environ, "HF_HUB_OFFLINE": "1"}
        subprocess.run([TWINKLE, "--config", "config.yaml"], cwd=folder, env=offline, check=True, capture_output=True)
        end = _last_written(folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    stats = endpoint.stats()
    assert stats["requests"] == n, stats["requests"]
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # Both clocks are CLOCK_MONOTONIC of this machine.
    return {"seconds": end - stats["first_arrival"], "cpu": used, "mb": 0.0}


def _last_written(folder: Path) -> float:
    """When the last file under the folder was written, on the monotonic clock: the end of the work."""
    newest = max(path.stat().st_mtime for path in folder.rglob("*") if path.is_file())
    return newest - time.time() + time.monotonic()


def twinkle_config(base_url: str, data: str, method: str) -> dict[str, Any]:
    """Twinkle's configuration for a run without shuffling."""
    api = {"base_url": base_url, "api_key": "none", "disable_ssl_verify": False, "api_rate_limit": -1}
    decoding = {"temperature": 0.0, "top_p": 0.9, "max_tokens": 4096, "frequency_penalty": 0.0, "presence_penalty": 0.0}
    prompt = {"zh": "把答案寫在 \\box{} 裡。"}
    return {
        "llm_api": {**api, "max_retries": 3, "timeout": 600},
        "model": {"name": "scripted", **decoding},
        "evaluation": {
            "dataset_paths": [data],
            "evaluation_method": method,
            "system_prompt": prompt,
            "datasets_prompt_map": {},
            "repeat_runs": 1,
            "shuffle_options": False,
        },
        "logging": {"level": "ERROR"},
    }


def throughput(n: int, latencies: list[int], times: int, *, twinkle: bool) -> None:
    """Items a second of each client at each latency, and the ratios."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        items = Path(name) / "benchmark.jsonl"
        write_items(items, n)
        for latency in latencies:
            with ModelEndpoint(latency=latency / 1000, reply="\\boxed{{letter}}") as endpoint:
                turns = [{each: measure(each, items, n, endpoint.base_url) for each in CLIENTS} for _ in range(times)]
                peer = measure_twinkle(items, n, endpoint) if twinkle else None
            report(n, latency, turns, peer)


def report(n: int, latency: int, turns: list[dict[str, dict[str, float]]], peer: dict[str, float] | None) -> None:
    """One block of lines."""
    rate = {each: statistics.median(n / turn[each]["seconds"] for turn in turns) for each in CLIENTS}
    cpu = {each: statistics.median(turn[each]["cpu"] * 1000 / n for turn in turns) for each in CLIENTS}
    ratio = statistics.median(turn["bare"]["seconds"] / turn["ours"]["seconds"] for turn in turns)
    print(f"{n:,} items at {latency} ms, {CONNECTIONS} connections, median of {len(turns)} turns")
    for each in CLIENTS:
        print(f"  {each}: {rate[each]:,.0f} items/s, {cpu[each]:.2f} ms of processor time an item")
    print(f"  ours / bare: {ratio:.2f} by the clock, {cpu['bare'] / cpu['ours']:.2f} by processor time")
    print(f"  ours / bare on uvloop: {rate['ours'] / rate['bare on uvloop']:.2f} by the clock")
    if peer:
        theirs, used = n / peer["seconds"], peer["cpu"] * 1000 / n
        print(f"  Twinkle Eval: {theirs:,.0f} items/s, {used:.2f} ms of processor time an item, its start included")
        print(f"  ours / Twinkle Eval: {rate['ours'] / theirs:.1f}", flush=True)


def memory(sizes: list[int], *, network: bool) -> None:
    """Largest size of a whole run for each number of items."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        items = Path(name) / "benchmark.jsonl"
        for size in sizes:
            write_items(items, size)
            with ModelEndpoint(reply="\\boxed{{letter}}") as endpoint:
                found = measure("ours", items, size, endpoint.base_url if network else NO_NETWORK)
            print(f"{size:,} items: {found['mb']:.0f} MB at most, {size / found['seconds']:,.0f} items/s", flush=True)


def main() -> None:
    """The measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=5_000)
    parser.add_argument("--latencies", type=int, nargs="+", default=[0, 50, 200])
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--without-twinkle", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--no-network", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", default=[22_021, 253_674])
    parser.add_argument("--client", nargs=5, metavar=("NAME", "ITEMS", "N", "URL", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.client:
        name, items, n, url, folder = given.client
        client_main(name, Path(items), int(n), url, Path(folder))
        return
    if given.memory:
        memory(given.sizes, network=not given.no_network)
        return
    twinkle = TWINKLE.exists() and not given.without_twinkle
    if not twinkle:
        print("without Twinkle Eval: make twinkle fetches it")
    throughput(given.items, given.latencies, given.times, twinkle=twinkle)


if __name__ == "__main__":
    main()
