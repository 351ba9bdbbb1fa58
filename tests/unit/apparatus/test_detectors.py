"""Study 10's detectors: planted failures that must be found, native text that must not, with counts of both."""

from __future__ import annotations

import time

import pytest

from opentwbench.apparatus.detectors import DETECTORS, SIMPLIFIED, each, glyphs, minguo, romanised, simplified, visible

CHINESE = "依當時的規定與慣例判斷，此人任內"

PLANTED = {
    "minguo": [
        "民國87年（1997年）",
        "民國 38 年（西元 1950 年）遷臺",
        "民國38年(1950)",
        "民國八十八年（1998年）",
        "民國一百一十年（2020年）",
        "民國元年（1911年）",
        "民國一〇一年（2013年）",
        "民國前3年（1908年）",
        "1999年（民國87年）",
        "（西元 2000 年（民國 88 年））",
        "民國87年6月1日（1997年6月1日）",
        "民國 100 年即西元 2010 年",
        "民國100年等於公元2012年",
        "西元1949年是民國37年",
        "換算：108 + 1911 = 2020",
        "2019 - 1911 = 109",
    ],
    "glyphs": [
        "此為\ue2cc疹",
        "字形\uf8ff不存在",
        "補充平面\U000f0001",
        "亂碼\ufffd\ufffd",
        "寫作⿰氵每",
        "未定\u0378義",
        "\U0010fffd",
    ],
    "simplified": [
        "根据规定应该选择",
        "这个问题",
        "选项說明：法國的国會",
        "台湾的历史",
        "他说：「對」",
        "实",
    ],
    "romanised": [
        f"{CHINESE} Tsai Ing-wen 的政策",
        f"{CHINESE}Lee Teng-hui 是總統",
        f"{CHINESE}，由 Zhang Wei 擔任",
        f"{CHINESE}由 Ing-wen Tsai 宣布",
        f"{CHINESE}Sun Yat-sen 領導革命",
        f"{CHINESE}Ma Ying-jeou、Chiang Kai-shek",
        f"{CHINESE}Chen Shui-bian。",
        f"{CHINESE} Wang Xiaoming 答題",
    ],
}
NATIVE = {
    "minguo": [
        "民國87年（1998年）修正公布",
        "民國 38 年（西元 1949 年）",
        "民國八十八年（1999年）、民國一百一十年（2021年）",
        "民國元年（1912年）",
        "民國前3年（1909年）",
        "民國10年（1921年）",
        "民國一〇一年（2012年）",
        "1998年（民國87年）",
        "民國 100 年即西元 2011 年",
        "108 + 1911 = 2019，2019 - 1911 = 108",
        "民國87年與1999年",
        "民國87年起（共1999件）",
        "民國80至90年（1991至2001年）",
        "民國87年第1997號函",
        "民國十百年（1998年）",
        "1911 年辛亥革命",
        "西元1997年（昭和72年）",
    ],
    "glyphs": [
        "一般文字，㈠、①、℃、Ω、𠮷、𪚥、👍🏽、e\u0301",
        "\ufeff開頭",
        "罕字𰻞（擴充 G）與\U00031350（擴充 H）、\U0002ebf0（擴充 I）",
        "變體選擇符：葛\U000e0100",
        "台語 tsia̍h-pn̄g、注音 ㄅㄆㄇ、假名 かな",
    ],
    "simplified": [
        "根據規定應該選擇",
        "台灣的歷史；臺灣的歷史",
        "皇后、公里、干涉、云云、准許、里長、面積、丑角、只有",
        "鐵路弁当與弁当店",
        "雜誌《台湾》與王添灯",
        "日文的「国のかたち」與「学び」",
        "客語：一个人",
        "",
    ],
    "romanised": [
        f"{CHINESE}蔡英文（Tsai Ing-wen）的政策",
        f"{CHINESE}蔡英文( Tsai Ing-wen )",
        f"{CHINESE}Tsai Ing-wen（蔡英文）的政策",
        f"{CHINESE}引用 Chen Wei and colleagues 的論文",
        f"{CHINESE}讀到 by Lin Chia-nung",
        f"{CHINESE}John Smith 與 Mary Brown",
        f"{CHINESE}New York、Hong Kong、Los Angeles",
        f"{CHINESE}使用 Visual Studio 與 Deep Learning",
        "Tsai Ing-wen was elected.",
        f"{CHINESE}Wang Laboratories 公司",
        f"{CHINESE}Sun Microsystems 公司",
    ],
}

CASES = [(name, text) for name in DETECTORS for text in PLANTED[name]]
QUIET = [(name, text) for name in DETECTORS for text in NATIVE[name]]


@pytest.mark.parametrize(("name", "text"), CASES)
def test_a_planted_failure_is_found(name: str, text: str) -> None:
    found = DETECTORS[name](text)
    assert found, text
    assert all(text[each.start :].startswith(each.text) for each in found)


@pytest.mark.parametrize(("name", "text"), QUIET)
def test_native_text_is_left_alone(name: str, text: str) -> None:
    assert DETECTORS[name](text) == []


def test_the_counts_that_the_documentation_quotes() -> None:
    assert {name: len(texts) for name, texts in PLANTED.items()} == {
        "minguo": 16,
        "glyphs": 7,
        "simplified": 6,
        "romanised": 8,
    }
    assert {name: len(texts) for name, texts in NATIVE.items()} == {
        "minguo": 17,
        "glyphs": 5,
        "simplified": 8,
        "romanised": 11,
    }


def test_each_detector_finds_its_own_failure_and_no_other() -> None:
    others = {
        (name, found) for name, texts in PLANTED.items() for text in texts for found, _ in each(text) if found != name
    }
    assert others == set()


def test_what_is_wrong_is_said() -> None:
    assert minguo("民國87年（1997年）")[0].reason == "1998"
    assert glyphs("⿰氵每\ue000")[0].reason == "described ideograph"
    assert [found.text for found in simplified("规则與实例")] == ["规则", "实"]
    assert [found.text for found in romanised(f"{CHINESE}Tsai Ing-wen、Lee Teng-hui")] == [
        "Tsai Ing-wen",
        "Lee Teng-hui",
    ]


def test_no_simplified_character_can_be_written_in_cp950() -> None:
    assert len(SIMPLIFIED) > 500
    for char in SIMPLIFIED:
        with pytest.raises(UnicodeEncodeError):
            char.encode("cp950")
    assert not SIMPLIFIED & set("个后台里干云准面只丑谷松几余郁系")


def test_another_list_of_characters_can_be_used() -> None:
    assert simplified("弄堂里", frozenset("弄")) and not simplified("弄堂里")


def test_only_what_a_reader_sees_counts() -> None:
    assert visible("<think>这个</think>選甲") == "選甲"
    assert visible("選甲") == "選甲" and visible(None) == ""


@pytest.mark.parametrize(
    "text",
    [
        "民國" * 100_000,
        "民國一" * 60_000,
        "1911 = " * 50_000,
        "（" * 200_000,
        "Lin " * 80_000,
        "Tsai Ing-" * 40_000 + "中" * 20,
        "\ue000" * 300_000,
        "国" * 100_000,
        "9" * 300_000,
        "Aa Aa" * 60_000 + "字" * 20,
    ],
)
def test_a_hostile_reply_costs_little(text: str) -> None:
    """Linear: doubling the text at most triples the time, above a floor that hides the clock's noise."""

    def seconds(of: str) -> float:
        started = time.process_time()
        list(each(of))
        return time.process_time() - started

    seconds(text[:1_000])
    half, whole = seconds(text[: len(text) // 2]), seconds(text)
    assert whole < max(0.5, 3.5 * half)
