"""The sittings of the sample ministry: which items are printed on which paper, with which hazards and rulings.

What belongs here: the composition. What does not: geometry (paper, key), files (ministry), the items' words.
Day 1 has four sittings (ROC 101, 104, 107, 110); day 2 adds one sitting (113) and corrects the key of one paper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from samples.families import number_systems
from samples.items import BANKS, Item, read_bank, read_planted
from samples.spec import (
    Block,
    EssayPart,
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

LETTERS = "ABCDE"


@dataclass(frozen=True, slots=True)
class Entry:
    """One item as one paper prints it."""

    item: Item
    order: str = ""
    """Letters of the item's options in printed order, e.g. 'CADB'; '' keeps the order."""
    reword: Callable[[str], str] | None = None
    """A difference in white space or punctuation between reprints."""
    key: str | None = None
    """An answer (letter as printed) that contradicts the item's own: a conflicting reprint."""
    first_cell: str | None = None
    """What the first key (t=S) prints; None prints the answer."""
    hazards: frozenset[Hazard] = frozenset()

    @property
    def options(self) -> tuple[str, ...]:
        """Option texts in printed order."""
        reword = self.reword or str
        order = self.order or LETTERS[: len(self.item.options)]
        return tuple(reword(self.item.options[LETTERS.index(letter)]) for letter in order)

    @property
    def stem(self) -> str:
        """The stem as printed."""
        return (self.reword or str)(self.item.stem)

    @property
    def answer(self) -> str:
        """The answer's letters as printed."""
        if self.key:
            return self.key
        order = self.order or LETTERS
        return "".join(sorted(LETTERS[order.index(letter)] for letter in self.item.key))

    def printed(self) -> PrintedQuestion:
        """The question to typeset."""
        return PrintedQuestion(self.stem, self.options, self.item.hazards | self.hazards)


Part = Entry | SectionHeading | Passage | EssayPart


@dataclass(frozen=True, slots=True)
class Sitting:
    """One examination: its code and name in the index."""

    year_roc: int
    code: str
    name: str
    level: str


@dataclass(frozen=True, slots=True)
class Paper:
    """One question PDF with its keys and every place of the index that offers it."""

    sitting: Sitting
    category_code: str
    category: str
    subject_code: str
    subject: str
    parts: tuple[Part, ...]
    printed_code: str
    kind: str = "測驗題"
    printed_subject: str = ""
    """科目 on the paper where it differs from the index, e.g. with private-use ㈡."""
    slug: str | None = None
    matched: str | None = None
    """How the subject is found: 'full', 'head' or None (subjects.Assignment.how)."""
    layout: Layout = Layout.PRIVATE_USE
    late: bool = False
    grid: Grid = Grid.ORDINAL
    paper_hazards: frozenset[Hazard] = frozenset()
    key_hazards: frozenset[Hazard] = frozenset()
    corrected: bool = False
    """A corrected key (t=M) exists; the index row points at it."""
    also_in: tuple[tuple[str, str], ...] = ()
    """Other (category code, category) that the same PDF is published under."""
    extra_cell: str = ""
    """A cell too many at the end of the key: the paper must be rejected (count_mismatch)."""
    missing: bool = False
    """The index names the paper, the ministry answers an HTML page."""
    extra_rulings: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    """Question number -> (cell, remark with {n}) of a correction that is the paper's, not the item's."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The questions in printed order."""
        return tuple(part for part in self.parts if isinstance(part, Entry))

    @property
    def choice_code(self) -> str:
        """The code of the multiple-choice part: a mixed paper's 乙 has its own (107130/901/0204: 4901 in 90140)."""
        return next((part.choice_code for part in self.parts if isinstance(part, EssayPart)), self.printed_code)

    def paper_spec(self) -> PaperSpec:
        """The question paper to typeset."""
        count = len(self.entries)
        blocks: tuple[Block, ...] = tuple(p.printed() if isinstance(p, Entry) else p for p in self.parts)
        notes = (
            "本試題為單一選擇題，請選出一個正確或最適當的答案，複選作答者，該題不予計分。",
            f"本科目共{count}題，須用2B鉛筆在試卡上依題號清楚劃記，於本試題上作答者，不予計分。",
            "禁止使用電子計算器。",
        )
        header = PaperHeader(
            (f"{self.sitting.name}試題",),
            (("等別", self.sitting.level), ("類科", self.category), ("科目", self.printed_subject or self.subject)),
            self.printed_code,
            "1小時",
            notes[2:] if self.kind != "測驗題" else notes,
        )
        return PaperSpec(header, blocks, self.layout, self.paper_hazards, self.late)

    def _key(self, cells: dict[int, str], **more: object) -> KeySpec:
        multi = sum(1 for entry in self.entries if len(entry.answer) > 1)
        if self.extra_cell:
            cells[len(cells) + 1] = self.extra_cell
        name = self.sitting.name
        if self.grid is Grid.ORDINAL:
            # Exam names of these sheets are in full-width digits (107070/809/1311).
            name = name.translate(str.maketrans("0123456789", "０１２３４５６７８９"))
        # Full-width letters and the label that swallows the first cell belong to the printed sheets of both keys.
        return replace(
            KeySpec(
                name, self.category, self.subject, cells, self.grid, single=len(cells) - multi, multi=multi or None
            ),
            code="" if self.grid is Grid.ORDINAL else self.choice_code,
            hazards=self.key_hazards - ({Hazard.MISPRINTED_COUNT} if not more else set()),
            **more,  # type: ignore[arg-type]
        )

    def first_key(self) -> KeySpec:
        """The first key sheet (t=S)."""
        return self._key({n: e.first_cell or e.answer for n, e in enumerate(self.entries, 1)})

    def rulings(self) -> dict[int, tuple[str, str]]:
        """Question number -> (cell, remark) of every correction."""
        found = {
            n: (e.item.cell, (e.item.remark or "").format(n=n)) for n, e in enumerate(self.entries, 1) if e.item.cell
        }
        return found | {n: (cell, remark.format(n=n)) for n, (cell, remark) in self.extra_rulings.items()}

    def corrected_key(self) -> KeySpec | None:
        """The corrected key sheet (t=M), None when nothing was corrected."""
        if not self.corrected:
            return None
        rulings = self.rulings()
        cells = {n: rulings[n][0] if n in rulings else e.answer for n, e in enumerate(self.entries, 1)}
        return self._key(cells, corrected=True, remarks=tuple(rulings[n][1] for n in sorted(rulings)))


# ---------------------------------------------------------------------------------------------------------- sittings

S101 = Sitting(101, "101801", "101年樣本公務人員高等考試三級考試", "高等考試")
S104 = Sitting(104, "104802", "104年樣本公務人員普通考試", "普通考試")
S107 = Sitting(107, "107803", "107年樣本公務人員特種考試", "三等考試")
S110 = Sitting(110, "110804", "110年樣本公務人員初等考試", "初等考試")
S113 = Sitting(113, "113805", "113年樣本公務人員初等考試", "初等考試")

H = Hazard
_PRINTED = frozenset({H.HUNDRED_LABELS, H.LABELS_SHUFFLED, H.KEY_HEADER_SWAPPED})
"""The quirks of every real 第N題 sheet."""


def spaced(text: str) -> str:
    """A reprint that differs in white space: a space after each comma."""
    return text.replace("，", "， ")


def half_width_comma(text: str) -> str:
    """A reprint that differs in the width of its punctuation."""
    return text.replace("，", ",").replace("？", "?")


def _entries(items: Sequence[Item], *, every: int = 6) -> list[Part]:
    """Items as printed; some of them with their options' text before the marker, as in the real papers."""
    return [
        Entry(item, hazards=frozenset({H.TEXT_BEFORE_MARKER} if i % every == every // 2 else ()))
        for i, item in enumerate(items)
    ]


def _insert(parts: list[Part], *extra: Part) -> tuple[Part, ...]:
    """Spread the extra entries through the parts."""
    step = max(1, len(parts) // (len(extra) + 1))
    for i, part in enumerate(extra):
        parts.insert((i + 1) * (step + 1) - 1, part)
    return tuple(parts)


_FABLE = Passage(
    "請依下文回答第{first}題至第{last}題：",
    (
        "An old man was planting a small tree beside the road when the king rode by. The king laughed and said that "
        "the man would never live to taste its fruit. The old man answered that he had eaten from trees which others "
        "had planted, and that he was planting this one for those who would come later.",
        "The king was so pleased with the answer that he gave the old man a bag of gold.",
    ),
)

_LETTER = Passage(
    "請依下文回答第{first}題至第{last}題：",
    (
        "外婆家門前有一棵老榕樹，樹下擺著一張竹椅。每天傍晚，外婆總坐在那裡剝豆子，等我們放學回來。",
        "後來我們都離開了村子，竹椅還在，豆子卻沒有人剝了。去年颱風吹倒了榕樹，外婆在電話裡只說：「明年再種一棵。」",
    ),
)

_SEASONS = Passage(
    "請依下文回答第{first}題至第{last}題：",
    (
        "When autumn comes to the mountains, the temperature {0} quickly after sunset. Visitors who have {1} spent a "
        "night there are often surprised, so it is wise to pack warm clothes {2} leaving home.",
    ),
)


def _numbered(passage: Passage, first: int, count: int) -> Passage:
    """The passage with its question numbers: {first} and {last} in the heading, blanks counted on from `first`."""
    heading = passage.heading.format(first=first, last=first + count - 1)
    paragraphs = []
    for paragraph in passage.paragraphs:
        for i in range(count):
            paragraph = paragraph.replace(f"{{{i}}}", f"{{{first + i}}}")
        paragraphs.append(paragraph)
    return Passage(heading, tuple(paragraphs))


class _Stock:
    """The banks and the planted items, by name."""

    def __init__(self) -> None:
        self.banks = {name: read_bank(name) for name in BANKS}
        self.planted = read_planted()
        self.numbers = number_systems()

    def entry(self, name: str, **more: object) -> Entry:
        """A planted item as an entry."""
        return Entry(self.planted[name], **more)  # type: ignore[arg-type]

    def bank(self, name: str, start: int, end: int) -> list[Part]:
        """A slice of a bank as entries."""
        return _entries(self.banks[name][start:end])

    def reprint(self, name: str, index: int, order: str = "", **more: object) -> Entry:
        """An item of a bank printed again."""
        return Entry(self.banks[name][index], order, **more)  # type: ignore[arg-type]


def _sitting_101(stock: _Stock) -> list[Paper]:
    entry = stock.entry
    medicine = _insert(
        stock.bank("medicine", 0, 22),
        entry("pl-new-key-2", first_cell="C"),
        entry("pl-voided"),
        entry("pl-unless-blank"),
        entry("pl-several"),
        entry("pl-table"),
        entry("dc-power-2", hazards=frozenset({H.RAISED_MARKER})),
    )
    chinese = _insert(stock.bank("chinese", 0, 22), entry("dc-glued"), entry("dc-bare-number-3"), entry("dc-quote"))
    essay = EssayPart(
        (
            "請以「圖書館之一日」為題，作文一篇，文白不拘，但須加標點符號。",
            "試擬某圖書館致各級學校函：請協助推廣借閱證。",
        ),
        "3301",
        25,
    )
    return [
        Paper(
            S101, "101", "一般行政", "0101", "中華民國憲法",
            _insert(stock.bank("constitution", 0, 28), entry("dc-split")), "1101",
            slug="tw-roc-constitution-bench", matched="full", grid=Grid.QUESTION_NUMBER,
            paper_hazards=frozenset({H.COMPAT_IDEOGRAPHS, H.HEADER_SWAPPED}),
            key_hazards=frozenset({H.KEY_HEADER_SWAPPED}), also_in=(("102", "人事行政"), ("103", "戶政")),
        ),
        Paper(
            S101, "201", "醫師(一)", "0201", "醫學(一)（包括解剖學、生理學等科目及其臨床相關知識）", medicine, "1201",
            slug="tw-medicine-bench", matched="head", layout=Layout.LETTER_DOT, grid=Grid.QUESTION_ORDER,
            key_hazards=frozenset({H.GLUED_FIRST_CELL, H.FULL_WIDTH_CELLS}), corrected=True,
        ),
        Paper(
            S101, "301", "文化行政", "0301", "國文（作文、公文與測驗）", (essay, *chinese), "30140", kind="混合題",
            slug="tw-chinese-language-bench", matched="head", late=True, grid=Grid.QUESTION_NUMBER,
        ),
        Paper(
            S101, "302", "文化行政", "0302", "公文寫作實務", (replace(essay, choice_count=0),), "30250", kind="申論題",
        ),
    ]  # fmt: skip


def _law_paper(stock: _Stock) -> tuple[Part, ...]:
    entry = stock.entry
    parts: list[Part] = [
        *stock.bank("law", 0, 10),
        entry("pl-followup"),
        *stock.bank("law", 10, 12),
        entry("dc-intent"),
        entry("dc-digit-first"),
        entry("dc-months"),
        entry("dc-marker"),
        entry("pl-english"),
        entry("pl-english-2"),
    ]
    first = len(parts) + 1
    fable = [entry("pl-passage-1"), entry("pl-passage-2")]
    blanks = [entry(f"pl-cloze-{i}") for i in (1, 2, 3)]
    return (
        *parts,
        _numbered(_FABLE, first, 2),
        *fable,
        _numbered(_SEASONS, first + 2, 3),
        *blanks,
    )


def _sitting_104(stock: _Stock, *, corrected: bool) -> list[Paper]:
    entry = stock.entry
    library = _insert(
        stock.bank("library", 0, 24),
        entry("dc-library-map"), entry("dc-bare-number-2"), entry("dc-shuffled"), entry("dc-split-2"),
        entry("pl-identical"),
    )  # fmt: skip
    computing = _insert(
        stock.bank("computing", 0, 24),
        entry("pl-figure"), entry("pl-drawn"), entry("dc-english-options"), entry("dc-bare-number"),
        entry("dc-none"), entry("dc-null"), entry("dc-zeros"), entry("dc-formula"), entry("dc-power"),
        entry("dc-raised"), entry("pl-several-2"), entry("pl-new-key", first_cell="B"),
    )  # fmt: skip
    medicine = _insert(
        stock.bank("medicine", 22, 50),
        entry("dc-glyph"), entry("dc-enzyme"), entry("pl-unmapped"), entry("dc-scripts"), entry("dc-split-3"),
    )  # fmt: skip
    rulings = {3: ("#", "第{n}題一律給分"), 5: ("#", "第{n}題答" + _other(library, 5) + "給分")} if corrected else {}
    return [
        Paper(
            S104, "401", "圖書資訊管理", "0401", "圖書館學大意", library, "4101",
            slug="tw-library-science-bench", matched="full", key_hazards=_PRINTED, corrected=corrected,
            paper_hazards=frozenset({H.HEADER_SWAPPED}), extra_rulings=rulings,
        ),
        Paper(
            S104, "402", "資訊處理", "0402", "計算機概要", computing, "4202", slug="tw-computer-science-bench",
            matched="full", late=True, key_hazards=_PRINTED, corrected=True,
            paper_hazards=frozenset({H.COMPAT_IDEOGRAPHS}),
        ),
        Paper(
            S104, "201", "醫師(一)", "0203", "醫學(二)（包括微生物免疫學、公共衛生學等科目及其臨床相關知識）", medicine,
            "1203", printed_subject="醫學\ue12a（包括微生物免疫學、公共衛生學等科目及其臨床相關知識）",
            slug="tw-medicine-bench", matched="head", grid=Grid.QUESTION_NUMBER,
            paper_hazards=frozenset({H.COMPAT_IDEOGRAPHS}), key_hazards=frozenset({H.KEY_HEADER_SWAPPED}),
        ),
        Paper(
            S104, "403", "一般民政", "0404", "法學知識與英文（包括中華民國憲法、法學緒論、英文）", _law_paper(stock),
            "4304", slug="tw-legal-knowledge-bench", matched="head", late=True, key_hazards=_PRINTED,
        ),
    ]  # fmt: skip


def _other(parts: Sequence[Part], number: int) -> str:
    """A letter (full-width) that is not the answer of the numbered question."""
    entries = [part for part in parts if isinstance(part, Entry)]
    answer = entries[number - 1].answer
    return chr(ord("A") + ("ABCD".index(answer) + 1) % 4 + 0xFEE0)


def _sitting_107(stock: _Stock) -> list[Paper]:
    constitution: tuple[Part, ...] = (
        *stock.bank("constitution", 28, 50),
        stock.reprint("constitution", 0, "CADB"),
        stock.reprint("constitution", 3, "BADC", reword=spaced),
        stock.reprint("constitution", 9, "DCBA", reword=half_width_comma),
        SectionHeading(
            "二、複選題（第26題至第28題，每題5分，占15分）",
            "所列的五個選項，其中至少有二個是正確答案。各題之選項獨立判定，所有選項均答對者，得5分。",
        ),
        stock.entry("pl-multi-1"),
        stock.entry("pl-multi-2"),
        stock.entry("pl-multi-3"),
    )
    chinese = _insert(
        stock.bank("chinese", 22, 45),
        stock.reprint("chinese", 1, "BDAC", reword=half_width_comma),
        stock.reprint("chinese", 5, "ABCD", key=_wrong(stock.banks["chinese"][5])),
    )
    letter = [stock.entry("pl-zh-passage-1"), stock.entry("pl-zh-passage-2")]
    chinese = (*chinese, _numbered(_LETTER, len(chinese) + 1, 2), *letter)
    return [
        Paper(
            S107, "501", "資訊處理", "0501", "計算機概要",
            (*stock.bank("computing", 24, 44), *_entries(stock.numbers[:20])), "5101",
            slug="tw-computer-science-bench", matched="full", layout=Layout.BRACKETED, late=True,
            key_hazards=_PRINTED,
        ),
        Paper(
            S107, "502", "司法行政", "0502", "中華民國憲法概要", constitution, "5202",
            slug="tw-roc-constitution-bench", matched="full", corrected=True,
            key_hazards=_PRINTED | {H.MISPRINTED_COUNT},
        ),
        Paper(
            S107, "503", "教育行政", "0503", "國文", chinese, "5303", slug="tw-chinese-language-bench",
            matched="full", key_hazards=_PRINTED,
        ),
        Paper(
            S107, "504", "儀器操作", "0504", "樣本儀器操作實務", tuple(_entries(stock.numbers[20:32])), "5404",
            key_hazards=_PRINTED,
        ),
        Paper(
            S107, "505", "圖書資訊管理", "0505", "圖書館學大意", tuple(stock.bank("library", 24, 36)), "5505",
            slug="tw-library-science-bench", matched="full", key_hazards=_PRINTED, extra_cell="A",
        ),
        Paper(
            S107, "506", "圖書資訊管理", "0506", "圖書館學大意", (), "5606", slug="tw-library-science-bench",
            matched="full", missing=True,
        ),
    ]  # fmt: skip


def _wrong(item: Item) -> str:
    return "ABCD"[("ABCD".index(item.key) + 2) % 4]


def _sitting_110(stock: _Stock) -> list[Paper]:
    computing = (
        *_entries(stock.numbers[32:72]),
        stock.reprint("computing", 0, "DBAC"),
        stock.reprint("computing", 5, "BCDA"),
    )
    library = _insert(
        stock.bank("library", 24, 42),
        stock.entry("pl-unread"),
        stock.reprint("library", 2, "CDAB"),
        stock.reprint("library", 6, "BADC", reword=half_width_comma),
    )
    return [
        Paper(
            S110, "601", "資訊處理", "0601", "計算機大意", computing, "6101", slug="tw-computer-science-bench",
            matched="full", layout=Layout.LETTER_DOT, key_hazards=_PRINTED,
        ),
        Paper(
            S110, "602", "圖書資訊管理", "0602", "圖書館學大意", library, "6202", slug="tw-library-science-bench",
            matched="full", late=True, key_hazards=_PRINTED, corrected=True,
        ),
    ]  # fmt: skip


def _sitting_113(stock: _Stock) -> list[Paper]:
    parts = (
        *stock.bank("constitution", 50, 55),
        stock.reprint("constitution", 12, "BADC"),
        stock.reprint("constitution", 30, "DCBA"),
    )
    return [
        Paper(
            S113, "701", "一般行政", "0701", "中華民國憲法大意", parts, "7101", slug="tw-roc-constitution-bench",
            matched="full", late=True, key_hazards=_PRINTED,
        ),
    ]  # fmt: skip


def papers(day: int = 1) -> list[Paper]:
    """Every paper that the sample ministry publishes on a day (1 or 2)."""
    if day not in (1, 2):
        raise ValueError(f"the sample ministry has days 1 and 2, not {day}")
    stock = _Stock()
    found = _sitting_101(stock) + _sitting_104(stock, corrected=day == 2) + _sitting_107(stock) + _sitting_110(stock)
    return found + (_sitting_113(stock) if day == 2 else [])
