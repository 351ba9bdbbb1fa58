"""What the words of one printed question show about whether it can be answered from its text alone.

What belongs here: one rule, one function, one reason. A rule returns its evidence (the words that it fired on, or a
short statement), '' when it does not apply.
What does not: what only the page shows (the question reader's findings), the key and its remarks, duplicates, lists.
Sources: methodology page, "What is excluded, and why"; the constitution card, "Excluded"; the paper, section 3.3. The
direction of error that is invisible is over-filtering, so every pattern is deictic: it must point, not only mention.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, combinations
from types import MappingProxyType

from opentwbench.exam.fingerprint import fold_exact, fold_loose
from opentwbench.exam.glyphs import unmapped
from opentwbench.exam.model import EXCLUSION_ORDER, FOUR, Exclusion

LONG_OPTION = 95
"""Characters. The 99.9th percentile of option length over the published suite. Source: methodology page."""

SWALLOWED: tuple[tuple[int, int], ...] = ((LONG_OPTION, 5), (2 * LONG_OPTION, 3))
"""(length over, times its longest sibling): an option beyond both figures of a pair is unbalanced. Source: methodology
page, "far outside ... and several times longer"; measured on 35,036 real options, where sound law options reach 156
characters beside 42 (3.7 times) and 245 beside 105 (2.3 times), and sound short ones 4.7 times their sibling.
"""

TINY_STEM = 4
"""A Chinese stem with fewer characters asks nothing (何者為真 has four); what stands there is a scrap of a table."""

STANDALONE_LIMIT = 60
"""Characters. A stem that says 根據上文 and is shorter than this carries no passage of its own."""

_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_OTHER_SCRIPT = re.compile("[\u3040-\u30ff\uac00-\ud7af\u0e00-\u0e7f\u0400-\u04ff]")  # kana, Hangul, Thai, Cyrillic
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
_ABOUT_PUNCTUATION = re.compile("標點|標號|斷句|句讀|逗號|句號|引號|頓號|分號|冒號|符號")

# How a clause begins; what follows stands for itself and is not the tail of a compound word.
_START = r"(?:^|(?<=[。，；：？！（(]))"


def _compact(text: str) -> str:
    """The text without white space: a line break of the page may fall inside any phrase."""
    return "".join(text.split())


def not_four_choice(question: str, options: Mapping[str, str]) -> str:
    """The options are not exactly A, B, C and D. Source: the card, "Items not in 4-choice form"."""
    return "" if "".join(sorted(options)) == FOUR else f"options {''.join(options) or 'none'}"


def identical_options(question: str, options: Mapping[str, str]) -> str:
    """Two options read the same, so that no letter is the answer. Signs and operators count: +1 and -1 differ.

    Texts that differ in punctuation only are the same, unless the stem asks about punctuation. Source: the design,
    section 3.
    """
    alike = [pair for pair in combinations(options, 2) if not _apart(options[pair[0]], options[pair[1]])]
    fold = fold_exact if alike and _ABOUT_PUNCTUATION.search(question) else fold_loose
    folded = {letter: fold(options[letter]) or fold_exact(options[letter]) for letter in {*chain(*alike)}}
    return next((f"{one} = {other}" for one, other in alike if folded[one] and folded[one] == folded[other]), "")


def _apart(one: str, other: str) -> bool:
    """True when no fold can make the two equal: both begin, or both end, with a Chinese letter and not with the same.

    It settles most pairs of options at a tenth of the price of folding them.
    """
    return _are_two_letters(one[:1], other[:1]) or _are_two_letters(one[-1:], other[-1:])


def _are_two_letters(one: str, other: str) -> bool:
    return one != other and "\u4e00" <= one <= "\u9fa5" and "\u4e00" <= other <= "\u9fa5" and one + other not in _TAI


_TAI = ("台臺", "臺台")
"""The only Chinese letters that a fold makes one."""


def not_text(question: str, options: Mapping[str, str]) -> str:
    """The stem or an option has no text: empty, or only boxes, rules and other drawing debris.

    Operators and punctuation marks are text (an option may be '>' or '；'). An empty stem over options in a foreign
    language is a cloze blank and belongs to `passage_group`. Source: hazards 16 and 20.
    """
    if not any(char.isalnum() for char in question) and not _is_cloze(question, options):
        return "stem without text"
    for letter, text in options.items():
        if _is_debris(text) and not (_ABOUT_PUNCTUATION.search(question) and text.strip()):
            return f"option {letter} without text"
    return ""


_RULED = re.compile(r"_+|[\s_\-─━—–.…·•=]{2,}")


def _is_debris(text: str) -> bool:
    """True for an empty text, a ruled line, or nothing but drawn shapes, controls and unassigned characters."""
    if text[:1].isalnum():
        return False  # nearly every option; letters and digits are neither ruled lines nor shapes
    stripped = text.strip()
    if not stripped or _RULED.fullmatch(stripped):
        return True
    return all(unicodedata.category(char) in _SHAPES for char in stripped)


_SHAPES = frozenset({"So", "Cc", "Cf", "Co", "Cn", "Zs", "Mn", "Me"})


def _is_cloze(question: str, options: Mapping[str, str]) -> bool:
    """True for an empty stem whose options are all foreign words: the blank stands in a passage elsewhere."""
    return not question.strip() and bool(options) and all(map(_is_foreign_word, options.values()))


def _is_foreign_word(text: str) -> bool:
    return bool(_OTHER_SCRIPT.search(text)) or (bool(_LATIN.search(text)) and not _HAN.search(text))


def english(question: str, options: Mapping[str, str]) -> str:
    """The stem has Latin letters and no Chinese at all. The options have no say: a Chinese question may be answered
    with dATP. Source: methodology page, "English-language items".
    """
    return "stem without Chinese" if _LATIN.search(question) and not _HAN.search(question) else ""


# ---- figure ---------------------------------------------------------------------------------------------------------

_NOT_A_FIGURE = "(?![書利謀騰鑑章資集博館])"  # 圖書, 圖利, 圖謀, 圖騰, 圖鑑, 圖章, 圖資, 圖集, 圖博館 ...
_NOT_A_TABLE = "(?![率示達現述決揚彰明態徵層皮淺面露演情揭姐妹哥弟兄叔舅嫂親記冊式白意單])"
_NUMBER = (
    "(?:[（(][一二三四五六七八九十甲乙丙丁1-9A-Ea-e][）)]"
    "|[1-9A-E][a-e]?(?:[-－.][1-9])?(?![0-9A-Za-z=（(])"
    "|[一二三四五](?=[，。；：？！、（(）)所中之為是與和及顯]|$)"
    "|[甲乙丙丁](?=[，。；：？！、（(）)所中與和及]|$))"
)
_PICTURE = (
    "(?:影像|照片|X光片?|X-ray|心電圖|腦波圖|腦電圖|肌電圖|聽力圖|眼振圖|超音波|攝影|掃描|斷層|MRI|CT|切片|抹片|眼底"
    f"|檢體|標本|圖{_NOT_A_FIGURE})"
)
_DIAGRAM = "(?:流程|電路|樹狀|示意|結構|網路|剖面|斷面|曲線|狀態|波形|方塊|甘特|工程|等高線|天氣|氣候|地)圖"
_LAW = "(?<![法例則準規標辦定程])"  # 條例附表, 細則附表, 標準附表: a schedule of a statute, not of the paper

_FIGURE = re.compile(
    "|".join(
        (
            # 如圖, 如下圖, 如附圖, 如右下之圖形; 例如圖書 and 例如圖片 only give an example
            rf"(?<![例譬諸])如(?:[上下左右附本次]|[左右][上下])?[方側邊列頁]?[之的]?圖(?![片表形畫像案說樣]){_NOT_A_FIGURE}",
            r"如(?:[上下左右附本次]|[左右][上下])[方側邊列頁]?[之的]?圖[片表形畫像案樣]",
            r"如圖[片表形畫像案]?(?:所示|所見|顯示)",
            # 下圖, 右圖, 左圖; 天下圖書 and 私下圖利 do not point
            rf"(?<![以天地當私底樓名部門屬手旗麾])[下左右]圖{_NOT_A_FIGURE}",
            rf"(?:{_START}|[如依據由從見就承同續照])上圖{_NOT_A_FIGURE}",
            rf"下[方面][之的]?圖{_NOT_A_FIGURE}(?!中?[之的]?[何那哪])",
            # 依圖, 由圖可知, 見圖; 依圖說施工 and 依圖書館法 do not point
            rf"(?:{_START}(?:請|試)?(?:參考|參閱|參照|對照|觀察|根據|依據|依|由|從|據)|[如見])圖(?=[，,示所可上內]|中|$)",
            rf"{_START}題圖(?=[中之的所，])",
            r"下列[之的]?附[圖表](?![說書件])",
            r"如[右左](?:[上下])?(?=所示|[，,。；]|$)",
            rf"(?:{_START}|[如見閱照看依據由從])附圖(?![說書件面樣檔])",
            rf"[右左][上下]?[方側邊]?[之的]圖{_NOT_A_FIGURE}",
            rf"(?:如|依|據|由|從)下列[之的]?圖{_NOT_A_FIGURE}",
            r"下列[之的]?(?:圖[形片表]|表格)(?!中?[之的]?[何那哪]|[，,]?[何那哪])",
            rf"(?:針對|根據|依據|依|由|從|就)(?:以下|下列|下方)[的之]?[^，。；？]{{0,8}}(?<![企意試])圖{_NOT_A_FIGURE}",
            r"(?:根據|依據|依|如|由)所附[的之]?[^，。；？]{0,8}(?:圖(?![說書件樣])|曲線|表格|影像|照片)",
            # 圖一, 圖（一）, 圖A at the start of a clause or after a pointing verb
            rf"(?:{_START}|[如見依據由從附問與和及、]|[關對]於|有關)圖{_NUMBER}",
            rf"{_START}[甲乙丙丁A-E]圖(?=[是與和、及所]|為何|為下列|中(?!飽))",
            # 下列心電圖顯示, 以下為某病人之X光片, 心電圖如下：最可能之診斷
            rf"下列{_PICTURE}(?:片|影像)?[之的中]?(?:所示|顯示)",
            rf"以下[為是][^，。；？]{{0,10}}{_PICTURE}",
            rf"{_PICTURE}[^，。；：？]{{0,6}}如下[：:](?=最可能|下列|何者|其|診斷|應|請|則|$)",
            rf"以下{_DIAGRAM}(?!中?[之的]?[何那哪])|下列{_DIAGRAM}(?:(?=[，,]|執行|顯示|所示)|[之的中](?!敘述|說明|何|那|哪|符號|元件))",
            rf"以下圖(?:[形片表](?!中?[之的]?[何那哪]|[，,]?[何那哪])|(?![形片表]){_NOT_A_FIGURE})",
            r"圖中[之的]?(?:標示)?[甲乙丙丁A-EP-Z][點區線段處]",
            # drawings that are not called so
            r"下列電路(?=[，,])|下列電路[之的](?=輸出|等效|轉移|電壓|電流|總電)",
            rf"{_START}下列(?:化學)?結構式(?=為何|代表|所示|之化合物)",
            rf"{_START}下列(?:交通)?標[誌志](?:[之的](?:意義|意思|含義))?(?=為何|代表|表示)",
            r"(?:^|(?<=[。；]))圖[為是](?!書)",
            rf"{_START}圖示(?=其|為|中|之(?![意定])|電路|線路|結構|構造|裝置|機構|桁架|箭頭)",
            # the apparatus of a picture
            r"(?:箭[頭號]|星號)(?:處|所|處所)(?:指|示|標)",
            rf"{_PICTURE}[^，。；：？]{{0,6}}如[下右左](?:所示|變化)?(?=[，,。；？]|$)",
            r"(?:根據|依據|依|由|從)[此這][一二兩三四]?[張幅][^，。；？]{0,20}?(?:影像|X光|CT|MRI|片|攝影|心電圖)",
            r"(?:根據|依據|依|由)[此這][^，。；？]{0,16}?(?:影像|X光片?|CT|MRI|心電圖)(?=[，,]|可[見看])",
            r"如[^，。；：？]{0,12}(?:影像|照片|X光片?|圖片|切片|心電圖)所[示見]",
            r"[右左]述[^，。；]{0,4}[圖表]",
            # tables
            rf"(?<!天)[下右左]表{_NOT_A_TABLE}",
            rf"(?:[如依據由從見])上表{_NOT_A_TABLE}",
            rf"{_LAW}(?:如|見|閱|參照|參考|依|據|由)附表(?![^，。；]{{0,3}}(?:所定|所列|規定))",
            rf"{_START}附表(?=[為是中]|所示)",
            rf"{_START}(?:如|見|根據|依據|參考|參照)附件(?=[，,]|所示)",
            r"(?:依|依據|根據|由|從)下列[^，。；？何]{0,6}(?:資料|數據|統計|成績|價目)表",
            r"(?:列表|表列)如下(?=[，,。：:]|$)",
            rf"(?:{_START}|[如見依據由])表{_NUMBER}",
        )
    )
)
# Every pattern above and below holds one of these; most stems hold none of the characters, and then it is over at once.
_FIGURE_CHARACTER = frozenset("圖表箭像片附XCM攝掃斷超眼檢標右左星路構")
_FIGURE_HINT = re.compile(
    "[圖表箭像片]|所附|X光|X-ray|CT|MRI|攝影|掃描|斷層|超音波|眼底|檢體|標本|如[右左]|星號|附件|下列(?:電路|化?學?結構式|交?通?標[誌志])"
)
_POINTING = rf"(?:{_START}|[由從依據為是成問]|[關對]於|有關)"
_ONE = "(?:[一二兩三]?[張幅個])?"
_INSIDE = re.compile(
    rf"{_POINTING}(?:([圖表])[中內](?!飽)|(圖)上(?=[所標箭甲乙丙丁A-Z])|(照片)所[示見])"
    rf"|{_POINTING}[此該這]{_ONE}(圖)(?=[為是中所顯示呈上內，,]|[之的](?!利))"
    rf"|{_POINTING}[此這]{_ONE}(心電圖|X光片?|影像|照片|切片)(?!檢|學|技|診|紀|資)"
)
_LABEL = re.compile(r"如?[附下上左右]?圖[（(]?[一二三四五六七八九十1-9A-Ea-e甲乙丙丁][）)]?")


def figure(question: str, options: Mapping[str, str]) -> str:
    """The stem points at a figure or table on the page (如下圖, 依下表, 圖（一）), or the options are figure labels.

    A bare 圖 is no pointer: 圖書館, 意圖, 企圖, 版圖, 圖利, 心電圖 stay; nor is the schedule of a statute (條例附表).
    Source: methodology page, "Items needing a figure or table"; patterns collected from the real papers.
    """
    text = _compact(question)
    if _FIGURE_CHARACTER.isdisjoint(text) or not _FIGURE_HINT.search(text):
        return _figure_label(options)
    if found := _FIGURE.search(text):
        return found.group()
    # 圖中 points outside only when the stem has not named the figure itself: 類別圖…，圖中的物件 is about diagrams.
    if (inside := _INSIDE.search(text)) and inside[inside.lastindex or 0] not in text[
        : inside.start(inside.lastindex or 0)
    ]:
        return inside.group()
    return _figure_label(options)


def _figure_label(options: Mapping[str, str]) -> str:
    """The first of several options that are nothing but a figure's label (圖A, 如圖一)."""
    labels = [text for text in map(_compact, options.values()) if "圖" in text and _LABEL.fullmatch(text)]
    return labels[0] if len(labels) > 1 else ""


# ---- questions of a group -------------------------------------------------------------------------------------------

_PREVIOUS = r"[上前](?:[一二兩三]|述|揭|開|面)?小?題(?![材型庫示旨名綱字本])"
# What a scene introduces and the questions on it go on to speak of.
_HEAD = "病人|患者|病患|病童|病例|個案|案例|案件|嬰兒|幼兒|孩童|男童|女童|產婦|孕婦|婦人|學生|公司|土地|契約|判決|處分"
_FOLLOW_UP = re.compile(
    "|".join(
        (
            rf"[承續呈繼]接?(?:續)?{_PREVIOUS}",
            rf"(?:延續|接續|同){_PREVIOUS}",
            rf"{_START}(?:接|如|依|依據|根據|就|由|在|於|若)?{_PREVIOUS}",
            r"^[（(【]?(?:承接?|續接?|呈接?|接續|延續|同)[上前](?:述|例|開|揭|文|案|情|所述|[，,、：:）)])",
            r"(?:承|同|如|依|續|就|接|根據|依據|參照|參考)第[0-9]+題",
            r"^[（(【]?(?:承|續|同|接續?)題?[0-9]+題?(?=[，,、：:）)之])|依題[0-9]+[之的，]",
            r"^第[0-9]+題[中之的所]",
            r"^(?:於|在)?[上前]例中?(?=[，,中])|^沿用[上前]題",
            # Nothing stands before the first words of a stem that they could refer to.
            r"^(?:於|在|就|由|從|依|依據|根據|針對|對於|關於|有關)?(?:上述|前述|上開|前開|前揭|上列|前列|上引|前引)",
            r"^(?:依|依據|根據|由|從|綜合)(?:以上|上面)",
            rf"^(?:就|對|依|針對|對於|關於|有關)?(?:[此該]|這)[位名個一]?(?:{_HEAD})",
            r"^(?:本案|本件|本例)(?=[，,中之應若依得下甲乙丙關有所])",
        )
    )
)


_FOLLOW_UP_HINT = frozenset("題上前承續同接此該這本")
"""One of these is in whatever _FOLLOW_UP finds."""


def follow_up(question: str, options: Mapping[str, str]) -> str:
    """The stem continues an earlier question (承上題, 承接上題, 續上題, 同上題, 呈上題, 承前題, 承上，).

    The question that sets the scene is self-contained and stays. 前提 (a premise) is no 前題, 承上啟下 no reference.
    Source: methodology page, "Follow-up items in a question group"; hazard 19.
    """
    text = _compact(question)
    found = None if _FOLLOW_UP_HINT.isdisjoint(text) else _FOLLOW_UP.search(text)
    return found.group() if found else ""


_RANGE = r"第?[0-9]+題?(?:至|到|～|~|-|－|—|–|、|，|與|和|及)第?[0-9]+題"
_GROUP = re.compile(
    rf"(?:回答|作答)[^。？]{{0,6}}?{_RANGE}|{_RANGE}[^。]{{0,3}}?題組|題組[：:]?{_RANGE}"
    r"|[0-9]+(?:至|到|～|~|-|－|—|–)[0-9]+題?[為是屬]?題組|^(?:請|試)?(?:回答|作答)(?:下列|以下)[二兩三四五]題"
)
_TEXT = (
    "(?:上文|本文|前文|下文|短文|此文|該文|本篇|本詩|此詩|上詩|這首詩|這篇文章|這段文字|這段話|本段文字"
    "|(?:上述|上列|上面|以上|前述)(?:文字|引文|文章|短文|對話|詩句)|文章(?=內容|所述|[，,])|引文(?=內容|所述|[，,]))"
)
_AIM = "(?:主旨|意旨|旨意|要旨|章旨|文意|觀點|旨趣|寓意|大意|論點|內容|敘述|作者|說法|文字)"
_PASSAGE = re.compile(
    rf"(?:根據|依據|依|由|從|關於|有關|對於|綜觀|閱讀|就|符合|不符|合乎|接近|契合|與){_TEXT}(?!及|但書|第|增修|與增修|[之所]?[規定])"
    rf"|{_START}(?:上文|本文|前文)(?:[的之所]?{_AIM}|旨在)"
    rf"|^{_TEXT}[的之]?{_AIM}"
    r"|^(?:文中|文章中|作者在[本全]?文中)|^(?:文章)?第[一二三四五1-5]段(?:文字)?[的之]"
)
_GROUP_HINT = frozenset("題答")
"""One of these is in whatever _GROUP finds."""

_PASSAGE_HINT = frozenset("文篇詩段話")
"""One of these is in whatever _PASSAGE finds."""

_ENGLISH_PASSAGE = re.compile(
    r"\b(?:the|this|above) (?:above )?(?:passage|article|reading|paragraph)\b"
    r"|\b(?:first|second|third|fourth|last|final) paragraph\b"
    r"|\baccording to the (?:text|dialogue|conversation|author|story)\b",
    re.IGNORECASE,
)
_OWN_PASSAGE = re.compile("[「『“〈《][^」』”〉》]{6,}|。.+。|：.{12,}")


def passage_group(question: str, options: Mapping[str, str]) -> str:
    """The stem shows that it depends on a passage printed elsewhere: 請依下文回答第46題至第50題, a short 根據本文 …,
    a blank of a cloze. A stem that brings its own passage (「…」根據上文，下列…) stays; so does 憲法本文.

    Passages that only the page shows are findings of the question reader. Source: the card, "reading passage"; hazards
    20 and 21.
    """
    text = _compact(question)
    if not _GROUP_HINT.isdisjoint(text) and (found := _GROUP.search(text)):
        return found.group()
    if _is_cloze(question, options):
        return "blank of a cloze"
    short = len(text) <= STANDALONE_LIMIT and not _PASSAGE_HINT.isdisjoint(text)
    if short and (found := _PASSAGE.search(text)) and not _OWN_PASSAGE.search(text):
        return found.group()
    if len(question) <= 4 * STANDALONE_LIMIT and not _HAN.search(question):
        found = _ENGLISH_PASSAGE.search(question)
        return found.group() if found else ""
    return ""


# ---- what our own reading may have damaged --------------------------------------------------------------------------


_ASKS = re.compile(
    "(?:下列|以下|何者|何種|何項|何人|為何|那一|哪一|請問|試問|多少|如何|是否).{0,60}?[？?]$|.{8}[：:]$", re.DOTALL
)


_ENDS_ASKING = frozenset("？?：:")
"""The only characters that _ASKS ends with."""


def swallowed_text(question: str, options: Mapping[str, str]) -> str:
    """One option took in adjacent text: it is far longer than options are and several times longer than every sibling,
    or it alone ends by asking a question, as the stem of the next item does.

    Imbalance is required in both: four long options are just a long question, and options may be questions. Sources:
    methodology page; the audit page for what the second sign catches of stems planted behind options.
    """
    texts = {letter: _compact(text) for letter, text in options.items()}
    asking = [letter for letter, text in texts.items() if text[-1:] in _ENDS_ASKING and _ASKS.search(text)]
    questions = [letter for letter, text in texts.items() if "？" in text or "?" in text]
    if len(texts) > 1 and len(asking) == 1 and questions in ([], asking):
        return f"option {asking[0]} ends by asking"
    lengths = sorted(((len(text), letter) for letter, text in texts.items()), reverse=True)
    if len(lengths) < 2:
        return ""
    (longest, letter), (next_longest, _) = lengths[:2]
    if any(longest > over and longest >= times * max(next_longest, 1) for over, times in SWALLOWED):
        return f"option {letter}: {longest} characters, next {next_longest}"
    return ""


_CLOSING = "，。、；：？！）)」』】〕》〉”’,;:?!"
_GOES_ON = "，、（「『《〈"
_CELLS = re.compile(
    r"\s*(?=(?:\S{1,4}\s+)?[0-9.,%]{1,8}\s+[0-9.,%]{1,8}\s)(?:\S{1,8}\s+){3,}(?=.*[\u3400-\u9fff])", re.DOTALL
)
"""Three cells of a row or more, the first or second and the next one numbers, before a Chinese stem."""


def displaced_stem(question: str, options: Mapping[str, str]) -> str:
    """The stem begins in the middle of a sentence (with a closing mark) or with a row of cells, breaks off (with a
    comma or an opening mark), or is too short to ask anything.

    Source: the card, "Items whose stem was displaced by table debris". Conservative: the question reader sees the page
    and reports the rest.
    """
    text = _compact(question)
    if text and text[0] in _CLOSING and any(char.isalnum() for char in text):
        return f"stem begins with {text[0]}"
    if text and text[-1] in _GOES_ON and _HAN.search(text):
        return f"stem ends with {text[-1]}"
    if cells := _CELLS.match(question):
        return f"stem begins with cells: {cells.group().strip()[:30]}"
    if _HAN.search(text) and len(text) < TINY_STEM and text[-1] not in "？?：:":
        return f"stem of {len(text)} characters"
    return ""


def unmapped_glyph(question: str, options: Mapping[str, str]) -> str:
    """A private-use character is left that no table maps. Never cleaned away. Source: hazard 22."""
    glyphs = unmapped("".join((question, *options.values())))
    return " ".join(f"U+{ord(glyph):04X}" for glyph in sorted(glyphs))


Rule = Callable[[str, Mapping[str, str]], str]

RULES: Mapping[Exclusion, Rule] = MappingProxyType(
    {
        Exclusion.NOT_FOUR_CHOICE: not_four_choice,
        Exclusion.IDENTICAL_OPTIONS: identical_options,
        Exclusion.NOT_TEXT: not_text,
        Exclusion.ENGLISH: english,
        Exclusion.FIGURE: figure,
        Exclusion.FOLLOW_UP: follow_up,
        Exclusion.PASSAGE_GROUP: passage_group,
        Exclusion.SWALLOWED_TEXT: swallowed_text,
        Exclusion.DISPLACED_STEM: displaced_stem,
        Exclusion.UNMAPPED_GLYPH: unmapped_glyph,
    }
)
"""Every text rule by the exclusion that it gives."""

_PRECEDENCE = {exclusion: place for place, exclusion in enumerate(EXCLUSION_ORDER)}


def in_order(exclusions: Iterable[Exclusion]) -> tuple[Exclusion, ...]:
    """Exclusions without repetition, in precedence order."""
    return tuple(sorted(set(exclusions), key=_PRECEDENCE.__getitem__))


def explain(question: str, options: Mapping[str, str]) -> Mapping[Exclusion, str]:
    """Every text rule that fires with its evidence, in precedence order."""
    return {exclusion: evidence for exclusion, rule in RULES.items() if (evidence := rule(question, options))}


def text_exclusions(question: str, options: Mapping[str, str]) -> tuple[Exclusion, ...]:
    """Every exclusion that the words of a question show, in EXCLUSION_ORDER; () when there is none."""
    return in_order(explain(question, options))
