"""The blocking checks of the published Formosa folder: each a function of the folder alone, or of it and a screen.

What belongs here: the checks and running one with its verdict. What does not: writing the folder (output.py) and the
gate (dataset.publication.publish, which takes these verdicts over these files).
A check that cannot read what it judges does not pass, and says which file it was.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from opentwbench.dataset.contract import CONTROL, ITEM_ID, MAX_TEXT, OPTION_COLUMNS, PRIVATE_USE, WIDE_SPACE, excerpt
from opentwbench.dataset.files import CSV_NAME, JSONL_NAME, parse_json, read_bytes, read_jsonl
from opentwbench.dataset.manifest import CARD_NAME, STATS_NAME, sha256
from opentwbench.dataset.model import DatasetError
from opentwbench.dataset.publication import Verdict, judge_by
from opentwbench.dataset.validators import CheckOutcome, csv_differences, letter_skew, outcome_of
from opentwbench.exam.fingerprint import item_id, loose
from opentwbench.formosa.accounting import Account, total
from opentwbench.formosa.band import CurationError, read_sidecar, recut
from opentwbench.formosa.card import LICENCE_ID, LICENCE_TEXT
from opentwbench.formosa.curation import Edition
from opentwbench.formosa.grounding import LEAST_QUOTE
from opentwbench.formosa.judge_study import JudgeResult, JudgeStudyError
from opentwbench.formosa.model import Caution
from opentwbench.formosa.output import (
    COLUMNS,
    EDITION_NAME,
    FOLDER_NAMES,
    LICENCE_NAME,
    SIDECAR_NAME,
    read_full,
    row_of,
)

CHECKS: dict[str, tuple[str, str]] = {
    "row_contract": ("欄位契約", "Row contract"),
    "answer_position": ("答案位置偏斜", "Answer-position skew"),
    "csv_mirrors_jsonl": ("CSV 與 JSONL 逐欄一致", "CSV mirrors JSONL field by field"),
    "residual_duplicates": ("殘留重複", "Residual duplicates"),
    "orthography": ("無簡體字與大陸用語", "No Simplified-only character, no mainland term"),
    "grounding_recorded": ("逐題有據", "Grounding recorded for every item"),
    "band_matches": ("難度帶與附檔一致", "The band is the edition's, and the sidecar gives it"),
    "licence_present": ("授權與出處", "Licence and attribution present"),
    "accounting_closes": ("帳目相符", "Accounting closes"),
}
"""The blocking checks, in the order in which they run."""

Orthography = Callable[[str], Iterable[str]]
"""A text -> what is wrong with its characters or words, each in words; the track's screen."""


def _records(folder: Path) -> list[dict[str, Any]]:
    records = read_jsonl(folder / JSONL_NAME)
    if not records:
        raise DatasetError(f"{JSONL_NAME}: no rows to judge")
    return records


def _rows(folder: Path) -> list[dict[str, str]]:
    records = _records(folder)
    for number, record in enumerate(records, 1):
        if set(record) != set(COLUMNS) or not all(isinstance(value, str) for value in record.values()):
            raise DatasetError(f"{JSONL_NAME} line {number}: no row of texts in the contract's columns")
    return records


def row_contract(folder: Path) -> CheckOutcome:
    """Columns in order, every cell a clean NFC text, a letter as answer, four options, an id that is the content's."""
    records = _records(folder)
    offenders = [
        f"line {n} {column}: {rule}" for n, record in enumerate(records, 1) for column, rule in _breaches(record)
    ]
    twice = [i for i, n in Counter(str(record.get("item_id")) for record in records).items() if n > 1]
    offenders += [f"{excerpt(each)} occurs twice" for each in twice]
    return outcome_of("row_contract", offenders, {"rows": len(records)}, "breaches of the row contract")


_DIRTY = re.compile(f"{PRIVATE_USE}|{WIDE_SPACE}|{CONTROL}")


def _breaches(record: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    if list(record) != list(COLUMNS):
        yield "columns", excerpt(list(record), 120)
        return
    for column, value in record.items():
        if not isinstance(value, str) or len(value) > MAX_TEXT:
            yield column, "no text of bounded length"
            return
        if not value.strip() and column != "commit":  # a plain folder states none
            yield column, "empty"
        if not unicodedata.is_normalized("NFC", value) or _DIRTY.search(value):
            yield column, "not NFC, or with a private-use, wide-space or control character"
    options = {letter: record[letter] for letter in OPTION_COLUMNS}
    if record["answer"] not in options:
        yield "answer", "no letter of A to D"
    if len(set(options.values())) < len(options):
        yield "A", "two options are equal"
    if not re.fullmatch(ITEM_ID, record["item_id"]) or record["item_id"] != item_id(
        "formosa", record["question"], options
    ):
        yield "item_id", "not that of the content"


def answer_position(folder: Path) -> CheckOutcome:
    """No letter holds the key too often, as in the exam track."""
    return letter_skew([row["answer"] for row in _rows(folder)])


def csv_mirrors_jsonl(folder: Path) -> CheckOutcome:
    """The CSV says field by field what the JSONL says, through two parsers."""
    records = _records(folder)
    found = csv_differences(records, folder / CSV_NAME, COLUMNS)
    return outcome_of("csv_mirrors_jsonl", found, {"rows": len(records)}, "fields that differ")


def residual_duplicates(folder: Path) -> CheckOutcome:
    """No two items of the full set, and so of the band, are the same under loose folding, nor share a window."""
    items = read_full(folder)
    same: defaultdict[str, list[str]] = defaultdict(list)
    for item in items:
        same[loose(item.question, item.options)].append(item.item_id)
        same[f"window {item.window_id}"].append(item.item_id)
    found = [" = ".join(ids[:5]) for ids in same.values() if len(ids) > 1]
    return outcome_of("residual_duplicates", found, {"items": len(items)}, "duplicates left")


def orthography(folder: Path, screen: Orthography) -> CheckOutcome:
    """The track's own screen of characters and words finds nothing in any published text."""
    rows = _rows(folder)
    columns = ("question", *OPTION_COLUMNS)
    found = [
        f"{excerpt(row['item_id'])} {column}: {excerpt(what)}"
        for row in rows
        for column in columns
        for what in screen(row[column])
    ]
    return outcome_of("orthography", found, {"rows": len(rows), "texts": len(rows) * len(columns)}, "findings")


def grounding_recorded(folder: Path) -> CheckOutcome:
    """Every published row is an item of the full set, as it was grounded, by a judge whose recorded study passes.

    Without a quotation the answer itself must have stood in the window (no such caution is recorded).
    """
    rows, full = _rows(folder), {item.item_id: item for item in read_full(folder)}
    judges = {each.judge: each for each in _judges(folder)}
    offenders = []
    for row in rows:
        item = full.get(row["item_id"])
        if item is None or row_of(item) != row:
            offenders.append(f"{excerpt(row['item_id'])}: not as in the full set")
            continue
        study = judges.get(item.judge)
        if study is None or not study.passed:
            offenders.append(f"{item.item_id}: judge {excerpt(item.judge)} has no passing study")
        needs = any(notice.caution is Caution.ANSWER_NOT_IN_WINDOW for notice in item.notices)
        if (item.quote or needs) and len(item.quote) < LEAST_QUOTE:
            offenders.append(f"{item.item_id}: no quotation that supports it")
    return outcome_of(
        "grounding_recorded", offenders, {"rows": len(rows), "judges": len(judges)}, "items without ground"
    )


def _stats(folder: Path) -> dict[str, Any]:
    return parse_json(read_bytes(folder / STATS_NAME).decode(errors="replace"), STATS_NAME)


def _judges(folder: Path) -> list[JudgeResult]:
    given = _stats(folder).get("judges")
    if not isinstance(given, list):
        raise DatasetError(f"{STATS_NAME}: judges is no list")
    return [JudgeResult.from_json(each) for each in given]


def band_matches(folder: Path) -> CheckOutcome:
    """The sidecar is the edition's, cutting it again gives the edition's items, and these are the published ones."""
    edition = Edition.from_json(parse_json(read_bytes(folder / EDITION_NAME).decode(errors="replace"), EDITION_NAME))
    rows, full = _rows(folder), {item.item_id for item in read_full(folder)}
    sidecar = read_sidecar(read_jsonl(folder / SIDECAR_NAME), SIDECAR_NAME)
    offenders = []
    if sha256(read_bytes(folder / SIDECAR_NAME)) != edition.sidecar_sha256:
        offenders.append(f"{SIDECAR_NAME}: not the edition's")
    again = recut(sidecar, edition.models, edition.band)
    for kind in ("kept", "easier", "harder", "unmeasured"):
        if set(getattr(again, kind)) != set(getattr(edition.cut, kind)):
            offenders.append(f"{kind}: the sidecar gives {len(getattr(again, kind))}, the edition another set")
    published = {row["item_id"] for row in rows}
    offenders += [f"{excerpt(each)}: only in rows or band" for each in sorted(published ^ set(edition.cut.kept))]
    offenders += [f"{excerpt(each)}: measured, not grounded" for each in sorted({i.item_id for i in sidecar} - full)]
    return outcome_of("band_matches", offenders, {"rows": len(rows), "measured": len(sidecar)}, "differences")


def licence_present(folder: Path) -> CheckOutcome:
    """LICENSE.md is whole, the card names CC BY-SA 4.0, each row names its article, its address and the licence."""
    rows, offenders = _rows(folder), []
    if read_bytes(folder / LICENCE_NAME) != LICENCE_TEXT.encode():
        offenders.append(f"{LICENCE_NAME}: not the licence's text")
    head = read_bytes(folder / CARD_NAME).decode(errors="replace").split("\n---\n")[0]
    if f"\nlicense: {LICENCE_ID}\n" not in head:
        offenders.append(f"{CARD_NAME}: no license: {LICENCE_ID} in the front matter")
    for row in rows:
        if not row["url"].startswith("https://") or "CC BY-SA 4.0" not in row["attribution"] or not row["article"]:
            offenders.append(f"{excerpt(row['item_id'])}: no article, address or licence")
    return outcome_of("licence_present", offenders, {"rows": len(rows)}, "rows or files without licence")


def accounting_closes(folder: Path) -> CheckOutcome:
    """Every sum closes, over all and by category, the categories are the whole, and the files hold what is counted."""
    stats = _stats(folder)
    whole = Account.from_json(stats.get("account", {}))
    parts = {name: Account.from_json(each) for name, each in dict(stats.get("by_category", {})).items()}
    offenders = list(whole.open_sums())
    offenders += [f"{excerpt(name)}: {each}" for name, part in parts.items() for each in part.open_sums()]
    if _counted(total(parts.values())) != _counted(whole):
        offenders.append("the categories are not the whole")
    rows, full = len(_rows(folder)), len(read_full(folder))
    if (whole.band.get("kept"), whole.grounded) != (rows, full):
        offenders.append(f"counted {whole.band.get('kept')} of {whole.grounded}, the files hold {rows} of {full}")
    return outcome_of(
        "accounting_closes", offenders, {"windows": whole.windows, "rows": rows}, "sums that do not close"
    )


def _counted(account: Account) -> dict[str, Any]:
    """An account without the kinds that count nothing."""
    return {
        name: {kind: n for kind, n in value.items() if n} if isinstance(value, dict) else value
        for name, value in account.to_json().items()
    }


_PLAIN: dict[str, Callable[[Path], CheckOutcome]] = {
    "row_contract": row_contract,
    "answer_position": answer_position,
    "csv_mirrors_jsonl": csv_mirrors_jsonl,
    "residual_duplicates": residual_duplicates,
    "grounding_recorded": grounding_recorded,
    "band_matches": band_matches,
    "licence_present": licence_present,
    "accounting_closes": accounting_closes,
}


def run_check(name: str, folder: Path, screen: Orthography | None) -> CheckOutcome:
    """One check by its name (CHECKS); without a screen `orthography` does not pass. KeyError for another name."""
    try:
        if name == "orthography":
            if screen is None:
                raise DatasetError("no lexicon was given to screen with")
            return orthography(folder, screen)
        return _PLAIN[name](folder)
    except (DatasetError, CurationError, JudgeStudyError) as error:
        return CheckOutcome(name, False, "error", {}, str(error))


def judge(name: str, folder: Path, screen: Orthography | None, code_version: str) -> tuple[CheckOutcome, Verdict]:
    """Run one check and record its verdict on the bytes that it read; raises as `dataset.publication.judge`."""
    return judge_by(lambda: run_check(name, folder, screen), name, folder, code_version, FOLDER_NAMES)
