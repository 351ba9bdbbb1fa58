"""Which papers a look at everything would ask for: decided from records alone, without a request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.tiny_mirror import FakeClock, age, paper_url, pdf, write, write_list, write_mirror

from opentwbench.exam.polite import Politeness
from opentwbench.exam.retrieval import DAY, Limits, RetrievalStatus, Retriever
from samples.loopback import LoopbackMinistry

QUICK = Politeness(delay_seconds=0, jitter_seconds=0)
NOWHERE = paper_url("Q", "9999")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LoopbackMinistry]:
    write_mirror(tmp_path / "mirror", 2)
    with LoopbackMinistry(tmp_path / "mirror") as ministry:
        yield ministry


def test_over_http_a_paper_is_due_before_it_was_asked_for_and_after_its_age(
    server: LoopbackMinistry, tmp_path: Path
) -> None:
    clock = FakeClock()
    urls = [paper_url("Q", "0000"), NOWHERE]
    limits = Limits(max_age_seconds=30 * DAY, missing_max_age_seconds=7 * DAY)
    with Retriever(server.base_url, tmp_path / "cache", QUICK, limits, clock=clock) as retriever:
        assert retriever.due([*urls, *urls]) == urls
        assert len(server.log) == 0
        for url in urls:
            retriever.fetch(url)
        asked = len(server.log)
        assert retriever.due(urls) == []
        clock.time += 8 * DAY
        assert retriever.due(urls) == [NOWHERE]
        clock.time += 23 * DAY
        assert retriever.due(urls) == urls
        assert len(server.log) == asked
        assert retriever.fetch(urls[0]).status is RetrievalStatus.NOT_MODIFIED
        assert retriever.due(urls) == [NOWHERE]
        with pytest.raises(ValueError):
            retriever.due(["https://example.org/"])


def test_in_a_mirror_a_paper_is_due_when_its_file_is_another(tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    write_mirror(mirror, 2)
    url, other = paper_url("Q", "0000"), paper_url("Q", "0001")
    file = mirror / "files/101010/301/0000/Q.pdf"
    with Retriever(mirror, tmp_path / "cache") as retriever:
        assert retriever.due([url, other, NOWHERE]) == [url, other]
        for each in (url, other):
            retriever.fetch(each)
        assert retriever.due([url, other, NOWHERE]) == []
        write(file, pdf("another"))
        age(file, 5)
        assert retriever.due([url, other]) == [url]
        assert retriever.fetch(url).status is RetrievalStatus.FETCHED
        assert retriever.due([url, other]) == []
        file.unlink()
        assert retriever.due([url]) == [url]
    write_list(mirror, [])
    with Retriever(mirror, tmp_path / "cache") as retriever:
        assert retriever.due([other, NOWHERE]) == [other]
