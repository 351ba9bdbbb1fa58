"""The closed vocabularies of the mart in the site's two languages; running text stands in the templates.

What belongs here: names of benchmarks, fields, outcomes, errors, methods and reasons. What does not: reasons of
exclusion and rejection, whose words are the cards' (dataset/terms.py). A word that is not known is shown as it is.
"""

from __future__ import annotations

from typing import NamedTuple

from opentwbench.apparatus import figures
from opentwbench.apparatus.two_axes import ABOVE, TOP


class Both(NamedTuple):
    """One text in 繁體中文 and English."""

    zh: str
    en: str


LANGUAGES = {"zh": "zh-Hant-TW", "en": "en"}
"""Folder of a language -> what `lang` says."""

NAMES = {"zh": "繁體中文", "en": "English"}

BENCHMARKS = {name: Both(of.zh, of.en) for name, of in figures.BENCHMARKS.items()}

AXES = {"exam": "exam", "exam_sample": "exam"}
"""Benchmark -> the axis that it measures, where that is not its own: a sample and all items are one axis."""

BENCHMARK_ORDER = ("exam_sample", "exam", "formosa", "rag")
"""The order of boards; the first that has a complete run opens the site."""

FORMOSA = "tw-formosa-bench"
"""Formosa's data set, which is no subject of the register."""
OTHER_TRACKS = ("formosa", "rag")
"""What stands in the place of a field for items of no examination: the benchmark that asks them."""

DATA_SETS = {FORMOSA: Both("認識臺灣", "Everyday Taiwan"), "tw-rag-bench": Both("檢索題", "Retrieval")}

FIELDS = {
    "accounting": Both("會計", "Accounting"),
    "allied-health": Both("醫事檢驗與放射", "Allied health"),
    "chinese-medicine": Both("中醫", "Chinese medicine"),
    "civics": Both("憲法與公民", "Civics"),
    "education-culture": Both("教育與文化", "Education and culture"),
    "engineering": Both("工程", "Engineering"),
    "finance": Both("財政與金融", "Finance"),
    "human-services": Both("社會與人群服務", "Human services"),
    "land": Both("地政", "Land administration"),
    "language": Both("國文", "Language"),
    "law": Both("法律", "Law"),
    "medicine": Both("醫學", "Medicine"),
    "nursing": Both("護理", "Nursing"),
    "pharmacy": Both("藥學", "Pharmacy"),
    "public-administration": Both("公共行政", "Public administration"),
    "public-safety": Both("公共安全", "Public safety"),
    "rehabilitation": Both("復健", "Rehabilitation"),
    "transportation": Both("交通", "Transportation"),
    "veterinary": Both("獸醫", "Veterinary medicine"),
    "formosa": Both("認識臺灣", "Everyday Taiwan"),
    "rag": Both("檢索題（附段落）", "Retrieval, with passages"),
    "": Both("未分類", "Without a field"),
}

OUTCOMES = {
    "unparsed": Both("讀不到答案", "No answer read"),
    "refused": Both("拒答", "Declined"),
    "empty": Both("空白回覆", "Empty reply"),
    "capped": Both("超出長度上限", "Cut by the token budget"),
    "error": Both("請求失敗", "Request failed"),
}

ERRORS = {
    "": Both("有回覆", "A reply"),
    "transport": Both("連線中斷", "Connection lost"),
    "timeout": Both("逾時", "Timed out"),
    "rate_limited": Both("超過速率限制", "Rate limit"),
    "server": Both("伺服器錯誤", "Server error"),
    "context_overflow": Both("超出上下文長度", "Context too long"),
    "unreadable": Both("回覆無法判讀", "Unreadable answer"),
}

METHODS = {
    "strict": Both("嚴格（第一個 \\boxed{}）", "strict (the first \\boxed{})"),
    "lenient": Both("寬鬆", "lenient"),
    "tolerant-box": Both("寬容方框", "tolerant box"),
    "twinkle-box": Both("Twinkle 方框", "Twinkle box"),
    "twinkle-pattern": Both("Twinkle 樣式比對", "Twinkle pattern"),
}

PRECISIONS = {
    "native": Both("原始精度", "native"),
    "quantised": Both("量化", "quantised"),
    "unknown": Both("精度不明", "precision unknown"),
}

REMOVALS = {
    "folded": Both("併入重刊題", "Folded into a reprint"),
    "excluded": Both("依規則排除", "Excluded by a rule"),
    "retexted": Both("題文重讀，改用新識別碼", "Read otherwise now, under a new id"),
    "row_gone": Both("索引列消失", "Its index row is gone"),
    "paper_rejected": Both("試卷被退回", "Its paper is rejected"),
    "not_printed": Both("試卷上不再有此題", "No longer printed on its paper"),
}

WITHDRAWALS = {
    "needs_figure": Both("需要看圖", "Needs a figure"),
    "needs_table": Both("需要看表", "Needs a table"),
    "needs_passage": Both("需要另附的文章", "Needs a passage"),
    "needs_earlier_question": Both("需要前一題", "Needs an earlier question"),
    "text_damaged": Both("題文受損", "Its text is damaged"),
    "key_in_doubt": Both("答案有疑義", "Its key is in doubt"),
    "several_answers_hold": Both("不只一個答案成立", "Several answers hold"),
    "law_changed": Both(
        "法規已修正，考試當日的答案今日不再正確", "The law changed: its key was right on the day of the sitting"
    ),
    "maintainer_excluded": Both("維護者排除（附證據）", "Excluded by a maintainer, with evidence"),
}
"""Reasons of withdrawals; a list that is written by hand may give another, which is shown as it is."""

STANDINGS = {
    "shown": Both("列於榜上", "shown"),
    "no graded response": Both("沒有可評分的回覆", "no graded response"),
    "another run of this cell is complete or later": Both(
        "同一欄位另有完整或較新的執行", "another run of this cell is complete or later"
    ),
}

SCOPES = {
    "all": Both("全部模型", "all models"),
    f"top_{TOP}": Both(f"前 {TOP} 名", f"the top {TOP}"),
    "above_threshold": Both(f"第一軸 {ABOVE:.0%} 以上", f"{ABOVE:.0%} or more on the first axis"),
}

SIZES = (
    ("xs", 4.0, Both("4B 以下", "up to 4B")),
    ("s", 15.0, Both("4B 至 15B", "4B to 15B")),
    ("m", 80.0, Both("15B 至 80B", "15B to 80B")),
    ("l", float("inf"), Both("80B 以上", "over 80B")),
)
"""Classes of size: key, parameters (thousand millions) up to and including which a model belongs to it, name.

15 and 80 stand where models in use are few, so that no common size lies at a border."""


def size_class(billions: float | None) -> str:
    """The key of the class, '' for a model whose size is not stated."""
    return "" if billions is None else next(key for key, most, _ in SIZES if billions <= most)


def word(table: dict[str, Both], name: str, lang: str) -> str:
    """The name in a language; a name that is not in the table as it is."""
    found = table.get(name)
    return name if found is None else (found.zh if lang == "zh" else found.en)
