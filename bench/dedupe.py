"""Fingerprints, reprints and key consistency over an invented corpus as large as the ministry's fifteen years.

    python -m bench.dedupe [--sizes 250000,500000,1000000,2000000] [--without-items] [--json]

2,000,000 printed questions of which 255,854 are distinct (the paper, section 3.2); smaller corpora keep that ratio.
Each size and each piece of work runs in a process of its own: making the questions alone; key consistency, one pass of
`dedupe.Grouping` and the figures of `key_consistency` over all subjects together, as `otb study consistency` does it;
and items, `items.subject_items` subject by subject, as a build settles them. Questions are made while they pass, so
memory is what the work holds; it is the largest resident size, imports included. What is found is compared with what
was planted (groups, every conflict by its id, stems with other options, published items), and a difference or more than
4 GiB ends the command with status 1.

Stems have 28 to 122 characters of sentence-like Chinese with numbers, units and Latin words, options 12 to 42. Half of
the reprints have their options in another order, one in four differs in white space, 台 for 臺, full-width digits or
commas. Read CPU seconds and ratios: the wall time of a shared machine is noisy.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import permutations

from opentwbench.exam.dedupe import Copy, Grouping
from opentwbench.exam.fingerprint import loose
from opentwbench.exam.items import FOLDED, PUBLISHED, subject_items, to_line
from opentwbench.exam.key_consistency import consistency_of
from opentwbench.exam.model import Exclusion, IndexRow, PaperItem, PaperKind
from opentwbench.exam.subjects import REGISTRY

SIZES = (250_000, 500_000, 1_000_000, 2_000_000)
FULL, DISTINCT = 2_000_000, 255_854

A_PAPER = 50
"""Questions of one paper; each paper is a PDF of its own."""

CONFLICT_EVERY, REWRITTEN_EVERY = 1_137, 401
"""One question in so many has a reprint with another answer; one shares its stem with the question before it."""

MEMORY_MIB = 4 * 1024

_STARTS = ("下列", "關於", "依據", "有關", "依我國", "就", "試問", "設若", "對於", "凡")
_TOPICS = (
    *(
        "民法第 184 條",
        "行政程序法",
        "臺灣高等法院",
        "公務人員",
        "地方政府",
        "中央主管機關",
        "急性心肌梗塞",
        "血清肌酸酐",
    ),
    *(
        "第二型糖尿病患者",
        "臺北市政府",
        "圖書分類法",
        "國家賠償法",
        "抗利尿激素（ADH）",
        "訴願決定",
        "法律保留原則",
        "所得稅",
    ),
    *(
        "正當法律程序",
        "有價證券",
        "鋼筋混凝土梁",
        "CO2 分壓",
        "pH 7.4 之緩衝液",
        "海上運送契約",
        "特種考試",
        "警察機關",
    ),
    *(
        "消費者物價指數",
        "需求的價格彈性",
        "10 歲兒童",
        "左心室",
        "腎絲球過濾率",
        "細胞膜上的受體",
        "電阻 R1",
        "資料庫正規化",
    ),
)
_VERBS = (
    *("之規定", "的敘述", "所為之裁量", "於何時發生效力", "應由何機關核定", "最適當的處置", "之構成要件", "的主要成因"),
    *("之法律效果", "的臨床表現", "與其限制", "之計算方式", "的適用範圍", "經撤銷後", "在符合比例原則下", "具有既判力"),
    *(
        "未於期限內提出者",
        "得不經言詞辯論",
        "依職權調查證據",
        "有重大瑕疵時",
        "因情事變更",
        "造成的影響",
        "可歸責於債務人",
    ),
    *(
        "每日劑量 10.5 mg",
        "超過 30 日者",
        "得類推適用",
        "血中濃度 < 5 mg/dL",
        "與前項所定不符",
        "之舉證責任",
        "依比例分擔",
    ),
    *("於 3 個月內", "不在此限"),
)
_ENDS = ("，下列何者正確？", "，下列何者錯誤？", "，何者最不適當？", "，何者屬之？", "，應如何處理？", "，為何？")
_ORDERS = tuple(permutations(range(4)))
_NOISE: tuple[Callable[[str], str], ...] = (
    lambda text: text.replace("，", "， "),
    lambda text: text.replace("臺", "台"),
    lambda text: text.translate(str.maketrans("0123456789", "０１２３４５６７８９")),
    lambda text: text.replace("，", ","),
    lambda text: text.replace("（", "(").replace("）", ")"),
    lambda text: f" {text}\u3000",
)


# ---- the corpus -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """The questions of one subject: `first` to `first + distinct`, printed `printed` times in all."""

    slug: str
    first: int
    distinct: int
    printed: int

    def conflicts(self) -> range:
        """The questions that one reprint answers otherwise."""
        return range(-(-self.first // CONFLICT_EVERY) * CONFLICT_EVERY, self.first + self.distinct, CONFLICT_EVERY)


def parts(size: int) -> list[Part]:
    """A corpus of `size` printed questions over all subjects, the largest with 5.7 % of them."""
    distinct = size * DISTINCT // FULL
    weights = [1 / (place + 5) for place in range(len(REGISTRY))]
    made, first, printed = [], 0, 0
    for place, slug in enumerate(REGISTRY):
        share = sum(weights[: place + 1]) / sum(weights)
        last, end = round(distinct * share), round(size * share)
        made.append(Part(slug, first, last - first, end - printed))
        first, printed = last, end
    return made


def question(number: int) -> tuple[str, list[str], int]:
    """Stem, options and place of the right one of question `number`: always the same, and of no other number."""
    draw = sha256(b"%d" % number).digest()
    stem = draw if number % REWRITTEN_EVERY != 1 else sha256(b"%d" % (number - 1)).digest()
    words = [_STARTS[stem[0] % len(_STARTS)], f"第 {int.from_bytes(stem[1:5], 'big')} 號案件"]
    for place in range(6, 8 + 2 * (stem[5] % 6), 2):
        words += [_TOPICS[stem[place] & 31], _VERBS[stem[place + 1] & 31]]
    words.append(_ENDS[stem[20] % len(_ENDS)])
    texts = []
    for place in range(4):
        one, two = draw[21 + 2 * place], draw[22 + 2 * place]
        middle = _VERBS[(one >> 5) + 8 * place] if one & 32 else ""
        texts.append(f"{_TOPICS[one & 31]}{_VERBS[two & 31]}{middle}，第 {two * 4 + place} 項")
    return "".join(words), texts, draw[31] & 3


@dataclass(frozen=True, slots=True)
class Plan:
    """One printing before its text is made."""

    number: int
    row: IndexRow
    pdf: str
    q_no: int
    luck: int
    """Chooses the order of options and the noise; 0 for a first printing, which has neither."""
    other: int
    """1 where the official answer moves to the next option."""

    def copy(self) -> Copy:
        """The printing with its text."""
        return Copy(self.row, self.pdf, self.pdf, _item(self.number, self.q_no, self.luck, self.other))


def printings(part: Part) -> Iterator[Plan]:
    """Everything that one subject printed, sitting by sitting.

    Every question once, then one reprint of each that has a conflict, then reprints of all, older ones more often.
    """
    row, pdf, paper = *_paper(part, 0), 0
    planted = part.conflicts()
    for at in range(part.printed):
        place = at - part.distinct
        if at % A_PAPER == 0 or place == 0:  # a reprint is never on the paper of its first printing
            row, pdf, paper = *_paper(part, paper), paper + 1
        if place < 0:
            yield Plan(part.first + at, row, pdf, at % A_PAPER + 1, 0, 0)
            continue
        luck = int.from_bytes(sha256(b"%d %d" % (part.first, at)).digest()[:8], "big")
        if place < len(planted):
            yield Plan(planted[place], row, pdf, at % A_PAPER + 1, luck, 1)
        else:
            number = (luck >> 40) % part.distinct * ((luck >> 16) % part.distinct) // part.distinct
            yield Plan(part.first + number, row, pdf, at % A_PAPER + 1, luck, 0)


def _item(number: int, q_no: int, luck: int, other: int) -> PaperItem:
    stem, texts, right = question(number)
    order = _ORDERS[luck % 48] if luck % 48 < len(_ORDERS) else _ORDERS[0]
    if luck >> 8 & 3 == 3:
        noise = _NOISE[(luck >> 10) % len(_NOISE)]
        stem, texts = noise(stem), [noise(text) for text in texts]
    key = "ABCD"[order.index((right + other) % 4)]
    return PaperItem(q_no, stem, {"ABCD"[n]: texts[place] for n, place in enumerate(order)}, key, (key,), (), 1)


def _paper(part: Part, place: int) -> tuple[IndexRow, str]:
    papers = part.printed // A_PAPER + 2
    year = 100 + place * 15 // papers
    row = IndexRow(
        year_roc=year,
        exam_code=f"{year}{place % 1_000:03d}",
        exam_name=f"{year}年公務人員特種考試",
        level_code="",
        level="三等考試",
        exam_and_level="三等考試",
        category_code=f"{place // 1_000:03d}",
        category="行政警察人員",
        session="01",
        subject_name=part.slug,
        kind=PaperKind.MULTIPLE_CHOICE,
        question_url="",
        key_url="",
        remark="",
        subject_code=f"{part.first:06d}",
    )
    return row, sha256(row.paper_id.encode()).hexdigest()


# ---- the work -------------------------------------------------------------------------------------------------------


class Wrong(Exception):
    """What was found is not what was planted."""


def _expect(what: str, found: object, planted: object) -> None:
    if found != planted:
        raise Wrong(f"{what}: found {str(found)[:200]}, planted {str(planted)[:200]}")


def making(size: int) -> dict[str, int]:
    """The questions alone."""
    return {"printed": sum(len(plan.copy().item.options) for part in parts(size) for plan in printings(part)) // 4}


def comparing(size: int) -> dict[str, int]:
    """One pass over all subjects: fingerprints, groups, keys; then the figures and every conflict."""
    corpus, grouping = parts(size), Grouping()
    for part in corpus:
        for plan in printings(part):
            copy = plan.copy()
            grouping.add(copy.row.year_roc, copy.row.paper_id, copy.question_sha256, copy.item, part.slug)
    found = consistency_of(grouping, lambda: _lines(corpus), {})
    distinct = sum(part.distinct for part in corpus)
    planted = [number for part in corpus for number in part.conflicts()]
    rewritten = sum(number % REWRITTEN_EVERY == 1 for number in range(1, distinct))
    _expect("printed", found.printed, size)
    _expect("groups", found.distinct, distinct)
    _expect("conflicts", sorted(each.group for each in found.conflicts), sorted(map(_group_id, planted)))
    _expect("conflicts on two PDFs", sum(each.independent for each in found.conflicts), len(planted))
    _expect("stems with other options", len(found.same_stem), rewritten)
    _expect("within subjects as over all", found.within_subjects, found.over_all)
    return {
        "printed": found.printed,
        "texts": grouping.texts,
        "groups": found.distinct,
        "duplicate_groups": found.duplicate_groups,
        "agreeing": found.over_all.agreeing,
        "conflicts_by_letter": found.over_all.by_letter,
        "conflicts": len(found.conflicts),
        "same_stem": len(found.same_stem),
    }


def _group_id(number: int) -> str:
    stem, texts, _ = question(number)
    return loose(stem, dict(zip("ABCD", texts, strict=True)))


def _lines(corpus: list[Part]) -> Iterator[tuple[str, bytes]]:
    """The stored lines of every printing; empty for questions without a conflict, because none of them is asked for."""
    for part in corpus:
        planted, subject = set(part.conflicts()), REGISTRY[part.slug]
        for plan in printings(part):
            wanted = plan.number in planted
            yield part.slug, to_line(subject_items(subject, [plan.copy()]).items[0]) if wanted else b""


def settling(size: int) -> dict[str, int]:
    """Items, subject by subject: every printing in its bucket."""
    buckets: Counter[str] = Counter()
    largest = 0
    for part in parts(size):
        settled = subject_items(REGISTRY[part.slug], (plan.copy() for plan in printings(part)))
        buckets.update(item.bucket for item in settled.items)
        largest = max(largest, part.printed)
        _expect(f"{part.slug} groups", settled.groups, part.distinct)
        _expect(f"{part.slug} conflicts", len(settled.agreement.disagreements), len(part.conflicts()))
        _expect(f"{part.slug} published", len(settled.published), part.distinct - len(part.conflicts()))
    conflicting = buckets[Exclusion.CONFLICTING_KEYS.value]
    _expect("buckets", buckets[PUBLISHED] + buckets[FOLDED] + conflicting, size)
    return {"published": buckets[PUBLISHED], "folded": buckets[FOLDED], "conflicting": conflicting, "largest": largest}


# ---- measuring ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cost:
    """What a piece of work took: wall and CPU seconds, largest resident MiB, and what it found."""

    work: str
    size: int
    seconds: float
    cpu: float
    mebibytes: float
    found: dict[str, int]


def measure(work: Callable[[int], dict[str, int]], size: int) -> Cost:
    """The cost of a piece of work in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measured, work, size).result()


def _measured(work: Callable[[int], dict[str, int]], size: int) -> Cost:
    start, start_cpu = time.perf_counter(), time.process_time()
    found = work(size)
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    return Cost(work.__name__, size, seconds, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, found)


def main() -> int:
    """Measure every size; the status is 1 when something was not found as planted, or memory was exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="printed questions, with commas between")
    parser.add_argument("--without-items", action="store_true", help="key consistency alone")
    parser.add_argument("--json", action="store_true", help="one JSON object a measurement")
    options = parser.parse_args()
    works = (comparing,) if options.without_items else (comparing, settling)
    first: dict[str, float] = {}
    excess = False
    for size in map(int, options.sizes.split(",")):
        bare = measure(making, size)
        for work in works:
            try:
                cost = measure(work, size)
            except Wrong as wrong:
                print(f"{work.__name__} {size:,}: {wrong}", file=sys.stderr)
                return 1
            excess |= cost.mebibytes > MEMORY_MIB
            own = cost.cpu - bare.cpu  # making the questions is no part of the work
            each = own / size
            growth = each / first.setdefault(work.__name__, each)
            if options.json:
                print(json.dumps({**asdict(cost), "own_cpu": own, "growth": growth}), flush=True)
                continue
            print(
                f"{work.__name__:10} {size:>9,}: {own:6.1f} s CPU ({cost.seconds:.1f} s in all with making the "
                f"questions), {each * 1e6:5.1f} us a question, {growth:.2f} x the first size; {cost.mebibytes:,.0f} MiB"
            )
            print("           " + ", ".join(f"{name} {count:,}" for name, count in cost.found.items()), flush=True)
    if excess:
        print(f"more than {MEMORY_MIB:,} MiB", file=sys.stderr)
    return int(excess)


if __name__ == "__main__":
    raise SystemExit(main())
