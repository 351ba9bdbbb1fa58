"""What the fuzz tests found, each as an example that stays."""

from __future__ import annotations

from opentwbench.exam.layout import Page, Span, visual_lines


def span(x: float, base: float, size: float, text: str) -> Span:
    return Span(x, base - size, x + size * len(text), base, base, size, "F", text)


def test_small_type_that_is_set_off_from_small_type_alone_is_a_line() -> None:
    """A raised mark on a raised mark, beside no line's own type: nothing was there to attach it to (ValueError)."""
    line, raised, mark = span(50, 100, 12, "abc"), span(90, 95, 8, "n"), span(101, 92, 5, "2")
    page = Page(1, 595, 842, (line, raised, mark))
    lines = visual_lines(page)
    assert [each.text for each in lines] == ["2", "abcn"]
    assert visual_lines(Page(1, 595, 842, (line, raised)))[0].text == "abcn"
