"""A reference answer by template: stem and keyed answer become one declarative sentence, and no model writes a word.

Two shapes. Where the question is the end of the stem it becomes a colon (台灣原住民族官方認定的族群數量：16。, the
published card's example); where it stands inside, the answer takes its place. 哪 becomes 「answer」這, because 哪 and
這 are the paired demonstratives and every classifier that follows one may follow the other.
Rejects rather than guesses: a stem that no template fits, or that would keep an interrogative word, is an item that
needs a template, counted by form. Words are looked for, not characters: 哪吒, 任何, 幾乎 and 幾內亞 ask nothing.
What belongs here: pure functions of stem and answer. What does not: which items are composed (contexts.py).
Source: the issue, "tw-rag-bench"; the published card ("references are template-composed").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Form(StrEnum):
    """How a stem asks. Closed; a stem has the first that fits, in this order."""

    BLANK = "blank"
    """One gap to fill: ____, （　）."""
    JUDGED = "judged"
    """下列敘述何者正確／錯誤."""
    YES_NO = "yes_no"
    """是否, 嗎. Never composed."""
    WHY = "why"
    """為什麼, 為何, 何以, before what is asked about."""
    HOW = "how"
    """如何, 怎麼."""
    MEASURE = "measure"
    """有多高, 多久."""
    QUANTITY = "quantity"
    """多少, 幾, 第幾."""
    WHERE = "where"
    """哪裡, 何處, 何地."""
    WHEN = "when"
    """何時, 什麼時候."""
    WHICH = "which"
    """哪一座, 哪些, 何種."""
    WHO = "who"
    """誰, 何人."""
    WHAT = "what"
    """何者, 什麼, 為何 at the end."""
    OPEN_END = "open_end"
    """No interrogative word; the stem ends in a copula: 台灣最高的山是."""
    SEVERAL = "several"
    """Asks more than once, or in more than one sentence. Never composed."""
    UNKNOWN = "unknown"
    """No interrogative word that is known. Never composed."""


@dataclass(frozen=True, slots=True)
class Composed:
    """What became of a stem."""

    form: Form
    reference: str
    """'' when the form needs a template that there is not."""


_TITLE = re.compile(r"《[^《》]*》|〈[^〈〉]*〉|「[^「」]*」|『[^『』]*』|“[^“”]*”")
_FILLER = "\u25a1"

_COUNTED = (
    "個|年|種|次|位|座|條|歲|人|月|日|天|公|層|項|所|處|家|間|縣|屆|級|度|成|倍|分|支|隻|頭|株|棵|輛|艘|"
    "元|億|萬|千|百|小時|世紀|世|號|樓|代|族|區|國|站|里|坪|頃|尺|米|名|場|部|本|首|張|片|塊|道|點|時|顆|"
    "粒|枚|對|組|類|大|等|行政|鄉|鎮|村|社|方|席|票|局"
)
_ASKED = (
    "者|種|時|地|處|人|年|事|物|名|類|項|所|方|國|縣|市|州|朝|族|月|日|因|故|字|詞|義|位|座|部|條|級|期|"
    "機關|單位|系列|用|在|而|以"
)

INTERROGATIVE = re.compile(
    r"為[什甚]麼|[什甚]麼|怎麼樣?|怎樣|怎能|哪(?![吒咤])|誰"
    r"|多少|多久|(?<=[有約達為至僅])多[長遠高大重深寬](?![^，。]*之)"
    rf"|第幾|(?<![好十百千萬數無近這那前後頭茶未庶])幾(?={_COUNTED})"
    rf"|(?<![任幾奈無])何(?:{_ASKED})|(?<!無論)(?<!不論)[為是如緣因於由屬與從自指稱叫名有係]何(?![氏家況必嘗])|何以"
    r"|是否|能否|可否|有無|嗎(?=$|[？?，。])"
)
"""An interrogative word. Its words are a closed list; characters alone (哪吒, 幾乎, 任何, 何嘉仁) are none."""

_LISTED = re.compile(r"下列|以下(?=[何哪各敘選說])")
"""Points at options that the reader of a reference does not see."""

_END = r"(?:呢|呀|啊|的)?$"
_OF_OPTIONS = r"(?:下列|以下)(?:的)?"
_CLASSIFIED = r"[一二兩三四五六七八九十]?(?:項|個|種|組|件|則|位|座|者)?"


def masked(stem: str) -> str:
    """The stem with what stands in title and quotation marks blanked out, every character in its place."""
    return _TITLE.sub(lambda found: found[0][0] + _FILLER * (len(found[0]) - 2) + found[0][-1], stem)


def interrogatives(text: str) -> list[str]:
    """The interrogative words of a text, titles and quotations aside, in order."""
    return [found[0] for found in INTERROGATIVE.finditer(masked(text))]


def frame_words(reference: str, answer: str) -> list[str]:
    """Interrogative words, and pointers at options, that a reference holds outside the answer."""
    frame = reference.replace(bare_answer(answer), _FILLER, 1)
    return interrogatives(frame) + [found[0] for found in _LISTED.finditer(masked(frame))]


def bare_answer(answer: str) -> str:
    """The answer as it stands in a reference: without white space at its ends and without a full stop."""
    return answer.strip().rstrip("。.").strip() or answer.strip()


def compose(stem: str, answer: str) -> Composed:
    """The reference of a stem and its keyed answer, or the form for which there is no template."""
    asked = " ".join(stem.split()).rstrip("？?。：: ")
    asked = re.sub(r"(?:請問|試問)[，,：:]?", "", asked, count=1)
    words = interrogatives(asked)
    form, composer = _form_of(asked, words)
    if composer is None:
        return Composed(form, "")
    sentence = composer(asked, bare_answer(answer))
    if not sentence:
        return Composed(form, "")
    sentence = _finished(sentence)
    # What a template leaves is looked at again: a reference that still asks is none.
    whole = not frame_words(sentence, answer) and balanced(sentence)
    return Composed(form, sentence if whole else "")


def balanced(text: str) -> bool:
    """Whether every 「 and 『 is closed, in order: a stem may cite half a sentence."""
    open_marks = ""
    for mark in re.findall("[「」『』]", text):
        if mark in "「『":
            open_marks += mark
        elif open_marks[-1:] + mark in ("「」", "『』"):
            open_marks = open_marks[:-1]
        else:
            return False
    return not open_marks


def _finished(sentence: str) -> str:
    clean = re.sub(r"[，,：:]+(?=[，,：:])", "", sentence).strip("，, ")
    return clean if clean.endswith(("。", "！", "？")) else clean + "。"


_Composer = Callable[[str, str], str]


def _form_of(asked: str, words: list[str]) -> tuple[Form, _Composer | None]:
    plain = masked(asked)
    statement = _LEAD_IN.sub("", asked)
    if len(_BLANK.findall(statement)) == 1 and not interrogatives(statement):
        return Form.BLANK, _blank
    if re.search(r"[？?]", plain) or (re.search(r"[。；]", plain) and len(words) > 1):
        return Form.SEVERAL, None
    if _JUDGED.search(plain):
        return Form.JUDGED, _judged
    if not words:
        return (Form.OPEN_END, _open_end) if _OPEN_END.search(plain) else (Form.UNKNOWN, None)
    if len(words) > 1:
        return Form.SEVERAL, None
    word = words[0]
    if word in ("是否", "能否", "可否", "有無", "嗎"):
        return Form.YES_NO, None
    for form, pattern, composer in _FORMS:
        if _cut(pattern, asked):
            return form, composer
    return Form.UNKNOWN, None


def _cut(pattern: re.Pattern[str], asked: str) -> tuple[str, re.Match[str], str] | None:
    """What stands before, in and after the match of the pattern that holds the stem's interrogative word, if any.

    The patterns are wider than the words (何地 of 任何地方), so that a match elsewhere is none.
    """
    plain = masked(asked)
    word = INTERROGATIVE.search(plain)
    for found in pattern.finditer(plain):
        if word is None or (found.start() < word.end() and word.start() < found.end()):
            return asked[: found.start()], found, asked[found.end() :]
    return None


def _unlisted(text: str) -> str:
    """Without 下列, 以下 at the end of what stands before the word."""
    return re.sub(_OF_OPTIONS + r"(?:選項|敘述|說法)?(?:中|之中|裡)?[，,]?$", "", text)


def _marked(answer: str) -> str:
    """The answer in quotation marks, unless it brings marks of its own."""
    if answer[:1] in "「『《〈":
        return answer
    return f"『{answer}』" if "「" in answer else f"「{answer}」"


_TAIL_COPULA = re.compile(r"(?:究竟|到底|應該)?(?:指的就?是|指的|就是|即是|即為|應是|是|(?<![稱名譽封認視作命])為|係)$")


def _at_end(before: str, answer: str) -> str:
    """The question ended the stem: a colon where a copula led to it, else the answer in its place."""
    topic = _TAIL_COPULA.sub("", _unlisted(before))
    if topic != _unlisted(before) and topic:
        return f"{topic.rstrip('，,')}：{answer}"
    return f"{_unlisted(before)}{_marked(answer)}"


def _in_place(before: str, answer: str, after: str) -> str:
    return _unlisted_head(f"{_unlisted(before)}{_marked(answer)}{after}")


def _unlisted_head(text: str) -> str:
    """下列 before what the options are about says nothing once they are gone: 下列關於玉山的敘述."""
    return re.sub(r"^(?:下列|以下)(?=有?關|關於|對於|針對|屬於|台|臺)", "", text)


# -- one composer a form ----------------------------------------------------------------------------------------------

_BLANK = re.compile(r"_{2,}|＿+|[（(]\s*[)）]|\[\s*\]")


_LEAD_IN = re.compile(
    r"^(?:(?:有?關於?|針對).*?[，,])?(?:在?(?:下列|以下|下面|這))?(?:的)?(?:敘述|句子|句|文字)?(?:中)?(?:的)?空格(?:中|處|裡|內)?"
    r"(?:應|該|應該|可)?(?:填入|填上|填)(?:的是)?(?:哪一?[項個者]|何者|什麼)?[？?]?[：:，,]?"
)
"""What tells a reader to fill the gap of the statement that follows; the statement is the reference."""


def _blank(asked: str, answer: str) -> str:
    """The gap filled; the answer stands in the sentence as it did, without further marks."""
    statement = _LEAD_IN.sub("", asked)
    found = _BLANK.search(statement)
    if found is None:
        return ""
    before, after = statement[: found.start()], statement[found.end() :]
    return f"{before}{answer}{after}" if after.strip("，。 ") else _at_end(before, answer)


_VERDICTS = {
    r"最?(?:不正確|錯誤|有誤|為非|為誤|為偽|不符合?事實|不符)": "不正確",
    r"最?(?:正確|無誤|為是|為真|符合事實)": "正確",
    r"最?不(?:恰當|適當|合適)": "不恰當",
    r"最?(?:恰當|適當|合適|貼切)": "最恰當",
}
_JUDGED = re.compile(
    r"^(?P<topic>.*?)[，,：:]?(?:" + _OF_OPTIONS + r")?(?:的)?(?:敘述|說法|描述|陳述|配對|組合|選項)?(?:中|之中)?[，,]?"
    r"(?:何者|哪" + _CLASSIFIED + r"(?:敘述|說法|描述|陳述|配對|組合)?)(?:是|為)?(?:的)?"
    r"(?P<verdict>" + "|".join(_VERDICTS) + r")(?:的)?$"
)


def _judged(asked: str, answer: str) -> str:
    found = _JUDGED.search(masked(asked))
    if found is None:
        return ""
    verdict = next(said for rule, said in _VERDICTS.items() if re.fullmatch(rule, found["verdict"]))
    topic = _unlisted_head(re.sub(r"(?:下列|以下)$", "", asked[: found.end("topic")]).rstrip("，,：: "))
    topic = re.sub(r"^(?:下列|以下)(?:的)?(?:敘述|說法|描述|陳述)?$", "", topic)
    topic = re.sub(r"(?:敘述|說法|描述|陳述)$", "", topic)
    kind = f"{verdict}的敘述"
    if not topic:
        return f"{kind}：{answer}"
    return f"{topic}{kind}：{answer}" if topic.endswith("的") else f"{topic}，{kind}：{answer}"


_WHY = re.compile(rf"(?:究竟|到底)?(?:為[什甚]麼|為何(?!{_ASKED})|何以|何故|緣何|因何|怎麼會)(?:會|要|能)?(?!$)")


def _why(asked: str, answer: str) -> str:
    cut = _cut(_WHY, asked)
    if cut is None:
        return ""
    before, _, after = cut
    rest = re.sub(_END, "", f"{before}{after}")
    return f"{rest.rstrip('，,')}的原因：{answer}"


_HOW = re.compile(r"(?:是|又)?(?:如何|怎麼樣?|怎樣)")


def _how(asked: str, answer: str) -> str:
    cut = _cut(_HOW, asked)
    if cut is None:
        return ""
    before, _, after = cut
    rest = re.sub(_END, "", after)
    if not rest:
        return f"{re.sub(r'[是為]$', '', before)}：{answer}"
    return f"{before}{rest}的方式：{answer}"


_MEASURE = re.compile(r"多(?P<adjective>[長遠高大重深寬])|多久")


def _measure(asked: str, answer: str) -> str:
    cut = _cut(_MEASURE, asked)
    if cut is None or re.sub(_END, "", cut[2]):
        return ""
    adjective = cut[1]["adjective"]
    if adjective is None or not re.match(r"約?[\d〇零一二兩三四五六七八九十百千萬]", answer):
        return f"{cut[0]}{answer}" if adjective is None else ""
    verb_asks_no_adjective = cut[0].endswith(("達", "約", "為", "至"))
    return f"{cut[0]}{answer}" + ("" if verb_asks_no_adjective else adjective)


_QUANTITY = re.compile(r"第?(?:多少|幾)")
_FIGURE = re.compile(r"(?:約|第|近|超過)?[\d０-９〇零一二兩三四五六七八九十百千萬億,，.]+")


def _quantity(asked: str, answer: str) -> str:
    """The unit that follows the word is not said twice: 多少公尺 with 3,952 公尺."""
    cut = _cut(_QUANTITY, asked)
    if cut is None or not _FIGURE.match(answer):
        return ""
    before, found, after = cut
    after = re.sub(r"(?:呢|呀|啊)$", "", after)
    said = answer
    if found[0].startswith("第") and not answer.startswith("第"):
        if re.match(r"\D*\d{4}", answer):
            return ""  # 第幾年 answered by a calendar year
        said = f"第{answer}"
    if not after:
        return f"{topic}：{said}" if (topic := _TAIL_COPULA.sub("", before)) != before else f"{before}{said}"
    tight = said.replace(" ", "")
    unit = next((size for size in range(min(len(after), 6), 0, -1) if tight.endswith(after[:size])), 0)
    if not unit and not _FIGURE.fullmatch(tight):
        return ""  # the answer has a unit of its own, and the stem another word
    return f"{before}{said}{after[unit:]}"


_WHERE = re.compile(r"哪(?:裡|裏|兒|邊)|何(?:處|地|方)|[什甚]麼(?:地方|地點|位置)")
_WHEN = re.compile(r"何時|[什甚]麼(?:時候|時間|年代|時期)|何(?:年|月|日)|哪(?:一)?(?:年|天|日|月)(?!代)")
_WHO = re.compile(r"誰|何人|[什甚]麼人|哪(?:一)?位(?!$)(?=[，。]|$)")
_WHICH = re.compile(
    r"哪(?P<which>[一二兩三四五六七八九十]?)(?P<rest>些?)"
    r"|何(?P<classifier>種|類|項|位|座|部|條|級|期|族|國|縣|市|州|朝|字|詞|機關|單位|系列)"
)
_NOUNS = (
    "動物|植物|水果|樂器|食物|料理|節日|節慶|祭典|慶典|活動|運動|顏色|材料|原料|方式|方法|名稱|名字|稱號|"
    "稱呼|作用|功能|意義|象徵|角色|地位|制度|政策|法律|法案|條約|事件|戰爭|組織|機構|單位|公司|建築|風格|"
    "技術|工具|產業|產品|作物|服飾|語言|宗教|信仰|神祇|神明|頭銜|職業|職務|身分|身份|學校|獎項|比賽|故事|"
    "傳說|現象|特色|特徵|特點|疾病|地形|岩石|礦物|民族|族群|主題|題材|理由|原因|條件|問題|困難|影響|挑戰|"
    "目的|目標|任務|文學|音樂|舞蹈|戲曲|劇種|遊戲|交通工具|電影|小說|報紙|雜誌|河流|山脈|湖泊|島嶼|港口|"
    "城市|地區"
)
_VERBS = (
    "造成|為|作|來|做|製|當|而|所|命名|組成|構成|聞名|著稱|引發|導致|取代|代表|象徵|祭祀|開始|得名|進行|"
    "表達|傳達|使|讓|最|會|可以|能"
)
_WHAT_NOUN = re.compile(rf"(?P<word>[什甚]麼|何(?:樣的)?)(?P<noun>{_NOUNS})")
_WHAT_ALONE = re.compile(
    rf"何(?:者|事|物|名|義|用)|[什甚]麼(?=$|[，。]|(?:{_VERBS}))|(?<=[為是如於由屬與從自指稱叫名係])何(?=$|[，。])"
)


def _word_in_place(pattern: re.Pattern[str]) -> _Composer:
    def composer(asked: str, answer: str) -> str:
        cut = _cut(pattern, asked)
        if cut is None:
            return ""
        before, _, after = cut
        rest = re.sub(r"(?:呢|呀|啊)$", "", after)
        return _in_place(before, answer, rest) if rest else _at_end(before, answer)

    return composer


def _which(asked: str, answer: str) -> str:
    cut = _cut(_WHICH, asked)
    if cut is None:
        return ""
    before, found, after = cut
    after = re.sub(r"(?:呢|呀|啊)$", "", after)
    number = found["which"] or ""
    shown = f"這{found['classifier']}" if found["classifier"] else f"這{number}{found['rest']}"
    # A classifier, a place or a short noun and nothing more: the question ends the stem.
    if len(after) <= 6 and _TAIL_COPULA.search(_unlisted(before)) and "的" not in after[:-1]:
        return _at_end(before, answer)
    return _unlisted_head(f"{_unlisted(before)}{_marked(answer)}{shown}{after}")


def _what_noun(asked: str, answer: str) -> str:
    """有什麼特色 at the end: 的特色：answer; inside: 「answer」這個特色."""
    cut = _cut(_WHAT_NOUN, asked)
    if cut is None:
        return ""
    before, found, after = cut
    after = re.sub(r"(?:呢|呀|啊)$", "", after)
    if not after and before.endswith("有"):
        return f"{before[:-1].rstrip('具擁')}的{found['noun']}：{answer}"
    if not after and _TAIL_COPULA.search(before):
        return _at_end(before, answer)
    return f"{_unlisted(before)}{_marked(answer)}這個{found['noun']}{after}"


_OPEN_END = re.compile(r"(?:是|為|叫做|稱為|名為|位於|在於|屬於|包括)$")


def _open_end(asked: str, answer: str) -> str:
    return _unlisted_head(_at_end(asked, answer))


_FORMS: tuple[tuple[Form, re.Pattern[str], _Composer], ...] = (
    (Form.WHY, _WHY, _why),
    (Form.HOW, _HOW, _how),
    (Form.MEASURE, _MEASURE, _measure),
    (Form.QUANTITY, _QUANTITY, _quantity),
    (Form.WHERE, _WHERE, _word_in_place(_WHERE)),
    (Form.WHEN, _WHEN, _word_in_place(_WHEN)),
    (Form.WHICH, _WHICH, _which),
    (Form.WHO, _WHO, _word_in_place(_WHO)),
    (Form.WHAT, _WHAT_NOUN, _what_noun),
    (Form.WHAT, _WHAT_ALONE, _word_in_place(_WHAT_ALONE)),
)
