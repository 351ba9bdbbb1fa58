"""Twenty thousand generated replies, read by the real Twinkle Eval's own code and by our reproduction of it."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest
from support.twinkle import PROGRAM, need_twinkle

from opentwbench.evaluation.extraction import read

pytestmark = pytest.mark.twinkle

N = 20_000
SEED = 20261130

MARKS = (
    " ",
    "\n",
    "\r",
    "\u3000",
    ". ",
    "。",
    "(",
    ")",
    "（",
    "）",
    "**",
    "\\",
    "{",
    "}",
    "1",
    "_",
    "é",
    "dna",
    "甲",
    "Ａ",
    "İ",
)
BOXES = ("\\box{", "\\boxed{", "boxed{", "\\box{A}", "\\boxed{B}", "\\\\boxed{C}", "\\boxed{ D }", "\\boxed{x}")
PHRASES = (
    "correct answer is:", "正確的答案應該是:", "正确的答案应该是:", "正確的選項應為:", "正确的选项应为:",
    "正確的答案是（", "正确的答案是（", "答案應該是:", "答案应该是:", "答案是:", "答案應為:", "答案应为:", "答案為:",
    "答案应为：", "答案為：", "正確答案為(", "所以答案為", "答案：(", "答案:", "答案：", "答案", "選項", "选项", "選",
    "选", "項", "项",
)  # fmt: skip
PIECES = (*"ABCDWXcd", *MARKS, *BOXES, *PHRASES, "正確答案為 **", "答案是 **", "答案 ", " 正確", "選項 ")
TAGS = ("<think>", "</think>", "<THINK>", "</Think>", "<reason>", "</reason>", "<reasoning>", "</reasoning>")

THEIRS = """
import json, sys
from types import SimpleNamespace
from twinkle_eval.metrics.extractors.box import BoxExtractor
from twinkle_eval.metrics.extractors.pattern import PatternExtractor
from twinkle_eval.runners.evaluator import _get_reasoning_text, _strip_think_blocks
box, pattern = BoxExtractor(), PatternExtractor()
for line in sys.stdin:
    reply = json.loads(line)
    content = reply["content"]
    if content:
        content = _strip_think_blocks(content)
    text = content if content else _get_reasoning_text(SimpleNamespace(**reply))
    print(json.dumps([box.extract(text), pattern.extract(text)]))
"""


def replies() -> list[dict[str, str | None]]:
    """Replies put together from every piece that a rule of Twinkle looks at, tags and empty fields among them."""
    choice = random.Random(SEED)

    def text(pieces: tuple[str, ...], most: int) -> str:
        return "".join(choice.choice(pieces) for _ in range(choice.randint(1, most)))

    made: list[dict[str, str | None]] = []
    for n in range(N):
        reply: dict[str, str | None] = {"content": text(PIECES if n % 3 else PIECES + TAGS * 4, 9)}
        if n % 10 == 0:
            reply["content"] = choice.choice((None, "", " ", "<think>x</think>"))
        for name in ("reasoning", "reasoning_content"):
            reply[name] = choice.choice((None, "", text(PIECES + TAGS, 5)))
        made.append(reply)
    return made


def test_every_letter_is_the_real_ones(tmp_path: Path) -> None:
    need_twinkle()
    made = replies()
    lines = "".join(json.dumps(reply) + "\n" for reply in made)
    python = PROGRAM.with_name("python")
    done = subprocess.run(
        [python, "-c", THEIRS], input=lines, capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    theirs = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    ours = [
        tuple(
            read(method, reply["content"], reply["reasoning"], reply["reasoning_content"]).answer
            for method in ("twinkle-box", "twinkle-pattern")
        )
        for reply in made
    ]
    differing = [(reply, our, their) for reply, our, their in zip(made, ours, theirs, strict=True) if our != their]
    assert differing == []
    read_at_all = [sum(letters[n] is not None for letters in theirs) for n in (0, 1)]
    print(f"{N:,} replies: {read_at_all[0]:,} letters by box, {read_at_all[1]:,} by pattern, all as ours")
    assert read_at_all[0] > N // 100
    assert read_at_all[1] > N // 4
