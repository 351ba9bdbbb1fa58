"""A pull of the corpus moves forward or changes nothing; real git over a repository beside it, no network."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from opentwbench.formosa.corpus import CorpusError
from resources.corpus_checkout import pull


def git(folder: Path, *arguments: str) -> str:
    about = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *about, "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path, text: str) -> str:
    (folder / "knowledge").mkdir(exist_ok=True)
    (folder / "knowledge" / "a.md").write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", text)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    folder = tmp_path / "remote"
    folder.mkdir()
    git(folder, "init", "--quiet")
    commit(folder, "one")
    return folder


@pytest.fixture
def checkout(remote: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    git(tmp_path, "clone", "--quiet", str(remote), str(folder))
    return folder


def test_a_pull_moves_forward_and_names_both_commits(remote: Path, checkout: Path) -> None:
    first = git(remote, "rev-parse", "HEAD")
    assert pull(checkout) == (first, first)
    second = commit(remote, "two")
    assert pull(checkout) == (first, second)
    assert (checkout / "knowledge" / "a.md").read_text() == "two"


@pytest.mark.parametrize("what", ["diverged", "changed", "gone", "plain folder", "inside another", "unreachable"])
def test_a_pull_that_cannot_be_is_an_error_and_the_files_stay(
    remote: Path, checkout: Path, tmp_path: Path, what: str
) -> None:
    place, expected = checkout, "git pull: "
    if what == "diverged":
        commit(checkout, "mine")
        commit(remote, "theirs")
    elif what == "changed":
        (checkout / "knowledge" / "a.md").write_text("by hand")
        commit(remote, "theirs")
    elif what == "gone":
        remote.rename(tmp_path / "elsewhere")
    elif what == "plain folder":
        place, expected = tmp_path / "plain", "git rev-parse: "
        (place / "knowledge").mkdir(parents=True)
        (place / "knowledge" / "a.md").write_text("plain")
    elif what == "inside another":
        place, expected = checkout / "sub", "sub is no git checkout of its own"
        (place / "knowledge").mkdir(parents=True)
        (place / "knowledge" / "a.md").write_text("inner")
        commit(remote, "theirs")
    else:
        git(checkout, "remote", "set-url", "origin", "http://user:secret@127.0.0.1:9/corpus.git")
    before = (place / "knowledge" / "a.md").read_text()
    with pytest.raises(CorpusError, match=expected) as caught:
        pull(place)
    assert "secret" not in str(caught.value)
    assert (place / "knowledge" / "a.md").read_text() == before
    assert what != "inside another" or (checkout / "knowledge" / "a.md").read_text() == "one"


def test_no_hook_of_the_checkout_runs(remote: Path, checkout: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    hook = checkout / ".git" / "hooks" / "post-merge"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    commit(remote, "two")
    pull(checkout)
    assert not ran.exists()
    # The hook itself is one that git would have run.
    commit(remote, "three")
    git(checkout, "pull", "--ff-only", "--quiet")
    assert ran.exists()


def test_a_remote_that_never_answers_is_given_up_with_everything_that_git_started(
    checkout: Path, tmp_path: Path
) -> None:
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nsleep 300\n")
    silent.chmod(0o755)
    git(checkout, "config", "remote.origin.uploadpack", str(silent))
    began = time.monotonic()
    with pytest.raises(CorpusError, match="git pull: TimeoutExpired"):
        pull(checkout, seconds=3)
    assert time.monotonic() - began < 120
