"""Windows are runs of whole blocks; an id changes with its own text alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from opentwbench.formosa.corpus import read_article
from opentwbench.formosa.model import Article
from opentwbench.formosa.windows import LIMIT, MAX_BLOCK, TAIL, cut


def article(*paragraphs: str, path: str = "Food/甲.md") -> Article:
    made = read_article(path, "\n\n".join(paragraphs).encode(), "")
    assert isinstance(made, Article)
    return made


def lengths(*sizes: int, limit: int = 100, tail: int = 30) -> list[int]:
    made = article(*(chr(0x4E00 + place) * size for place, size in enumerate(sizes)))
    return [len(window.text) for window in cut(made, limit, tail)]


def test_known_packings() -> None:
    assert lengths(49, 49) == [100]  # 49 + 2 + 49 fills a window exactly
    assert lengths(50, 49) == [50, 49]
    assert lengths(150, 60) == [150, 60]  # never split
    assert lengths(90, 29) == [121]  # a tail under 30 is joined
    assert lengths(90, 30) == [90, 30]
    assert lengths(5) == [5]


def test_a_block_that_announces_the_next_stays_with_it() -> None:
    made = article("甲" * 60, "下列三種：", "- 乙" + "丙" * 80)
    assert [window.text[:4] for window in cut(made, 100, 10)] == ["甲甲甲甲", "下列三種"]
    assert [window.text[-1] for window in cut(article("甲" * 60, "乙："), 10, 0)] == ["甲", "："]  # nothing follows


def test_a_run_of_announcements_is_cut_before_it_is_too_long() -> None:
    """A thousand paragraphs that each end on a colon are no window of 100,000 characters."""
    made = article(*("甲" * 99 + "：" for _ in range(1_000)))
    windows = cut(made)
    assert "\n\n".join(window.text for window in windows) == made.text
    assert MAX_BLOCK - 102 < max(len(window.text) for window in windows) <= MAX_BLOCK + TAIL
    kept = article("乙" * (LIMIT - 3) + "：", "丙" * 900)
    assert len(cut(kept)) == 1  # what the snapshot has stays together


@given(st.lists(st.integers(1, 150), min_size=1, max_size=20))
def test_windows_hold_every_block_once_and_are_slices(sizes: list[int]) -> None:
    made = article(*("字" * size for size in sizes))
    windows = cut(made, 100, 30)
    assert "\n\n".join(window.text for window in windows) == made.text
    assert all(window.text == made.text[window.start : window.end] for window in windows)
    assert {window.start for window in windows} <= {start for start, _ in made.blocks}
    assert len({window.window_id for window in windows}) == len(windows)


def test_an_edit_changes_the_ids_of_touched_windows_alone() -> None:
    paragraphs = [chr(0x4E00 + place) * 90 for place in range(6)]
    before = [window.window_id for window in cut(article(*paragraphs), 100, 30)]
    paragraphs[2] = "改" * 85
    after = [window.window_id for window in cut(article(*paragraphs), 100, 30)]
    assert [place for place in range(6) if before[place] != after[place]] == [2]
    other = [window.window_id for window in cut(article(*paragraphs, path="Food/乙.md"), 100, 30)]
    assert not set(other) & set(after)
