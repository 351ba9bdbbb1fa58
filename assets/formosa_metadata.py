"""What the pages of the Formosa assets show: records turned into Dagster metadata.

What belongs here: tables and charts. What does not: computing a figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from opentwbench.evaluation.model import Rate
from opentwbench.exam.tables import bar_chart, table
from opentwbench.formosa.curation import LeftOut, Transfer
from opentwbench.formosa.judge_study import Defect, JudgeResult
from opentwbench.formosa.panel import Degeneracy

Metadata = dict[str, Any]

SHOWN = 50
"""Most rows of a table of single cases; the record in the store has them all."""


def _named(records: Sequence[Mapping[str, str]], columns: tuple[str, ...]) -> dg.MarkdownMetadataValue:
    return dg.MetadataValue.md(table(columns, ([each[name] for name in columns] for each in records[:SHOWN])))


def of_windows(record: Mapping[str, Any]) -> Metadata:
    """Articles, what was left out, and what an update changed and took the ground from."""
    update = record["update"]
    return {
        "articles": record["articles"],
        "windows": record["windows"],
        "median_characters": record["median_characters"],
        "commit": record["commit"] or "not stated",
        "left_out": dg.MetadataValue.md(bar_chart(record["left_out"])),
        "frontmatter_faults": {name: len(paths) for name, paths in record["frontmatter_faults"].items()},
        "by_category": dg.MetadataValue.md(bar_chart(record["categories"])),
        "windows_kept": update["kept"],
        "windows_to_draft": update["to_draft"],
        "windows_gone": update["gone"],
        "items_that_lost_their_ground": len(update["lost_ground"]),
        "lost_ground": _named(update["lost_ground"], ("item_id", "window_id")),
    }


def of_drafts(record: Mapping[str, Any]) -> Metadata:
    """Drafts by kind, and every reply that is none."""
    return {
        **record["counts"],
        "asked": record["asked"],
        "pending": record["pending"],
        "rejected": _named(record["rejected"], ("window_id", "exclusion", "evidence")),
    }


def of_screens(record: Mapping[str, Any]) -> Metadata:
    """What the screens excluded and noticed, and the two shortcuts before and after the permutation."""
    shortcuts = [
        (when, name, found["right"], found["drafts"], found["interval"])
        for when, of in record["shortcuts"].items()
        for name, found in of.items()
    ]
    return {
        "drafts": record["drafts"],
        "pass": record["pass"],
        "lexicon": record["lexicon"],
        "excluded": dg.MetadataValue.md(bar_chart(record["excluded"])),
        "matched": dg.MetadataValue.md(bar_chart(record["matched"])),
        "cautions": dg.MetadataValue.md(bar_chart(record["cautions"])),
        "shortcuts": dg.MetadataValue.md(table(("when", "rule", "right", "drafts", "95 %"), shortcuts)),
    }


def of_study(record: Mapping[str, Any], results: Sequence[JudgeResult], panel: Degeneracy) -> Metadata:
    """Every candidate with its approval of good drafts and its detection of each defect, and the panel."""
    rows = [
        (
            each.judge,
            _shown(each.good.approval),
            *(_shown(each.planted[defect].detection) for defect in Defect),
            "passes" if each.passed else "; ".join(each.failures()),
        )
        for each in results
    ]
    head = ("judge", "good approved", *(defect.value for defect in Defect), "verdict")
    pairs = [(a, b, f"{share:.3f}", _phi(panel, (a, b))) for (a, b), share in panel.agreement.items()]
    return {
        "trials": record["trials"],
        "asked": record["asked"],
        "candidates": len(results),
        "passed": ", ".join(record["passed"]) or "none",
        "judges": dg.MetadataValue.md(table(head, rows)),
        "effective_judges": round(panel.effective, 3),
        "constant_judges": ", ".join(panel.constant) or "none",
        "drafts_judged_by_all": panel.drafts,
        "agreement": dg.MetadataValue.md(table(("judge", "judge", "agreement", "phi"), pairs)),
    }


def _phi(panel: Degeneracy, pair: tuple[str, str]) -> str:
    found = panel.correlation.get(pair)
    return "—" if found is None else f"{found:.3f}"


def _shown(rate: Rate) -> str:
    return f"{rate.hits} of {rate.n} ({rate.low:.1%} to {rate.high:.1%})"


def of_grounded(record: Mapping[str, Any]) -> Metadata:
    """What the judge made of the drafts, every draft that it dropped, and the names that the replies carry."""
    return {
        **record["counts"],
        "served": record["served"],
        "judge": record["judge"],
        "asked": record["asked"],
        "pending": record["pending"],
        "dropped": _named(record["dropped"], ("window_id", "exclusion", "evidence")),
    }


def of_items(record: Mapping[str, Any]) -> Metadata:
    """The full set with its accounts."""
    whole = record["account"]
    flat = [(name, value) for name, value in whole.items() if not isinstance(value, dict)]
    flat += [
        (f"{name}: {kind}", n) for name, value in whole.items() if isinstance(value, dict) for kind, n in value.items()
    ]
    return {
        "items": record["items"],
        "version": record["version"],
        "account": dg.MetadataValue.md(table(("step", "count"), flat)),
    }


def of_edition(record: Mapping[str, Any], transfer: Transfer | None, beside: Sequence[LeftOut]) -> Metadata:
    """The band, and what leaving one model out says of it."""
    rows = [
        (
            r.model,
            _percent(r.full.value),
            r.band.n,
            *map(_percent, (r.band.value, r.pool_mean)),
            *map(_points, (r.bias, r.net)),
        )
        for r in (*(transfer.rows if transfer else ()), *beside)
    ]
    head = ("model", "full", "n", "band", "others' mean", "bias", "net")
    names = ("edition_id", "version", "kept", "easier", "harder", "unmeasured", "asked", "pending")
    return {
        **{name: record[name] for name in names},
        "unparsed": record["unparsed"],
        "served_otherwise": record["served_otherwise"],
        "transfer": dg.MetadataValue.md(table(head, rows)),
        "verdict": transfer.verdict() if transfer else "fewer than three models: nothing can be left out",
        "rank_agreement": "—"
        if transfer is None or transfer.agreement.rho is None
        else round(transfer.agreement.rho, 3),
    }


def _percent(value: float | None) -> str:
    return "—" if value is None else f"{value:.1%}"


def _points(value: float | None) -> str:
    return "—" if value is None else f"{100 * value:+.1f}"
