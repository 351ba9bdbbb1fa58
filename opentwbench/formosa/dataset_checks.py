"""The blocking checks of the published Formosa folder: each a function of the folder, of a screen, of the windows.

What belongs here: the checks and running one with its verdict. What does not: writing the folder (output.py) and the
gate (dataset.publication.publish, which takes these verdicts over these files).
A check that cannot read what it judges does not pass, and says which file it was. What is said of items is looked at in
the full grounded set, which is published as well as the band.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
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
    sha256,
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
from opentwbench.dataset.validators import CheckOutcome, csv_differences, damaged, letter_skew, outcome_of
from opentwbench.dataset.versions import CHANGELOG_HEADER, changelog_versions, withdrawn_bytes
from opentwbench.exam.fingerprint import item_id, loose
from opentwbench.formosa.accounting import Account, total
from opentwbench.formosa.band import CUT_KINDS, CurationError, read_sidecar, recut
from opentwbench.formosa.card import LICENCE_ID, LICENCE_TEXT, card, served_by_role
from opentwbench.formosa.curation import measured_tables
from opentwbench.formosa.edition_files import EDITION_NAME, SIDECAR_NAME, read_edition, read_manifest_of
from opentwbench.formosa.folding import fold, stands_in
from opentwbench.formosa.grounding import LEAST_QUOTE, quoted
from opentwbench.formosa.judge_study import JudgeResult, JudgeStudyError
from opentwbench.formosa.model import Caution, FormosaItem, Window
from opentwbench.formosa.output import (
    COLUMNS,
    CONTENT_NAMES,
    FOLDER_NAMES,
    LICENCE_NAME,
    SLUG,
    full_version,
    read_full,
    row_of,
    shortcut_figures,
    version_of,
)
from opentwbench.formosa.served import Served, read_served

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
    "card_matches": ("說明卡、撤題與版本紀錄相符", "Card, withdrawals, changelog and manifest say what the files say"),
}
"""The blocking checks, in the order in which they run."""

Orthography = Callable[[str], Iterable[str]]
"""A text -> what is wrong with its characters or words, each in words; the track's screen."""

Windows = Mapping[str, Window]
"""The windows that the items were drafted from, by id: a folder does not hold them, a store does."""


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
    """Columns in order, every cell a clean NFC text, a letter as answer, four options, an id that is the content's.

    Of the rows, and of every item of the full set.
    """
    records, full = _records(folder), [row_of(item) for item in read_full(folder)]
    offenders = []
    for where, of in (("line", records), ("grounded line", full)):
        offenders += [
            f"{where} {n} {column}: {rule}" for n, each in enumerate(of, 1) for column, rule in _breaches(each)
        ]
        twice = [i for i, n in Counter(str(each.get("item_id")) for each in of).items() if n > 1]
        offenders += [f"{excerpt(each)} occurs twice" for each in twice]
    figures = {"rows": len(records), "grounded": len(full)}
    return outcome_of("row_contract", offenders, figures, "breaches of the row contract")


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
    """The track's own screen of characters and words finds nothing in any text of the rows or of the full set."""
    rows, full = _rows(folder), [row_of(item) for item in read_full(folder)]
    columns = ("question", *OPTION_COLUMNS)
    # A row that is the item's own is looked at once.
    texts = {(each["item_id"], column, each[column]): None for each in (*rows, *full) for column in columns}
    found = [f"{excerpt(name)} {column}: {excerpt(what)}" for name, column, text in texts for what in screen(text)]
    figures = {"rows": len(rows), "grounded": len(full), "texts": len(texts)}
    return outcome_of("orthography", found, figures, "findings")


def grounding_recorded(folder: Path, windows: Windows | None = None) -> CheckOutcome:
    """Every item of the full set has its ground, by a judge whose recorded study passes, and every row is such an item.

    The full set is the version that the edition was measured on. Without a quotation the answer itself must have stood
    in the window (no such caution is recorded). With `windows` quotation, answer and provenance are looked up in the
    item's window; without them the outcome says that they were not.
    """
    rows, items = _rows(folder), read_full(folder)
    judges = {each.judge: each for each in _judges(folder)}
    full, stated = {item.item_id: item for item in items}, read_manifest_of(folder / EDITION_NAME).dataset_version
    offenders = []
    if (version := full_version(items)) != stated:
        offenders.append(f"the full set is version {version}, the edition was measured on {excerpt(stated)}")
    for row in rows:
        item = full.get(row["item_id"])
        if item is None or row_of(item) != row:
            offenders.append(f"{excerpt(row['item_id'])}: not as in the full set")
    for item in items:
        offenders += [f"{excerpt(item.item_id)}: {why}" for why in _without_ground(item, judges)]
        if windows is not None:
            offenders += [f"{excerpt(item.item_id)}: {why}" for why in _not_in_window(item, windows)]
    figures = {"rows": len(rows), "grounded": len(items), "judges": len(judges)}
    looked = "every window was looked up" if windows is not None else "no window was at hand to look a quotation up in"
    found = outcome_of("grounding_recorded", offenders, {**figures, "windows": looked}, "items without ground")
    return replace(found, detail=f"{found.detail}; {looked}")


def _without_ground(item: FormosaItem, judges: Mapping[str, JudgeResult]) -> Iterable[str]:
    """What the records of an item say against its ground."""
    study = judges.get(item.judge)
    if study is None or not study.passed:
        yield f"judge {excerpt(item.judge)} has no passing study"
    needs = any(notice.caution is Caution.ANSWER_NOT_IN_WINDOW for notice in item.notices)
    if (item.quote or needs) and len(fold(item.quote)) < LEAST_QUOTE:
        yield "no quotation that supports it"


def _not_in_window(item: FormosaItem, windows: Windows) -> Iterable[str]:
    """What the window of an item says against it."""
    window = windows.get(item.window_id)
    if window is None:
        yield f"no window {excerpt(item.window_id)}"
        return
    if item.quote and not quoted(item.quote, window.text):
        yield "its quotation is not in its window"
    if not item.quote and not stands_in(item.options.get(item.answer, ""), window.text):
        yield "neither its answer nor a quotation is in its window"
    names = ("category", "article", "title", "start", "end", "url", "attribution", "commit")
    for name in names:
        if getattr(item, name) != getattr(window, name):
            yield f"{name} is not its window's"


def _judges(folder: Path) -> list[JudgeResult]:
    given = read_figures(folder).get("judges")
    if not isinstance(given, list):
        raise DatasetError(f"{STATS_NAME}: judges is no list")
    return [JudgeResult.from_json(each) for each in given]


def band_matches(folder: Path) -> CheckOutcome:
    """The sidecar is the edition's, cutting it again gives the edition's items, and these are the published ones."""
    edition = read_manifest_of(folder / EDITION_NAME)
    rows, full = _rows(folder), {item.item_id for item in read_full(folder)}
    sidecar = read_sidecar(read_jsonl(folder / SIDECAR_NAME), SIDECAR_NAME)
    offenders = []
    if sha256(read_bytes(folder / SIDECAR_NAME)) != edition.sidecar_sha256:
        offenders.append(f"{SIDECAR_NAME}: not the edition's")
    again = recut(sidecar, edition.models, edition.band)
    for kind in CUT_KINDS:
        if set(getattr(again, kind)) != set(getattr(edition.cut, kind)):
            offenders.append(f"{kind}: the sidecar gives {len(getattr(again, kind))}, the edition another set")
    published = {row["item_id"] for row in rows}
    offenders += [f"{excerpt(each)}: only in rows or band" for each in sorted(published ^ set(edition.cut.kept))]
    offenders += [f"{excerpt(each)}: measured, not grounded" for each in sorted({i.item_id for i in sidecar} - full)]
    return outcome_of("band_matches", offenders, {"rows": len(rows), "measured": len(sidecar)}, "differences")


def licence_present(folder: Path) -> CheckOutcome:
    """LICENSE.md is whole, the card names CC BY-SA 4.0, each row and item its article, its address and the licence."""
    rows, full = _rows(folder), [row_of(item) for item in read_full(folder)]
    offenders = licence_differences(folder, LICENCE_NAME, LICENCE_TEXT, LICENCE_ID)
    for row in (*rows, *full):
        if not row["url"].startswith("https://") or "CC BY-SA 4.0" not in row["attribution"] or not row["article"]:
            offenders.append(f"{excerpt(row['item_id'])}: no article, address or licence")
    figures = {"rows": len(rows), "grounded": len(full)}
    return outcome_of("licence_present", offenders, figures, "rows, items or files without licence")


def accounting_closes(folder: Path) -> CheckOutcome:
    """Every sum closes, over all and by category, the categories are the whole, and the files hold what is counted."""
    stats = read_figures(folder)
    whole = _account(stats.get("account"), "account")
    given = stats.get("by_category")
    if not isinstance(given, dict):
        raise DatasetError(f"{STATS_NAME}: by_category is no object of accounts")
    parts = {name: _account(each, f"by_category.{excerpt(name)}") for name, each in given.items()}
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


def _account(given: object, where: str) -> Account:
    if not isinstance(given, dict):
        raise DatasetError(f"{STATS_NAME}: {where} is no account")
    return Account.from_json(given)


def _counted(account: Account) -> dict[str, Any]:
    """An account without the kinds that count nothing."""
    return {
        name: {kind: n for kind, n in value.items() if n} if isinstance(value, dict) else value
        for name, value in account.to_json().items()
    }


def card_matches(folder: Path) -> CheckOutcome:
    """Manifest, card, figures, withdrawals and changelog say what the files say: each is computed again from them."""
    manifest, stats = read_manifest(folder), read_figures(folder)
    rows, full = _rows(folder), read_full(folder)
    withdrawals = read_withdrawals(folder / WITHDRAWN_NAME)
    version, edition = str(manifest["version"]), read_manifest_of(folder / EDITION_NAME)
    counts = {"items": len(rows), "withdrawn": len(withdrawals), "scored": len(rows) - len(withdrawals)}
    withdrawn = read_bytes(folder / WITHDRAWN_NAME)
    by_role = served_by_role(edition, judges := _judges(folder), served := _served(stats))
    told: list[tuple[str, object, object]] = [
        (f"{MANIFEST_NAME}: version", version, version_of(rows, withdrawn)),
        (f"{MANIFEST_NAME}: counts", manifest.get("counts"), {**counts, "grounded": len(full)}),
        (f"{MANIFEST_NAME}: edition", manifest.get("edition"), edition.edition_id),
        (f"{MANIFEST_NAME}: grounded_version", manifest.get("grounded_version"), edition.dataset_version),
        (f"{MANIFEST_NAME}: served", manifest.get("served"), by_role),
        (f"{STATS_NAME}: version", stats.get("version"), version),
        (f"{STATS_NAME}: edition", stats.get("edition"), edition.edition_id),
        (f"{STATS_NAME}: shortcuts", stats.get("shortcuts"), shortcut_figures(rows, map(row_of, full))),
        (f"{WITHDRAWN_NAME}: order", withdrawn, withdrawn_bytes(withdrawals)),
    ]
    offenders = differing(told) + other_bytes(folder, CONTENT_NAMES, manifest["files"])
    offenders += foreign_withdrawals([each.item_id for each in withdrawals], {row["item_id"] for row in rows})
    offenders += _changelog_faults(read_bytes(folder / CHANGELOG_NAME).decode(errors="replace"), version, len(rows))
    account = _account(stats.get("account"), "account")
    again = _card_again(folder, version, rows, len(full), len(withdrawals), judges, account, served)
    offenders += card_differences(folder, again)
    return outcome_of("card_matches", offenders, {**counts, "grounded": len(full)}, "statements that differ")


def _card_again(
    folder: Path,
    version: str,
    rows: list[dict[str, str]],
    grounded: int,
    withdrawn: int,
    judges: list[JudgeResult],
    account: Account,
    served: Mapping[str, Mapping[str, Served]],
) -> str:
    edition, sidecar = read_edition(folder)
    transfer, external = measured_tables(edition, sidecar)
    return card(SLUG, version, rows, grounded, withdrawn, edition, transfer, external, judges, account, served)


def _served(stats: Mapping[str, Any]) -> dict[str, dict[str, dict[str, int]]]:
    given = stats.get("served")
    if not isinstance(given, dict) or not all(isinstance(of, dict) for of in given.values()):
        raise DatasetError(f"{STATS_NAME}: served is no object of models by role")
    try:
        return {role: {model: read_served(names) for model, names in of.items()} for role, of in given.items()}
    except ValueError as error:
        raise DatasetError(f"{STATS_NAME}: served: {error}") from None


def _changelog_faults(log: str, version: str, rows: int) -> list[str]:
    """The newest section is that of this version and of so many items, and each section changes the version.

    A version may come back: an item withdrawn and taken back gives the rows, and so the hash, of before.
    """
    if not log.startswith(CHANGELOG_HEADER):
        return [f"{CHANGELOG_NAME}: another header"]
    found = []
    if not is_newest(log, version, rows):
        found.append(f"{CHANGELOG_NAME}: the newest section is not that of {version} with {rows} items")
    if twice := [newer for newer, older in pairwise(changelog_versions(log)) if newer == older]:
        found.append(f"{CHANGELOG_NAME}: two sections of {excerpt(twice[0])} with no other between them")
    return found


_PLAIN: dict[str, Callable[[Path], CheckOutcome]] = {
    "row_contract": row_contract,
    "answer_position": answer_position,
    "csv_mirrors_jsonl": csv_mirrors_jsonl,
    "residual_duplicates": residual_duplicates,
    "band_matches": band_matches,
    "licence_present": licence_present,
    "accounting_closes": accounting_closes,
    "card_matches": card_matches,
}


def run_check(name: str, folder: Path, screen: Orthography | None, windows: Windows | None = None) -> CheckOutcome:
    """One check by its name (CHECKS); without a screen `orthography` does not pass. KeyError for another name.

    Never another exception: a folder that is damaged in whatever way is a failed check that says what was wrong.
    """
    look = partial(_look, name, screen, windows) if name in _GIVEN else _PLAIN[name]
    try:
        return look(folder)
    except (CurationError, JudgeStudyError) as error:
        return damaged(name, folder, DatasetError(str(error)))
    except Exception as error:
        return damaged(name, folder, error)


_GIVEN = ("orthography", "grounding_recorded")
"""Checks that look with what is given beside the folder."""


def _look(name: str, screen: Orthography | None, windows: Windows | None, folder: Path) -> CheckOutcome:
    if name == "grounding_recorded":
        return grounding_recorded(folder, windows)
    if screen is None:
        raise DatasetError("no lexicon was given to screen with")
    return orthography(folder, screen)


def judge(
    name: str, folder: Path, screen: Orthography | None, code_version: str, windows: Windows | None = None
) -> tuple[CheckOutcome, Verdict]:
    """Run one check and record its verdict on the bytes that it read; raises as `dataset.publication.judge`."""
    return judge_by(lambda: run_check(name, folder, screen, windows), name, folder, code_version, FOLDER_NAMES)
