"""The blocking checks of the tw-rag-bench folder: each a function of the folder alone.

What belongs here: the checks and running one with its verdict. What does not: writing the folder (output.py) and the
gate (dataset.publication.publish, which takes these verdicts over these files).
A check that cannot read what it judges does not pass, and says which file it was. The three invariants are those of the
published card ("Construction guarantees"), over all items.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from opentwbench.dataset.contract import CONTROL, ITEM_ID, MAX_TEXT, OPTION_COLUMNS, PRIVATE_USE, WIDE_SPACE, excerpt
from opentwbench.dataset.files import CSV_NAME, JSONL_NAME, read_bytes, read_jsonl
from opentwbench.dataset.manifest import (
    CHANGELOG_NAME,
    MANIFEST_NAME,
    STATS_NAME,
    WITHDRAWN_NAME,
    read_manifest,
    read_withdrawals,
)
from opentwbench.dataset.model import DatasetError
from opentwbench.dataset.publication import Verdict, judge_by
from opentwbench.dataset.statements import (
    card_differences,
    differing,
    foreign_withdrawals,
    is_newest,
    licence_differences,
    other_bytes,
    read_figures,
)
from opentwbench.dataset.validators import CheckOutcome, csv_differences, damaged, outcome_of
from opentwbench.dataset.versions import withdrawn_bytes
from opentwbench.exam.fingerprint import item_id
from opentwbench.formosa.folding import stands_in
from opentwbench.formosa.shortcuts import share_of_longest
from opentwbench.rag.tw_rag.card import LICENCE_ID, LICENCE_TEXT, card
from opentwbench.rag.tw_rag.contexts import article_of, digest_of
from opentwbench.rag.tw_rag.model import CONTEXTS, KEY, Account, LeftOut, gold_position
from opentwbench.rag.tw_rag.output import (
    COLUMNS,
    CONTENT_NAMES,
    FOLDER_NAMES,
    LICENCE_NAME,
    RAGAS_COLUMNS,
    RAGAS_NAME,
    SCRIPTS,
    SLUG,
    mcq_question,
    script_bytes,
    version_of,
)
from opentwbench.rag.tw_rag.references import compose, frame_words
from opentwbench.statistics.chi_square import chi_square

CHECKS: dict[str, tuple[str, str]] = {
    "row_contract": ("欄位契約", "Row contract"),
    "gold_at_position": ("答案段落在所記位置", "The gold passage stands at its recorded position"),
    "no_own_article": ("干擾段落不出自同一篇文章", "No distractor is from the gold's own article"),
    "no_answer_in_distractors": ("干擾段落不含答案", "No distractor holds the answer under folding"),
    "position_balance": ("答案段落位置平衡", "Position of the gold is balanced"),
    "length_balance": ("答案段落長度平衡", "The gold is the longest as often as chance has it"),
    "template_coverage": ("參考答案依樣板組成", "References are what the templates compose, and ask nothing"),
    "mcq_mirrors_ragas": ("兩種設定同題", "Both configs hold the same items"),
    "csv_mirrors_jsonl": ("CSV 與 JSONL 逐欄一致", "CSV mirrors JSONL field by field"),
    "licence_present": ("授權與出處", "Licence and attribution present"),
    "accounting_closes": ("帳目相符", "Accounting closes"),
    "card_matches": ("卡片、清單與紀錄相符", "Card, manifest, changelog and withdrawals match the files"),
}
"""The blocking checks, in the order in which they run."""

SPREAD_P = 1e-4
"""Probability below which a spread blocks. Source: the issue ("p reported, below 1e-4 blocks")."""


def _ragas(folder: Path) -> list[dict[str, Any]]:
    """The rows of the primary set, of a shape that the checks can rely on."""
    records = read_jsonl(folder / RAGAS_NAME)
    if not records:
        raise DatasetError(f"{RAGAS_NAME}: no rows to judge")
    for number, record in enumerate(records, 1):
        if breach := next(_misshapen(record), ""):
            raise DatasetError(f"{RAGAS_NAME} line {number}: {breach}")
    return records


_LISTS = ("contexts", "context_chunks", "context_urls", "context_attributions")


def _misshapen(record: Mapping[str, Any]) -> Iterator[str]:
    if tuple(record) != RAGAS_COLUMNS:
        yield f"columns are {excerpt(list(record), 200)}"
        return
    for name, value in record.items():
        if name == "gold_position":
            if type(value) is not int or not 1 <= value <= CONTEXTS:
                yield f"gold_position is not 1 to {CONTEXTS}"
        elif name in _LISTS:
            if not isinstance(value, list) or len(value) != CONTEXTS or not all(_is_text(each) for each in value):
                yield f"{name} are not {CONTEXTS} texts"
        elif not _is_text(value):
            yield f"{name} is no text of bounded length"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= MAX_TEXT


def _mcq(folder: Path) -> list[dict[str, str]]:
    records = read_jsonl(folder / JSONL_NAME)
    for number, record in enumerate(records, 1):
        if tuple(record) != COLUMNS or not all(_is_text(value) for value in record.values()):
            raise DatasetError(f"{JSONL_NAME} line {number}: no row of texts in the contract's columns")
        if record["answer"] not in OPTION_COLUMNS:
            raise DatasetError(f"{JSONL_NAME} line {number}: answer is none of A-D")
    return records


def _pairs(folder: Path) -> list[tuple[dict[str, Any], dict[str, str]]]:
    """Row by row both configs; raises DatasetError when they do not hold the same ids in the same order."""
    ragas, mcq = _ragas(folder), _mcq(folder)
    if [row["item_id"] for row in ragas] != [row["item_id"] for row in mcq]:
        raise DatasetError(f"{RAGAS_NAME} and {JSONL_NAME} do not hold the same items in the same order")
    return list(zip(ragas, mcq, strict=True))


def _answer(row: Mapping[str, str]) -> str:
    return row[row["answer"]]


_DIRTY = re.compile(f"{PRIVATE_USE}|{WIDE_SPACE}|{CONTROL}")


def row_contract(folder: Path) -> CheckOutcome:
    """Columns and types of both files, clean NFC texts, four options, ids that are the content's."""
    offenders: list[str] = []
    pairs = _pairs(folder)
    for row, mcq in pairs:
        name = excerpt(row["item_id"])
        texts = {"question": row["question"], "reference": row["reference"], **{x: mcq[x] for x in OPTION_COLUMNS}}
        for column, text in texts.items():
            if not unicodedata.is_normalized("NFC", text) or _DIRTY.search(text):
                offenders.append(f"{name} {column}: not NFC, or with a private-use, wide-space or control character")
        if len({mcq[x] for x in OPTION_COLUMNS}) < len(OPTION_COLUMNS):
            offenders.append(f"{name}: two options are equal")
        options = {letter: mcq[letter] for letter in OPTION_COLUMNS}
        if not re.fullmatch(ITEM_ID, row["item_id"]) or row["item_id"] != item_id(KEY, mcq["question"], options):
            offenders.append(f"{name}: the id is not that of the content")
    for column in ("item_id", "formosa_id"):
        twice = [each for each, n in Counter(row[column] for row, _ in pairs).items() if n > 1]
        offenders += [f"{excerpt(each)} occurs twice" for each in twice]
    return outcome_of("row_contract", offenders, {"rows": len(pairs)}, "breaches of the row contract")


def gold_at_position(folder: Path) -> CheckOutcome:
    """The context at gold_position is the item's own window, every context is the text that its window id names."""
    rows, offenders = _ragas(folder), []
    for row in rows:
        name, place = excerpt(row["item_id"]), row["gold_position"] - 1
        if row["context_chunks"][place] != row["source_chunk"]:
            offenders.append(f"{name}: context {place + 1} is not {excerpt(row['source_chunk'])}")
        if row["gold_position"] != gold_position(row["formosa_id"]):
            offenders.append(f"{name}: gold_position is not the one drawn from its id")
        for text, chunk in zip(row["contexts"], row["context_chunks"], strict=True):
            if hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12] != digest_of(chunk):
                offenders.append(f"{name}: a context has not the text of {excerpt(chunk)}")
        if len(set(row["contexts"])) < CONTEXTS:
            offenders.append(f"{name}: two contexts are the same")
    return outcome_of("gold_at_position", offenders, {"rows": len(rows)}, "items whose gold is not where it should be")


def _distractors(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for n, (chunk, text) in enumerate(zip(row["context_chunks"], row["contexts"], strict=True), 1):
        if n != row["gold_position"]:
            yield chunk, text


def no_own_article(folder: Path) -> CheckOutcome:
    """No distractor is a window of the gold's article, and each is of the item's category."""
    rows, offenders = _ragas(folder), []
    for row in rows:
        for chunk, _ in _distractors(row):
            if article_of(chunk) == article_of(row["source_chunk"]):
                offenders.append(f"{excerpt(row['item_id'])}: {excerpt(chunk)} is of the gold's article")
            if chunk.partition("/")[0] != row["category"]:
                offenders.append(f"{excerpt(row['item_id'])}: {excerpt(chunk)} is of another category")
    return outcome_of("no_own_article", offenders, {"rows": len(rows)}, "distractors from where none may come")


def no_answer_in_distractors(folder: Path) -> CheckOutcome:
    """The keyed answer stands in no distractor: 台/臺, widths, white space and numerals (16/十六) folded."""
    pairs = _pairs(folder)
    offenders = [
        f"{excerpt(row['item_id'])}: {excerpt(chunk)} holds {excerpt(_answer(mcq))}"
        for row, mcq in pairs
        for chunk, text in _distractors(row)
        if stands_in(_answer(mcq), text)
    ]
    return outcome_of("no_answer_in_distractors", offenders, {"rows": len(pairs)}, "distractors that hold the answer")


def position_balance(folder: Path) -> CheckOutcome:
    """Chi-square of the four positions against equal shares."""
    rows = _ragas(folder)
    counts = Counter(row["gold_position"] for row in rows)
    return _spread(
        "position_balance", [counts[n] for n in range(1, CONTEXTS + 1)], None, [f"position_{n}" for n in range(1, 5)]
    )


def length_balance(folder: Path) -> CheckOutcome:
    """Chi-square of how often the gold is the longest context against one in four; a tie counts as a share."""
    rows = _ragas(folder)
    sizes = (dict(enumerate(map(len, row["contexts"]), 1)) for row in rows)
    longest = sum(share_of_longest(each, row["gold_position"]) for each, row in zip(sizes, rows, strict=True))
    shares = [1 / CONTEXTS, 1 - 1 / CONTEXTS]
    return _spread("length_balance", [longest, len(rows) - longest], shares, ["gold_longest", "other_longest"])


def _spread(name: str, counts: Sequence[float], shares: Sequence[float] | None, labels: Sequence[str]) -> CheckOutcome:
    found = chi_square(counts, shares)
    figures: dict[str, int | float | str] = {"rows": round(sum(counts)), **dict(zip(labels, counts, strict=True))}
    figures |= {"chi_square": found.statistic, "p": found.p}
    detail = f"{' / '.join(f'{n:g}' for n in counts)}: chi-square {found.statistic:.2f}, p = {found.p:.2g}"
    return CheckOutcome(name, found.p >= SPREAD_P, "error", figures, detail)


def template_coverage(folder: Path) -> CheckOutcome:
    """Every reference is what the templates compose from stem and answer, and holds no interrogative word.

    The words are looked for outside the answer: 哪吒 passes, and so does an answer that is itself a question's title.
    Every item without a template is listed.
    """
    pairs, offenders = _pairs(folder), []
    forms: Counter[str] = Counter()
    for row, mcq in pairs:
        name, answer = excerpt(row["item_id"]), _answer(mcq)
        composed = compose(row["question"], answer)
        forms[composed.form.value] += 1
        if composed.reference != row["reference"]:
            offenders.append(f"{name}: not what the template {composed.form.value} gives")
        if words := frame_words(row["reference"], answer):
            offenders.append(f"{name}: the reference asks: {excerpt(words[0])}")
        if row["reference"].count(answer.strip().rstrip("。.")) == 0:
            offenders.append(f"{name}: the reference does not hold the answer")
    stats = read_figures(folder)
    listed, counted = stats.get("needs_template"), _mapping(stats, "account").get("needing")
    if not isinstance(listed, list) or not isinstance(counted, dict) or len(set(listed)) != sum(counted.values()):
        offenders.append(f"{STATS_NAME}: the items that need a template are not the listed ones")
    if dict(forms) != _mapping(stats, "account").get("forms"):
        offenders.append(f"{STATS_NAME}: forms are not those of the rows")
    return outcome_of("template_coverage", offenders, {"rows": len(pairs), "forms": len(forms)}, "references in doubt")


def mcq_mirrors_ragas(folder: Path) -> CheckOutcome:
    """The items with options are those of the primary set, item by item: passages, question, provenance."""
    pairs, offenders = _pairs(folder), []
    for row, mcq in pairs:
        name = excerpt(row["item_id"])
        if mcq["question"] != mcq_question(row["question"], row["contexts"]):
            offenders.append(f"{name}: the stem is not the passages and the question")
        offenders += [f"{name}: {x} differs" for x in ("category", "source_chunk", "formosa_id") if row[x] != mcq[x]]
        if row["answer_text"] != _answer(mcq):
            offenders.append(f"{name}: answer_text is not the keyed option")
    return outcome_of("mcq_mirrors_ragas", offenders, {"rows": len(pairs)}, "items that differ between the configs")


def csv_mirrors_jsonl(folder: Path) -> CheckOutcome:
    """The CSV says field by field what the JSONL says, through two parsers."""
    records = _mcq(folder)
    found = csv_differences(records, folder / CSV_NAME, COLUMNS)
    return outcome_of("csv_mirrors_jsonl", found, {"rows": len(records)}, "fields that differ")


def licence_present(folder: Path) -> CheckOutcome:
    """LICENSE.md is whole, the card names CC BY-SA 4.0, each passage names its article's address and the licence."""
    rows = _ragas(folder)
    offenders = licence_differences(folder, LICENCE_NAME, LICENCE_TEXT, LICENCE_ID)
    for name in SCRIPTS:
        if read_bytes(folder / name) != script_bytes(name):
            offenders.append(f"{name}: not the project's script")
    for row in rows:
        for url, attribution in zip(row["context_urls"], row["context_attributions"], strict=True):
            if not url.startswith("https://") or "CC BY-SA 4.0" not in attribution:
                offenders.append(f"{excerpt(row['item_id'])}: a passage without address or licence")
    return outcome_of("licence_present", offenders, {"rows": len(rows)}, "passages or files without licence")


def _mapping(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = record.get(name)
    if not isinstance(value, Mapping):
        raise DatasetError(f"{STATS_NAME}: {name} is no mapping")
    return value


def accounting_closes(folder: Path) -> CheckOutcome:
    """grounded = items + dropped by reason, over all and by category; the rows are those that are counted."""
    stats, rows = read_figures(folder), _ragas(folder)
    whole, parts = _mapping(stats, "account"), _mapping(stats, "by_category")
    offenders = [f"{excerpt(name)}: {each}" for name, part in [("all", whole), *parts.items()] for each in _open(part)]
    for field in ("grounded", "items"):
        if sum(_count(part, field) for part in parts.values()) != _count(whole, field):
            offenders.append(f"{field}: the categories are not the whole")
    by_category = Counter(row["category"] for row in rows)
    counted = {name: _count(part, "items") for name, part in parts.items() if _count(part, "items")}
    if dict(by_category) != counted:
        offenders.append("the rows of a category are not those that are counted")
    return outcome_of("accounting_closes", offenders, {"rows": len(rows)}, "sums that do not close")


def _count(record: object, name: str) -> int:
    value = record.get(name) if isinstance(record, Mapping) else None
    if type(value) is not int or value < 0:
        raise DatasetError(f"{STATS_NAME}: {name} is no count")
    return value


def _open(part: object) -> Iterable[str]:
    if not isinstance(part, Mapping) or not isinstance(part.get("dropped"), Mapping):
        raise DatasetError(f"{STATS_NAME}: an account is none")
    dropped = part["dropped"]
    if unknown := [name for name in dropped if name not in tuple(LeftOut)]:
        yield f"no reason {excerpt(unknown[0])}"
    if _count(part, "grounded") != _count(part, "items") + sum(_count(dropped, name) for name in dropped):
        yield f"{part['grounded']} grounded are not {part['items']} items and those dropped"


def card_matches(folder: Path) -> CheckOutcome:
    """Manifest, card, changelog, withdrawals and figures say what the files say, and the folder holds nothing else."""
    manifest, stats, rows = read_manifest(folder), read_figures(folder), _ragas(folder)
    withdrawals = read_withdrawals(folder / WITHDRAWN_NAME)
    withdrawn = read_bytes(folder / WITHDRAWN_NAME)
    version = version_of(read_bytes(folder / RAGAS_NAME), read_bytes(folder / JSONL_NAME), withdrawn)
    counts = {"items": len(rows), "withdrawn": len(withdrawals), "scored": len(rows) - len(withdrawals)}
    told: list[tuple[str, object, object]] = [
        (f"{MANIFEST_NAME}: slug", manifest.get("slug"), SLUG),
        (f"{MANIFEST_NAME}: version", manifest["version"], version),
        (f"{MANIFEST_NAME}: counts", manifest.get("counts"), counts),
        (f"{STATS_NAME}: slug", stats.get("slug"), SLUG),
        (f"{STATS_NAME}: version", stats.get("version"), version),
        (f"{STATS_NAME}: grounded_version", stats.get("grounded_version"), manifest.get("grounded_version")),
        (f"{WITHDRAWN_NAME}: order", withdrawn, withdrawn_bytes(withdrawals)),
    ]
    gone = [each.item_id for each in withdrawals]
    offenders = foreign_withdrawals(gone, {row["item_id"] for row in rows})
    offenders += [
        f"{excerpt(name)}: listed, and no file of {SLUG}" for name in manifest["files"] if name not in CONTENT_NAMES
    ]
    offenders += other_bytes(folder, CONTENT_NAMES, manifest["files"])
    offenders += [f"{excerpt(path.name)}: no file of {SLUG}" for path in _foreign(folder)]
    offenders += differing(told)
    if not is_newest(read_bytes(folder / CHANGELOG_NAME).decode(errors="replace"), version, len(rows)):
        offenders.append(f"{CHANGELOG_NAME}: the newest section is not that of {version} with {len(rows)} items")
    offenders += card_differences(folder, _card(rows, stats, version))
    return outcome_of("card_matches", offenders, {"rows": len(rows), "withdrawn": len(gone)}, "statements that differ")


def _foreign(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name not in FOLDER_NAMES)


def _card(rows: Sequence[Mapping[str, Any]], stats: Mapping[str, Any], version: str) -> str:
    """The card as the figures and rows give it."""
    places = Counter(row["gold_position"] for row in rows)
    parts = {name: _account(part) for name, part in sorted(_mapping(stats, "by_category").items())}
    whole = _account(_mapping(stats, "account"))
    return card(SLUG, version, whole, parts, [places[n] for n in range(1, CONTEXTS + 1)])


def _account(part: object) -> Account:
    counts = {}
    for name in ("dropped", "rejected", "forms", "needing"):
        held = part.get(name) if isinstance(part, Mapping) else None
        if not isinstance(held, Mapping):
            raise DatasetError(f"{STATS_NAME}: {name} is no mapping")
        counts[name] = {kind: _count(held, kind) for kind in held}
    return Account(_count(part, "grounded"), _count(part, "items"), **counts)


_BY_NAME: dict[str, Callable[[Path], CheckOutcome]] = {
    "row_contract": row_contract,
    "gold_at_position": gold_at_position,
    "no_own_article": no_own_article,
    "no_answer_in_distractors": no_answer_in_distractors,
    "position_balance": position_balance,
    "length_balance": length_balance,
    "template_coverage": template_coverage,
    "mcq_mirrors_ragas": mcq_mirrors_ragas,
    "csv_mirrors_jsonl": csv_mirrors_jsonl,
    "licence_present": licence_present,
    "accounting_closes": accounting_closes,
    "card_matches": card_matches,
}


def run_check(name: str, folder: Path) -> CheckOutcome:
    """One check by its name (CHECKS); KeyError for another name.

    Never another exception: a folder that is damaged in whatever way is a failed check that says what was wrong.
    """
    check = _BY_NAME[name]
    try:
        return check(folder)
    except Exception as error:
        return damaged(name, folder, error)


def judge(name: str, folder: Path, code_version: str) -> tuple[CheckOutcome, Verdict]:
    """Run one check and record its verdict on the bytes that it read; raises as `dataset.publication.judge`."""
    return judge_by(lambda: run_check(name, folder), name, folder, code_version, FOLDER_NAMES)
