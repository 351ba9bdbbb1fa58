"""The exam track's products in the store: written, read back, and told current from stale.

What belongs here: which file holds what, and what each was made from. What does not: how one is made (the library)
and when it is made (assets, build). A product is current when the digest of what it was made from is recorded beside it
and still holds; nothing is believed that a kill could have left half-done, because the record is written last.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opentwbench.dataset.atomic import recover
from opentwbench.dataset.contract import ItemRow
from opentwbench.dataset.files import JSONL_NAME, read_jsonl, rows_from_jsonl
from opentwbench.dataset.manifest import CHANGELOG_NAME, Written, read_manifest, verified_bytes, write_dataset
from opentwbench.dataset.model import DatasetError, Withdrawal
from opentwbench.dataset.publication import (
    LocalTarget,
    PublicationRefused,
    Published,
    Verdict,
    folder_hashes,
    is_published,
    publish,
)
from opentwbench.dataset.validators import BLOCKING_CHECKS, MAX_OFFENDERS, CheckOutcome, CompareRows, RowComparison
from opentwbench.dataset.versions import changelog_versions
from opentwbench.exam.accounting import Accounting, over_all
from opentwbench.exam.digests import code_digest, digest, merge, parser_digest
from opentwbench.exam.exclusion_lists import Lists
from opentwbench.exam.index import MAX_VANISHED_SHARE, Index, read_index
from opentwbench.exam.items import NO_SUBJECT, ItemLineError
from opentwbench.exam.items import from_line as item_from_line
from opentwbench.exam.model import IndexRow, RejectionReason
from opentwbench.exam.release import (
    Settled,
    code_version,
    dataset_of,
    matching,
    scope_digests,
    scope_of,
    scope_of_row,
    settle,
    sum_of_matchings,
)
from opentwbench.exam.removals import Removal, RemovalReason, removals
from opentwbench.exam.row_records import compare_rows
from opentwbench.exam.sitting import RowRecord, from_line, needed_urls, row_of_line, to_line
from opentwbench.exam.subjects import REGISTRY, Subject
from resources import index_versions
from resources.gated_set import NO_SOURCE, PUBLISHED, UNFINISHED, WITHHELD, stored_verdicts
from resources.index_versions import IndexVersion
from resources.settled_items import write_item_lines, write_item_record
from resources.store import Store, StoreError

if TYPE_CHECKING:
    from opentwbench.exam.retrieval import Retriever


# -- the index --------------------------------------------------------------------------------------------------------


def write_index(
    store: Store, data: bytes, max_vanished_share: float = MAX_VANISHED_SHARE
) -> tuple[Index, IndexVersion]:
    """Keep the index last seen with its digests and counts, and its version with the difference to the one before.

    Raises IndexFormatError for what is no index and IndexShrunkError for one that lost more than a share of its keyed
    rows, both before anything is changed.
    """
    index = read_index(data, "index.csv")
    version = index_versions.keep(store, data, index, max_vanished_share)
    store.write(store.index_csv(), data)
    store.write_json(store.index_record(), index_record(index, version))
    return index, version


def index_is_current(store: Store, data: bytes) -> bool:
    """Whether these bytes are the index last seen, with their record; the record is written last."""
    record = store.read_json_or_none(store.index_record())
    name = sha256(data).hexdigest()
    return record is not None and record.get("sha256") == name == store.hash_of(store.index_csv())


def index_record(index: Index, version: IndexVersion) -> dict[str, Any]:
    """Digests and counts of an index; `years` are digests of the keyed rows, the ones that papers are made from."""
    return {
        "sha256": version.sha256,
        "digest": index.digest(),
        "years": keyed_years(index),
        "counts": index.counts(),
        "problems": [asdict(problem) for problem in index.problems],
    }


def keyed_years(index: Index) -> dict[str, str]:
    """Year (as text) -> digest of its keyed rows."""
    keyed = replace(index, rows=index.keyed(), problems=())
    return {str(year): found for year, found in keyed.year_digests().items()}


def stored_index(store: Store) -> Index:
    """The index last seen; raises StoreError when there is none."""
    return read_index(store.read(store.index_csv()), store.index_csv())


# -- papers of a year -------------------------------------------------------------------------------------------------


def write_year(
    store: Store, year: int, records: Iterable[RowRecord], rows: str, failed: Iterable[str]
) -> dict[str, Any]:
    """Keep the records of one sitting year; returns the record beside them.

    `rows` is the digest of its index rows, `failed` the URLs that gave no whole answer: such a year is asked for again.
    """
    kept = list(records)
    lines = b"".join(to_line(record) + b"\n" for record in kept)
    store.write(store.papers(year), lines)
    record = {
        "rows": rows,
        "parser": parser_digest(),
        "failed": sorted(failed),
        "sha256": sha256(lines).hexdigest(),
        "subjects": scope_digests(kept),
        "counts": year_counts(kept),
        "rejected": [rejection_of(each) for each in kept if not each.record.accepted],
        "matching": matching(kept).to_json(),
    }
    store.write_json(store.papers_record(year), record)
    return record


def year_counts(records: Iterable[RowRecord]) -> dict[str, int]:
    """Index rows, distinct pairs, accepted and rejected rows, printed questions of one year."""
    kept = list(records)
    accepted = [each for each in kept if each.record.accepted]
    return {
        "rows": len(kept),
        "pairs": len({each.hashes.pair for each in kept}),
        "accepted": len(accepted),
        "rejected": len(kept) - len(accepted),
        "printed": sum(each.record.found for each in accepted),
    }


def rejection_of(each: RowRecord) -> dict[str, Any]:
    """One rejected row: which paper, why, and where in it."""
    record = each.record
    reason = record.reason.value if record.reason else RejectionReason.NO_QUESTIONS.value
    return {
        "paper_id": each.row.paper_id,
        "subject": each.row.subject_name,
        "file": record.question_file,
        "key": record.key_file,
        "reason": reason,
        "detail": record.detail,
        "page": record.page,
        "q_no": record.q_no,
    }


def stale_years(store: Store, years: Mapping[str, str]) -> list[int]:
    """Years whose papers must be looked at (again): rows or parser changed, a file failed, or all rows vanished."""
    return sorted({*unread_years(store, years), *failed_years(store)})


def unread_years(store: Store, years: Mapping[str, str]) -> list[int]:
    """The stale years without those where only a file failed: what is there of them is all that could be had."""
    wanted = {int(year): rows for year, rows in years.items()}
    # A year that left the index is rewritten as empty once.
    gone = dict.fromkeys((year for year in store.years() if year not in wanted), "")
    return sorted(year for year, rows in (wanted | gone).items() if not _year_is_read(store, year, rows))


def failed_years(store: Store) -> list[int]:
    """Years with a file that gave no whole answer: to be asked for again."""
    return [year for year in store.years() if _failed(store, year)]


def due_years(store: Store, retriever: Retriever) -> set[str]:
    """Years (as text) of the index last seen with a paper that was last asked for longer ago than its maximum age."""
    rows: dict[str, list[IndexRow]] = {}
    for row in stored_index(store).keyed():
        rows.setdefault(str(row.year_roc), []).append(row)
    return {year for year, own in rows.items() if retriever.due(needed_urls(own))}


def year_inputs(rows: str) -> str:
    """Digest of what the papers of a year are read from: its index rows and the parser."""
    return digest([rows.encode(), parser_digest().encode()])


def _year_is_read(store: Store, year: int, rows: str) -> bool:
    record = store.read_json_or_none(store.papers_record(year))
    return (
        record is not None
        and (record["rows"], record["parser"]) == (rows, parser_digest())
        and record["sha256"] == store.hash_of(store.papers(year))
    )


def _failed(store: Store, year: int) -> bool:
    record = store.read_json_or_none(store.papers_record(year))
    return record is not None and bool(record["failed"])


def year_records(store: Store) -> list[dict[str, Any]]:
    """The records of every year that has papers, ascending."""
    found = (store.read_json_or_none(store.papers_record(year)) for year in store.years())
    return [record for record in found if record is not None]


def row_records(store: Store) -> Iterator[RowRecord]:
    """Every index row of every year with its parse record."""
    for year in store.years():
        yield from (from_line(line) for line in store.lines(store.papers(year)))


def subject_records(store: Store, slug: str) -> Iterator[RowRecord]:
    """Every index row of one subject with its parse record, from years that print it.

    Raises DatasetError when a year's file is not the one that its record names: what was changed behind the parse stage
    is no parse record.
    """
    for year in store.years():
        record = store.read_json_or_none(store.papers_record(year))
        if record is not None and slug not in record["subjects"]:
            continue
        found = sha256()
        for line in store.lines(store.papers(year)):
            found.update(line + b"\n")
            if scope_of_row(row_of_line(line)) == slug:
                yield from_line(line)
        if record is None or record["sha256"] != found.hexdigest():
            raise DatasetError(f"{store.papers(year)} is not the file that the parse stage recorded")


# -- items of a subject -----------------------------------------------------------------------------------------------


def lists_digest(lists: Lists) -> str:
    """Digest of everything the lists say."""
    foreign = sorted(
        (each.exclusion.value, each.applied, each.rows, sorted(each.fingerprints)) for each in lists.foreign
    )
    own = sorted((key, entry.to_json()) for key, entry in lists.maintainer.items())
    return digest([json.dumps([foreign, own], sort_keys=True).encode()])


def items_inputs(store: Store, lists: Lists) -> dict[str, str]:
    """Scope (slug or no_subject) -> digest of what its items are made from: its papers, the lists, the code."""
    papers = merge(record["subjects"] for record in year_records(store))
    common = [lists_digest(lists).encode(), code_digest().encode()]
    return {scope: digest([papers.get(scope, "").encode(), *common]) for scope in (*REGISTRY, NO_SUBJECT)}


def write_items(store: Store, settled: Settled, shared: int, inputs: str) -> dict[str, Any]:
    """Keep the items of one scope and their record; returns the record."""
    return write_item_record(store, settled, shared, inputs, write_item_lines(store, settled))


def refresh_no_subject(store: Store, lists: Lists) -> None:
    """Settle the questions that no subject claims, when their papers changed: they belong to no partition."""
    inputs = items_inputs(store, lists)[NO_SUBJECT]
    if stale_items(store, {NO_SUBJECT: inputs}):
        records = [record for record in row_records(store) if scope_of(record) == NO_SUBJECT]
        write_items(store, settle(NO_SUBJECT, records, lists), 0, inputs)


def stale_items(store: Store, inputs: Mapping[str, str]) -> list[str]:
    """Scopes whose items were made from something else, or whose file is not the recorded one."""
    return [scope for scope, wanted in inputs.items() if not _items_are_current(store, scope, wanted)]


def _items_are_current(store: Store, scope: str, wanted: str) -> bool:
    record = store.read_json_or_none(store.accounting(scope))
    return record is not None and record["inputs"] == wanted and record["sha256"] == store.hash_of(store.items(scope))


# -- data set, verdicts, publication ----------------------------------------------------------------------------------

PUBLISHED_ITEMS_STAY = "published_items_stay"
"""The check that only warns: its verdict stands beside those of the blocking checks and is no part of the gate."""


@dataclass(frozen=True, slots=True)
class SubjectState:
    """Where a subject stands. `against` says what withholds it, one entry a check that did not pass."""

    slug: str
    state: str
    items: int = 0
    version: str = ""
    against: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def dataset_inputs(store: Store, slug: str, withdrawals: Mapping[str, Withdrawal]) -> dict[str, str]:
    """What a data set is made from: hashes of items and record, the code, the withdrawals of the subject."""
    own = [entry.to_json() for key, entry in sorted(withdrawals.items()) if _is_of(key, REGISTRY[slug])]
    return {
        "items": store.hash_of(store.items(slug)),
        "figures": figures_digest(store, slug),
        "code": code_version(),
        "withdrawals": digest([json.dumps(own, sort_keys=True).encode()]),
        # Only where it is known, so that a store that is never pushed keeps its records.
        **({"repository": repository} if (repository := hub_repository(store, slug)) else {}),
    }


def keep_hub_namespace(store: Store, namespace: str) -> None:
    """Let data sets that are built from now on name their repository on the Hub; '' keeps what is known.

    The card is part of the bytes that the checks judge, so it cannot be written when it is pushed.
    """
    if namespace and (store.read_json_or_none(store.hub_namespace()) or {}).get("namespace") != namespace:
        store.write_json(store.hub_namespace(), {"namespace": namespace})


def hub_repository(store: Store, slug: str) -> str | None:
    """owner/name of a subject on the Hub, where the owner is known; else None."""
    namespace = (store.read_json_or_none(store.hub_namespace()) or {}).get("namespace")
    return f"{namespace}/{slug}" if namespace else None


def _is_of(item_id: str, subject: Subject) -> bool:
    return item_id.rpartition("-")[0] == subject.key


def figures_digest(store: Store, slug: str) -> str:
    """Digest of a subject's items and figures without what only says where they came from; '' before there are any."""
    record = store.read_json_or_none(store.accounting(slug))
    if record is None:
        return ""
    return digest([json.dumps({**record, "inputs": ""}, sort_keys=True).encode()])


def has_source(store: Store, slug: str) -> bool:
    """Whether any index row belongs to the subject; raises StoreError when its items were never made."""
    return bool(store.read_json(store.accounting(slug))["has_source"])


def build_dataset(store: Store, public: Store, slug: str, withdrawals: Mapping[str, Withdrawal]) -> Written | None:
    """Write the data-set folder of a subject from its items; None, and nothing written, when it never had a paper.

    `public` is where publications are kept: the changelog continues what is published there. A subject whose papers all
    vanished gets an empty data set: its changelog names what is gone, no check passes on it.
    """
    if not has_source(store, slug) and not store.exists(store.dataset(slug)):
        return None
    record = store.read_json(store.accounting(slug))
    repository = hub_repository(store, slug)
    dataset = dataset_of(REGISTRY[slug], store.lines(store.items(slug)), record, withdrawals, repository)
    inputs = dataset_inputs(store, slug, withdrawals)
    with (
        store.folder(store.dataset(slug), write=True) as folder,
        public.folder(public.publication(slug)) as published,
    ):
        written = write_dataset(dataset, folder, published)
        hashes = folder_hashes(folder)
    store.write_json(store.dataset_record(slug), {"inputs": inputs, "files": hashes})
    return written


def publish_subject(store: Store, public: Store, slug: str) -> Published:
    """Publish exactly the bytes that every blocking check passed, and keep why items left the publication.

    Raises PublicationRefused naming what is against; the publication and the removals are as they were then.
    """
    with store.folder(store.dataset(slug)) as folder, public.folder(public.publication(slug), write=True) as out:
        return publish(folder, verdicts(store, slug), _SubjectTarget(store, slug, out))


@dataclass(frozen=True, slots=True)
class _SubjectTarget:
    """A subject's publication as a target: why items leave it is kept before they do."""

    store: Store
    slug: str
    folder: Path

    def put(self, files: Mapping[str, bytes]) -> bool:
        recover(self.folder)
        following = {str(json.loads(line)["item_id"]) for line in files[JSONL_NAME].split(b"\n")[:-1]}
        _keep_removals(self.store, self.slug, self.folder, following)
        return LocalTarget(self.folder).put(files)


def _keep_removals(store: Store, slug: str, published: Path, following: set[str]) -> None:
    """Keep a line for every item that the publication holds and the version that replaces it does not.

    It is done before the replacement, so that a kill in between finds the same again. A kill can also be followed by
    another version than the one that was cut short: lines of the version that is still published are made anew, unless
    it was published before and came back, when they are history.
    """
    try:
        manifest, rows = read_manifest(published), rows_from_jsonl(published / JSONL_NAME)
    except DatasetError:
        return  # nothing is published, or it cannot be read: `write_dataset` noted that its history starts anew
    version, path = str(manifest["version"]), store.removals(slug)
    kept = list(store.lines(path)) if store.exists(path) else []
    if kept and _sections(published, manifest).count(version) == 1:
        kept = [line for line in kept if json.loads(line)["last_version"] != version]
    known = set(kept)
    leaving = (each.to_json() for each in _leaving(store, slug, rows, version, following))
    found = (json.dumps(each, ensure_ascii=False, sort_keys=True).encode() for each in leaving)
    lines = kept + [line for line in found if line not in known]
    if lines:
        store.write(path, b"".join(line + b"\n" for line in lines))
    else:
        store.remove(path)


def _sections(published: Path, manifest: Mapping[str, Any]) -> list[str]:
    """The versions that a publication's changelog names, newest first; none when it is damaged."""
    try:
        log = verified_bytes(published, CHANGELOG_NAME, manifest).decode()
    except DatasetError:
        return []
    return changelog_versions(log)


def _leaving(store: Store, slug: str, rows: Iterable[ItemRow], version: str, following: set[str]) -> list[Removal]:
    """Why each published row that the following version lacks leaves, in order of ids.

    Raises PublicationRefused where the items are newer than the data set: their reasons would be of another version.
    """
    before = [row for row in rows if row.item_id not in following]
    if not before:
        return []
    record = store.read_json_or_none(store.dataset_record(slug)) or {"inputs": {}}
    if record["inputs"].get("items") != store.hash_of(store.items(slug)):
        raise PublicationRefused("the items that it was made from have changed: why items leave cannot be said")
    items = [item_from_line(line) for line in store.lines(store.items(slug))]
    papers = {each.row.paper_id: each.record for each in subject_records(store, slug)}
    gone = index_versions.last_changes(store, {row.paper_id for row in before})
    return removals(before, version, items, papers, gone)


def published_items_stay(store: Store, public: Store, slug: str) -> CheckOutcome:
    """Whether every published item is in the data set that follows, or left it by somebody's decision.

    It warns, because both may be right: a paper that is rejected today, a filter that was changed. Figures: the items
    published, those that leave, and those of them that nobody decided on, by reason.
    """
    with store.folder(store.dataset(slug)) as folder, public.folder(public.publication(slug)) as out:
        following = {row.item_id for row in rows_from_jsonl(folder / JSONL_NAME)}
        try:
            version, rows = str(read_manifest(out)["version"]), rows_from_jsonl(out / JSONL_NAME)
        except DatasetError:
            return CheckOutcome(PUBLISHED_ITEMS_STAY, True, "warn", {"published": 0}, "nothing is published yet")
    leaving = _leaving(store, slug, rows, version, following)
    undecided = [each for each in leaving if each.is_undecided]
    reasons = Counter(each.detail if each.reason is RemovalReason.EXCLUDED else each.reason.value for each in undecided)
    figures: dict[str, int | float | str] = {"published": len(rows), "leaving": len(leaving)}
    figures |= {"undecided": len(undecided), **dict(sorted(reasons.items()))}
    detail = f"{len(undecided)} of {len(rows)} published items leave and nobody decided it"
    if undecided:
        detail += f" ({', '.join(f'{n} {reason}' for reason, n in reasons.most_common())}), first: {undecided[0]}"
    return CheckOutcome(
        PUBLISHED_ITEMS_STAY, not undecided, "warn", figures, detail, tuple(map(str, undecided[:MAX_OFFENDERS]))
    )


def comparison(store: Store, slug: str) -> CompareRows:
    """How the published rows of a subject are compared with its parse records; nothing is read before it is called."""

    def compare(rows: Sequence[ItemRow]) -> RowComparison:
        try:
            items = [item_from_line(line) for line in store.lines(store.items(slug))]
            return compare_rows(REGISTRY[slug], rows, subject_records(store, slug), items)
        except (StoreError, ItemLineError) as error:
            raise DatasetError(str(error)) from None

    return compare


def verdicts(store: Store, slug: str) -> list[Verdict]:
    """The stored verdicts of a subject's blocking checks, those that are there, in the order of the checks."""
    return stored_verdicts(store, slug, BLOCKING_CHECKS)


def _staying(store: Store, slug: str, hashes: Mapping[str, str]) -> list[Verdict]:
    """The verdict of `published_items_stay` on these bytes; none where it judged others."""
    return [each for each in stored_verdicts(store, slug, (PUBLISHED_ITEMS_STAY,)) if each.files == hashes]


def subject_state(store: Store, public: Store, slug: str, withdrawals: Mapping[str, Withdrawal]) -> SubjectState:
    """Where a subject stands, decided from the bytes themselves: nothing is believed because it was once recorded.

    `public` is where publications are kept.
    """
    if not has_source(store, slug) and not store.exists(store.dataset(slug)):
        return SubjectState(slug, NO_SOURCE)
    record = store.read_json_or_none(store.dataset_record(slug))
    if record is None or record["inputs"] != dataset_inputs(store, slug, withdrawals):
        return SubjectState(slug, UNFINISHED)
    try:
        with store.folder(store.dataset(slug)) as folder:
            hashes = folder_hashes(folder)
            manifest = read_manifest(folder)
    except DatasetError:
        return SubjectState(slug, UNFINISHED)
    given = {verdict.check: verdict for verdict in verdicts(store, slug)}
    if record["files"] != hashes or any(c not in given or given[c].files != hashes for c in BLOCKING_CHECKS):
        return SubjectState(slug, UNFINISHED)
    items, version = int(manifest["counts"]["items"]), str(manifest["version"])
    against = tuple(f"{v.check}: {v.detail}" for v in given.values() if not v.passed)
    warned = tuple(f"{v.check}: {v.detail}" for v in (*given.values(), *_staying(store, slug, hashes)) if v.warned)
    if not has_source(store, slug):
        return SubjectState(slug, NO_SOURCE, items, version, against)
    if against:
        return SubjectState(slug, WITHHELD, items, version, against, warned)
    with public.folder(public.publication(slug)) as out:
        state = PUBLISHED if is_published(out, hashes) else UNFINISHED
    return SubjectState(slug, state, items, version, (), warned)


# -- the release ------------------------------------------------------------------------------------------------------


def release_record(store: Store, public: Store, withdrawals: Mapping[str, Withdrawal]) -> dict[str, Any]:
    """The accounts of all scopes together and the state of every subject, from what the store holds now."""
    years = year_records(store)
    scopes = (*REGISTRY, NO_SUBJECT)
    parts = [Accounting.from_json(store.read_json(store.accounting(scope))["accounting"]) for scope in scopes]
    whole = over_all(parts, sum(record["counts"]["printed"] for record in years))
    states = [subject_state(store, public, slug, withdrawals) for slug in REGISTRY]
    return {
        "table": [list(line) for line in whole.table()],
        "closes": whole.closes(),
        "parse_caused": {exclusion.value: count for exclusion, count in whole.parse_caused.items()},
        "parse_caused_share": whole.parse_caused_share,
        "subjects": {state.slug: asdict(state) for state in states},
        "matching": sum_of_matchings(record["matching"] for record in years),
        "rejected": [rejection for record in years for rejection in record["rejected"]],
        # The same for every subject: they are settled in one run.
        "lists": store.read_json(store.accounting(NO_SUBJECT))["lists"],
    }


def write_suite(store: Store, broken: Iterable[Iterable[object]], rules: int) -> bool:
    """Keep what the suite said of the release that is recorded now; True when it passed.

    A suite that judged nothing, because nothing is published, did not pass.
    """
    found = [list(each) for each in broken]
    passed = rules > 0 and not found
    of = store.hash_of(store.release())
    store.write_json(store.release_suite(), {"passed": passed, "rules": rules, "broken": found, "release": of})
    return passed


def release_is_current(store: Store, public: Store, lists: Lists, withdrawals: Mapping[str, Withdrawal]) -> bool:
    """Whether the recorded release is what the store holds now, and the suite judged just that."""
    suite, kept = store.read_json_or_none(store.release_suite()), store.read_json_or_none(store.release())
    if suite is None or suite["release"] != store.hash_of(store.release()):
        return False
    if stale_items(store, {NO_SUBJECT: items_inputs(store, lists)[NO_SUBJECT]}):
        return False
    return bool(kept == json.loads(json.dumps(release_record(store, public, withdrawals))))


def release_rows(store: Store, public: Store) -> Iterator[dict[str, Any]]:
    """Every published row of every subject, from the published files."""
    for slug in public.slugs("publications"):
        with public.folder(public.publication(slug)) as folder:
            yield from read_jsonl(folder / JSONL_NAME)
