"""`otb build formosa`: the same assets as the UI runs, in one process, and only for what changed.

What belongs here: deciding what must run (by `resources.formosa_*`) and running it. What does not: rules. A stage that
stops ends the build: what comes after it would be made from half of its input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from opentwbench.evaluation.protocols import Protocol, find
from orchestration.in_process import InProcess
from resources import formosa_drafts as drafting
from resources import formosa_grounds as grounds
from resources import formosa_products as products
from resources.formosa_asking import Asker
from resources.formosa_places import EDITION_RECORD, ITEMS_RECORD, SCREENS, STUDY, WINDOWS, Track
from resources.formosa_plan import FormosaPlan, PlanError
from resources.gated_set import PUBLISHED, UNFINISHED, WITHHELD, DatasetState

if TYPE_CHECKING:
    import dagster as dg

    from orchestration.configuration import Configuration


class StageStopped(Exception):
    """A stage did not end well; the report says which and why."""


@dataclass(slots=True)
class FormosaReport:
    """What a build did and where the data set stands afterwards."""

    ran: list[str] = field(default_factory=list)
    """Assets that were materialized, with '[Food]' for a category."""
    asked: int = 0
    """Requests whose reply was written by this build."""
    stopped: str = ""
    """The stage that did not end well."""
    kind: str = ""
    """The class of what stopped it: 'AskingStopped', 'JudgeRefused', ..."""
    reason: str = ""
    state: DatasetState = field(default_factory=lambda: DatasetState(UNFINISHED))
    corpus: dict[str, Any] = field(default_factory=dict)
    """What was read: the commit or state, articles, files left out by reason, faults by name."""
    update: dict[str, Any] = field(default_factory=dict)
    """What the last reading of the corpus changed; `lost_ground` names the items."""
    drafts: dict[str, int] = field(default_factory=dict)
    screens: dict[str, Any] = field(default_factory=dict)
    judges: dict[str, Any] = field(default_factory=dict)
    account: dict[str, Any] = field(default_factory=dict)
    edition: dict[str, Any] = field(default_factory=dict)
    transfer: str = ""

    @property
    def unchanged(self) -> bool:
        """True when nothing had to be made again."""
        return not self.ran

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values, for programs."""
        names = (
            "ran",
            "asked",
            "stopped",
            "kind",
            "reason",
            "corpus",
            "update",
            "drafts",
            "screens",
            "judges",
            "account",
        )
        found = {name: getattr(self, name) for name in names}
        return {**found, "edition": self.edition, "transfer": self.transfer, "dataset": asdict(self.state)}


class FormosaBuild(InProcess):
    """One build."""

    def __init__(
        self,
        configuration: Configuration,
        instance: dg.DagsterInstance | Callable[[], dg.DagsterInstance] | None = None,
    ) -> None:
        super().__init__(configuration, instance)
        store = configuration.open_store()
        plan = FormosaPlan.of(configuration.formosa).kept_in(store)
        ask = configuration.endpoint
        asker = Asker(str(ask.get("base_url", "")), str(ask.get("api_key_env", "")), progress=configuration.progress)
        self.track = Track(store, plan, asker)
        self._public = configuration.open_target(store)
        self.report = FormosaReport()

    @cached_property
    def _protocol(self) -> Protocol:
        ask = self._configuration.endpoint
        return find(str(ask.get("protocol", "box")), int(ask.get("budget", 0)) or None)

    def run(self) -> FormosaReport:
        """Bring the edition up to date and say what was done.

        Raises PlanError for settings that are missing, CorpusError for a corpus that cannot be read, StoreError and
        DatasetError for a damaged store. A stage that stops is in the report.
        """
        plan = self.track.plan
        _ = plan.place, plan.drafter, plan.candidates, plan.names  # what is missing is said before anything runs
        members = (*plan.pool, *plan.runs, *plan.submissions)
        if not members:
            raise PlanError("pool: no model, run or submission is named, and the store keeps none of an earlier build")
        drafting.check_plan(plan)
        plan.keep(self.track.store)  # after the checks: a later build must not be held to a setting that none can use
        try:
            self._windows()
            self._drafts()
            self._judges()
            self._grounded()
            self._edition()
        except StageStopped:
            pass
        self._look()
        return self.report

    # -- stages -----------------------------------------------------------------------------------------------------

    def _windows(self) -> None:
        if not drafting.windows_are_current(self.track):
            from assets.formosa import formosa_windows

            self._materialize([formosa_windows])

    def _drafts(self) -> None:
        todo = [c for c in self.track.categories if not drafting.drafts_are_current(self.track, c)]
        if todo:
            from assets.formosa import formosa_drafts

            self._by_category(formosa_drafts, todo)

    def _judges(self) -> None:
        if not drafting.screens_are_current(self.track):
            from assets.formosa import formosa_screens

            self._materialize([formosa_screens])
        if not grounds.study_is_current(self.track):
            from assets.formosa import formosa_judge_study

            self._materialize([formosa_judge_study])

    def _grounded(self) -> None:
        todo = [c for c in self.track.categories if not grounds.grounded_is_current(self.track, c)]
        if todo:
            from assets.formosa import formosa_grounded

            self._by_category(formosa_grounded, todo)

    def _edition(self) -> None:
        if not grounds.items_are_current(self.track):
            from assets.formosa_items import formosa_items

            self._materialize([formosa_items])
        if not products.edition_is_current(self.track, self._protocol):
            from assets.formosa_items import formosa_difficulty

            self._materialize([formosa_difficulty])
        if products.dataset_state(self.track, self._public).state == UNFINISHED:
            from assets.formosa_items import formosa_dataset, formosa_publication
            from checks.formosa import FORMOSA_CHECKS

            self._materialize([formosa_dataset, *FORMOSA_CHECKS, formosa_publication])

    # -- running ----------------------------------------------------------------------------------------------------

    def _by_category(self, asset: Any, todo: Sequence[str]) -> None:
        from orchestration.build import ranges
        from resources.partitions import formosa_categories

        name = str(formosa_categories.name)
        self._instance.add_dynamic_partitions(name, list(self.track.categories))
        for first, last in ranges(todo, self._instance.get_dynamic_partitions(name)):
            self._materialize([asset], (first, last))

    def _materialize(self, definitions: list[Any], partitions: tuple[str, str] | None = None) -> None:
        result = self._run(definitions, partition_range=partitions, raise_on_error=False)
        for event in result.get_asset_materialization_events():
            made = event.materialization
            self.report.ran.append(made.asset_key.to_user_string() + (f"[{made.partition}]" if made.partition else ""))
            if "asked" in made.metadata:
                self.report.asked += int(made.metadata["asked"].value)  # type: ignore[arg-type]
        for failed in (event for event in result.all_events if event.is_step_failure):
            error = failed.step_failure_data.error
            if error is None or error.cls_name == "DagsterAssetCheckFailedError":
                continue  # a finding about the data set: its state says it
            cause = error.cause or error
            self.report.stopped, self.report.kind = str(failed.step_key), str(cause.cls_name)
            self.report.reason = cause.message.strip().partition(": ")[2] or cause.message.strip()
            raise StageStopped(self.report.reason)

    # -- the report -------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        report = self.report

        def record(stage: str, name: str) -> dict[str, Any]:
            # What stands behind the stage that stopped is an earlier build's, and is not reported as this one's.
            found = self.track.record(name) if _came_through(report.stopped, stage) else {}
            return {key: value for key, value in found.items() if key not in ("inputs", "files")}

        track, read = self.track, record("formosa_windows", WINDOWS)
        report.update = read.get("update", {})
        report.corpus = {name: read[name] for name in ("commit", "articles", "left_out") if name in read}
        report.corpus["faults"] = {name: len(paths) for name, paths in read.get("frontmatter_faults", {}).items()}
        report.screens = record("formosa_screens", SCREENS)
        report.judges = record("formosa_judge_study", STUDY)
        for category in track.categories:
            # Drafts that came before a stop count: they are kept, and the next build goes on from them.
            for name, n in track.record(drafting.drafts_record(category)).get("counts", {}).items():
                report.drafts[name] = report.drafts.get(name, 0) + n
        report.account = record("formosa_items", ITEMS_RECORD).get("account", {})
        report.edition = record("formosa_difficulty", EDITION_RECORD)
        if report.stopped:
            return
        report.state = products.dataset_state(track, self._public)
        if report.state.state in (PUBLISHED, WITHHELD):
            table = products.transfer_of(track)[2]
            report.transfer = table.verdict() if table else "fewer than three models: nothing can be left out"


_STAGES = (
    "formosa_windows",
    "formosa_drafts",
    "formosa_screens",
    "formosa_judge_study",
    "formosa_grounded",
    "formosa_items",
    "formosa_difficulty",
)


def _came_through(stopped: str, stage: str) -> bool:
    """Whether a build that stopped in the step `stopped` ('' for none) had made what `stage` makes."""
    return stopped not in _STAGES or _STAGES.index(stage) < _STAGES.index(stopped)
