"""What drafting and judging a whole corpus cost beside the endpoint: time, processor time and memory, in one run.

    python -m bench.formosa [--corpus FOLDER] [--windows 2468] [--characters 1118] [--concurrency 32]

Made windows of the corpus' number and median size go through drafting and the judge: rendered, asked of the loopback
endpoint (a process of its own), journalled with a sync, read back and counted. The endpoint answers every window with
one sound draft and one judgement, so the figures are those of this side of the wire, and none of a model. The bare loop
sends the same bodies over as many connections and keeps nothing: read the ratio, for seconds are noisy.
With --corpus the windows are cut from a checkout of Taiwan.md, reading and cutting timed apart; the one draft is then
written from none of them, and the judge's quotation is found in no window: every judgement is dropped, as it must be.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import aiohttp

from opentwbench.evaluation.client import Endpoint, Rates
from opentwbench.evaluation.journal import read_responses, write_run
from opentwbench.evaluation.runner import Tally, run
from opentwbench.formosa.asking import Ask
from opentwbench.formosa.corpus import read_folder
from opentwbench.formosa.drafting import collect, draft_ask
from opentwbench.formosa.grounding import ground, judge_ask, to_judge
from opentwbench.formosa.model import Window
from opentwbench.formosa.window_files import with_findings
from opentwbench.formosa.windows import cut
from samples.model_endpoint import ModelEndpoint

DRAFT = json.dumps(
    {
        "question": "某鎮每年三月舉辦哪一項活動？",
        "options": {"A": "花燈會", "B": "花季", "C": "市集", "D": "廟會"},
        "answer": "A",
        "quote": "每年三月舉辦花燈會",
    },
    ensure_ascii=False,
)
JUDGEMENT = json.dumps({"verdict": "approve", "reason": "supported", "quote": "每年三月舉辦花燈會"}, ensure_ascii=False)


def windows(number: int, characters: int) -> list[Window]:
    """Made windows: a sentence that the draft rests on, and filling."""
    found = []
    for n in range(number):
        text = (f"第{n}鎮每年三月舉辦花燈會。" + "鎮上的居民多以務農與漁業為生。" * characters)[:characters]
        place = f"Food/第{n}鎮"
        found.append(Window(f"{place}/{n:012x}", f"{place}.md", "Food", f"第{n}鎮", 0, len(text), text, "", "", ""))
    return found


def of_corpus(folder: Path) -> list[Window]:
    """The windows of a checkout."""
    return [window for article in read_folder(folder).articles for window in cut(article)]


def carry_out(ask: Ask, folder: Path, url: str, total: int, concurrency: int) -> float:
    """Seconds for all requests of a prompt."""
    write_run(folder, ask.record("2026-01-01T00:00:00+00:00", "bench"), ask.prompt)
    begun = time.perf_counter()
    outcome = asyncio.run(run(ask, folder, Endpoint(url), Rates(concurrency), Tally(total)))
    assert outcome.complete and outcome.asked == total, outcome
    return time.perf_counter() - begun


async def bare(payloads: Sequence[bytes], url: str, concurrency: int) -> float:
    """Seconds for the same bodies, replies parsed and dropped."""
    begun, waiting = time.perf_counter(), iter(payloads)
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=concurrency)) as session:

        async def work() -> None:
            for payload in waiting:
                async with session.post(f"{url}/chat/completions", data=payload, headers=headers) as answer:
                    json.loads(await answer.read())

        await asyncio.gather(*(work() for _ in range(concurrency)))
    return time.perf_counter() - begun


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, default=None)
    parser.add_argument("--windows", type=int, default=2_468)
    parser.add_argument("--characters", type=int, default=1_118)
    parser.add_argument("--concurrency", type=int, default=32)
    given = parser.parse_args()
    begun = time.perf_counter()
    made = of_corpus(given.corpus) if given.corpus else windows(given.windows, given.characters)
    print(f"{len(made):,} windows in {time.perf_counter() - begun:.1f} s")
    known = {window.window_id: window for window in made}
    with tempfile.TemporaryDirectory() as temporary, ModelEndpoint(reply=DRAFT) as endpoint:
        ask = draft_ask(made, "scripted")
        processor = time.process_time()
        seconds = carry_out(ask, Path(temporary) / "drafts", endpoint.base_url, len(made), given.concurrency)
        drafted = collect(read_responses(Path(temporary) / "drafts"), known)
        processor = time.process_time() - processor
        payloads = [question.payload for question in ask.questions()]
        loop = asyncio.run(bare(payloads, endpoint.base_url, given.concurrency))
        report("drafting", seconds, processor, len(drafted.drafts))
        print(f"bare loop: {loop:.1f} s; drafting takes {seconds / loop:.2f} times as long")
        endpoint.set(reply=JUDGEMENT)
        screened = [with_findings(draft, known[draft.window_id], {}) for draft in drafted.drafts]
        judging = judge_ask(to_judge(screened, known), "judge")
        processor = time.process_time()
        seconds = carry_out(judging, Path(temporary) / "judged", endpoint.base_url, len(screened), given.concurrency)
        replies = read_responses(Path(temporary) / "judged")
        found = ground(screened, replies, known, "judge", judging.protocol_id)
        report("judging", seconds, time.process_time() - processor, len(found.grounded) + len(found.dropped))
        print(f"grounded {len(found.grounded):,}, dropped {len(found.dropped):,}")
    print(f"largest resident size {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def report(what: str, seconds: float, processor: float, number: int) -> None:
    """One line of figures."""
    print(f"{what}: {number:,} in {seconds:.1f} s, {1000 * processor / max(1, number):.2f} ms of processor time each")


if __name__ == "__main__":
    main()
