"""The rendered messages byte by byte, the shuffle as a pure function of the stem, and what may never reach a prompt."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.datasets import make_row
from support.evaluation import make_item

from opentwbench.dataset.contract import COLUMNS, OPTION_COLUMNS
from opentwbench.evaluation.items import read_items
from opentwbench.evaluation.prompts import messages, option_order, original_letter, shown_letter
from opentwbench.evaluation.protocols import BOX, PATTERN, ProtocolError

ITEM = make_item(1, question="下列何者為{直轄市}？\n甲、乙", options={"A": "臺中", "B": "基隆", "C": "{A}", "D": "% s"})


def test_the_rendered_messages_are_golden() -> None:
    # The order comes from the reference below, so that the golden bytes are not the code's own answer.
    shown = published_shuffle(ITEM.question, dict(ITEM.options))
    assert "".join(letter for letter, _ in shown) == option_order(ITEM, BOX) == "DACB"
    system, user = messages(ITEM, BOX)
    assert system["role"] == "system"
    # sha256 of the published system prompt, computed from the facts on the protocol and not from the constant.
    assert hashlib.sha256(system["content"].encode()).hexdigest() == GOLDEN_SYSTEM
    assert user == {
        "role": "user",
        "content": "題目：下列何者為{直轄市}？\n甲、乙\nA. % s\nB. 臺中\nC. {A}\nD. 基隆",
    }
    assert messages(ITEM, PATTERN) == [
        {"role": "user", "content": "下列何者為{直轄市}？\n甲、乙\nA: 臺中\nB: 基隆\nC: {A}\nD: % s"}
    ]


GOLDEN_SYSTEM = "3f4246ce5935a136161746e598e1c5dcdf7c413b8e18b8461ed44217a13b07c6"


def published_shuffle(question: str, options: dict[str, str]) -> list[tuple[str, str]]:
    """The shuffle as the published protocol words it, over (letter, text) pairs."""
    pairs = [(letter, options[letter]) for letter in "ABCD"]
    digest = hashlib.sha256(question.encode("utf-8")).digest()
    random.Random(int.from_bytes(digest[:8], "big")).shuffle(pairs)
    return pairs


@given(st.text(st.characters(exclude_categories=["Cs"])), st.lists(st.text(), min_size=4, max_size=4))
def test_the_order_is_the_published_shuffle(question: str, texts: list[str]) -> None:
    item = make_item(0, question=question, options=dict(zip("ABCD", texts, strict=True)))
    pairs = published_shuffle(question, dict(item.options))
    assert option_order(item, BOX) == "".join(letter for letter, _ in pairs)
    assert option_order(item, PATTERN) == "ABCD"


def test_the_order_depends_on_the_stem_alone() -> None:
    items = [make_item(n) for n in range(300)]
    orders = {item.item_id: option_order(item, BOX) for item in items}
    kept = [item for n, item in enumerate(items) if n % 7]  # withdrawing some re-letters no other
    assert all(option_order(item, BOX) == orders[item.item_id] for item in reversed(kept))
    assert option_order(items[5], BOX.with_budget(99)) == orders[items[5].item_id]
    assert (
        option_order(make_item(5, options={"A": "x", "B": "x", "C": "y", "D": "z"}, key="D"), BOX)
        == orders[items[5].item_id]
    )


def test_keys_are_not_gathered_at_one_place() -> None:
    # Public report 25: one seed for all items puts the key at one place. Here the key is always the original A.
    places = [option_order(make_item(n, key="A"), BOX).index("A") for n in range(2_000)]
    assert all(400 < places.count(place) < 600 for place in range(4))


def test_no_column_but_stem_and_options_reaches_a_prompt(tmp_path: Path) -> None:
    """Sentinels in every column of the row and in columns that other data sets have: none is rendered."""
    row = make_row(1).to_json()
    shown = {"question", *OPTION_COLUMNS}
    sentinels = {column: f"SENTINEL-{column}" for column in COLUMNS if isinstance(row[column], str)}
    numbers = {column: 987_650_000 + n for n, column in enumerate(COLUMNS) if isinstance(row[column], int)}
    foreign = {name: f"SENTINEL-{name}" for name in ("E", "reference", "explanation", "context", "source_url", "gold")}
    record = {**row, **sentinels, **numbers, **foreign, "answer": "C", "item_id": "sentinel-0123456789ab"}
    (tmp_path / "benchmark.jsonl").write_text(json.dumps(record, ensure_ascii=False) + "\n")
    (item,) = read_items(tmp_path / "benchmark.jsonl", "sentinel-slug")
    for protocol in (BOX, PATTERN):
        rendered = json.dumps(messages(item, protocol), ensure_ascii=False)
        for column in shown:
            assert rendered.count(f"SENTINEL-{column}") == 1
        for column in set(record) - shown:
            value = str(record[column]) if column != "answer" else "answer"
            assert value not in rendered, column
        assert "sentinel-slug" not in rendered


def test_the_key_changes_no_byte_of_a_prompt() -> None:
    for n in range(50):
        rendered = {json.dumps(messages(make_item(n, key=key), BOX)) for key in "ABCD"}
        assert len(rendered) == 1


@pytest.mark.parametrize("order", ["ABC", "ABCDE", "AABC", "", "abcd", "甲乙丙丁"])
def test_an_order_that_is_no_permutation_is_refused(order: str) -> None:
    with pytest.raises(ProtocolError, match="permutation"):
        messages(ITEM, BOX, order)


def test_letters_are_carried_by_place() -> None:
    assert [original_letter(shown, "CABD") for shown in "ABCD"] == ["C", "A", "B", "D"]
    assert [shown_letter(original, "CABD") for original in "ABCD"] == ["B", "C", "A", "D"]
    assert original_letter("W", "CABD") is None
    assert original_letter("", "CABD") is None
    assert original_letter("AB", "ABCD") is None
    assert shown_letter("E", "CABD") is None
