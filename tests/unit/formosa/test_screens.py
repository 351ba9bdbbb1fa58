"""Every screen fires on its planted defect and is silent on sound drafts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opentwbench.formosa.folding import fold, stands_in
from opentwbench.formosa.model import Caution, Draft, Exclusion, Window
from opentwbench.formosa.orthography import OWN, mainland, simplified, slips
from opentwbench.formosa.screens import SCREENS, baselines, screen, screen_all

WINDOW = Window(
    "Food/甲/0123456789ab",
    "Food/甲.md",
    "Food",
    "甲",
    0,
    9,
    "臺南的碗粿鋪開業於一九四七年，共有十六家分店。",
    "",
    "",
    "",
)
SOUND = Draft(
    WINDOW.window_id,
    "台南哪一種米食以碗盛裝蒸熟？",
    {"A": "碗粿", "B": "肉圓", "C": "米糕", "D": "粽子"},
    "A",
    "",
    "model",
    "prompt",
)
YEARS = {"A": "1947 年", "B": "1950 年", "C": "1960 年", "D": "1970 年"}


def options(*texts: str) -> dict[str, str]:
    return dict(zip("ABCD", texts, strict=False))


PLANTED = [
    (Exclusion.OPTIONS_MALFORMED, {"options": options("碗粿", "肉圓", "米糕")}),
    (Exclusion.OPTIONS_MALFORMED, {"options": options("碗粿", " ", "米糕", "粽子")}),
    (Exclusion.OPTIONS_MALFORMED, {"key": "E"}),
    (Exclusion.OPTIONS_NOT_DISTINCT, {"options": options("臺北", "台北", "米糕", "粽子")}),
    (Exclusion.OPTIONS_NOT_DISTINCT, {"options": options("16家", "十六家", "20家", "30家")}),
    (Exclusion.OPTIONS_COMBINED, {"options": options("碗粿", "肉圓", "米糕", "以上皆是")}),
    (Exclusion.OPTIONS_COMBINED, {"options": options("碗粿", "肉圓", "米糕", "皆非")}),
    (Exclusion.OPTIONS_COMBINED, {"options": options("碗粿", "肉圓", "米糕", "A與B")}),
    (Exclusion.OPTIONS_MIXED, {"options": options("1947 年", "肉圓", "米糕", "粽子")}),
    (Exclusion.OPTIONS_MIXED, {"options": options("Wagui", "肉圓", "米糕", "粽子")}),
    (Exclusion.STEM_MALFORMED, {"stem": " "}),
    (Exclusion.STEM_MALFORMED, {"stem": "台南的米食以碗盛裝蒸熟。"}),
    (Exclusion.NOT_SELF_CONTAINED, {"stem": "他在哪一年開店？"}),
    (Exclusion.NOT_SELF_CONTAINED, {"stem": "這家店位於何處？"}),
    (Exclusion.NOT_SELF_CONTAINED, {"stem": "根據本文，台南有哪一種米食？"}),
    (Exclusion.NOT_SELF_CONTAINED, {"stem": "上述米食為何？"}),
    (Exclusion.NOT_SELF_CONTAINED, {"stem": "關於米食，作者認為何者正確？"}),
    (Exclusion.DOCUMENT_LOCAL, {"stem": "關於台南的「30 秒概覽」提到哪一種米食？"}),
    (Exclusion.DOCUMENT_LOCAL, {"stem": "Taiwan.md 收錄的台南米食是哪一種？"}),
    (Exclusion.ANSWER_IN_STEM, {"stem": "台南的碗粿是哪一種米食？"}),
    (Exclusion.SIMPLIFIED_ONLY, {"stem": "台南哪一種米食为碗盛裝？"}),
    (Exclusion.MAINLAND_TERM, {"stem": "台南哪一種軟件用來叫車？"}),
]

NATIVE = [
    {},
    {"stem": "那瑪夏區位於哪一個直轄市？"},
    {"stem": "其中以碗盛裝的台南米食是哪一種？"},
    {"stem": "《千江有水千江月》的作者是誰？"},
    {"stem": "台灣的中文中，哪一個詞指碗盛的米食？"},
    {"stem": "台南的碗粿和肉圓之中，何者以碗盛裝？"},  # two options in the stem give nothing away
    {"stem": "「視頻」一詞在台灣通常稱為什麼？"},
    {"stem": "台灣的電視頻道由哪個機關核發執照？"},
    {"options": YEARS},
    {"options": options("16家", "160家", "20家", "30家")},
    {"options": options("A 型", "B 型", "O 型", "AB 型")},
]


@pytest.mark.parametrize(("exclusion", "damage"), PLANTED)
def test_a_planted_defect_is_seen_by_its_own_screen(exclusion: Exclusion, damage: dict[str, object]) -> None:
    screened = screen(replace(SOUND, **damage), WINDOW, OWN)
    assert exclusion in [finding.exclusion for finding in screened.findings]
    assert all(finding.evidence for finding in screened.findings)


@pytest.mark.parametrize("change", NATIVE)
def test_a_sound_draft_passes(change: dict[str, object]) -> None:
    assert screen(replace(SOUND, **change), WINDOW, OWN).findings == ()


def test_every_screen_has_a_planted_defect() -> None:
    assert set(SCREENS) <= {exclusion for exclusion, _ in PLANTED}


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("台１６　家", "臺16家"),
        ("十六", "16"),
        ("二十", "20"),
        ("一百零三", "103"),
        ("二〇一六年", "2016年"),
        ("1,180 字", "1180字"),
    ],
)
def test_fold(text: str, folded: str) -> None:
    assert fold(text) == folded


@pytest.mark.parametrize(
    ("answer", "stands"),
    [
        ("台南", True),
        ("16家", True),
        ("十六", True),
        ("6", False),
        ("1947 年", True),
        ("194", False),
        ("嘉義", False),
        ("", False),
    ],
)
def test_an_answer_stands_in_its_window_under_folding(answer: str, stands: bool) -> None:
    assert stands_in(answer, WINDOW.text) is stands


def test_an_answer_outside_its_window_needs_a_quotation() -> None:
    absent = replace(SOUND, options=options("米苔目", "肉圓", "米糕", "粽子"))
    assert screen(absent, WINDOW, OWN).needs_quote
    assert not screen(SOUND, WINDOW, OWN).needs_quote


def test_cautions_are_kept_and_exclude_nothing() -> None:
    draft = replace(SOUND, stem="「軟件」在台灣的網絡上稱為什麼？", quote="不在窗裡的一句。")
    seen = screen(draft, WINDOW, OWN)
    assert seen.findings == ()
    assert {notice.caution for notice in seen.notices} == {
        Caution.MAINLAND_ALLOWED,
        Caution.MAINLAND_WARNING,
        Caution.NO_WINDOW_TEXT,
    }


def test_near_duplicates_and_unknown_windows() -> None:
    other = replace(WINDOW, window_id="Food/乙/0123456789ab")
    windows = {each.window_id: each for each in (WINDOW, other)}
    twin = replace(SOUND, window_id=other.window_id, stem="臺南哪一種米食以碗盛裝、蒸熟？")
    unlike = replace(SOUND, window_id=other.window_id, stem="哪一種小吃在日治時期的府城街頭以扁擔叫賣？")
    lost = replace(SOUND, window_id="Food/丙/0")
    buckets = [each.bucket for each in screen_all([SOUND, twin, unlike, lost], windows, OWN)]
    assert buckets == [None, Exclusion.NEAR_DUPLICATE, None, Exclusion.UNKNOWN_WINDOW]


def test_the_permutation_takes_the_position_shortcut_away() -> None:
    drafts = [replace(SOUND, window_id=f"Food/甲/{number:012x}") for number in range(400)]
    before, after = baselines(drafts), baselines(drafts, permute=True)
    assert before["always_a"].right == 400
    assert after["always_a"].interval.low < 0.25 < after["always_a"].interval.high
    assert before["pick_longest"].right == after["pick_longest"].right == 100  # four options of one length


def test_contexts_of_the_orthography_screens() -> None:
    traps = OWN.__class__(frozenset("灯个"), {"視頻": (), "算法": (), "博客": (), "初中": ()})
    assert slips("王添灯的電視頻道與演算法，在博客來，當初中華電信", traps) == []
    assert slips("電灯與視頻算法", traps) == ["灯", "視頻", "算法"]
    assert [hit.allowed for hit in mainland("「算法」", traps)] == ["「算法」"]
    assert [hit.allowed for hit in simplified("王添灯", traps)] == ["王添灯"]


FIGURES = (
    "1947 年",
    "16 家",
    "約 20%",
    "民國 38 年",
    "三千九百五十二公尺",
    "十六",
    "1990年代",
    "10月25日",
    "3.5 萬人",
    "第 12 屆",
    "80~90 公分",
)
NAMES = (
    "十三行",
    "六祖壇經",
    "七星潭",
    "三分鐘看診",
    "一府二鹿三艋舺",
    "五月天",
    "九彎十八拐",
    "兩岸服務貿易協議",
    "十二夜",
    "921 地震",
)


@pytest.mark.parametrize("text", FIGURES)
def test_a_figure_among_names_is_found_without_knowing_anything(text: str) -> None:
    draft = replace(SOUND, options=options(text, "肉圓", "米糕", "粽子"))
    assert SCREENS[Exclusion.OPTIONS_MIXED](draft, WINDOW) == "key is a figure, others are Chinese"


@pytest.mark.parametrize("text", NAMES)
def test_a_name_that_begins_with_a_numeral_is_no_figure(text: str) -> None:
    draft = replace(SOUND, options=options(text, "肉圓", "米糕", "粽子"))
    assert SCREENS[Exclusion.OPTIONS_MIXED](draft, WINDOW) == ""


def test_a_long_run_of_digits_and_units_is_read_in_little_time() -> None:
    for text in ("1" * 4_000 + "x", "1個月" * 2_000 + "x", "1-" * 2_000 + "x", "約" * 4_000):
        assert SCREENS[Exclusion.OPTIONS_MIXED](replace(SOUND, options=options(text, "甲", "乙", "丙")), WINDOW) == (
            "" if "月" in text or "約" in text else "key is Latin, others are Chinese"
        )


@pytest.mark.parametrize("text", ["《帝國主義下の台湾》", "片名《天空からの招待状》", "「台湾のお茶」"])
def test_a_quoted_japanese_title_may_hold_its_own_characters(text: str) -> None:
    lexicon = replace(OWN, simplified=frozenset("湾状"))
    assert slips(text, lexicon) == [] and simplified(text, lexicon)[0].allowed in text


@pytest.mark.parametrize(
    "text", ["《台湾通史》", "お茶與台湾", "《お茶》在台湾《史》", "「台湾作家」", f"《の{'一' * 60}湾》"]
)
def test_a_title_without_kana_is_no_japanese_one(text: str) -> None:
    assert slips(text, replace(OWN, simplified=frozenset("湾"))) == ["湾"]
