"""Members of a pool: from runs of ours, from runs that go on from edition to edition, and from submissions.

What belongs here: what a stored result makes of each grounded item. What does not: the band and who may be in a pool
(curation.py), and asking.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from opentwbench.dataset.manifest import sha256
from opentwbench.evaluation.journal import JOURNAL_NAME, read_protocol, read_run
from opentwbench.evaluation.model import AskedItem, RunRecord
from opentwbench.evaluation.protocols import ID_DIGITS, Protocol
from opentwbench.evaluation.runner import Plan
from opentwbench.evaluation.runs import graded
from opentwbench.evaluation.submissions import read_folded
from opentwbench.formosa.band import CurationError
from opentwbench.formosa.curation import Member, admit, marks_of_run, marks_of_submission
from opentwbench.formosa.model import FormosaItem
from opentwbench.formosa.served import served_names

ITEM_SET = "grounded"
"""What run.json names as the set of a pool's run."""

BENCHMARK = "formosa"


def asked_item(item: FormosaItem) -> AskedItem:
    """A grounded item as a run asks it."""
    return AskedItem(item.item_id, item.question, item.options, item.answer, item.category)


def pool_run(model: str, protocol: Protocol, items: Sequence[FormosaItem], started: tuple[str, str]) -> PoolRun:
    """What a pool member is asked: every grounded item once.

    Its id leaves the items out, so that a newer edition continues the run: an item id is a hash of the item's texts,
    and what was asked once is not asked again. `started`: when, and by which client version.
    """
    digest = hashlib.sha256(f"{model}\0{protocol.protocol_id}".encode()).hexdigest()[:ID_DIGITS]
    name = f"pool--{protocol.name.lower()}--{digest}"
    about = RunRecord(
        run_id=name,
        model=model,
        protocol_id=protocol.protocol_id,
        benchmark=BENCHMARK,
        dataset_version="",
        item_set=ITEM_SET,
        n_items=0,
        repeats=1,
        started=started[0],
        client_version=started[1],
    )
    return Plan(name, model, protocol, [asked_item(item) for item in items]), about


PoolRun = tuple[Plan, RunRecord]
"""What is asked, and what run.json says of it."""


def member_of_run(folder: Path, items: Iterable[FormosaItem], version: str) -> Member:
    """A run's results over the grounded set of this version; raises CurationError for a run that may be in no pool.

    A pool's own run (ITEM_SET) names no version, because it goes on from one to the next.
    """
    record, method = read_run(folder), read_protocol(folder).extraction
    asked = {item.item_id: asked_item(item) for item in items}
    data = (folder / JOURNAL_NAME).read_bytes()
    judged = list(graded(folder, asked))
    member = Member(
        model=record.model,
        marks=marks_of_run(judged, method),
        protocol_id=record.protocol_id,
        dataset_version=version if record.item_set == ITEM_SET else record.dataset_version,
        source=record.run_id,
        serving_precision=record.serving_precision,
        sha256=sha256(data),
        size=len(data),
        served=served_names(each.response for each in judged if each.response.repeat == 0),
    )
    admit(member, version)
    return member


def member_of_submission(folder: Path, protocols: Mapping[str, Protocol], version: str) -> Member:
    """A submission's results over the grounded set of this version.

    Read by the column that the protocol's extraction ranks by. Raises DatasetError for a damaged submission and
    CurationError for a protocol that is not known or a member that may be in no pool.
    """
    folded = read_folded(folder)
    about = folded.submission.provenance
    protocol = protocols.get(about.protocol_id)
    if protocol is None:
        raise CurationError(f"{folded.submission_id}: no protocol {about.protocol_id}")
    method = "lenient" if protocol.extraction == "lenient" else "strict"
    member = Member(
        model=about.model,
        marks=marks_of_submission(folded.submission.answers, method),
        protocol_id=about.protocol_id,
        dataset_version=about.dataset_version,
        source=folded.submission_id,
        serving_precision=about.serving_precision,
        sha256=sha256(folded.submission.answer_bytes()),
    )
    admit(member, version)
    return member


def roles(items: Iterable[FormosaItem]) -> dict[str, tuple[str, ...]]:
    """Model -> 'drafted', 'judged': who had a hand in the items."""
    drafted, judged = set[str](), set[str]()
    for item in items:
        drafted.add(item.drafting_model)
        judged.add(item.judge)
    return {
        model: tuple(role for role, of in (("drafted", drafted), ("judged", judged)) if model in of)
        for model in sorted(drafted | judged)
    }
