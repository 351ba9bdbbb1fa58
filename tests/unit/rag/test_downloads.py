"""Fetching a public data set: only its files, whatever an archive says of itself; offline says so and what to do."""

from __future__ import annotations

import gzip
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from support.redirecting import Loopback
from typer.testing import CliRunner, Result

from opentwbench.rag import downloads
from opentwbench.rag.adapters import ADAPTERS
from opentwbench.rag.downloads import OFFERS, Fetched, Offer, Unreachable, as_text, fetch, offer
from opentwbench.rag.model import RagError
from orchestration.rag_command import app

NOWHERE = "http://127.0.0.1:9/x.tar.gz"
"""The discard port: nobody listens."""


def archive(members: dict[str, bytes | str]) -> bytes:
    """A .tar.gz; a text is a symbolic link to it."""
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
    return made.getvalue()


def fetch_from(given: Offer, out: Path, body: bytes, promised: int | None = None) -> Fetched:
    """Fetch from a mirror of this machine that answers with these bytes."""
    with Loopback(200, body=body, promised=promised) as mirror:
        fetched = fetch(given, out, f"{mirror.url}/mirror.tar.gz?token=t0ken", allow_private=True)
        assert mirror.heard == [("/mirror.tar.gz?token=t0ken", "")]
    return fetched


def written(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", sorted(set(ADAPTERS) - {"tw_rag"}))
def test_every_public_data_set_is_offered_with_source_size_and_licence(name: str) -> None:
    told = as_text(offer(name))
    assert all(word in told for word in ("source   https://", "size     about", "licence  ", "not part of what this"))
    assert OFFERS[name].licence and OFFERS[name].megabytes > 0


def test_the_wanted_files_alone_are_written_below_the_archives_folder(tmp_path: Path) -> None:
    packed = archive(
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
    fetched = fetch_from(OFFERS["financebench"], tmp_path / "out", packed)
    assert written(tmp_path / "out") == ["data/financebench_open_source.jsonl", "pdfs/A.pdf"]
    assert (fetched.files, fetched.bytes) == (2, 8)
    assert not (tmp_path / "escaped.txt").exists()


def test_a_single_file_is_written_under_its_own_name(tmp_path: Path) -> None:
    fetched = fetch_from(OFFERS["locomo"], tmp_path / "out", b"[]")
    assert written(tmp_path / "out") == ["data/locomo10.json"] and fetched.bytes == 2


def test_what_is_too_large_packed_or_unpacked_is_refused(tmp_path: Path) -> None:
    packed = archive({"r/data/a": b"\0" * 3_000_000, "r/data/b": b"\0" * 3_000_000})
    with pytest.raises(RagError, match="unpacks to more than 5,000,000 bytes"):
        fetch_from(replace(OFFERS["financebench"], most=5_000_000), tmp_path / "out", packed)
    assert "data/b" not in written(tmp_path / "out")
    with pytest.raises(RagError, match="more than 100 bytes"):
        fetch_from(replace(OFFERS["financebench"], most=100), tmp_path / "small", packed)
    assert not (tmp_path / "small").exists()


@pytest.mark.parametrize("body", [b"", b"<html>", gzip.compress(b"no tar", mtime=0), b"\x1f\x8b" + b"\0" * 50])
def test_what_is_no_archive_or_lacks_the_files_is_said_to(tmp_path: Path, body: bytes) -> None:
    with pytest.raises(RagError, match=r"financebench: (no archive|none of the expected files)"):
        fetch_from(OFFERS["financebench"], tmp_path / "out", body)
    with pytest.raises(RagError, match="none of the expected files"):
        fetch_from(OFFERS["financebench"], tmp_path / "out", archive({"repo/README.md": b"x"}))


def test_what_is_cut_off_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="cut off with 8 bytes to come"):
        fetch_from(OFFERS["locomo"], tmp_path / "out", b"[]", promised=10)
    assert not (tmp_path / "out").exists()


def download(*arguments: str) -> Result:
    """`otb rag download locomo --yes` with these arguments."""
    return CliRunner().invoke(app, ["download", "locomo", "--yes", *arguments])


def test_offline_shows_the_offer_says_so_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="Without a network, put the files into a folder by hand"):
        fetch(OFFERS["qasper"], tmp_path / "out", NOWHERE, allow_private=True)
    out = ("--out", str(tmp_path / "out"))
    done = download("--url", NOWHERE, "--allow-private", *out)
    assert done.exit_code == 3 and "CC BY-NC 4.0" in done.output and "name it with --data" in done.output
    done = download("--url", "https://nowhere.invalid/x", *out)
    assert done.exit_code == 3 and "no known address" in done.output
    assert download().exit_code == 2
    assert not (tmp_path / "out").exists()


# ---- which address is asked: the forms are tried in test_addresses.py -----------------------------------------------


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("file:///etc/hostname", "begin with https"),
        ("ftp://127.0.0.1/x", "begin with https"),
        ("http://example.org/x", "begin with https"),
        ("https://me:s3cret@example.org/x", "no user"),
        ("https://127.0.0.1:9/x", "not public"),
        ("https://localhost:9/x", "not public"),
        ("https://10.0.0.1/x", "not public"),
        ("https://169.254.169.254/latest/meta-data", "never asked"),
        ("", "begin with https"),
    ],
)
def test_an_address_that_is_not_asked_ends_the_command(tmp_path: Path, url: str, words: str) -> None:
    done = download("--url", url, "--out", str(tmp_path / "out"))
    assert done.exit_code == 2 and words in done.output
    assert "s3cret" not in done.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://127.0.0.1/x", "http://169.254.169.254/latest/"])
def test_what_is_refused_even_in_a_private_network(tmp_path: Path, url: str) -> None:
    done = download("--url", url, "--allow-private", "--out", str(tmp_path / "out"))
    assert done.exit_code == 2 and not (tmp_path / "out").exists()


def test_a_mirror_of_a_private_network_is_asked_where_it_is_meant(tmp_path: Path) -> None:
    with Loopback(200, body=b"[]") as mirror:
        out = ("--out", str(tmp_path / "out"))
        refused = download("--url", f"{mirror.url}/x.json", *out)
        assert refused.exit_code == 2 and mirror.heard == []
        done = download("--url", f"{mirror.url}/x.json", "--allow-private", *out)
    assert done.exit_code == 0 and written(tmp_path / "out") == ["data/locomo10.json"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirection_of_the_same_scheme_is_followed(tmp_path: Path, status: int) -> None:
    with Loopback(200, body=b"[]") as there, Loopback(status, f"{there.url}/y?token=t0ken") as mirror:
        fetched = fetch(OFFERS["locomo"], tmp_path / "out", f"{mirror.url}/x", allow_private=True)
        assert [path for path, _ in there.heard] == ["/y?token=t0ken"]
    assert fetched.bytes == 2


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("file:///etc/hostname", "begin with https"),
        ("ftp://127.0.0.1/x", "begin with https"),
        ("https://example.org/x", "from http to https"),
        ("http://169.254.169.254/latest/meta-data", "never asked"),
        ("http://me:s3cret@127.0.0.1:9/x", "no user"),
        ("http://127.0.0.1:9/\u00e9", "cannot be read"),
        ("", "more than 5 redirections"),
        ("/again?token=t0ken", "more than 5 redirections"),
    ],
)
def test_a_redirection_leads_to_no_address_that_would_be_refused(tmp_path: Path, location: str, words: str) -> None:
    with Loopback(302, location) as mirror:
        with pytest.raises(RagError, match=words) as refused:
            fetch(OFFERS["locomo"], tmp_path / "out", f"{mirror.url}/x", allow_private=True)
        assert len(mirror.heard) == (6 if "more than" in words else 1)
    assert "s3cret" not in str(refused.value) and "t0ken" not in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_a_name_that_changes_its_address_after_the_check_hears_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who controls the name server answers the check with a public address and the connection with a private one."""
    with Loopback(200, body=b"[]") as inner:
        monkeypatch.setattr(downloads, "check_host", lambda *_, **__: None)
        url = f"https://{inner.url.removeprefix('http://')}/x"
        with pytest.raises(RagError, match="not public"):
            fetch(OFFERS["locomo"], tmp_path / "out", url)
        assert inner.heard == []
        with pytest.raises(Unreachable):  # allowed, it is spoken to, and is no TLS server
            fetch(OFFERS["locomo"], tmp_path / "out", url, allow_private=True)


def test_a_proxy_of_the_environment_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Loopback(200, body=b"{}") as proxy, Loopback(200, body=b"[]") as mirror:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        fetch(OFFERS["locomo"], tmp_path / "out", f"{mirror.url}/x", allow_private=True)
        assert proxy.heard == [] and len(mirror.heard) == 1
