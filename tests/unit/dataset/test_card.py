"""The card: complete tables, sums that a reader can add up, and nothing from outside that acts."""

from __future__ import annotations

import re

import pytest
import yaml
from support.datasets import hostile_rows, make_dataset, make_row, make_stats

from opentwbench.dataset.card import (
    FIELD_TEXTS,
    MAX_TABLE_ROWS,
    card,
    front_matter,
    markdown,
    size_category,
    yaml_string,
)
from opentwbench.dataset.contract import COLUMNS, INT_COLUMNS
from opentwbench.dataset.model import BuildStats, Dataset, StudyFigures
from opentwbench.dataset.study import CERTAIN, CHANCE
from opentwbench.dataset.terms import CHECKS, EXCLUSIONS, REJECTIONS
from opentwbench.exam.model import Exclusion, RejectionReason


def tables(text: str) -> list[list[list[str]]]:
    """Every table of a card as rows of cells, split at unescaped pipes only."""
    found: list[list[list[str]]] = []
    inside = False
    for line in text.split("\n"):
        if line.startswith("|"):
            if not inside:
                found.append([])
            found[-1].append([cell.strip() for cell in re.split(r"(?<!\\)\|", line.replace("\\\\", "\0"))[1:-1]])
        inside = line.startswith("|")
    return found


def table(text: str, head: str) -> list[list[str]]:
    (match,) = [t for t in tables(text) if t[0][0].startswith(head)]
    return match[2:]


def number(cell: str) -> int:
    return int(cell.strip("*").replace(",", ""))


def test_the_terms_are_exactly_the_exam_tracks_vocabulary() -> None:
    assert list(EXCLUSIONS) == [exclusion.value for exclusion in Exclusion]
    assert list(REJECTIONS) == [reason.value for reason in RejectionReason]


def test_every_table_is_rectangular(sound: Dataset) -> None:
    found = tables(card(sound, "0" * 12, 0))
    assert len(found) >= 11
    for rows in found:
        assert {len(row) for row in rows} == {len(rows[0])}, rows[0]


def test_the_sums_on_the_card_close(sound: Dataset) -> None:
    text = card(sound, "0" * 12, 0)
    for head, reasons in (("題目 Questions", EXCLUSIONS), ("試卷 Papers", REJECTIONS)):
        rows = table(text, head)
        assert sum(number(row[2]) for row in rows[:-1]) == number(rows[-1][2])
        assert {f"`{name}`" for name in reasons} <= {row[1] for row in rows}
    printed = {row[1]: number(row[2]) for row in table(text, "題目 Questions")}
    assert printed["`published`"] == 60
    assert printed["`folded`"] == 8
    assert printed["`figure`"] == 7
    for head in ("類科組別", "等級分類", "民國 ROC", "答案 Answer"):
        column = 2 if head == "民國 ROC" else 1
        assert sum(number(row[column]) for row in table(text, head)) == 60


def test_a_reason_without_words_is_shown_all_the_same(sound: Dataset) -> None:
    stats = BuildStats.from_json(
        sound.stats.to_json()
        | {"questions": {"printed": 5, "published": 0, "folded": 0, "no_subject": 0, "excluded": {"<b>new|": 5}}}
    )
    text = card(make_dataset(list(sound.rows), stats=stats), "0" * 12, 0)
    assert "&lt;b&gt;new\\|" in text
    assert "<b>" not in text


def test_both_agreement_figures_and_unapplied_lists_are_named(sound: Dataset) -> None:
    text = card(sound, "0" * 12, 0)
    assert "7 (87.5000%, 52.91%–97.76%)" in text
    assert "4 (80.0000%, 37.55%–96.38%)" in text
    assert "| 已收錄於 tw-legal-benchmark-v2 Already in tw-legal-benchmark-v2 | 未比對" in text
    assert "| 已收錄於 TMMLU+ Already in TMMLU+ | 22,000 |" in text


def test_study_figures_carry_their_interval(sound: Dataset) -> None:
    stats = BuildStats.from_json(sound.stats.to_json())
    studied = make_dataset(
        list(sound.rows),
        stats=BuildStats(
            **{
                **{f: getattr(stats, f) for f in stats.__slots__},
                "study": {"row_contract": StudyFigures(30, 30, 300, 0)},
            }
        ),
    )
    row = next(r for r in table(card(studied, "0" * 12, 0), "檢查 Check") if r[1] == "`row_contract`")
    assert row[3] == "0 / 300 (0.0%–1.3%)"
    assert row[2].startswith("30 / 30 (")
    assert len(table(card(sound, "0" * 12, 0), "檢查 Check")) == len(CHECKS)


def test_the_planted_defect_study_is_one_line_of_the_card(sound: Dataset) -> None:
    study = {CERTAIN: StudyFigures(4_000, 4_000, 300, 0), CHANCE: StudyFigures(500, 25, 300, 0)}
    studied = make_dataset(list(sound.rows), stats=make_stats(len(sound.rows), study=study))
    (line,) = [line for line in card(studied, "0" * 12, 0).split("\n") if line.startswith("植入缺陷研究")]
    for figures in ("4,000 / 4,000 (99.9%–100.0%)", "25 / 500 (3.4%–7.3%)", "0 / 300 (0.0%–1.3%)"):
        assert line.count(figures) == 2  # in Chinese and in English
    assert "植入缺陷研究" not in card(sound, "0" * 12, 0)


def test_the_front_matter_is_yaml_and_true(sound: Dataset) -> None:
    text = card(sound, "0" * 12, 0)
    assert text.startswith("---\n")
    head = yaml.safe_load(text.split("\n---\n")[0])
    assert head["license"] == "other"
    assert head["license_name"] == "ogdl-1.0"
    assert head["language"] == ["zh"]
    assert head["configs"][0]["data_files"] == [{"split": "test", "path": "benchmark.csv"}]
    assert head["configs"][0]["keep_default_na"] is False
    assert [f["name"] for f in head["dataset_info"]["features"]] == list(COLUMNS)
    assert {f["name"] for f in head["dataset_info"]["features"] if f["dtype"] == "int64"} == set(INT_COLUMNS)
    assert head["size_categories"] == ["n<1K"]
    assert list(FIELD_TEXTS) == list(COLUMNS)


@pytest.mark.parametrize(
    "name",
    ['a": b', "x\n---\ny: 1", "\u202eevil", "- item", "{{ 7 * 7 }}", "# not a comment", "\u2028", "\x85", "'", "é😀"],
)
def test_a_hostile_name_stays_one_string_of_the_front_matter(name: str) -> None:
    head = yaml.safe_load(front_matter(make_dataset([make_row(1)], name_en=name, field=name)))
    assert isinstance(head["pretty_name"], str)
    assert set(head) == set(yaml.safe_load(front_matter(make_dataset([make_row(1)]))))
    assert isinstance(head["tags"][-1], str)


def test_hostile_texts_act_nowhere_on_a_card() -> None:
    rows = hostile_rows()
    dataset = make_dataset(rows, name_en="<img src=x onerror=alert(1)> | `x`", name_zh="{{ 7*7 }}\n# 標題", field="a|b")
    text = card(dataset, "0" * 12, 0)
    body = text.split("\n---\n", 1)[1]
    assert len(table(text, "類科組別")) == len({row.subject_group for row in rows})
    for rows_ in tables(body):
        assert {len(row) for row in rows_} == {len(rows_[0])}
    assert "<script" not in body
    assert "<img" not in body
    assert "49" not in body.split("\n")[1]
    assert "\n# 標題" not in body
    assert not re.search("[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]", text)
    assert "長" * 250 not in text


@pytest.mark.parametrize(
    "text",
    [
        "https://evil.example/x",
        "www.evil.example",
        "mail@evil.example",
        "[x](javascript:1)",
        "![x](y)",
        "**b**",
        "<!--",
    ],
)
def test_no_outside_text_becomes_a_link_or_markup(text: str) -> None:
    shown = markdown(text)
    assert not re.search(r"https?:|www\.|\w@\w|(?<!\\)\[|(?<!\\)\*|<", shown)


def test_long_tables_are_bounded_with_their_sum() -> None:
    rows = [make_row(n, subject_group=f"類科{n}") for n in range(MAX_TABLE_ROWS + 30)]
    shown = table(card(make_dataset(rows), "0" * 12, 0), "類科組別")
    assert len(shown) == MAX_TABLE_ROWS + 1
    assert number(shown[-1][1]) == 30
    assert "30 more" in shown[-1][0]


def test_withdrawn_items_leave_the_scored_count(sound: Dataset) -> None:
    overview = tables(card(sound, "0" * 12, 3))[0]
    assert [row[1] for row in overview[2:4]] == ["60", "57"]


def test_no_rows_make_a_card_without_a_span() -> None:
    assert "| 年度 Years | — |" in card(make_dataset([]), "0" * 12, 0)


@pytest.mark.parametrize(
    ("items", "bracket"),
    [
        (0, "n<1K"),
        (999, "n<1K"),
        (1_000, "1K<n<10K"),
        (10_000, "10K<n<100K"),
        (255_854, "100K<n<1M"),
        (2_000_000, "1M<n<10M"),
    ],
)
def test_size_brackets(items: int, bracket: str) -> None:
    assert size_category(items) == bracket


def test_yaml_strings_are_bounded() -> None:
    assert len(yaml_string("長" * 10_000)) == 202
