"""Generated items: number systems of the subject 計算機概要.

What belongs here: families whose answer is computed, so that the key cannot be wrong. Kept under a third of all items.
Numbers are spread by fixed steps, never drawn: the same items in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from samples.items import Item


def _choices(answer: int, show: Callable[[int], str], position: int, steps: tuple[int, int, int]) -> tuple[str, ...]:
    """Four distinct texts with the answer at `position`; the others are near misses."""
    texts = [show(answer + step) for step in steps]
    texts.insert(position, show(answer))
    if len(set(texts)) != 4:
        raise ValueError(f"options of {answer} are not distinct: {texts}")
    return tuple(texts)


def _family(name: str, count: int, number: Callable[[int], int], ask: Callable[[int], str], show: Callable[[int], str],
            steps: tuple[int, int, int]) -> Iterator[Item]:  # fmt: skip
    for i in range(count):
        value = number(i)
        # 0 3 1 2, 1 0 2 3, ...: every letter equally often, no run of one letter.
        position = (0, 3, 1, 2, 1, 0, 2, 3)[(i + len(name)) % 8]
        options = _choices(value, show, position, steps)
        yield Item(f"num-{name}-{i + 1:03d}", ask(value), options, "ABCD"[position])


def number_systems() -> tuple[Item, ...]:
    """72 items: conversions between bases 2, 8, 10 and 16, powers of two, two's complement."""
    items: list[Item] = []
    items += _family("bin", 16, lambda i: 19 + 13 * i, lambda n: f"將十進位數{n}轉換為二進位數，其結果為何？",
                     lambda n: f"{n:b}", (-2, 4, 1))  # fmt: skip
    items += _family("dec", 14, lambda i: 37 + 11 * i, lambda n: f"二進位數{n:b}轉換為十進位數，其值為何？",
                     str, (8, -1, 16))  # fmt: skip
    items += _family("hex", 14, lambda i: 90 + 23 * i, lambda n: f"將十進位數{n}以十六進位表示，其結果為何？",
                     lambda n: f"{n:X}", (1, 16, -16))  # fmt: skip
    items += _family("oct", 12, lambda i: 45 + 17 * i, lambda n: f"將十進位數{n}以八進位表示，其結果為何？",
                     lambda n: f"{n:o}", (8, -8, 1))  # fmt: skip
    items += _family("unhex", 10, lambda i: 171 + 29 * i, lambda n: f"十六進位數{n:X}換算為十進位數，其值為何？",
                     str, (-16, 16, 10))  # fmt: skip
    items += _family("twos", 6, lambda i: 5 + 9 * i,
                     lambda n: f"以8位元之2的補數表示法表示負整數，十進位數-{n}之內容為何？",
                     lambda n: f"{256 - n:08b}", (1, 2, -1))  # fmt: skip
    return tuple(items)
