"""The mirror source: nobody is asked, changes are seen, and nothing outside the folder is ever read."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.tiny_mirror import age, paper_url, pdf, write, write_list, write_mirror

from opentwbench.exam.index import IndexFormatError
from opentwbench.exam.mirror import MirrorError
from opentwbench.exam.polite import RetrievalStopped
from opentwbench.exam.retrieval import Limits, Retriever
from samples.loopback import Fault, FaultKind, LoopbackMinistry

ROOT = Path(__file__).resolve().parents[3]
Q0 = paper_url("Q", "0000")
FILE = "files/101010/301/0000/Q.pdf"


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    write_mirror(tmp_path / "mirror", 2)
    return tmp_path / "mirror"


@pytest.fixture
def make(mirror: Path, tmp_path: Path) -> Iterator[Callable[..., Retriever]]:
    made: list[Retriever] = []

    def build(limits: Limits | None = None) -> Retriever:
        for retriever in made:
            retriever.close()
        made.append(Retriever(mirror, tmp_path / "cache", limits=limits))
        return made[-1]

    yield build
    for retriever in made:
        retriever.close()


Make = Callable[..., Retriever]


def test_a_mirror_is_read_once_and_its_files_are_not_copied(make: Make, mirror: Path, tmp_path: Path) -> None:
    retriever = make()
    outcome = retriever.fetch(Q0)
    assert (outcome.status, outcome.path, outcome.size) == ("fetched", (mirror / FILE).resolve(), len(pdf("Q0")))
    assert retriever.fetch_index().status == "fetched"
    again = make()
    assert (again.fetch(Q0).status, again.fetch_index().status) == ("cached", "cached")
    assert again.fetch(Q0).sha256 == outcome.sha256
    assert (again.counters.requests, again.counters.bytes) == (0, 0)
    assert not (tmp_path / "cache/bodies").exists()


def test_a_changed_file_is_seen_at_once_and_a_touched_one_is_not_modified(make: Make, mirror: Path) -> None:
    retriever = make()
    before = retriever.fetch(Q0)
    age(mirror / FILE, 5)
    assert retriever.fetch(Q0).status == "not_modified"
    write(mirror / FILE, pdf("Q9"))
    after = retriever.fetch(Q0)
    assert (after.status, after.sha256 == before.sha256, after.size) == ("fetched", False, before.size)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\xef\xbb\xbf<!DOCTYPE html><html></html>", "not_a_pdf"),
        (b"", "not_a_pdf"),
        (pdf("Q0")[:-10], "failed"),
        (pdf("Q0", 60_000), "too_large"),
    ],
)
def test_a_bad_file_is_named_for_what_it_is_and_looked_at_again(
    make: Make, mirror: Path, data: bytes, status: str
) -> None:
    write(mirror / FILE, data)
    retriever = make(Limits(max_pdf_bytes=50_000))
    outcome = retriever.fetch(Q0)
    assert (outcome.status, outcome.path, outcome.sha256) == (status, None, "")
    assert outcome.detail
    write(mirror / FILE, pdf("Q0"))
    assert retriever.fetch(Q0).status == "fetched"


def test_a_url_or_file_that_is_not_there_is_missing(make: Make, mirror: Path) -> None:
    (mirror / FILE).unlink()
    retriever = make()
    assert retriever.fetch(Q0).status == "missing"
    absent = retriever.fetch(paper_url("M", "0000"))
    assert (absent.status, absent.detail) == ("missing", "urls.csv names no file for this URL")


@pytest.mark.parametrize(
    "path",
    [
        "../secret.pdf",
        "files/../../secret.pdf",
        "/etc/hostname",
        "files\\Q.pdf",
        "files/\x00.pdf",
        "",
        "files/a\nb.pdf",
    ],
)
def test_a_list_that_climbs_out_of_the_folder_is_refused(make: Make, mirror: Path, path: str) -> None:
    write(mirror.parent / "secret.pdf", pdf("secret"))
    write_list(mirror, [[paper_url("S", "0000"), "files/101010/301/0000/S.pdf"], [Q0, path]])
    with pytest.raises(MirrorError, match=r"urls.csv: line \d: .* is no plain relative path"):
        make().fetch(Q0)


@pytest.mark.parametrize("whole_folder", [True, False])
def test_a_symbolic_link_out_of_the_folder_is_refused(make: Make, mirror: Path, whole_folder: bool) -> None:
    write(mirror.parent / "outside/Q.pdf", pdf("secret"))
    (mirror / FILE).unlink()
    if whole_folder:
        (mirror / "files/101010/301/0000/S.pdf").unlink()
        (mirror / "files/101010/301/0000").rmdir()
        (mirror / "files/101010/301/0000").symlink_to(mirror.parent / "outside")
    else:
        (mirror / FILE).symlink_to(mirror.parent / "outside/Q.pdf")
    with pytest.raises(MirrorError, match="leads out of the mirror"):
        make().fetch(Q0)


def test_a_pipe_or_folder_in_place_of_a_file_does_not_block(make: Make, mirror: Path) -> None:
    (mirror / FILE).unlink()
    os.mkfifo(mirror / FILE)
    assert make().fetch(Q0).status == "missing"
    (mirror / FILE).unlink()
    (mirror / FILE).mkdir()
    outcome = make().fetch(Q0)
    assert (outcome.status, outcome.detail) == ("missing", "Q.pdf: not a regular file")


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        (b"path,url\r\n", "the header is not url,path"),
        (b"", "the header is not url,path"),
        (f"url,path\r\n{Q0}\r\n".encode(), "line 2: 1 cells"),
        (f"url,path\r\n{Q0},a.pdf\r\n{Q0},b.pdf\r\n".encode(), "line 3: the URL was listed before"),
        (b"url,path\r\nhttps://example.org/,a.pdf\r\n", "line 2: not under"),
        (b"url,path\r\n\xff\xfe,a.pdf\r\n", "decode"),
    ],
)
def test_a_list_in_another_form_is_refused_with_its_line(make: Make, mirror: Path, listed: bytes, said: str) -> None:
    write(mirror / "urls.csv", listed)
    with pytest.raises(MirrorError, match=said):
        make().fetch(Q0)


def test_a_folder_that_is_no_mirror_is_refused(tmp_path: Path, make: Make, mirror: Path) -> None:
    with pytest.raises(MirrorError, match="no such folder"):
        Retriever(tmp_path / "absent", tmp_path / "cache")
    (mirror / "urls.csv").unlink()
    with pytest.raises(MirrorError, match=r"urls.csv: No such file"):
        make().fetch(Q0)
    (mirror / "index.csv").unlink()
    with pytest.raises(RetrievalStopped, match="no index: missing"):
        make().fetch_index()


def test_an_index_that_is_none_is_refused(make: Make, mirror: Path) -> None:
    write(mirror / "index.csv", b"<html>")
    with pytest.raises(IndexFormatError, match="HTML"):
        make().fetch_index()


def test_a_mirror_and_a_server_keep_their_own_records(make: Make, mirror: Path, tmp_path: Path) -> None:
    make().fetch(Q0)
    make().close()
    with LoopbackMinistry(mirror) as server, Retriever(server.base_url, tmp_path / "cache") as over_http:
        assert over_http.fetch(Q0).status == "fetched"
    assert make().fetch(Q0).status == "cached"


def test_the_loopback_ministry_serves_nothing_outside_its_folder(mirror: Path, tmp_path: Path) -> None:
    write(tmp_path / "secret.pdf", pdf("secret"))
    write_list(mirror, [[Q0, "../secret.pdf"]])
    with LoopbackMinistry(mirror) as server, Retriever(server.base_url, tmp_path / "cache") as retriever:
        server.plant(Fault(FaultKind.CONTENT_TYPE, "nothing like it"))
        assert retriever.fetch(Q0).status == "not_a_pdf"
        assert server.log[0].fault == ""


def test_the_loopback_ministry_refuses_a_folder_that_is_no_mirror(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no mirror of the ministry"):
        LoopbackMinistry(tmp_path)


def test_the_command_serves_a_folder_and_prints_its_address(mirror: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "samples.loopback", str(mirror)]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        with Retriever(server.stdout.readline().strip(), tmp_path / "cache") as retriever:
            assert retriever.fetch(Q0).status == "fetched"
    finally:
        server.terminate()
        server.communicate()
