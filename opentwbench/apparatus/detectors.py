"""Detectors of failures in free text: wrong Minguo years, glyphs that are none, Simplified characters, romanised names.

What belongs here: pure functions of a text that find passages. What does not: counting them over models (free_text.py).
Each finds only what it can prove from the text itself: a year is wrong by arithmetic, a character by the standard or by
the code page of Taiwan, a name by its spelling in the middle of Chinese. What it cannot prove it leaves alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple


class Found(NamedTuple):
    """A passage that a detector objects to, and why in a few words."""

    start: int
    text: str
    reason: str


# -- Minguo years -----------------------------------------------------------------------------------------------------

FIRST_YEAR = 1912
"""Minguo 1 is 1912: year + 1911. The year before it is 民國前 1 年, 1911: 1912 - year."""

_YEAR = r"(?P<roc>\d{1,3}|[〇零一二三四五六七八九十百]{1,5}|元)"
_MONTH = r"(?:\s?\d{1,2}\s?月(?:\s?\d{1,2}\s?日)?)?"
_ERA = r"(?:西元|公元)"
_IS = r"(?:即|也就是|就是|等於|為|是|，即|，也就是|換算為|換算成|換算後為|[=＝])"
_AD = r"(?P<ad>1[89]\d\d|20\d\d)"
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"民國(?P<before>前)?\s?{_YEAR}\s?年?{_MONTH}\s?[（(]\s?(?:即\s?)?{_ERA}?\s?{_AD}\s?年?{_MONTH}\s?[）)]",
        rf"民國(?P<before>前)?\s?{_YEAR}\s?年\s?{_IS}\s?{_ERA}\s?{_AD}(?!\d)",
        rf"(?<!\d){_AD}\s?年?{_MONTH}\s?[（(]\s?(?:即\s?)?民國(?P<before>前)?\s?{_YEAR}\s?年?{_MONTH}\s?[）)]",
        rf"{_ERA}\s?{_AD}\s?年\s?{_IS}\s?民國(?P<before>前)?\s?{_YEAR}\s?年",
    )
)
_SUMS = (
    re.compile(r"(?<!\d)(?P<a>\d{1,3})\s?[+＋]\s?1911\s?[=＝]\s?(?P<b>\d{4})(?!\d)"),
    re.compile(r"(?<!\d)(?P<b>\d{4})\s?[-－−–]\s?1911\s?[=＝]\s?(?P<a>\d{1,3})(?!\d)"),
)
_DIGITS = {digit: n for n, digit in enumerate("零一二三四五六七八九")} | {"〇": 0}


_UNIT = "([一二三四五六七八九])"
_NUMERAL = re.compile(f"(?:{_UNIT}百)?零?(?:{_UNIT}?(十))?{_UNIT}?")


def minguo(text: str) -> list[Found]:
    """Minguo and Western years that are said to be one and are not; every pair in brackets, in words or as a sum."""
    found = []
    for form in _FORMS if "民國" in text else ():
        for match in form.finditer(text):
            year = _number(match["roc"])
            if year is None or year == 0:
                continue
            western = FIRST_YEAR - year if match["before"] else FIRST_YEAR - 1 + year
            if western != int(match["ad"]):
                found.append(Found(match.start(), match[0], f"{western}"))
    for form in _SUMS if "1911" in text else ():
        for match in form.finditer(text):
            if int(match["a"]) + FIRST_YEAR - 1 != int(match["b"]):
                found.append(Found(match.start(), match[0], f"{int(match['a']) + FIRST_YEAR - 1}"))
    return sorted(found)


def _number(text: str) -> int | None:
    """A year number up to 999 in digits or in Chinese, None for what is no number (十百)."""
    if text == "元":
        return 1
    if text.isascii():
        return int(text)
    if not set(text) & {"十", "百"}:
        return int("".join(str(_DIGITS[digit]) for digit in text)) if len(text) <= 3 else None
    match = _NUMERAL.fullmatch(text)
    if match is None:
        return None
    hundreds, tens, ten, ones = match.groups()
    return 100 * _DIGITS.get(hundreds, 0) + (10 * _DIGITS.get(tens, 1) if ten else 0) + _DIGITS.get(ones, 0)


# -- glyphs -----------------------------------------------------------------------------------------------------------

_LATER_IDEOGRAPHS = ((0x2EBF0, 0x2EE5F), (0x31350, 0x3347F))
"""CJK extensions I, H and J: characters of Unicode 15 to 17, which Python 3.11's tables (14.0) do not know yet."""


def glyphs(text: str) -> list[Found]:
    """Characters that no reader sees as written: private-use and unassigned ones, U+FFFD, and descriptions of invented
    ideographs (U+2FF0 to U+2FFF). One passage a run of them."""
    found: list[Found] = []
    for match in _ODD.finditer(text):
        reasons = {reason for char in match[0] if (reason := _odd(char))}
        if reasons:
            found.append(Found(match.start(), match[0], ", ".join(sorted(reasons))))
    return found


_ODD = re.compile("[\ue000-\uf8ff\u2ff0-\u2fff\ufff0-\uffff\U0003134b-\U0010ffff\u0378-\u0379\ufdd0-\ufdef]+")


def _odd(char: str) -> str:
    code = ord(char)
    if any(low <= code <= high for low, high in _LATER_IDEOGRAPHS) or 0xE0100 <= code <= 0xE01EF:
        return ""
    if char == "\ufffd":
        return "replacement character"
    if 0x2FF0 <= code <= 0x2FFF:
        return "described ideograph"
    return {"Co": "private use", "Cn": "unassigned"}.get(unicodedata.category(char), "")


# -- Simplified characters --------------------------------------------------------------------------------------------

SIMPLIFIED = frozenset(
    "这说们对时会为国学发动经应当无实现过还进给将长东车马鸟鱼门问间闻关开难题选项择规则测验级组织结类总绝"
    "统继续维护办务劳协单双变让认识议论证评词译试话该详语误请诸谁调谈谊谋谓谢谦质贡财责贤败货贩贪贫购贮贯"
    "贰贱贵贷贸费贺贼贾资赏赐赔赖赚赛赞赠赢赵跃轨转轮软轰轻载较辅辆辉辑输边达迁运远违连迟逊递遗邓邮邻郑释"
    "铁钟钢银销锁锋错锦键镇镜闭闲闹阅阳阴阵阶际陆陈险随隐顶顺须顾顿预领频颗颜额风飞饭饮饰饱馆骂驾骑骗鲜鸡"
    "鸣麦黄齐齿龙龟亿仅从仓仪众传伤伦伪侠侣侦侧侨债倾偿储兑兰兴养兽冈册写军农冯冲决况冻净凉减凤凭凯击刘刚"
    "创删别剂剑剧劝劲势勋匀区医华卖卢卫厅历厉压厌县参叙号叹吓吗启吴呐员响哑唤啸喷嘱团园围图圆场块坚坛坝坞"
    "坟坠垄垒垦埘堕墙壮声壳壶处备头夹夺奋奖奥妆妇妈娱娄婴孙宝宠审宪宫宽宾寻导寿尔尘尝层属岁岂岛峡币帅师帐"
    "帜带帮库庆庐废弃张弥弯弹强归录彻径忆忧态恋恳恶恼悬惧惨惩惯懒戏战户扩扫扬抚抛抢报担拟拥拦拨挡挣挤挥损"
    "换捣掷掺揽搀摄摆摇撑撵敌数斋断显晓暂术杀杂权条枪标栈栋栏树样档桥桨梦检楼榄欢欧歼残毁毕汇汉汤沟没泪泼"
    "泽浅浆济浑浓涛润涨渊渔湾湿溃滚满滤滥滨灭灯灵灾炉点炼烁烂烛烟烦烧热爱爷牵牺犹狭狮独狱猎猪献玛环珑琐电"
    "画畅疗疟疮疯瘪监盖盘睁矫矿码砖础硕碍礼祸秃积称稳窃窍窝竖竞笔筛筹签简篮粮紧纠红约纪纯纲纳纵纷纸纹纺线"
    "练细终绍绑绒绕绘络绢绩绪绳绵绿缓编缘缝缩缴罗罚罢职联聋聪肃肠肤肿胀胁胆脉脏脑脚脱脸舆艰艺节芦苏茎荡荣"
    "药莱莲获营萧萨蒋蓝虏虑虚虽蚀蚁蛮补衬袭装裤见观视觉览誉"
)
"""Characters of the PRC's simplification scheme (简化字总表, 1986) that Taiwan does not write: chosen by hand from
common ones, none of them encodable in cp950 and none a traditional form (a test holds both). Left out: 个, which Hakka
writes, and what both sides write (后, 台, 里, 干, 云, 准)."""

ALLOWED = ("弁当", "台湾", "王添灯", "国立", "株式会社")
"""Words of Japanese, and a name, that native text writes so. Source: facts on the corpus, "Simplified-only"."""

_KANA = re.compile("[\u3040-\u30ff]")
_NEAR = 12
"""Characters on either side in which a kana makes the passage Japanese."""

_ALLOWED = re.compile("|".join(map(re.escape, ALLOWED)))


def simplified(text: str, characters: frozenset[str] = SIMPLIFIED) -> list[Found]:
    """Simplified-only characters; passages in Japanese (a kana near by) and allowed words are left alone.

    `characters`: another list, e.g. a whole lexicon. One passage a run of neighbouring characters.
    """
    if characters.isdisjoint(text):
        return []
    allowed = {place for match in _ALLOWED.finditer(text) for place in range(*match.span())}
    spans: list[list[int]] = []
    for place, char in enumerate(text):
        if char not in characters or place in allowed or _KANA.search(text, max(0, place - _NEAR), place + _NEAR):
            continue
        if spans and spans[-1][1] == place:
            spans[-1][1] = place + 1
        else:
            spans.append([place, place + 1])
    return [Found(start, text[start:end], "simplified") for start, end in spans]


# -- romanised names --------------------------------------------------------------------------------------------------

SURNAMES = frozenset(
    """
    Bai Cai Cao Chan Chang Chao Chen Cheng Chi Chiang Chiu Chou Chow Chu Chuang Deng Ding Fan Fang Fu Gao Guo Hao He Ho
    Hou Hsiao Hsieh Hsu Hsueh Hu Huang Jiang Jian Jin Ke Ko Kuo Lai Lee Li Liang Liao Lien Lin Liu Lo Lu Luo Ma Mao Meng
    Ou Pai Pan Peng Qian Qiu Shen Shi Shih Song Su Sun Sung Tai Tan Tang Teng Ting Tsai Tsao Tseng Tu Tung Wang Wei Weng
    Wu Xiao Xie Xu Xue Yan Yang Yao Ye Yeh Yen Yin Yu Yuan Zeng Zhan Zhang Zhao Zheng Zhong Zhou Zhu Zhuang Zhuo
    """.split()  # noqa: SIM905 - a list of 110 quoted names is harder to read
)
"""Common surnames of Taiwan in pinyin and Wade-Giles. Left out are those that are English words or begin a place (Long,
Hong, Young, King, Man, Kung, May)."""

_INITIAL = r"(?:zh|ch|sh|ts|tz|hs|[bpmfdtnlgkhjqxrzcsyw])?"
_FINAL = (
    r"(?:iang|iong|iung|uang|ieh|ien|ueh|uei|ang|eng|ing|ong|ung|ian|iao|uai|uan|eou|ai|an|ao|ei|en|er|ia|ie|ih|in|io|"
    r"iu|ou|ua|ue|ui|un|uo|eh|[aeiou])"
)
_SYLLABLE = _INITIAL + _FINAL
_GIVEN = re.compile(rf"(?:{_SYLLABLE}-?{_SYLLABLE}|{_SYLLABLE})", re.IGNORECASE)
_KNOWN = frozenset(("Yat-sen", "Kai-shek", "Ying-jeou", "Ching-kuo", "Yat-Sen", "Kai-Shek"))
"""Given names of public figures in spellings of their own."""

_NAME = re.compile(r"(?<![A-Za-z-])([A-Z][a-z]+(?:-[A-Za-z][a-z]+)?) ([A-Z][a-z]+(?:-[A-Za-z][a-z]+)?)(?![A-Za-z])")
_HAN = re.compile("[\u3400-\u9fff]")
_GLOSS_BEFORE = re.compile(r"[（(]\s*$")
_GLOSS_AFTER = re.compile(r"\s*[（(][^）)]{0,20}[\u3400-\u9fff]")
_ENGLISH_BEFORE, _ENGLISH_AFTER = re.compile(r"[A-Za-z][,.;:'’]?\s$"), re.compile(r"[,.;:'’]?\s[A-Za-z]")

CHINESE = 10
"""Least Chinese characters of a text in which a name must be Chinese: a reply in English may write names as it does."""


def romanised(text: str) -> list[Found]:
    """Chinese personal names in Latin letters in a Chinese text: surname first, or given name first with a hyphen.

    Left alone: a name in brackets after the Chinese one, one that a bracket with Chinese follows, and one inside an
    English passage (a Latin word before or after it), because titles and citations are quoted as they stand.
    """
    if " " not in text or len(_HAN.findall(text)) < CHINESE:
        return []
    found = []
    for match in _NAME.finditer(text):
        before, after = text[max(0, match.start() - 3) : match.start()], text[match.end() : match.end() + 30]
        if _GLOSS_BEFORE.search(before) or _GLOSS_AFTER.match(after):
            continue
        if _ENGLISH_BEFORE.search(before) or _ENGLISH_AFTER.match(after):
            continue
        one, two = match.groups()
        if (one in SURNAMES and _given(two)) or (two in SURNAMES and "-" in one and _given(one)):
            found.append(Found(match.start(), match[0], "romanised name"))
    return found


def _given(word: str) -> bool:
    return word in _KNOWN or _GIVEN.fullmatch(word) is not None


Detector = Callable[[str], list[Found]]

DETECTORS: Mapping[str, Detector] = MappingProxyType(
    {"minguo": minguo, "glyphs": glyphs, "simplified": simplified, "romanised": romanised}
)
"""Name -> detector."""


def han(text: str) -> int:
    """Chinese characters of a text: what leakage is counted against."""
    return len(_HAN.findall(text))


def visible(content: str | None) -> str:
    """What a reader sees of a reply: the text after the last closing think tag."""
    return (content or "").rpartition("</think>")[2]


def each(text: str) -> Iterator[tuple[str, list[Found]]]:
    """Every detector's findings in a text, those without any left out."""
    for name, detector in DETECTORS.items():
        if found := detector(text):
            yield name, found
