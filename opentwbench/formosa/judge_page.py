"""The page of a judge study: what was planted, what each judge made of it, and what the panel is worth together.

What belongs here: the words and tables. What does not: the figures (judge_study.py, panel.py) and who asks. Names of
judges come from outside and are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from opentwbench.dataset.card import markdown
from opentwbench.formosa.card import counted
from opentwbench.formosa.judge_study import PASS_APPROVAL, PASS_DETECTION, PER_CLASS, Defect, JudgeResult, Trial
from opentwbench.formosa.panel import Degeneracy

SCRIPTED = "scripted/"
"""How the names of the project's scripted judges begin: no model stands behind them."""

FORMS: Mapping[Defect, str] = {
    Defect.WRONG_KEY: "the key moved to each other letter in turn",
    Defect.UNGROUNDED_FACT: "the keyed option replaced by the keyed answer of another article's item, which the window "
    "does not name",
    Defect.MALFORMED_OPTIONS: "a distractor that repeats the key, says 以上皆是, is empty, or is missing",
}


def page(results: Sequence[JudgeResult], trials: Sequence[Trial], panel: Degeneracy, source: str, command: str) -> str:
    """The page in Markdown. `source`: what the good items came from; `command`: what made the page."""
    parts = [
        "# Judges before planted defects",
        f"Made by `{command}`; written by no hand.",
        *_warning(results),
        f"Good items: {sum(trial.planted is None for trial in trials)}, {source}. Judge prompt "
        f"`{markdown(results[0].prompt_id) if results else '—'}`. Every judge sees the same trials under the same ids, "
        "and an id tells nothing of what was planted.",
        "## What was planted",
        _table(("class", "trials", "distinct items", "by rule"), _planted(trials)),
        "## What each judge made of it",
        f"A judge passes when the lower end of its 95 % Wilson interval is at least {PASS_APPROVAL:.0%} for the "
        f"approval of good items and at least {PASS_DETECTION:.0%} for the detection of each class, with at least "
        f"{PER_CLASS} trials a class. Intervals are those of the distinct items: trials on one item are no independent "
        "draws. A reply without a readable verdict is neither an approval nor a detection.",
        _table(
            ("judge", "good approved", *(defect.value for defect in Defect), "silent", "may ground"),
            [_row(each) for each in results],
        ),
        "### Why judges fail",
        _table(("judge", "reason"), [(markdown(each.judge), why) for each in results for why in each.failures()]),
        "## The panel",
        f"{panel.drafts} trials were judged by all {len(results)}. Effective number of judges: "
        f"**{panel.effective:.2f}** (n² over the sum of squared correlations; a judge that always says the same counts "
        f"as none). Always the same: {_names(panel.constant)}. A panel that must agree lets {panel.decides.unanimous} "
        "trials pass.",
        _table(
            ("judge", "trials that it alone rejects"),
            [
                (markdown(judge), n)
                for judge, n in sorted(panel.decides.alone.items(), key=lambda pair: (-pair[1], pair[0]))
            ],
        ),
        "### Agreement",
        _table(("judge", "judge", "agreement", "phi"), _pairs(panel)),
    ]
    return "\n\n".join(parts) + "\n"


def _warning(results: Sequence[JudgeResult]) -> list[str]:
    if not any(each.judge.startswith(SCRIPTED) for each in results):
        return []
    return [
        "**These judges are scripted** (`samples/formosa_script.py`): they look a statement up in its window and err "
        "at declared rates, so that the study, its pass mark and its panel figures can be seen at work. No figure here "
        "is one of a model."
    ]


def _planted(trials: Sequence[Trial]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for defect in Defect:
        own = [trial for trial in trials if trial.planted is defect]
        rows.append((defect.value, len(own), len({trial.draft.window_id for trial in own}), FORMS[defect]))
    return rows


def _row(result: JudgeResult) -> tuple[object, ...]:
    figures = [result.planted[defect] for defect in Defect]
    silent = result.good.silent + sum(each.silent for each in figures)
    found = [counted(each.detection) for each in figures]
    return (markdown(result.judge), counted(result.good.approval), *found, silent, "yes" if result.passed else "no")


def _pairs(panel: Degeneracy) -> Iterable[tuple[object, ...]]:
    for pair, share in panel.agreement.items():
        phi = panel.correlation.get(pair)
        yield (*map(markdown, pair), f"{share:.1%}", "—" if phi is None else f"{phi:.2f}")


def _names(judges: Sequence[str]) -> str:
    return ", ".join(markdown(each) for each in judges) or "none"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of cells that are safe already: names are escaped where they come in, the rest is ours."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join(lines)
