"""The ministry as a Dagster resource: its settings reach the retriever, and nothing is opened before it is asked to."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
from pydantic import ValidationError
from support.tiny_mirror import paper_url, pdf, write_mirror

from opentwbench.exam.mirror import MirrorError
from opentwbench.exam.polite import Politeness
from opentwbench.exam.retrieval import Limits
from resources.ministry import MinistryResource
from samples.loopback import Fault, FaultKind, LoopbackMinistry

Q0 = paper_url("Q", "0000")


def test_the_resource_retrieves_for_an_asset(tmp_path: Path) -> None:
    write_mirror(tmp_path / "mirror", 1)

    @dg.asset
    def paper(ministry: MinistryResource) -> dg.MaterializeResult:
        with ministry.open() as retriever:
            outcome = retriever.fetch(Q0)
        return dg.MaterializeResult(metadata={"status": outcome.status.value, "bytes": outcome.size})

    ministry = MinistryResource(source=str(tmp_path / "mirror"), cache=str(tmp_path / "cache"))
    result = dg.materialize([paper], resources={"ministry": ministry}, instance=dg.DagsterInstance.ephemeral())
    metadata = result.asset_materializations_for_node("paper")[0].metadata
    assert (metadata["status"].value, metadata["bytes"].value) == ("fetched", len(pdf("Q0")))


def test_the_settings_reach_the_retriever(tmp_path: Path) -> None:
    write_mirror(tmp_path / "mirror", 1)
    with LoopbackMinistry(tmp_path / "mirror") as server:
        server.plant(Fault(FaultKind.STATUS, times=1))
        ministry = MinistryResource(
            source=server.base_url,
            cache=str(tmp_path / "cache"),
            delay_seconds=0,
            jitter_seconds=0,
            attempts=1,
            max_pdf_bytes=100,
            missing_max_age_days=0,
        )
        with ministry.open() as retriever:
            assert retriever.fetch(Q0).status == "failed"
            assert retriever.fetch(Q0).status == "too_large"
            assert retriever.fetch(Q0).requests == 1


def test_the_defaults_are_the_librarys() -> None:
    ministry = MinistryResource()
    polite, limits = Politeness(), Limits()
    assert ministry.source == "live"
    assert (ministry.delay_seconds, ministry.attempts) == (polite.delay_seconds, polite.attempts)
    assert ministry.max_age_days * 86_400 == limits.max_age_seconds
    assert ministry.index_max_age_hours * 3_600 == limits.index_max_age_seconds
    assert ministry.max_pdf_bytes == limits.max_pdf_bytes


@pytest.mark.parametrize("wrong", [{"delay_seconds": -1}, {"attempts": 0}, {"max_pdf_bytes": 0}, {"max_age_days": "x"}])
def test_a_wrong_setting_is_refused_when_it_is_made(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        MinistryResource(**wrong)


def test_a_source_that_is_not_there_is_refused_when_opened(tmp_path: Path) -> None:
    ministry = MinistryResource(source=str(tmp_path / "absent"), cache=str(tmp_path / "cache"))
    with pytest.raises(MirrorError, match="no such folder"):
        ministry.open()
    assert not (tmp_path / "cache").exists()
