"""Fetching a public data set: only its files, whatever an archive says of itself; offline says so and what to do."""

from __future__ import annotations

import gzip
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from opentwbench.rag.adapters import ADAPTERS
from opentwbench.rag.downloads import OFFERS, Unreachable, as_text, fetch, offer
from opentwbench.rag.model import RagError
from orchestration.rag_command import app

NOWHERE = "http://127.0.0.1:9/x.tar.gz"
"""The discard port: nobody listens."""


def archive(folder: Path, members: dict[str, bytes | str]) -> str:
    """A .tar.gz as a mirror's address; a text is a symbolic link to it."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as file:
        for name, held in members.items():
            entry = tarfile.TarInfo(name)
            if isinstance(held, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, held
                file.addfile(entry)
            else:
                entry.size = len(held)
                file.addfile(entry, io.BytesIO(held))
    path = folder / "mirror.tar.gz"
    path.write_bytes(made.getvalue())
    return path.as_uri()


def written(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", sorted(set(ADAPTERS) - {"tw_rag"}))
def test_every_public_data_set_is_offered_with_source_size_and_licence(name: str) -> None:
    told = as_text(offer(name))
    assert all(word in told for word in ("source   https://", "size     about", "licence  ", "not part of what this"))
    assert OFFERS[name].licence and OFFERS[name].megabytes > 0


def test_the_wanted_files_alone_are_written_below_the_archives_folder(tmp_path: Path) -> None:
    url = archive(
        tmp_path,
        {
            "repo-abc/data/financebench_open_source.jsonl": b"{}\n",
            "repo-abc/pdfs/A.pdf": b"%PDF-",
            "repo-abc/README.md": b"not wanted",
            "repo-abc/../data/up.txt": b"x",
            "/data/absolute.txt": b"x",
            "repo-abc/data/../../../escaped.txt": b"x",
            "repo-abc/data/link": "/etc/hostname",
        },
    )
    fetched = fetch(OFFERS["financebench"], tmp_path / "out", url)
    assert written(tmp_path / "out") == ["data/financebench_open_source.jsonl", "pdfs/A.pdf"]
    assert (fetched.files, fetched.bytes) == (2, 8)
    assert not (tmp_path / "escaped.txt").exists()


def test_a_single_file_is_written_under_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "any.json").write_bytes(b"[]")
    fetched = fetch(OFFERS["locomo"], tmp_path / "out", (tmp_path / "any.json").as_uri())
    assert written(tmp_path / "out") == ["data/locomo10.json"] and fetched.bytes == 2


def test_what_is_too_large_packed_or_unpacked_is_refused(tmp_path: Path) -> None:
    url = archive(tmp_path, {"r/data/a": b"\0" * 3_000_000, "r/data/b": b"\0" * 3_000_000})
    with pytest.raises(RagError, match="unpacks to more than 5,000,000 bytes"):
        fetch(replace(OFFERS["financebench"], most=5_000_000), tmp_path / "out", url)
    assert "data/b" not in written(tmp_path / "out")
    with pytest.raises(RagError, match="more than 100 bytes"):
        fetch(replace(OFFERS["financebench"], most=100), tmp_path / "small", url)
    assert not (tmp_path / "small").exists()


@pytest.mark.parametrize("body", [b"", b"<html>", gzip.compress(b"no tar"), b"\x1f\x8b" + b"\0" * 50])
def test_what_is_no_archive_or_lacks_the_files_is_said_to(tmp_path: Path, body: bytes) -> None:
    (tmp_path / "mirror.tar.gz").write_bytes(body)
    with pytest.raises(RagError, match=r"financebench: (no archive|none of the expected files)"):
        fetch(OFFERS["financebench"], tmp_path / "out", (tmp_path / "mirror.tar.gz").as_uri())
    url = archive(tmp_path, {"repo/README.md": b"x"})
    with pytest.raises(RagError, match="none of the expected files"):
        fetch(OFFERS["financebench"], tmp_path / "out", url)


def test_offline_shows_the_offer_says_so_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unreachable, match="Without a network, put the files into a folder by hand"):
        fetch(OFFERS["qasper"], tmp_path / "out", NOWHERE)
    monkeypatch.setitem(OFFERS, "qasper", replace(OFFERS["qasper"], url=NOWHERE))
    done = CliRunner().invoke(app, ["download", "qasper", "--yes", "--out", str(tmp_path / "out")])
    assert done.exit_code == 3 and "CC BY 4.0" in done.output and "name it with --data" in done.output
    assert CliRunner().invoke(app, ["download", "qasper", "--yes"]).exit_code == 2
    assert not (tmp_path / "out").exists()
