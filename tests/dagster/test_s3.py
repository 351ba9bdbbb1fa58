"""The exam track with its store on S3: the bytes of a folder store, the same gate, and kills that tear nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from support.exam_store import CONSTITUTION, NO_PRODUCT, products
from support.s3_server import LoopbackS3, loopback_s3

from opentwbench.dataset.publication import PublicationRefused, Published, folder_bytes
from orchestration.build import Build
from orchestration.configuration import Configuration
from resources import exam_products
from resources.store import Store, StoreError, StoreUnusableError

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 800.0
"""Seconds until a build must have come to its first data set, on a machine that is busy."""


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackS3]:
    folder = tmp_path_factory.mktemp("s3")
    with pytest.MonkeyPatch.context() as environment, loopback_s3(folder) as server:
        for name, value in server.environment.items():
            environment.setenv(name, value)
        environment.setenv("OTB_CACHE", str(folder / "cache"))
        yield server


def objects(store: Store) -> dict[str, bytes]:
    """Every product in the bucket by its relative name."""
    root = store._root
    named = {name.removeprefix(f"{root}/"): store._fs.cat_file(name) for name in store._fs.find(root)}
    return {name: data for name, data in sorted(named.items()) if not name.startswith(NO_PRODUCT)}


def killed_build(source: Path, store: Store) -> None:
    """`otb build exam` in a process of its own, killed when its first data set appears."""
    otb = [sys.executable, "-m", "orchestration.cli", "build", "exam"]
    command = [*otb, "--source", str(source), "--store", store.url, "--processes", "2"]
    build = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        end = time.monotonic() + PATIENCE
        while not store._fs.find(f"{store._root}/datasets"):
            assert build.poll() is None, build.communicate()[1].decode()[-2000:]
            assert time.monotonic() < end, "no data set"
            time.sleep(1.0)  # each look is a request to the server that the build waits for
    finally:
        build.send_signal(signal.SIGKILL)
        build.communicate()


@pytest.fixture(scope="module")
def on_s3(s3: LoopbackS3, sample_ministry: Path) -> Store:
    """A store that was built with a kill in the middle. Read only: copy objects to change it."""
    store = Store(f"s3://{s3.bucket()}/team/store")
    killed_build(sample_ministry, store)
    assert len(store.slugs("publications")) < 6  # it was in the middle
    report = Build(Configuration(store=store.url, source=str(sample_ministry), processes=2)).run()
    assert report.errors == []
    return store


@pytest.mark.slow
def test_a_killed_build_on_s3_ends_with_the_bytes_of_a_folder_store(on_s3: Store, built: Path) -> None:
    mine, theirs = objects(on_s3), products(built)
    assert len(on_s3.slugs("publications")) >= 5
    assert mine.keys() == theirs.keys()  # nothing of a half-done write is left either
    assert [name for name in mine if mine[name] != theirs[name]] == []


@pytest.mark.slow
def test_what_is_current_on_s3_is_not_made_again(on_s3: Store, sample_ministry: Path) -> None:
    before = objects(on_s3)
    report = Build(Configuration(store=on_s3.url, source=str(sample_ministry), processes=2)).run()
    assert report.unchanged
    assert objects(on_s3) == before


def published_again(store: Store) -> Published:
    """What the asset of the publication does."""
    return exam_products.publish_subject(store, store, CONSTITUTION)


@pytest.mark.slow
def test_the_gate_on_s3_refuses_other_bytes_than_the_judged(on_s3: Store, s3: LoopbackS3) -> None:
    store = Store(f"s3://{s3.bucket()}/copy")
    for name, data in objects(on_s3).items():
        if CONSTITUTION in name:
            store.write(name, data)
    with store.folder(store.publication(CONSTITUTION)) as folder:
        published = folder_bytes(folder)
    assert not published_again(store).changed
    path = f"{store.dataset(CONSTITUTION)}/benchmark.csv"
    store.write(path, store.read(path) + b"\n")
    with pytest.raises(PublicationRefused, match=r"benchmark\.csv"):
        published_again(store)
    with store.folder(store.publication(CONSTITUTION)) as folder:
        assert folder_bytes(folder) == published


def test_a_bucket_that_is_not_there_is_not_made(s3: LoopbackS3) -> None:
    bucket = s3.bucket()
    store = Store(f"s3://{bucket}-typo/store")
    with pytest.raises(StoreUnusableError, match="no such bucket"):
        store.write("index/index.csv", b"1")
    with pytest.raises(StoreUnusableError, match="no such bucket"), store.folder("datasets/x", write=True) as folder:
        folder.mkdir()
        (folder / "manifest.json").write_bytes(b"{}")
    assert not store._fs.exists(f"{bucket}-typo")
    assert not store.exists("index/index.csv")


def test_a_server_that_is_away_is_named_and_no_secret_is(s3: LoopbackS3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    url = f"s3://{s3.bucket()}/away"
    fsspec.filesystem("s3").clear_instance_cache()  # what was opened before asks where it asked before
    store = Store(url)
    with pytest.raises(StoreError, match=r"index/index\.csv: EndpointConnectionError") as refused:
        store.read("index/index.csv")
    fsspec.filesystem("s3").clear_instance_cache()
    assert os.environ["AWS_SECRET_ACCESS_KEY"] not in str(refused.value)


def test_another_process_is_seen_at_once(s3: LoopbackS3) -> None:
    url = f"s3://{s3.bucket()}/store"
    here, there = Store(url), Store(url)
    assert (here.years(), here.exists(here.papers(110))) == ([], False)
    there.write(there.papers(110), b"{}\n")
    assert (here.years(), here.exists(here.papers(110))) == ([110], True)
    there.write(there.papers(110), b"{}\n{}\n")
    assert list(here.lines(here.papers(110))) == [b"{}", b"{}"]
    assert here.read_range(here.papers(110), 0, 2) == b"{}"
