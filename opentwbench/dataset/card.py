"""README.md of a data-set folder: the card that the Hub shows, Chinese and English side by side.

What belongs here: the figures of a card and the escaping of every text that came from outside.
What does not: the words of the card (templates/card.md.j2), the names of reasons (terms.py).
Every expression in the template is escaped for Markdown unless it was marked Trusted here; the front matter is JSON
strings, which are YAML. Nothing in a card depends on the clock. Source of the tables: the published card of
tw-roc-constitution-bench, in the terms of the design, section 3.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import jinja2

from opentwbench.dataset.contract import COLUMNS, INT_COLUMNS, ItemRow
from opentwbench.dataset.files import CSV_NAME
from opentwbench.dataset.model import Dataset, ListFigures, StudyFigures
from opentwbench.dataset.study import CERTAIN, CHANCE
from opentwbench.dataset.terms import CHECKS, EXCLUSIONS, REJECTIONS
from opentwbench.statistics.intervals import wilson

MAX_CELL = 200
"""Most characters of an outside text in a table cell."""

MAX_TABLE_ROWS = 200
"""Most categories or levels in a table; the rest becomes one row with its sum."""

LICENCE_LINK = "https://data.gov.tw/license"
"""The Open Government Data License, version 1.0."""

FIELD_TEXTS: dict[str, tuple[str, str]] = {
    "question": ("題幹", "Question stem"),
    "A": ("選項 A", "Text of option A"),
    "B": ("選項 B", "Text of option B"),
    "C": ("選項 C", "Text of option C"),
    "D": ("選項 D", "Text of option D"),
    "answer": ("標準答案的字母（A–D）", "Letter of the official answer (A–D)"),
    "subject": ("科目全名", "Full name of the examination subject"),
    "subject_group": ("類科組別", "Examination category"),
    "exam_level": ("等級分類", "Examination level"),
    "exam_name": ("考試名稱", "Official title of the examination"),
    "year_roc": ("考試年度（民國）", "Year of the examination (ROC calendar)"),
    "year_ce": ("考試年度（西元）", "Year of the examination (CE)"),
    "q_no": ("原試卷題號", "Question number on the original paper"),
    "paper_id": ("試卷識別碼：考試-類科-科目代碼", "Paper: codes of examination, category and subject"),
    "n_source_papers": ("刊登同一題的索引列數", "Index rows that published this item"),
    "item_id": ("題目識別碼，由內容雜湊而得", "Item id, a hash of the content"),
}


class Trusted(str):
    """Text written by this project or already escaped: printed as it is."""

    __slots__ = ()


# No outside text stands at the start of a line, so the marks of lists need no escape and names stay readable.
_MARKDOWN = {ord(c): f"\\{c}" for c in "\\`*_[]#|~$"} | {
    ord("&"): "&amp;",
    ord("<"): "&lt;",
    ord(">"): "&gt;",
    # Without a backslash escape in Markdown: entities keep bare addresses and mentions from becoming links.
    ord(":"): "&#58;",
    ord("@"): "&#64;",
    ord("."): "&#46;",
}


def _visible(char: str) -> str:
    category = unicodedata.category(char)
    if category in ("Zl", "Zp") or char in "\n\r\t":
        return " "
    # Control, format (text direction marks), surrogate, private-use and unassigned: named rather than acted on.
    return f"U+{ord(char):04X}" if category.startswith("C") else char


def markdown(text: str, limit: int = MAX_CELL) -> str:
    """A text from outside as one line of inert Markdown: bounded, no markup, no HTML, no link, no direction marks."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    shown = "".join(char if char.isprintable() else _visible(char) for char in cut)
    return shown.translate(_MARKDOWN)


def yaml_string(text: str, limit: int = MAX_CELL) -> str:
    """A text from outside as a YAML double-quoted scalar on one line (a JSON string, unprintable characters named)."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return json.dumps("".join(c if c.isprintable() else _visible(c) for c in cut), ensure_ascii=False)


def _finalize(value: object) -> object:
    if isinstance(value, (Trusted, int)):
        return value
    if isinstance(value, str):
        return markdown(value)
    raise TypeError(f"a card prints texts and counts, not {type(value).__name__}")


def _thousands(value: int) -> Trusted:
    return Trusted(f"{value:,}")


def _code(value: str) -> Trusted:
    return Trusted(f"`{value}`") if value.isascii() and value.replace("_", "").isalnum() else Trusted(markdown(value))


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("opentwbench.dataset", "templates"),
        undefined=jinja2.StrictUndefined,
        finalize=_finalize,
        autoescape=False,  # Markdown, not HTML: _finalize escapes every expression
        keep_trailing_newline=True,
    )
    environment.filters["count"] = _thousands
    environment.filters["code"] = _code
    return environment


def card(dataset: Dataset, version: str, withdrawn: int) -> str:
    """The README.md of a data set. `withdrawn` counts the withdrawals that name a published item."""
    template = _environment().get_template("card.md.j2")
    return template.render(_figures(dataset, version, withdrawn))


def _figures(dataset: Dataset, version: str, withdrawn: int) -> dict[str, Any]:
    rows, stats = dataset.rows, dataset.stats
    keys = stats.keys
    return {
        "front_matter": Trusted(front_matter(dataset)),
        "name_zh": dataset.name_zh,
        "name_en": dataset.name_en,
        "field": dataset.field,
        "slug": Trusted(dataset.slug),
        "version": Trusted(version),
        "location": Trusted(json.dumps(dataset.hub_repository or f"./{dataset.slug}")[1:-1]),
        "rows": len(rows),
        "scored": len(rows) - withdrawn,
        "withdrawn": withdrawn,
        "years_span": Trusted(_span(rows)),
        "papers": stats.papers,
        "questions": stats.questions,
        "keys": keys,
        "duplicates": stats.duplicates,
        "fields": [
            (Trusted(c), Trusted("int64" if c in INT_COLUMNS else "string"), *map(Trusted, FIELD_TEXTS[c]))
            for c in COLUMNS
        ],
        "categories": _table(row.subject_group for row in rows),
        "levels": _table(row.exam_level for row in rows),
        "years": sorted((roc, ce, n) for (roc, ce), n in Counter((r.year_roc, r.year_ce) for r in rows).items()),
        "exclusions": _reasons(EXCLUSIONS, stats.questions.excluded),
        "rejections": _reasons(REJECTIONS, stats.papers.rejected),
        "lists": [(*_term(EXCLUSIONS, n), _compared(lst)) for n, lst in sorted(stats.exclusion_lists.items())],
        "agreement": Trusted(_rate(keys.agreeing, keys.groups)),
        "independent_agreement": Trusted(_rate(keys.independent_agreeing, keys.independent_groups)),
        "conflicts": keys.groups - keys.agreeing,
        "reprinted": sum(row.n_source_papers > 1 for row in rows),
        "answers": _answers(rows),
        "checks": [_check(name, stats.study.get(name)) for name in CHECKS],
        "study": [_share(s.caught, s.planted) for name in (CERTAIN, CHANCE) if (s := stats.study.get(name))],
        "study_alarms": [_share(s.false_alarms, s.native) for s in [stats.study.get(CERTAIN)] if s],
        "cite_key": Trusted(dataset.slug.replace("-", "_")),
        "cite_title": Trusted(_bibtex(f"{dataset.name_en} ({dataset.name_zh}), OpenTWBench")),
    }


def front_matter(dataset: Dataset) -> str:
    """The YAML between the two rules of a card, without them.

    No `splits` entry: the Hub's reader wants a byte count of its own making there and drops the entry without it.
    `data_files` and the string features keep loaders from guessing, and `keep_default_na: false` keeps None, null and
    NA the texts they are (huggingface/datasets issue 4467).
    """
    features = "\n".join(
        f"  - name: {column}\n    dtype: {'int64' if column in INT_COLUMNS else 'string'}" for column in COLUMNS
    )
    return f"""language:
- zh
language_bcp47:
- zh-Hant-TW
license: other
license_name: ogdl-1.0
license_link: {LICENCE_LINK}
pretty_name: {yaml_string(f"{dataset.name_en} ({dataset.name_zh})")}
task_categories:
- multiple-choice
- question-answering
task_ids:
- multiple-choice-qa
multilinguality:
- monolingual
size_categories:
- {size_category(len(dataset.rows))}
annotations_creators:
- expert-generated
source_datasets:
- original
tags:
- taiwan
- traditional-chinese
- national-examination
- opentwbench
- {yaml_string(dataset.field)}
configs:
- config_name: default
  default: true
  data_files:
  - split: test
    path: {CSV_NAME}
  keep_default_na: false
dataset_info:
  config_name: default
  features:
{features}"""


def size_category(items: int) -> str:
    """The Hub's size bracket of a number of rows."""
    for bound, name in ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M")):
        if items < bound:
            return name
    return "1M<n<10M"


def _span(rows: Sequence[ItemRow]) -> str:
    if not rows:
        return "—"
    first, last = min(row.year_ce for row in rows), max(row.year_ce for row in rows)
    return str(first) if first == last else f"{first}–{last}"


def _table(labels: Iterable[str]) -> list[tuple[str, int]]:
    counted = sorted(Counter(labels).items(), key=lambda pair: (-pair[1], pair[0]))
    shown, rest = counted[:MAX_TABLE_ROWS], counted[MAX_TABLE_ROWS:]
    if rest:
        shown.append((f"其餘 {len(rest)} 項 and {len(rest)} more", sum(n for _, n in rest)))
    return shown


def _term(terms: Mapping[str, tuple[str, str]], name: str) -> tuple[str, str]:
    # Project words may hold punctuation that is markup in a foreign text; a name without words is shown, escaped.
    return (Trusted(terms[name][0]), Trusted(terms[name][1])) if name in terms else (name, Trusted(""))


def _reasons(terms: Mapping[str, tuple[str, str]], counts: Mapping[str, int]) -> list[tuple[str, str, str, int]]:
    """Every known reason in its order, zero or not, then any that has a count and no words."""
    names = [*terms, *sorted(set(counts) - set(terms))]
    return [(name, *_term(terms, name), counts.get(name, 0)) for name in names]


def _compared(figures: ListFigures) -> Trusted:
    return Trusted(
        f"{figures.entries:,}" if figures.applied else "未比對：沒有清單 **not applied**: no list was given or found"
    )


def _rate(agreeing: int, groups: int) -> str:
    if not groups or agreeing > groups:  # impossible figures are for key_consistency to block
        return ""
    interval = wilson(agreeing, groups)
    return f" ({agreeing / groups:.4%}, {interval.low:.2%}–{interval.high:.2%})"


def _answers(rows: Sequence[ItemRow]) -> list[tuple[str, int, str]]:
    counted = Counter(row.answer for row in rows)
    return [(Trusted(a), counted[a], Trusted(f"{counted[a] / len(rows):.1%}" if rows else "—")) for a in "ABCD"]


def _check(name: str, study: StudyFigures | None) -> tuple[str, str, str, str, str]:
    zh, en = (Trusted(word) for word in CHECKS[name])
    if study is None:
        return zh, en, name, Trusted("—"), Trusted("—")
    return zh, en, name, _share(study.caught, study.planted), _share(study.false_alarms, study.native)


def _share(hits: int, trials: int) -> Trusted:
    """A count with its interval: 0 of 300 is under 1.3 %, not zero."""
    return Trusted(f"{hits:,} / {trials:,} ({wilson(hits, trials).shown()})")


def _bibtex(text: str) -> str:
    # Inside a fenced block and a quoted field: back quotes, quotes and braces would end one of them;
    # angle brackets are taken out because not every reader of a card honours the fence.
    cleaned = "".join(" " if not c.isprintable() or c in '{}<>"\\`' else c for c in text)
    return cleaned[:MAX_CELL]
