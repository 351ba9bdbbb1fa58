"""The second pass: published questions whose stem seems to need what it does not print, without saying so.

What belongs here: signs of dependence, each a function with its evidence, and the proposals made from them.
What does not: excluding anything. A proposal is read by a person, who withdraws the item or leaves it; the filters
(`filters`) take out what points in so many words.
Signs are weak by nature. Their weights are a ranking set by hand, not measured chances; a score joins them as if they
erred independently. What proposals were worth on the real papers stands on the audit page, "Proposals".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from opentwbench.exam.items import PUBLISHED, PrintedItem

BEFORE = 3
"""How many earlier questions of a paper are looked at: groups of more questions on one scene carry a heading."""

PROPOSED_FROM = 0.5
"""Score from which an item is proposed."""


class Sign(StrEnum):
    """What makes a stem look dependent."""

    NO_ANTECEDENT = "no_antecedent"
    """It speaks of this patient, the former, the above, and nothing before that word could be meant."""
    CONTINUES = "continues"
    """It begins as the continuation of something: 則, 其, 接下來, 此時."""
    ASKS_ABOUT_NOTHING = "asks_about_nothing"
    """Without the words of asking nothing is left of the stem, and the options are bare names."""
    NAMED_BEFORE = "named_before"
    """A person is named who was introduced in an earlier question of the paper."""
    LABELS_UNDEFINED = "labels_undefined"
    """Points, regions or marks (甲點, 區域A, ①) are spoken of that the stem never introduces."""
    DATA_ABSENT = "data_absent"
    """Data, a program or a result is announced, and no figure or line of it is printed."""
    PARTIES_UNINTRODUCED = "parties_unintroduced"
    """The options, or a stem without 甲, speak of 乙 or 丙 whom nobody introduced."""


WEIGHTS: Mapping[Sign, float] = {
    Sign.NO_ANTECEDENT: 0.8,
    Sign.CONTINUES: 0.8,
    Sign.ASKS_ABOUT_NOTHING: 0.7,
    Sign.NAMED_BEFORE: 0.9,
    Sign.LABELS_UNDEFINED: 0.7,
    Sign.DATA_ABSENT: 0.6,
    Sign.PARTIES_UNINTRODUCED: 0.6,
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """One sign: the words that show it, and where ('stem 0-3' in characters without white space, 'options', or the
    earlier question, 'question 12')."""

    sign: Sign
    words: str
    place: str


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier question of the same paper."""

    q_no: int
    stem: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """A published item that a person should look at."""

    item_id: str
    paper_id: str
    q_no: int
    evidence: tuple[Evidence, ...]
    score: float

    def to_json(self) -> dict[str, object]:
        """The proposal as a mapping, evidence in the order of the signs."""
        return {
            "item_id": self.item_id,
            "paper_id": self.paper_id,
            "q_no": self.q_no,
            "score": round(self.score, 3),
            "evidence": [{"sign": e.sign.value, "words": e.words, "place": e.place} for e in self.evidence],
        }


# ---- signs ----------------------------------------------------------------------------------------------------------

_PERSON = (
    "病人|患者|病患|病童|個案|男性|女性|男子|女子|男士|女士|先生|小姐|太太|女孩|男孩|女嬰|男嬰|嬰兒|新生兒|幼兒|孩童|兒童"
    "|小孩|孩子|男童|女童|孕婦|產婦|婦人|婦女|老人|青少年|學生|少年|少女"
)
_THING = (
    "公司|土地|房屋|契約|判決|處分|案件|行為|系統|電路|程式|函數|化合物|物質|細菌|病毒|菌|藥物|疾病|病灶|腫瘤|手術|檢查"
    "|研究|試驗|病變|規定|處置"
)
_POINTS_BACK = re.compile(
    rf"(?P<person>[此該這][位名個]?(?:{_PERSON}))"
    rf"|(?:[此該]|這[個項種次])(?P<thing>{_THING})"
    r"|(?P<text>上述|前述|上開|前開|上列|前揭|前項|前者|後者)"
    r"|(?P<self>此人|她(?!們)|這樣的(?:病|人)|此(?:種)?情[況形]下|此一規定|此二者|此項(?=[^，。]{0,8}(?:介入|研究|試驗|處分|行為)))"
)
_LEAD = 10
"""Characters before a word that points back in which an antecedent cannot hide when they name no person or thing."""


def _no_antecedent(text: str, options: Mapping[str, str], earlier: Sequence[Earlier]) -> Iterator[Evidence]:
    found = _POINTS_BACK.search(text)
    if not found or found.start() > _LEAD:
        return
    before = text[: found.start()]
    if found["person"] and re.search(f"{_PERSON}|歲", before):
        return
    if found["thing"] and (found["thing"] in before or len(before) > _LEAD // 2):
        return
    if found["text"] and len(before) > _LEAD // 2:
        return
    if found["self"] and re.search(f"{_PERSON}|人|母|妻|女", before):
        return
    yield Evidence(Sign.NO_ANTECEDENT, found.group(), f"stem {found.start()}-{found.end()}")


_CONTINUATION = re.compile(
    r"^(?:則(?!天)|而(?![立今後])|但(?!書)|並(?!非|行|聯|購|存)|且|又(?!稱|名)|亦|仍|其(?![他它中餘次實])|接下來|接著|接續|隨後|之後|然後|後來|不久"
    r"|此時(?!期)|這時|同時並|經(?:過)?(?:一系列|上述|進一步|詳細)|若再|如再|如果再|再過|至於|得知"
    r"|若[^，。]{0,20}(?:證實|確診|確定)後?，|若(?:經|為)?[^，。]{0,12}(?:檢查|影像|評估)[^，。]{0,8}是)"
)


_QUOTES = re.compile("[《〈「『]")  # a verse or a line quoted may begin with any word


def _continues(text: str, options: Mapping[str, str], earlier: Sequence[Earlier]) -> Iterator[Evidence]:
    if (found := _CONTINUATION.search(text)) and not _QUOTES.search(text):
        yield Evidence(Sign.CONTINUES, found.group(), f"stem 0-{found.end()}")


_ASKING = re.compile(
    "下列|以下|何者|何項|何種|那一項|那一個|那一種|那種|那個|哪一項|哪一個|哪一種|何|那些|選項|敘述|說法|描述|關於|有關|對於|根據|請問|試問|問|答案|"
    "正確|錯誤|不正確|有誤|適當|不適當|適宜|恰當|合適|合理|可能性|最有可能|可能|優先|首先|接下來|下一步|第一|主要|重要|最佳|較好|較妥|最好|方式|方法|步驟|"
    "診斷|鑑別|處置|處理|治療|檢查|檢驗|措施|建議|選擇|考慮|安排|進行|採取|給予|應該|應|該如何|如何|為何|為什麼|原因|因素|結果|病因|疾病|病症|情形|情況|狀況|"
    "確定|證實|確切|確認|需要|需|必須|不須|不需|使用|作|做|再|先|此|其|的|之|為|是|最|不|者|項|種|才|可|較|時|會|有|無|與|和|或|在|於|中|要|屬於|屬|發生|造成|"
    "[，。？：:?、（）()「」]|細菌|藥物|手術|感染|高|低|宜|術中|術後|檢測|價值|為了|各種|可用|但|文意|旨意|意旨|本文|符合|那|你|如果|醫師|門診|她|他"
)
_NAME_LIKE = 30
"""Characters. Options longer than this on average are statements that may stand on their own."""


def _asks_about_nothing(text: str, options: Mapping[str, str], earlier: Sequence[Earlier]) -> Iterator[Evidence]:
    if not text or len(_ASKING.sub("", text)) > 1:
        return
    lengths = [len(_joined(option)) for option in options.values()]
    about_a_text = re.search("文意|旨意|意旨|本文", text)
    if lengths and (about_a_text or (sum(lengths) / len(lengths) <= _NAME_LIKE and not re.search("敘述|說法", text))):
        yield Evidence(Sign.ASKS_ABOUT_NOTHING, text[:20], f"stem 0-{len(text)}")


_NAME = re.compile(
    r"(?:[\u4e00-\u9fff](?:老?先生|女士|小姐|老?太太|小弟|小妹|同學|伯伯|奶奶|爺爺|媽媽)|小[\u4e00-\u9fff](?=[，的在因為已有於])|([\u4e00-\u9fff])\1(?=[，的在因為已有於後被接懷]))"
)
_CASE = re.compile("「[^」]{1,12}案」")
_NO_NAME = re.compile("小[時孩學型組腸腦便朋兒數心說麥]|[漸常往剛僅處種恰偏每各稍略偶紛]{2}|[此該]先生")
_SCENE = 40
"""Characters. A longer stem usually tells a scene of its own, although the person has a namesake above."""

_GOES_ON = re.compile("後來|之後|仍|再次|再度|此次|這胎|這次|第[0-9一二三四]+[天日個]")
_INTRODUCED = re.compile(r"(?:一位|一名|某|現年|今年|[0-9]+歲的?|歲)$")


def _named_before(text: str, options: Mapping[str, str], earlier: Sequence[Earlier]) -> Iterator[Evidence]:
    for found in _NAME.finditer(text):
        name = found.group()
        before = text[: found.start()]
        after = text[found.end() : found.end() + 6]
        if len(text) > _SCENE and not _GOES_ON.search(text):
            continue
        if _NO_NAME.search(name) or _INTRODUCED.search(before) or re.match(r"[，（(]?(?:今年|現年)?[0-9]+歲|為", after):
            continue
        for question in reversed(earlier):
            if name in question.stem:
                yield Evidence(Sign.NAMED_BEFORE, name, f"question {question.q_no}")
                return
    for found in _CASE.finditer(text):
        for question in reversed(earlier):
            if found.group() in question.stem and found.start() <= _LEAD:
                yield Evidence(Sign.NAMED_BEFORE, found.group(), f"question {question.q_no}")
                return


_LABELLED = re.compile(
    "(?P<label>[甲乙丙丁戊A-HP-Z])(?P<kind>節?點|區域|線段|端點|標示處)|區域(?P<region>[甲乙丙丁A-H])"
)
_MARK = re.compile("[①-⑩]")
_KINDS_OF_LETTERS = re.compile(
    "維生素|維他命|血型|型肝炎|染色體|免疫球蛋白|等級|組別|字母|程式|變數|暫存器|格式|等第|蛋白|凝血|抗原|波"
)


def _labels_undefined(text: str, options: Mapping[str, str], earlier: Sequence[Earlier]) -> Iterator[Evidence]:
    texts = [_joined(option) for option in options.values()]
    marks = sorted({mark for option in texts for mark in _MARK.findall(option)} - set(_MARK.findall(text)))
    if marks and len([option for option in texts if _MARK.search(option)]) > 1:
        if not any(re.search(f"{mark}[^①-⑩]{{4,}}", option) for option in texts for mark in marks):
            yield Evidence(Sign.LABELS_UNDEFINED, "".join(marks), "options")
        return
    if len(texts) > 1 and all(re.fullmatch("[甲乙丙丁戊A-H]", option) for option in texts):
        absent = [option for option in texts if option not in text]
        if len(absent) > 1 and not _KINDS_OF_LETTERS.search(text):
            yield Evidence(Sign.LABELS_UNDEFINED, "".join(absent), "options")
        return
    if len(texts) > 1 and all(re.fullmatch("區域?[甲乙丙丁A-H]|[甲乙丙丁A-H]區", option) for option in texts):
        yield Evidence(Sign.LABELS_UNDEFINED, texts[0], "options")
        return
    for found in _LABELLED.finditer(text):
        label = found["label"] or found["region"]
        others = text.count(label) - len(re.findall(f"{label}(?:節?點|區域|線段|端點)|區域{label}", text))
        if others == 0 and not re.search(r"[0-9（(]", text):
            yield Evidence(Sign.LABELS_UNDEFINED, found.group(), f"stem {found.start()}-{found.end()}")
            return


_ANNOUNCED = re.compile(
    "(?:根據|依據|依|由|從|按)(?:所給|所附|給定的?|提供的?|該|本|此)?(?:資料|數據|報表|統計資料|程式碼?|電路|實驗結果|檢驗結果|檢驗數據|檢驗報告)(?=[，,]|判斷|計算|可知)"
    "|(?:資料|結果|數據|程式碼?|條件|數值|情形|報告|內容|對話|詩句|文字|步驟)如下[，。：:？]?(?=下列|何者|請|試|則|問|其|最|$)"
)
_PRINTED = re.compile("[0-9０-９=＝{};「『①]")


def _data_absent(text: str, options: Mapping[str, str], earlier: Sequence[Earlier]) -> Iterator[Evidence]:
    found = _ANNOUNCED.search(text)
    if found and not _PRINTED.search(text):
        yield Evidence(Sign.DATA_ABSENT, found.group(), f"stem {found.start()}-{found.end()}")


_PARTY = re.compile("(?<!花)[甲乙丙丁戊](?![類級等種組型狀醛酸醇醚烷烯苯胺酮基二三])")
_MAY = re.compile("[甲乙丙丁戊](?:雖|原則上)?(?:得|不得|應|仍|可|須|無須|不須|無權|有權|不可)")
_SHORT = 30
"""Characters. A longer stem has a subject of its own."""


def _joined(text: str) -> str:
    return "".join(text.split())


def _parties_unintroduced(text: str, options: Mapping[str, str], earlier: Sequence[Earlier]) -> Iterator[Evidence]:
    if first := _PARTY.search(text):
        if first.start() == 0 and re.match("[乙丙](?![為係是])", text) and "甲" not in text:
            yield Evidence(Sign.PARTIES_UNINTRODUCED, first.group(), "stem 0-1")
        return
    if len(text) > _SHORT:
        return
    # Who is introduced does something first; who is spoken of as known may or must do something at once.
    firsts = [(found, option) for option in map(_joined, options.values()) if (found := _PARTY.search(option))]
    spoken_of = [found.group() for found, option in firsts if _MAY.match(option, found.start())]
    if len(spoken_of) > 2:
        yield Evidence(Sign.PARTIES_UNINTRODUCED, "".join(sorted(set(spoken_of))), "options")


_Look = Callable[[str, Mapping[str, str], Sequence[Earlier]], Iterator[Evidence]]
_LOOKS: tuple[_Look, ...] = (
    _no_antecedent,
    _continues,
    _asks_about_nothing,
    _named_before,
    _labels_undefined,
    _data_absent,
    _parties_unintroduced,
)


def signs(question: str, options: Mapping[str, str], earlier: Sequence[Earlier] = ()) -> tuple[Evidence, ...]:
    """Every sign that a question shows; `earlier` are the questions before it on the paper, in order."""
    text = _joined(question)
    return tuple(evidence for look in _LOOKS for evidence in look(text, options, earlier[-BEFORE:]))


def score(evidence: Iterable[Evidence]) -> float:
    """0 for no sign; else the chance that at least one is right, if they err independently."""
    wrong = 1.0
    for each in evidence:
        wrong *= 1 - WEIGHTS[each.sign]
    return 1 - wrong


def proposals(items: Sequence[PrintedItem]) -> list[Proposal]:
    """The published items of a subject that a person should look at, the surest first.

    `items` are all printed items of the subject: also an unpublished one can have set the scene.
    """
    papers: dict[str, list[PrintedItem]] = {}
    for item in items:
        papers.setdefault(item.paper_id, []).append(item)
    found = []
    for printed in papers.values():
        printed.sort(key=lambda item: item.q_no)
        before = [Earlier(item.q_no, item.question) for item in printed]
        for place, item in enumerate(printed):
            if item.bucket != PUBLISHED:
                continue
            evidence = signs(item.question, dict(item.options), before[max(0, place - BEFORE) : place])
            if (own := score(evidence)) >= PROPOSED_FROM:
                found.append(Proposal(item.item_id, item.paper_id, item.q_no, evidence, own))
    return sorted(found, key=lambda proposal: (-proposal.score, proposal.item_id))
