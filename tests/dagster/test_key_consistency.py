"""The page of `exam_release` shows how often reprints agree, each disagreement by name, and what is not yet settled."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import dagster as dg
from support.exam_store import CONSTITUTION

from assets.publication import exam_release
from opentwbench.exam.key_consistency import Attribution, Kind
from orchestration.definitions import Configuration
from resources.key_attributions import keep, key_consistency
from resources.store import Store


def shown(configuration: Configuration) -> dict[str, Any]:
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize(
            [exam_release],
            instance=instance,
            resources=configuration.resources(),
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        )
        (event,) = result.asset_materializations_for_node("exam_release")
        return {name: value.value for name, value in event.metadata.items()}


def plant(store: Store) -> None:
    """Print the first published question of a subject once more, by another paper and with another key."""
    lines = [json.loads(line) for line in store.lines(store.items(CONSTITUTION))]
    copy = dict(next(line for line in lines if line["bucket"] == "published"))
    copy["key"] = next(letter for letter in "ABCD" if letter != copy["key"])
    copy |= {"paper_id": "199999-101-0101", "question_sha256": "f" * 64, "accepted": [copy["key"]]}
    data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in [*lines, copy])
    store.write(store.items(CONSTITUTION), data.encode())


def test_the_release_shows_agreement_disagreements_and_what_is_open(
    store: Store, configured: Callable[[], Configuration]
) -> None:
    before = shown(configured())
    sound = key_consistency(store)
    assert before["key_disagreements"] == len(sound.conflicts)
    assert before["key_agreement_rate"] == sound.over_all.rate
    plant(store)
    found = key_consistency(store)
    (new,) = {each.group for each in found.conflicts} - {each.group for each in sound.conflicts}
    page = shown(configured())
    assert page["key_disagreements"] == len(sound.conflicts) + 1
    assert page["key_disagreements_to_settle"] == page["key_disagreements"]
    assert new[:16] in page["disagreements"] and "199999-101-0101" in page["disagreements"]
    conflict = next(each for each in found.conflicts if each.group == new)
    assert not any(p.question in page["disagreements"] or p.answer in page["disagreements"] for p in conflict.printings)
    keep(store, None, Attribution(new, conflict.copies, Kind.TRUE_CONFLICT, "planted", "2026-11-30"))
    settled = shown(configured())
    assert settled["key_disagreements_to_settle"] == len(sound.conflicts)
    assert "true\\_conflict: planted" in settled["disagreements"].replace("&#58;", ":")
