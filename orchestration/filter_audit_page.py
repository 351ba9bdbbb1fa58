"""The filter audit as a Markdown page, as JSON and as a table: names, counts and rates only, no text of a paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from opentwbench.exam.dependence_audit import DependenceFigures
from opentwbench.exam.filter_audit import KEPT_HINT, KEPT_REST, Figures, Record, RuleFigures, as_drawn, grounds_of
from opentwbench.statistics.intervals import Interval, wilson
from opentwbench.statistics.stratified import Estimate, estimate

LISTED = 40
"""Names on a line of the page; the rest is counted."""

INTRODUCTION = """Made by `otb study filters --mirror MIRROR --verdicts docs/audits/filters.jsonl --page
docs/audits/filters.md`; do not edit. `filters.jsonl` has a line a round and a line a verdict: names, hashes of the
texts, grounds; no text.

One reader judged every question on a blind sheet: removed questions of every rule, kept ones and damaged ones in an
order that says nothing of either, each with its options, key and remark. He wrote down what he found (a ground), not
whether a filter was right; the two were compared afterwards. Where the words said too little he looked at the page.
A verdict whose text has changed is stale and left out.

*Fired* counts the questions that the rule matched, on distinct papers; *removed* those of them whose bucket it is (the
first rule in the order of precedence). Of the fired, *by words* were matched by the text rule; the rest is what the
page or the key shows. *Other ground* are judged questions in which the reader found no ground of this rule, *sound*
those in which he found none at all: these are lost to the benchmark without need. *Let through* is the share of the
kept questions that the rule ought to have removed, estimated from the two strata of kept questions by their sizes.
Intervals are Wilson's at 95 %, joined over strata by MOVER (`statistics/stratified.py`); where every question was
judged there is none."""


def audit_page(found: Figures, record: Record, second: DependenceFigures) -> str:
    """The page."""
    lines = [
        "# Audit of the exclusion rules, on both sides",
        "",
        INTRODUCTION,
        "",
        f"{found.papers} papers, {found.printed:,} printed questions, {found.kept:,} kept.",
        "",
        *_holding(found),
        "## What was removed",
        "",
        "| rule | fired | by words | removed | judged | other ground | of the fired | sound | of the fired |",
        "|---|---|---|---|---|---|---|---|---|",
        *(_removed_row(rule) for rule in found.rules),
        "",
        *_names("Sound questions that were removed", [(r.rule.value, r.sound) for r in found.rules]),
        "## What was let through",
        "",
        "| kept questions | in all | judged | ought to have gone | of them |",
        "|---|---|---|---|---|",
        *_kept_rows(found),
        "",
        "| rule | missed in the judged | let through, of all kept | questions |",
        "|---|---|---|---|",
        *(_missed_row(rule, found.kept) for rule in found.rules),
        "",
        *_names("Missed", [(r.rule.value, r.missed) for r in found.rules]),
        *_on_damage(found),
        *_rounds(record),
        *_auditor(found),
        *_grounds(record),
        *_second_pass(second),
    ]
    return "\n".join(lines)


def _holding(found: Figures) -> list[str]:
    lines = []
    for words, names in (("stale", found.stale), ("missing", found.unjudged)):
        if names:
            lines += [f"**Verdicts that are {words}: {len(names)}** ({_listed(names)}).", ""]
    return lines


def _removed_row(rule: RuleFigures) -> str:
    cells: list[object] = [f"`{rule.rule.value}`", rule.fired, rule.by_words, rule.removed, rule.judged]
    cells += [len(rule.wrong), _shown(rule.false_positives, rule.judged, rule.fired)]
    cells += [len(rule.sound), _shown(rule.sound_removed, rule.judged, rule.fired)]
    return f"| {' | '.join(map(str, cells))} |"


def _shown(interval: Interval, judged: int, population: int) -> str:
    if not judged:
        return "—"
    return f"{interval.low:.1%}" if judged == population else interval.shown()


def _kept_rows(found: Figures) -> Iterator[str]:
    words = {KEPT_HINT: "with a word that may point outside", KEPT_REST: "without"}
    for stratum, own in found.strata.items():
        share = wilson(own.hits, own.judged).shown()
        yield f"| {words[stratum]} | {own.size:,} | {own.judged} | {own.hits} | {share} |"
    judged, hits = (sum(getattr(own, name) for own in found.strata.values()) for name in ("judged", "hits"))
    yield f"| all | {found.kept:,} | {judged} | {hits} | {_estimate(found.unsound)} |"


def _estimate(estimated: Estimate) -> str:
    return f"{estimated.share:.1%} ({estimated.interval.shown()})"


def _missed_row(rule: RuleFigures, kept: int) -> str:
    most = round(rule.let_through.interval.high * kept)
    about = round(rule.let_through.share * kept)
    return f"| `{rule.rule.value}` | {len(rule.missed)} | {_estimate(rule.let_through)} | {about}, at most {most} |"


def _names(title: str, by_rule: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    lines = [f"- `{rule}`: {_listed(names)}" for rule, names in by_rule if names]
    return [f"{title}:", "", *lines, ""] if lines else [f"{title}: none.", ""]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:LISTED])
    return shown if len(names) <= LISTED else f"{shown} and {len(names) - LISTED} more"


def _on_damage(found: Figures) -> list[str]:
    rows = [f"| {kind} | {n} | {of} | {wilson(n, of).shown()} |" for kind, (of, n) in found.on_damage.items()]
    return [
        "The real papers hold nothing for some rules to remove, so damage was planted in kept questions (one draw by",
        "seed, not the sheets'). Two signs were written after these kinds of damage: a stem that breaks off or begins",
        "with cells, an option that ends by asking. Cut heads and merged options are not seen by words; the question",
        "reader and the comparison with the parse record stand against them (`docs/studies/planted-defects.md`).",
        "",
        "| planted | removed by a rule on the words | of | share |",
        "|---|---|---|---|",
        *rows,
        "",
    ]


def _rounds(record: Record) -> list[str]:
    lines = [
        "## Rounds",
        "",
        "The kept strata were drawn anew in every round; each row is that round's draw, on the filters of its time.",
        "A round of whose kept questions one has been removed since mended the rules and is left out above.",
        "",
        "| round | kept | judged | ought to have gone | of them |",
        "|---|---|---|---|---|",
    ]
    for each in record.rounds:
        own = as_drawn(record, each.number)
        size, judged, hits = (sum(getattr(s, name) for s in own.values()) for name in ("size", "judged", "hits"))
        lines.append(f"| {each.number} | {size:,} | {judged} | {hits} | {_estimate(estimate(list(own.values())))} |")
    return [*lines, ""]


def _auditor(found: Figures) -> list[str]:
    planted, caught, interval = found.catch_rate
    return [
        "## The reader",
        "",
        "One reader, who also wrote the rules' last revision; no second reader checked him. Damage was planted in kept",
        "questions on every sheet: one that he takes for sound is missed. A stem whose scene was cut off can be a",
        "sound question about something general; such a one counts as missed too.",
        "",
        f"{caught} of {planted} damaged questions caught: {interval.shown()}. A second look at the page or at the code",
        f"points changed {found.amended} verdicts.",
        "",
        "| planted | caught | of |",
        "|---|---|---|",
        *(f"| {kind} | {n} | {of} |" for kind, (of, n) in found.planted.items()),
        "",
    ]


def _grounds(record: Record) -> list[str]:
    rows = [f"| {ground.value} | {count} |" for ground, count in grounds_of(v for v in record.verdicts if not v.damage)]
    return ["## Grounds", "", "| what the reader found | questions |", "|---|---|", *rows, ""]


def _second_pass(second: DependenceFigures) -> list[str]:
    judged = [lead for lead in second.leads if lead.right is not None]
    right = sum(bool(lead.right) for lead in judged)
    share = f": {right} right ({wilson(right, len(judged)).shown()})" if judged else ""
    lines = [
        "## Proposals",
        "",
        "The second pass (`exam/dependence.py`) proposes withdrawals and excludes nothing. Over the "
        f"{second.kept:,} kept",
        f"questions it makes {len(second.leads)} proposals, of which {len(judged)} were judged{share}.",
        "Recall is measured where the truth is known. The signs were written with the first three sets in view, so",
        "that these figures flatter it; the last set was not looked at.",
        "",
        "| stems | proposed | of | share |",
        "|---|---|---|---|",
        *(f"| {name} | {s.proposed} | {s.stems} | {s.interval.shown()} |" for name, s in second.sets.items()),
        "",
    ]
    leads = [f"- {lead.item}: {', '.join(e.sign.value for e in lead.evidence)}" for lead in second.leads]
    return [*lines, *leads, *([""] if leads else [])]


# ---- other forms ----------------------------------------------------------------------------------------------------


def to_json(found: Figures, second: DependenceFigures) -> dict[str, Any]:
    """The figures as JSON values."""
    planted, caught, _ = found.catch_rate
    return {
        "papers": found.papers,
        "printed": found.printed,
        "kept": found.kept,
        "rules": {
            rule.rule.value: {
                "fired": rule.fired,
                "by_words": rule.by_words,
                "removed": rule.removed,
                "judged": rule.judged,
                "other_ground": list(rule.wrong),
                "sound": list(rule.sound),
                "missed": list(rule.missed),
                "let_through": {
                    "share": rule.let_through.share,
                    "low": rule.let_through.interval.low,
                    "high": rule.let_through.interval.high,
                },
            }
            for rule in found.rules
        },
        "kept_strata": {
            name: {"size": own.size, "judged": own.judged, "hits": own.hits} for name, own in found.strata.items()
        },
        "stale": list(found.stale),
        "unjudged": list(found.unjudged),
        "rules_on_damage": {kind: {"planted": of, "removed": n} for kind, (of, n) in found.on_damage.items()},
        "planted": planted,
        "caught": caught,
        "proposals": [lead.item for lead in second.leads],
        "recall": {name: {"stems": s.stems, "proposed": s.proposed} for name, s in second.sets.items()},
    }


def show(found: Figures, console: Console) -> None:
    """Print both sides of every rule."""
    columns = ("rule", "fired", "removed", "judged", "other ground", "sound", "missed", "let through, of kept")
    table = Table(*columns, title="exclusion rules", title_justify="left")
    for rule in found.rules:
        counts = (rule.fired, rule.removed, rule.judged, len(rule.wrong), len(rule.sound), len(rule.missed))
        table.add_row(rule.rule.value, *map(str, counts), rule.let_through.interval.shown())
    console.print(table)
    planted, caught, interval = found.catch_rate
    console.print(f"the reader caught {caught} of {planted} damaged questions: {interval.shown()}", highlight=False)
