"""The index of the real mirror, row by row, and every one of its files through the mirror source."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from opentwbench.exam.index import first_key_url, read_index
from opentwbench.exam.retrieval import Retrieved, Retriever

pytestmark = pytest.mark.real


def test_the_real_index_is_read_without_a_refusal(ministry: Path) -> None:
    data = (ministry / "index.csv").read_bytes()
    index = read_index(data, "index.csv")
    with (ministry / "index.csv").open(encoding="utf-8-sig", newline="") as file:
        plain = list(csv.DictReader(file))
    assert (len(index.rows), len(index.keyed()), index.problems) == (467, 408, ())
    assert index.counts() == {
        "測驗題": {"with_key": 151, "without_key": 0},
        "申論題": {"with_key": 0, "without_key": 59},
        "混合題": {"with_key": 257, "without_key": 0},
        "實地考試": {"with_key": 0, "without_key": 0},
    }
    assert [row.question_url for row in index.rows] == [row["試題網址"] for row in plain]
    assert index.years_roc() == tuple(range(100, 115))
    corrected = [row for row in index.rows if row.has_corrected_key]
    assert len(corrected) == 113
    assert all(first_key_url(row) for row in corrected)


def listed(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def outcomes(ministry: Path, cache: Path) -> dict[str, Retrieved]:
    """Every URL of urls.csv, retrieved once for all tests of this file."""
    with Retriever(ministry, cache) as retriever:
        return {found.url: found for found in retriever.fetch_all(row["url"] for row in listed(ministry / "urls.csv"))}


def test_every_url_of_the_mirror_leads_to_its_file_with_the_recorded_bytes(
    ministry: Path, outcomes: dict[str, Retrieved]
) -> None:
    files = {row["url"]: row["path"] for row in listed(ministry / "urls.csv")}
    recorded = {row["path"]: row["sha256"] for row in listed(ministry / "PROVENANCE.csv")}
    assert len(outcomes) == len(files) == 981
    assert {found.status for found in outcomes.values()} == {"fetched"}
    assert [url for url, found in outcomes.items() if found.sha256 != recorded[files[url]]] == []
    assert len({found.sha256 for found in outcomes.values()}) == len(set(recorded.values()))


def test_a_second_run_over_the_mirror_reads_nothing(
    ministry: Path, cache: Path, outcomes: dict[str, Retrieved]
) -> None:
    with Retriever(ministry, cache) as again:
        assert {found.status for found in again.fetch_all(outcomes)} == {"cached"}
        assert (again.counters.requests, again.counters.bytes) == (0, 0)


def test_every_url_of_the_index_is_in_the_mirror(ministry: Path, cache: Path, outcomes: dict[str, Retrieved]) -> None:
    index = read_index((ministry / "index.csv").read_bytes(), "index.csv")
    asked = {url for row in index.rows for url in (row.question_url, row.key_url) if url}
    assert asked <= outcomes.keys()
    first_keys = [url for row in index.keyed() if (url := first_key_url(row))]
    with Retriever(ministry, cache) as retriever:
        statuses = [found.status.value for found in retriever.fetch_all(first_keys)]
    # The README: 't=S of the same paper is often here too'; what is not here is missing, not an error.
    assert set(statuses) <= {"cached", "missing"}
    assert statuses.count("cached") == sum(url in outcomes for url in first_keys) > 90
