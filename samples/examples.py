"""One small paper or key sheet for each hazard, and the plain ones without any.

What belongs here: the smallest specification in which a hazard is real. What does not: the sample ministry.
A plain paper is one that reading in text order gets right; with a single hazard switched on it no longer does.
"""

from __future__ import annotations

from dataclasses import replace

from samples.fonts import MARKERS
from samples.spec import (
    KEY_HAZARDS,
    Block,
    Grid,
    Hazard,
    KeySpec,
    Layout,
    PaperHeader,
    PaperSpec,
    Passage,
    PrintedQuestion,
    SectionHeading,
)

H = Hazard

HEADER = PaperHeader(
    ("110年樣本公務人員初等考試試題",),
    (("等別", "初等考試"), ("類科", "資訊處理"), ("科目", "計算機大意")),
    "6101",
)

PLAIN = (
    PrintedQuestion("下列何者為電腦的輸入裝置？", ("印表機", "鍵盤", "喇叭", "投影機")),
    PrintedQuestion("下列何者為揮發性記憶體？", ("光碟", "硬碟", "主記憶體", "磁帶")),
    PrintedQuestion(
        "關於作業系統之功能，下列敘述何者正確？",
        ("負責管理電腦的硬體與軟體資源", "只能執行一個程式", "不需要任何記憶體即可執行", "與應用程式無關"),
    ),
    PrintedQuestion("下列何者為資料庫查詢語言？", ("HTML", "SQL", "CSS", "XML")),
)


def plain_paper(layout: Layout = Layout.PRIVATE_USE, *, late: bool = False) -> PaperSpec:
    """Four questions on one page, free of hazards (no gap printed between scripts either)."""
    return PaperSpec(HEADER, PLAIN, layout, late=late, script_gap=False)


def plain_key() -> KeySpec:
    """Forty answers in an old grid: numbers in order, then answers in order."""
    cells = {n: "ABCD"[(5 * n + n // 3) % 4] for n in range(1, 41)}
    return KeySpec("110年樣本公務人員初等考試", "資訊處理", "計算機大意", cells, Grid.QUESTION_NUMBER, single=40)


def _with(index: int, question: PrintedQuestion) -> tuple[Block, ...]:
    return (*PLAIN[:index], question, *PLAIN[index:])


def _switched(hazard: Hazard) -> tuple[Block, ...]:
    switch = frozenset({hazard})
    special: dict[Hazard, PrintedQuestion] = {
        H.DIGIT_BEFORE_MARKER: PrintedQuestion(
            "依法得處下列何種刑度？", ("1年6個月有期徒刑", "2年有期徒刑", "2年8個月有期徒刑", "3年有期徒刑"), switch
        ),
        H.BARE_NUMBER_LINE: PrintedQuestion("某程式執行12次後停止，下列何者正確？", ("甲", "乙", "丙", "丁"), switch),
        H.MARKER_IN_TEXT: PrintedQuestion(
            "關於契約之敘述，何者正確？", ("當然無效", f"承{MARKERS[0]}之事實，仍屬有效", "得撤銷", "效力未定")
        ),
        H.RAISED_MARKER: PrintedQuestion("1 KB等於多少？", ("2^{10}", "2^{8}", "2^{16}", "2^{20}"), switch),
        H.DRAWN_OPTIONS: PrintedQuestion("下列何種配置方式正確？", ("", "", "", ""), switch),
        H.AXIS_TICKS: PrintedQuestion("如下圖所示，何者最多？", ("甲", "乙", "丙", "丁"), switch),
        H.SCRIPTS: PrintedQuestion("10^{3}公克等於多少公斤？", ("1", "10", "100", "1000")),
        H.BODY_GLYPHS: PrintedQuestion("水痘的病灶為何？", ("膿腫", "水\ue2cc", "結節", "斑塊")),
    }
    if hazard in special:
        return _with(2, special[hazard])
    return _with(2, replace(PLAIN[2], stem="關於編譯器之功能，下列敘述何者正確？", hazards=switch))


def paper_with(hazard: Hazard) -> PaperSpec:
    """A small paper with one hazard. Raises ValueError for a hazard of key sheets."""
    if hazard in KEY_HAZARDS:
        raise ValueError(f"{hazard} is a hazard of key sheets")
    plain = plain_paper()
    if hazard in (H.COMPAT_IDEOGRAPHS, H.HEADER_SWAPPED):
        return replace(plain, hazards=frozenset({hazard}))
    if hazard is H.SECTION_AFTER_D:
        heading = SectionHeading("二、複選題（第4題至第4題，每題3分，占3分）", "所列的選項，其中至少有二個是正確答案。")
        return replace(plain, blocks=(*PLAIN[:3], heading, PLAIN[3]))
    if hazard is H.PASSAGE_AFTER_D:
        passage = Passage("請依下文回答第4題：", ("資料庫管理系統提供查詢與更新資料之語言。",))
        return replace(plain, blocks=(*PLAIN[:3], passage, PLAIN[3]))
    if hazard is H.CLOZE_BLANKS:
        passage = Passage("請依下文回答第5題至第6題：", ("The sun {5} in the east and {6} in the west.",))
        blanks = [PrintedQuestion("", words, frozenset({hazard})) for words in (("rises", "sits", "is", "was"),) * 2]
        return replace(plain, blocks=(*PLAIN, passage, *blanks))
    return replace(plain, blocks=_switched(hazard))


def key_with(hazard: Hazard) -> KeySpec:
    """A small key sheet with one hazard. Raises ValueError for a hazard of question papers."""
    if hazard not in KEY_HAZARDS:
        raise ValueError(f"{hazard} is a hazard of question papers")
    switched = replace(plain_key(), hazards=frozenset({hazard}))
    if hazard in (H.LABELS_SHUFFLED, H.HUNDRED_LABELS):
        return replace(switched, grid=Grid.ORDINAL)
    if hazard is H.MISPRINTED_COUNT:
        cells = {**switched.cells, 41: "ABC", 42: "DE"}
        return replace(switched, grid=Grid.ORDINAL, cells=cells, multi=2)
    return replace(switched, grid=Grid.QUESTION_ORDER) if hazard is H.GLUED_FIRST_CELL else switched
