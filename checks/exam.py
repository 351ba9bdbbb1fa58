"""The checks of a subject's data set, all but one of them blocking, and the suite over the whole release.

Thin: each calls one library validator over the files themselves, keeps the verdict with the hashes that it judged, and
reports its figures. What a check decides is in `opentwbench.dataset.validators`; whether something may be published is
decided once more by the publisher, from the stored verdicts.
"""

from dataclasses import replace
from functools import partial

import dagster as dg

from opentwbench.dataset.model import DatasetError
from opentwbench.dataset.publication import PublicationRefused, judge, judge_by
from opentwbench.dataset.release_suite import release_frame, validate_release
from opentwbench.dataset.terms import CHECKS
from opentwbench.dataset.validators import BLOCKING_CHECKS, CheckOutcome
from opentwbench.exam.fingerprint import loose
from opentwbench.exam.release import code_version
from opentwbench.exam.tables import bar_chart, table
from resources import exam_products as products
from resources.partitions import subjects
from resources.publication import PublicationResource
from resources.settings import StoreResource

DATASET = dg.AssetKey("subject_dataset")
RELEASE = dg.AssetKey("exam_release")


def subject_check(name: str) -> dg.AssetChecksDefinition:
    """One blocking check, for one subject at a time: a failing subject stops only its own publication."""

    @dg.asset_check(
        asset=DATASET, name=name, blocking=True, partitions_def=subjects, description=" · ".join(CHECKS[name])
    )
    def check(context: dg.AssetCheckExecutionContext, store: StoreResource) -> dg.AssetCheckResult:
        slug, place = context.op_execution_context.partition_key, store.open()
        # An older verdict must not outlive a check that breaks off.
        place.remove(place.verdict(slug, name))
        try:
            with place.folder(place.dataset(slug)) as folder:
                outcome, verdict = judge(name, folder, loose, code_version(), products.comparison(place, slug))
        except DatasetError as error:
            return result(
                CheckOutcome(name, False, "error", {}, _without_files(place.exists(place.dataset(slug)), error))
            )
        place.write_json(place.verdict(slug, name), verdict.to_json())
        return result(outcome)

    return check


@dg.asset_check(
    asset=DATASET,
    name=products.PUBLISHED_ITEMS_STAY,
    # It only warns, and a warning stops nothing; but the publication waits for it, or it would compare with itself.
    blocking=True,
    partitions_def=subjects,
    description="已發布的題目仍在（僅警告） · Published items stay, or somebody took them out (warns)",
)
def published_items_stay(
    context: dg.AssetCheckExecutionContext, store: StoreResource, target: PublicationResource
) -> dg.AssetCheckResult:
    """What leaves the publication with this data set although nobody decided it."""
    slug, place = context.op_execution_context.partition_key, store.open()
    name, public = products.PUBLISHED_ITEMS_STAY, target.open(place)
    place.remove(place.verdict(slug, name))
    if not place.exists(place.dataset(slug)):
        return result(
            CheckOutcome(name, True, "warn", {}, f"{products.NO_SOURCE}: nothing is published that could leave")
        )
    try:
        with place.folder(place.dataset(slug)) as folder:
            look = partial(products.published_items_stay, place, public, slug)
            outcome, verdict = judge_by(look, name, folder, code_version())
    except (DatasetError, PublicationRefused) as error:
        return result(CheckOutcome(name, False, "warn", {}, str(error)))
    place.write_json(place.verdict(slug, name), replace(verdict, blocking=False).to_json())
    return result(outcome)


def _without_files(there: bool, error: DatasetError) -> str:
    return str(error) if there else f"{products.NO_SOURCE}: the subject has no data set ({error})"


def result(outcome: CheckOutcome) -> dg.AssetCheckResult:
    """An outcome as Dagster shows it: its figures, offenders as a table, the answers as a chart."""
    metadata = {
        **outcome.figures,
        "detail": outcome.detail,
        "offenders_named": dg.MetadataValue.md(table(("offender",), ((each,) for each in outcome.offenders))),
    }
    letters = {letter: int(outcome.figures[letter]) for letter in "ABCD" if letter in outcome.figures}
    if letters:
        metadata["answer_distribution"] = dg.MetadataValue.md(bar_chart(letters))
    severity = dg.AssetCheckSeverity.ERROR if outcome.severity == "error" else dg.AssetCheckSeverity.WARN
    return dg.AssetCheckResult(passed=outcome.passed, severity=severity, metadata=metadata)


@dg.asset_check(asset=RELEASE, name="release_suite", description="欄位契約（全部發布） · Row contract over the release")
def release_suite(store: StoreResource, target: PublicationResource) -> dg.AssetCheckResult:
    """The row contract stated once more (Great Expectations) over every published row."""
    place = store.open()
    rows = list(products.release_rows(place, target.open(place)))
    rules = validate_release(release_frame(rows)) if rows else ()
    broken = [(each.rule, each.column, each.unexpected, "; ".join(each.examples)) for each in rules if not each.passed]
    shown = dg.MetadataValue.md(table(("rule", "column", "rows", "examples"), broken))
    return dg.AssetCheckResult(
        passed=products.write_suite(place, broken, len(rules)),
        metadata={"rows": len(rows), "rules": len(rules), "broken": len(broken), "broken_rules": shown},
    )


@dg.asset_check(
    asset=RELEASE, name="release_accounting_closes", description="帳目相符（全部） · Accounting over all closes"
)
def release_accounting_closes(store: StoreResource) -> dg.AssetCheckResult:
    """The sum over subjects plus no_subject is the total, and no paper is in two subjects."""
    place = store.open()
    broken = place.read_json(place.release())["closes"]
    shown = dg.MetadataValue.md(table(("sum",), ((each,) for each in broken)))
    return dg.AssetCheckResult(passed=not broken, metadata={"broken_sums": len(broken), "sums": shown})


SUBJECT_CHECKS = (*(subject_check(name) for name in BLOCKING_CHECKS), published_items_stay)
RELEASE_CHECKS = (release_suite, release_accounting_closes)
