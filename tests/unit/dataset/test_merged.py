"""Stems that hold a second question: each sign fires on its planted family and on no native."""

from __future__ import annotations

import pytest
from support.datasets import make_row

from opentwbench.dataset.merged import merged_stem

OPTIONS = {"A": "內政部", "B": "考選部", "C": "銓敘部", "D": "法務部"}
RUN = "(A)內政部 (B)考選部 (C)銓敘部 (D)法務部"
DOTS = "A.內政部 B.考選部 C.銓敘部 D.法務部"
WIDE = "（Ａ）內政部（Ｂ）考選部（Ｃ）銓敘部（Ｄ）法務部"
OTHER = {"A": "一年", "B": "二年", "C": "三年", "D": "四年"}

PLANTED = [
    *[
        ("option_run", f"國家考試由何機關辦理？{run}{seam}任期多長？", OTHER)
        for run in (RUN, DOTS, WIDE)
        for seam in ("", "\n", " 8 ", "\n8.", "8")
    ],
    ("option_run", f"下列何者辦理國家考試：{DOTS} 8 下列敘述何者正確", OTHER),
    ("option_run", f"下列何者辦理國家考試？{RUN} 8 其首長稱為：", OTHER),
    ("own_options", f"國家考試由何機關辦理 {RUN}", OPTIONS),
    ("own_options", f"國家考試由何機關辦理\n{DOTS}", OPTIONS),
    ("next_number", "國家考試由何機關辦理？8 主管機關的首長任期多長？", OTHER),
    ("next_number", "國家考試由何機關辦理？\n8. 主管機關的首長任期多長？", OTHER),
    ("next_number", "下列敘述何者正確： 8、首長任期為何", OTHER),
    ("asks_twice", "下列關於考試的敘述，何者正確？下列關於任期的敘述，何者錯誤？", OTHER),
    ("asks_twice", "下列何者為機關？下列何者為首長？", OTHER),
]

NATIVES = [
    "有下列四個步驟：(A)採樣 (B)前處理 (C)分析 (D)報告，其順序為何？",
    "下列步驟的順序為何？A.採樣 B.前處理 C.分析 D.報告",
    "將 A.採樣 B.前處理 C.分析 D.報告 依序排列，下列何者正確？",
    "甲問乙：「下列何者正確？」乙答：「下列何者都對嗎？」此段對話中，下列何者使用了反問？",
    "某機關有 8 名職員，其中 3 名請假，出勤率為多少？",
    "下列何者正確？①甲 ②乙 ③丙 ④丁",
    "依規定，申請人於第 8 日提出，下列何者正確？",
    "已知 x = 7，試問 8 x 的值為何？",
    "甲有 A、B、C、D 四筆土地，下列敘述何者錯誤？",
    "維生素 A. 與維生素 B. 何者為脂溶性？",
    "民國 8 年發生的事件為何？",
    "某生說：「為什麼？8 個人夠嗎？」這句話的語氣為何？",
    "下列何者為 (A) 型流感與 (B) 型流感的差別？",
    "程式碼 if (A) then (B) else (C) 執行後為何？",
    "下列何者非屬行政處分？",
    "實驗步驟為：(A)採樣 (B)前處理 (C)分析 (D)報告，其順序為何？",
    "下列何者正確？A.採樣 B.前處理 C.分析 D.報告",
    "若利率為 8%，複利現值為多少？",
]


@pytest.mark.parametrize(("sign", "stem", "options"), PLANTED)
def test_a_planted_second_question_is_seen(sign: str, stem: str, options: dict[str, str]) -> None:
    assert merged_stem(stem, options, 7) == sign


def test_the_families_cover_every_sign() -> None:
    assert {sign for sign, _, _ in PLANTED} == {"option_run", "own_options", "next_number", "asks_twice"}
    assert len(PLANTED) == 24


@pytest.mark.parametrize("stem", NATIVES)
def test_a_native_stem_stays(stem: str) -> None:
    assert merged_stem(stem, OPTIONS, 7) == ""


def test_natives_by_the_hundred_stay() -> None:
    """0 of 1,000: under 0.4 % with 95 % confidence."""
    rows = [make_row(n) for n in range(1_000)]
    assert [r for r in rows if merged_stem(r.question, {"A": r.A, "B": r.B, "C": r.C, "D": r.D}, r.q_no)] == []


def test_options_that_repeat_stem_words_without_markers_stay() -> None:
    assert merged_stem("甲、乙、丙、丁四人中，何者有理？", {"A": "甲", "B": "乙", "C": "丙", "D": "丁"}, 7) == ""


def test_a_long_hostile_stem_takes_no_long_time() -> None:
    """The patterns must not backtrack for ever on markers without an end."""
    for stem in (
        "下列" * 5_000,
        "(A)" * 5_000,
        "A." * 5_000,
        "(A)(B)(C)" * 2_000,
        "(A) (B) (C) (D) " * 1_000,
        "下列何者" * 4_000,
        "A." + " " * 15_000,
        "何者" * 5_000 + "8 中",
        "「" * 10_000,
        "?8 " * 3_000,
    ):
        assert merged_stem(stem, OPTIONS, 7) in ("", "next_number", "option_run")
