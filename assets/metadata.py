"""What an asset's page shows of one materialization: figures, and tables where a person would look.

What belongs here: records and results turned into Dagster metadata. What does not: computing a figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from opentwbench.dataset.manifest import Written
from opentwbench.dataset.publication import Published
from opentwbench.exam.accounting import Accounting
from opentwbench.exam.index import Index
from opentwbench.exam.key_consistency import ATTRIBUTED, CONFLICT_COLUMNS, Consistency, conflict_rows, figure_rows
from opentwbench.exam.tables import bar_chart, table
from resources.exam_products import NO_SOURCE

Metadata = dict[str, Any]


def of_index(index: Index) -> Metadata:
    """Rows by kind and key, refused rows with their lines."""
    kinds = [(kind, found["with_key"], found["without_key"]) for kind, found in index.counts().items()]
    return {
        "rows": len(index.rows),
        "keyed_rows": len(index.keyed()),
        "refused_rows": len(index.problems),
        "digest": index.digest(),
        "years": ", ".join(map(str, index.years_roc())),
        "by_kind": dg.MetadataValue.md(table(("kind", "with a key", "without"), kinds)),
        "refused": dg.MetadataValue.md(
            table(("line", "problem", "detail", "row"), ((p.line, p.problem, p.detail, p.text) for p in index.problems))
        ),
    }


def of_year(record: Mapping[str, Any]) -> Metadata:
    """Accepted and rejected rows, every rejection with its place, names that no subject claims."""
    return {
        **record["counts"],
        "failed_files": len(record["failed"]),
        "rejections": dg.MetadataValue.md(rejections(record["rejected"])),
        "unassigned_subject_names": dg.MetadataValue.md(unassigned(record["matching"])),
    }


def rejections(rejected: list[Mapping[str, Any]]) -> str:
    """The table of refused papers."""
    columns = ("paper_id", "subject", "file", "reason", "page", "q_no", "detail")
    return table(columns, ([_blank(each[name]) for name in columns] for each in rejected))


def unassigned(matching: Mapping[str, Any]) -> str:
    """The table of subject names that match nothing."""
    names = matching["unassigned"].items()
    return table(("科目全名", "papers", "items"), ((name, n["papers"], n["items"]) for name, n in names))


def of_items(record: Mapping[str, Any]) -> Metadata:
    """Buckets of every printed question, reprints, and which lists were applied."""
    accounting = Accounting.from_json(record["accounting"])
    buckets = {name: count for name, count in accounting.buckets.items() if count}
    lists = [
        (name, "applied" if each["applied"] else "NOT applied", each["entries"])
        for name, each in record["lists"].items()
    ]
    return {
        "source": "papers" if record["has_source"] else NO_SOURCE,
        "printed": accounting.printed,
        "published": buckets.get("published", 0),
        "parse_caused_share": accounting.parse_caused_share,
        "broken_sums": len(accounting.closes()),
        "buckets": dg.MetadataValue.md(bar_chart(buckets)),
        "papers": dg.MetadataValue.md(table(("", "index rows or questions"), accounting.table())),
        "key_agreement": f"{record['keys']['agreeing']} of {record['keys']['groups']} groups",
        "key_agreement_over_distinct_pdfs": (
            f"{record['keys']['independent_agreeing']} of {record['keys']['independent_groups']} groups"
        ),
        "exclusion_lists": dg.MetadataValue.md(table(("list", "", "entries"), lists)),
    }


def of_dataset(written: Written | None) -> Metadata:
    """Version, counts and what changed; for a subject without a paper only that."""
    if written is None:
        return {"source": NO_SOURCE}
    changed = written.change.counts() if written.change else {}
    return {
        "version": written.version,
        "changed": written.changed,
        **{name: int(count) for name, count in written.manifest["counts"].items()},
        "change": dg.MetadataValue.md(table(("change", "items"), changed.items())),
        "notes": dg.MetadataValue.md(table(("note",), ((note,) for note in written.notes))),
    }


def of_publication(published: Published) -> Metadata:
    """Version and the hash of every published file."""
    return {
        "version": published.version,
        "changed": published.changed,
        "files": dg.MetadataValue.md(table(("file", "sha256"), published.files.items())),
    }


def of_release(record: Mapping[str, Any]) -> Metadata:
    """The accounts over all subjects and where every subject with a paper stands."""
    states = record["subjects"].values()
    rows = [
        (s["slug"], s["state"], s["items"], s["version"], "; ".join(s["against"]))
        for s in states
        if s["state"] != NO_SOURCE
    ]
    return {
        "published_subjects": sum(s["state"] == "published" for s in states),
        "withheld_subjects": sum(s["state"] == "withheld" for s in states),
        "subjects_without_source": sum(s["state"] == NO_SOURCE for s in states),
        "broken_sums": len(record["closes"]),
        "parse_caused_share": record["parse_caused_share"],
        "accounting": dg.MetadataValue.md(table(("", "count"), record["table"])),
        "subjects": dg.MetadataValue.md(table(("subject", "state", "items", "version", "against"), rows)),
        "rejections": dg.MetadataValue.md(rejections(record["rejected"])),
        "unassigned_subject_names": dg.MetadataValue.md(unassigned(record["matching"])),
    }


def of_consistency(found: Consistency) -> Metadata:
    """How often reprints have the same official answer, and every disagreement with its copies (no texts)."""
    return {
        "key_agreement_rate": found.over_all.rate if found.over_all.rate is not None else NO_SOURCE,
        "key_disagreements": len(found.conflicts),
        "key_disagreements_to_settle": sum(each.standing != ATTRIBUTED for each in found.conflicts),
        "key_consistency": dg.MetadataValue.md(table(("", "figure"), figure_rows(found))),
        "disagreements": dg.MetadataValue.md(table(CONFLICT_COLUMNS, conflict_rows(found))),
    }


def _blank(value: object) -> object:
    return "" if value is None else value
