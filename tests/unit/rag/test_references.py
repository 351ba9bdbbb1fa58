"""References by template: every form composed right or named as needing one, and no interrogative word left."""

from __future__ import annotations

import pytest

from opentwbench.rag.tw_rag.references import Form, compose, frame_words, interrogatives

COMPOSED = [
    ("台灣原住民族官方認定的族群數量為何？", "16", Form.WHAT, "台灣原住民族官方認定的族群數量：16。"),
    ("台灣原住民族官方認定的族群數量是多少？", "16", Form.QUANTITY, "台灣原住民族官方認定的族群數量：16。"),
    ("玉山主峰標高多少公尺？", "3,952 公尺", Form.QUANTITY, "玉山主峰標高3,952 公尺。"),
    ("台灣共有幾座國家公園？", "九座", Form.QUANTITY, "台灣共有九座國家公園。"),
    ("台灣共有幾座國家公園？", "9", Form.QUANTITY, "台灣共有9座國家公園。"),
    ("首次民選總統是第幾任總統？", "第九任", Form.QUANTITY, "首次民選總統是第九任總統。"),
    ("玉山有多高？", "3,952公尺", Form.MEASURE, "玉山有3,952公尺高。"),
    ("高鐵行車時間約為多久？", "兩小時", Form.MEASURE, "高鐵行車時間約為兩小時。"),
    ("台灣第一座水庫是哪一座？", "烏山頭水庫", Form.WHICH, "台灣第一座水庫：烏山頭水庫。"),
    ("日月潭位於哪個縣市？", "南投縣", Form.WHICH, "日月潭位於「南投縣」這個縣市。"),
    ("下列哪一種動物是台灣特有種？", "台灣黑熊", Form.WHICH, "「台灣黑熊」這一種動物是台灣特有種。"),
    ("下列哪些是客家料理？", "薑絲大腸", Form.WHICH, "「薑絲大腸」這些是客家料理。"),
    ("綠島盛產何種魚類？", "鰹魚", Form.WHICH, "綠島盛產「鰹魚」這種魚類。"),
    ("下列何者不是台灣的國家公園？", "九份", Form.WHAT, "「九份」不是台灣的國家公園。"),
    ("二二八事件的導火線是什麼？", "查緝私菸", Form.WHAT, "二二八事件的導火線：查緝私菸。"),
    ("什麼造成了八七水災？", "颱風", Form.WHAT, "「颱風」造成了八七水災。"),
    ("布袋戲有什麼特色？", "掌中操偶", Form.WHAT, "布袋戲的特色：掌中操偶。"),
    ("早期以什麼植物編草蓆？", "藺草", Form.WHAT, "早期以「藺草」這個植物編草蓆。"),
    ("中元普渡又稱為什麼？", "鬼節", Form.WHAT, "中元普渡又稱為「鬼節」。"),
    ("誰發明了珍珠奶茶？", "劉漢介", Form.WHO, "「劉漢介」發明了珍珠奶茶。"),
    ("電影《誰先愛上他的》的導演是誰？", "徐譽庭", Form.WHO, "電影《誰先愛上他的》的導演：徐譽庭。"),
    ("中央研究院位於何處？", "南港", Form.WHERE, "中央研究院位於「南港」。"),
    ("淡水河在哪裡出海？", "淡水", Form.WHERE, "淡水河在「淡水」出海。"),
    ("霧社事件發生於哪一年？", "1930年", Form.WHEN, "霧社事件發生於「1930年」。"),
    ("霧社事件發生在何時？", "1930年", Form.WHEN, "霧社事件發生在「1930年」。"),
    ("台灣為何多地震？", "位於板塊交界", Form.WHY, "台灣多地震的原因：位於板塊交界。"),
    ("為什麼鹿港會沒落？", "泥沙淤積", Form.WHY, "鹿港會沒落的原因：泥沙淤積。"),
    ("珊瑚礁如何形成？", "珊瑚蟲骨骼堆積", Form.HOW, "珊瑚礁形成的方式：珊瑚蟲骨骼堆積。"),
    ("下列敘述何者錯誤？", "玉山在海中", Form.JUDGED, "不正確的敘述：玉山在海中。"),
    ("下列關於玉山的敘述，何者正確？", "玉山位於南投", Form.JUDGED, "關於玉山，正確的敘述：玉山位於南投。"),
    ("台灣最高的山是____。", "玉山", Form.BLANK, "台灣最高的山：玉山。"),
    ("（　）是台灣最高的山。", "玉山", Form.BLANK, "玉山是台灣最高的山。"),
    (
        "關於台灣的山，下列敘述的空格應填入哪一項：登山者稱「＿＿」為百岳之首。", "玉山", Form.BLANK,
        "登山者稱「玉山」為百岳之首。",
    ),

    ("台灣最大的湖泊是", "日月潭", Form.OPEN_END, "台灣最大的湖泊：日月潭。"),
]  # fmt: skip


@pytest.mark.parametrize(("stem", "answer", "form", "reference"), COMPOSED)
def test_a_form_is_composed(stem: str, answer: str, form: Form, reference: str) -> None:
    composed = compose(stem, answer)
    assert (composed.form, composed.reference) == (form, reference)
    assert frame_words(reference, answer) == []


def test_every_form_that_can_be_composed_has_its_example() -> None:
    never = {Form.YES_NO, Form.SEVERAL, Form.UNKNOWN}
    assert {form for _, _, form, _ in COMPOSED} == set(Form) - never


@pytest.mark.parametrize(
    ("stem", "answer", "form"),
    [
        ("台灣的國花是否為梅花？", "是", Form.YES_NO),
        ("誰在何時登陸台灣？", "鄭成功", Form.SEVERAL),
        ("玉山在哪裡？它有多高？", "南投", Form.SEVERAL),
        ("台灣人愛吃米食", "對", Form.UNKNOWN),
        ("台灣有什麼螃蟹？", "招潮蟹", Form.UNKNOWN),
        ("鄭成功在第幾年登陸？", "1661年", Form.QUANTITY),
        ("台灣有多少人口？", "兩千萬餘人上下", Form.QUANTITY),
        ("新竹的風有多大？", "很大", Form.MEASURE),
    ],
)
def test_what_no_template_fits_is_named_and_not_guessed(stem: str, answer: str, form: Form) -> None:
    composed = compose(stem, answer)
    assert (composed.form, composed.reference) == (form, "")


NATIVE = (
    "哪吒是太子爺", "任何人都可以參加", "幾乎所有人都知道", "幾內亞在非洲", "無論如何都要去",
    "好幾年沒有下雪",
    "近幾年人口減少", "何嘉仁是作家", "無可奈何之下", "電影《誰先愛上他的》上映", "歌曲〈為什麼〉很紅", "幾何學的應用",
    "這十幾座山", "捷運何家站", "何況是颱風天", "多高山的島嶼",
)  # fmt: skip


@pytest.mark.parametrize("text", NATIVE)
def test_words_are_looked_for_and_not_characters(text: str) -> None:
    assert interrogatives(text) == []


@pytest.mark.parametrize(
    "word",
    ["什麼", "甚麼", "為什麼", "為何", "如何", "何者", "何時", "何處", "何種", "哪一座", "哪裡", "誰", "多少", "幾座"],
)
def test_an_interrogative_word_is_seen_wherever_it_stands(word: str) -> None:
    assert interrogatives(f"台灣的山{word}最高")
    assert frame_words(f"台灣的山{word}：玉山。", "玉山")


def test_an_answer_that_asks_is_no_question_of_the_reference() -> None:
    composed = compose("他的名曲是哪一首？", "你是誰")
    assert composed.reference == "他的名曲：你是誰。"
    assert frame_words(composed.reference, "你是誰") == []


def test_a_reference_whose_quotation_marks_do_not_close_needs_a_template() -> None:
    for stem in ("「先會走路，哪一項才能學會？", "先會走路」，哪一項才能學會？"):
        composed = compose(stem, "騎車")
        assert composed.form is Form.WHICH and composed.reference == ""
    assert compose("「先會走路」，哪一項才能學會？", "騎車").reference == "「先會走路」，「騎車」這一項才能學會。"
