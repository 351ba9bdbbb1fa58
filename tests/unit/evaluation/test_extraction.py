"""Extraction method by method, with a case for each pattern and for each public report, and hostile replies."""

from __future__ import annotations

import time

import pytest

from opentwbench.evaluation.extraction import GRADED, METHODS, ExtractionError, count_boxes, read
from opentwbench.evaluation.tolerant_box import MAX_BOX, outside_reasoning


def answers(method: str, *cases: tuple[str, str | None]) -> None:
    found = {content: read(method, content).answer for content, _ in cases}
    assert found == dict(cases)


# -- strict ----------------------------------------------------------------------------------------------------------


def test_strict_reads_the_first_box_and_no_other_wrapper() -> None:
    answers(
        "strict",
        (r"\boxed{A}", "A"),
        (r"\boxed{ b }", "B"),
        ("\\boxed{\n丙\n}", "C"),
        (r"\boxed{丁}", "D"),
        (r"答案 \boxed{A}，不，\boxed{B}", "A"),
        (r"\boxed{X} 再 \boxed{B}", "B"),
        (r"<think>\boxed{A}</think>\boxed{B}", "A"),
        (r"\boxed{\text{A}}", None),
        (r"\boxed{(A)}", None),
        (r"\boxed{A.}", None),
        (r"\boxed{Ａ}", None),
        (r"\boxed{E}", None),
        (r"\boxed{戊}", None),
        (r"\boxed {A}", None),
        (r"\boxed{A", None),
        (r"boxed{A}", None),
        (r"\box{A}", None),
        ("答案是 A", None),
    )


def test_strict_reads_no_separate_reasoning() -> None:
    assert read("strict", None, r"\boxed{A}").answer is None
    assert read("strict", "", None, r"\boxed{A}").rule == "empty"
    assert read("strict", "好", r"\boxed{A}").rule == "none"


# -- lenient ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "answer", "rule"),
    [
        (r"A. 但 \boxed{C}", "C", "box"),
        ("A) 因為", "A", "lead"),
        ("（B）因為", "B", "lead"),
        ("b. because", "B", "lead"),
        ("丙、因為", "C", "lead"),
        ("D：因為", "D", "lead"),
        ("\n  D。", "D", "lead"),
        ("A\n", "A", "lead"),
        ("答案：C", "C", "marked"),
        ("答案是 (C)", "C", "marked"),
        ("答案為（丙）", "C", "marked"),
        ("正確選項為B", "B", "marked"),
        ("正解：d", "D", "marked"),
        ("答 C", "C", "marked"),
        ("我選A", "A", "marked"),
        ("答案：A，更正答案：C", "A", "marked"),
        ("答案是：C", "C", "any"),  # two marks in a row are one too many for the published rule
        ("我選擇 B", "B", "any"),
        ("維生素 A 缺乏", "A", "any"),
        ("A", "A", "any"),
        ("The answer is C.", "C", "any"),
        ("DNA 與 RNA", None, "none"),
        ("答案：E", None, "none"),
        ("甲", None, "none"),
        ("Ａ", None, "none"),
        ("  \n", None, "empty"),
        (None, None, "empty"),
        (r"<think>\boxed{A}</think>答案：B", "B", "marked"),
        (r"<think>A</think>無", None, "none"),
        (r"\boxed{A}</think>", None, "none"),
        (r"<think>\boxed{A} 還沒想完", "A", "box"),
    ],
)
def test_lenient_rules_in_order(content: str | None, answer: str | None, rule: str) -> None:
    found = read("lenient", content)
    assert (found.answer, found.rule) == (answer, rule)


# -- Twinkle ---------------------------------------------------------------------------------------------------------


def test_twinkle_box_prefers_box_to_boxed_and_reads_any_capital() -> None:
    answers(
        "twinkle-box",
        (r"\boxed{A} 然後 \box{C}", "C"),
        (r"\\boxed{A}", "A"),
        (r"\boxed{W}", "W"),
        (r"\boxed{ A }", None),
        (r"\boxed{a}", None),
        (r"\boxed{Ａ}", None),
        (r"\fbox{A}", None),
        ("A", None),
    )


@pytest.mark.parametrize(
    ("content", "answer", "rule"),
    [
        ("A. x correct answer is:\n\n\nB.", "B", "correct-answer-is"),
        ("A. x correct answer is:\n\nB.", "B", "correct-answer-is"),
        ("A. x correct answer is:\nB.", "B", "correct-answer-is"),
        ("A. 正確的答案應該是: 第 B 項", "B", "should-be"),
        ("A. 正确的答案应该是: x B。", "B", "should-be"),
        ("A. 正確的選項應為: B", "B", "should-be"),
        ("A. 正确的选项应为: B", "B", "should-be"),
        ("正確的答案應該是: 無\nB.", "B", "letter-any"),
        ("正確的答案應該是: 無\n正確的答案應該是: B", "B", "should-be"),
        ("A. 正確的答案是（B）", "B", "correct-is"),
        ("A. 正确的答案是（B）", "B", "correct-is"),
        ("A. 答案應該是: 選項 B", "B", "answer-should-be"),
        ("A. 答案应该是:选项B", "B", "answer-should-be"),
        ("A. 答案是:選B", "B", "answer-is"),
        ("A. 答案是: 选项 B", "B", "answer-is"),
        ("A. 答案應為:B", "B", "answer-should-be"),
        ("A. 答案应为: B", "B", "answer-should-be"),
        ("A. 答案為:B", "B", "answer-wei"),
        ("A. 答案应为：B", "B", "answer-wei"),
        ("A. 答案為： B", "B", "answer-wei"),
        ("A. 正確答案為 **B**", "B", "answer-mark"),
        ("A. 正確答案為(B)", "B", "answer-mark"),
        ("A. 答案是 **B", "B", "answer-mark"),
        ("A. 答案 B 正確", "B", "answer-mark"),
        ("A. 選項 B 正確", "B", "answer-mark"),
        ("A. 所以答案為B", "B", "answer-mark"),
        ("A. 答案：(B)", "B", "answer-mark"),
        ("A. 答案:\nB", "B", "answer-mark"),
        ("A. 答案：B", "B", "answer-mark"),
        ("A. 答案B ", "B", "answer-mark"),
        ("選項B 和 A. x", "B", "start"),
        ("选项B 和 A. x", "B", "start"),
        ("選B 和 A. x", "B", "start"),
        ("选B 和 A. x", "B", "start"),
        ("xB. y", "B", "letter-any-space"),
        ("We say C", "W", "letter-any-space"),
        ("Which", "W", "letter-any"),
        ("C", None, "none"),
        ("無", None, "none"),
    ],
)
def test_twinkle_pattern_rules_in_order(content: str, answer: str | None, rule: str) -> None:
    found = read("twinkle-pattern", content)
    assert (found.answer, found.rule) == (answer, rule)


@pytest.mark.parametrize("method", ["twinkle-box", "twinkle-pattern"])
def test_the_text_that_twinkle_reads(method: str) -> None:
    def of(content: str | None, reasoning: str | None = None, reasoning_content: str | None = None) -> str | None:
        return read(method, content, reasoning, reasoning_content).answer

    box_a, box_b = r"\boxed{A}", r"\boxed{B}"
    assert of(f"<think>{box_a}</think>{box_b}") == "B"
    assert of(f"<THINK>{box_a}</Think>{box_b}") == "B"
    assert of(f"<think>x</think>{box_a}<think>y</think>{box_b}") == "B"
    assert of(f"{box_a}</think>{box_b}") == "A"  # a closing tag alone is not stripped
    assert of(None, box_a, box_b) == "A"
    assert of("", None, box_b) == "B"
    assert of("", "", box_b) is None  # an empty reasoning is there, so the other is not asked
    assert of("  ", box_a) is None  # white space is content
    assert of(f"<think>{box_a}</think>", box_b) == "B"


# -- tolerant-box ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "answer", "rule"),
    [
        (r"\boxed{A}", "A", "box"),
        (r"\boxed{Ａ}", "A", "box+wide"),
        (r"\boxed{ｂ}", "B", "box+wide"),
        (r"\boxed{\text{A}}", "A", "box+font"),
        (r"\boxed{\textbf{\mathrm{C}}}", "C", "box+font"),
        (r"\boxed{(A)}", "A", "box+bracket"),
        (r"\boxed{（Ｂ）}", "B", "box+bracket+wide"),
        (r"\boxed{\text{(C).}}", "C", "box+font+mark+bracket"),
        (r"\boxed{A.}", "A", "box+mark"),
        (r"\boxed{**B**}", "B", "box"),
        (r"\boxed{$D$}", "D", "box"),
        (r"\boxed{答案：D}", "D", "box+label"),
        (r"\boxed{選項 丙}", "C", "box+label"),
        (r"\boxed{C: 行政院}", "C", "box+text"),
        (r"\boxed{C 甲狀腺}", "C", "box+text"),
        (r"\boxed {A}", "A", "box"),
        (r"\boxed{A} 更正：\boxed{B}", "B", "box"),
        (r"<think>\boxed{A}</think>\boxed{B}", "B", "box"),
        (r"\boxed{B}<think>\boxed{A}</think>好", "B", "box"),
        (r"\boxed{A}</thinking>\boxed{B}", "B", "box"),
        (r"<|channel|>analysis<|message|>\boxed{A}<|end|><|channel|>final<|message|>\boxed{B}", "B", "box"),
        (r"<think>\boxed{A}", None, "none"),
        (r"<think>\boxed{A}</think>", None, "none"),
        (r"\boxed{A} 又 \boxed{A, C}", None, "none"),
        (r"\boxed{A、C}", None, "none"),
        (r"\boxed{A and B}", None, "none"),
        (r"\boxed{AC}", None, "none"),
        (r"\boxed{\text{E}}", None, "none"),
        (r"\boxed{選項}", None, "none"),
        (r"\boxed{}", None, "none"),
        (r"\boxed{A", None, "none"),
        (r"\boxed{以上皆是 A}", None, "none"),
        ("\\boxed{A " + "長" * MAX_BOX + "}", None, "none"),
        ("\\boxed{" + "(" * 20 + "A" + ")" * 20 + "}", None, "none"),
        ("答案：A", None, "none"),
        (r"\boxed{С}", None, "none"),  # Cyrillic
        ("", None, "empty"),
    ],
)
def test_tolerant_box(content: str, answer: str | None, rule: str) -> None:
    found = read("tolerant-box", content)
    assert (found.answer, found.rule) == (answer, rule)


def test_what_stands_outside_the_reasoning() -> None:
    assert outside_reasoning("a<think>b<think>c</think>d</think>e") == "ae"
    assert outside_reasoning("a</think>b<think>c") == "b"
    assert outside_reasoning("a<think>b</think>c</think>d") == "d"
    assert outside_reasoning("a<think x='1'>b</THINK>c<reasoning>d</reasoning>e") == "ace"
    assert outside_reasoning("1 < 2 and <b>bold</b>") == "1 < 2 and <b>bold</b>"


# -- reports from elsewhere ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("report", "content", "strict", "lenient", "tolerant"),
    [
        (3, "選 A", None, "A", None),
        (3, "我選擇 B", None, "B", None),
        (3, "應該選（C）", None, "C", None),
        (3, "本題答案為丁。", None, "D", None),
        (3, "綜上，正解為 B", None, "B", None),
        (5, r"<think>若是 \boxed{A} 則…</think>\boxed{B}", "A", "B", "B"),
        (5, r"<think>若是 \boxed{A} 則", "A", "A", None),
        (6, None, None, None, None),
        (8, "Answer: Let's think", None, None, None),
        (8, r"\boxed{L}", None, None, None),
        (11, "**B**", None, "B", None),
        (11, r"\boxed{(B)}", None, "B", "B"),
        (12, "None of the above", None, None, None),
        (12, "以上皆非，無法判斷。", None, None, None),
        (13, r"\boxed{A}，檢查後 \boxed{C}", "A", "A", "C"),
        (14, r"\boxed{\text{D}}", None, "D", "D"),
        (14, r"\boxed{D: 內容}", None, "D", "D"),
    ],
)
def test_public_reports(
    report: int, content: str | None, strict: str | None, lenient: str | None, tolerant: str | None
) -> None:
    found = tuple(read(method, content).answer for method in ("strict", "lenient", "tolerant-box"))
    assert found == (strict, lenient, tolerant), f"report {report}"


def test_only_letters_that_are_options_count() -> None:
    for method, spec in METHODS.items():
        for text in (r"\boxed{D}", "D. 內容", "答案：D "):
            found = read(method, text, letters="ABC").answer
            assert found is None or not spec.options_only, (method, text)
    assert read("strict", r"\boxed{戊}", letters="ABCDE").answer == "E"
    assert read("tolerant-box", r"\boxed{戊}", letters="ABCDE").answer == "E"


def test_the_board_until_october() -> None:
    assert read("box-else-pattern", r"\boxed{A} B. x") == read("strict", r"\boxed{A}")
    assert read("box-else-pattern", "維生素 A").rule == "any"
    assert "box-else-pattern" not in GRADED


def test_boxes_are_counted() -> None:
    assert count_boxes(None) == count_boxes("boxed") == count_boxes(r"\boxed{X}") == 0
    assert count_boxes(r"\boxed{A} \boxed{ 乙 } \boxed{\text{C}}") == 2


@pytest.mark.parametrize("letters", ["", "A", "BCD", "ABCDEF", "abcd", "A|B"])
def test_letters_that_are_no_options_are_refused(letters: str) -> None:
    for method in ("strict", "lenient", "tolerant-box"):
        with pytest.raises(ExtractionError, match="letters"):
            read(method, r"\boxed{A}", letters=letters)


def test_an_unknown_method_lists_those_there_are() -> None:
    with pytest.raises(ExtractionError, match="strict, lenient, tolerant-box"):
        read("stricter", "A")


# -- hostile replies -------------------------------------------------------------------------------------------------

PIECES = (
    "\\", "\\boxed{", "\\boxed{ ", "\\boxed   ", " ", "\n", "答", "答案", "答案: ", "選 ", "正確的答案應該是:",
    "正確的答案應該是:\n", "答案是: 選", "{", "<think>", "</think>", "<think ", "<think></think>\\boxed{", "(", "A",
    "İ", "<|channel|>final<|message|>",
)  # fmt: skip


def cost(method: str, text: str) -> float:
    """The best of three, in seconds of this process, so that a busy machine does not decide."""
    times = []
    for _ in range(3):
        start = time.process_time()
        read(method, text)
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize("method", METHODS)
def test_the_cost_of_a_hostile_reply_grows_in_step_with_its_length(method: str) -> None:
    """Eight times the length may cost 8 times, not 64 times: quadratic search would exceed the bound at once."""
    for prefix in ("", "\\boxed{", "答案"):
        for piece in PIECES:
            small, large = (prefix + piece * (size // len(piece)) for size in (25_000, 200_000))
            # Under 2 ms the clock says little, so small costs are not compared.
            assert cost(method, large) < 30 * max(cost(method, small), 0.002), (prefix, piece)


@pytest.mark.parametrize("method", METHODS)
def test_ten_megabytes_are_read(method: str) -> None:
    text = "正確的答案應該是:\\boxed{" * 400_000 + "\n\\boxed{B}"
    assert read(method, text).answer == "B"
