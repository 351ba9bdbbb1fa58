"""Guards over the project itself: names, imports, committed files, what a fresh clone needs."""

from __future__ import annotations

import importlib.util
import re
import stat
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("opentwbench", "resources", "assets", "checks", "orchestration", "samples")
MACHINE_PATH = re.compile(r"(?:^|[^A-Za-z0-9._/-])/(?:work|farm|root|home|Users)/[A-Za-z0-9_.]")
MEGABYTES = 2_000_000


def committed() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("no git checkout: an unpacked archive has no list of committed files")
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def own_text(file: Path) -> str | None:
    """The text of a file that the project wrote; None for the lock file, which the resolver wrote, and for pictures."""
    if file.name == "uv.lock":
        return None
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def test_no_generated_example_fails_for_its_time() -> None:
    assert settings().deadline is None


@pytest.mark.parametrize("package", PACKAGES)
def test_no_other_distribution_provides_our_package(package: str) -> None:
    # Flat top-level packages: a dependency that ships a package named "assets" would silently shadow ours.
    # An editable install lists no packages of its own, so the list may be empty, but must hold no other name.
    assert set(packages_distributions().get(package, [])) <= {"opentwbench"}
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None
    assert Path(spec.origin).is_relative_to(ROOT)


def test_the_wheel_names_every_package() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert tuple(settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) == PACKAGES


def test_every_cap_carries_its_reason() -> None:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    for name in ("dagster>=", "pymupdf>=", "sqlalchemy<"):
        at = next(n for n, line in enumerate(lines) if line.strip().startswith(f'"{name}'))
        assert lines[at - 1].strip().startswith("#"), f"{name} has a cap without a reason above it"


def test_no_committed_file_names_a_place_of_one_machine() -> None:
    found = [
        f"{file.relative_to(ROOT)}: {line.strip()[:80]}"
        for file in committed()
        for line in (own_text(file) or "").splitlines()
        if MACHINE_PATH.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("line", ["see /" + "work/main/x", "(/" + "home/me/x)", '"/' + 'root/.cache"'])
def test_the_search_for_machine_paths_finds_them(line: str) -> None:
    assert MACHINE_PATH.search(line)


@pytest.mark.parametrize("line", ["../shared/ministry", "docs/work/x", "https://example.org/home/x", "frame/root/x"])
def test_the_search_for_machine_paths_leaves_others(line: str) -> None:
    assert not MACHINE_PATH.search(line)


def test_no_committed_file_is_large() -> None:
    assert [str(file.relative_to(ROOT)) for file in committed() if file.stat().st_size > MEGABYTES] == []


def test_ci_runs_lint_and_tests() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & stat.S_IXUSR
    assert "make lint test" in script.read_text(encoding="utf-8")


@pytest.mark.parametrize("target", ["setup", "demo", "test", "lint", "ui", "bench"])
def test_make_has_the_target(target: str) -> None:
    listed = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.search(rf"^{target}\s", listed, re.M)


def make_setup_with(version: tuple[int, int], folder: Path) -> subprocess.CompletedProcess[str]:
    """`make python` as it runs under a Python that says it is of another version."""
    fake = folder / "python"
    claim = f"import sys; sys.version_info = {(*version, 0)}; exec(sys.argv[1])"
    fake.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{claim}" "$2"\n')
    fake.chmod(0o755)
    command = ["make", "-s", "python", f"PYTHON={fake}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("version", [(3, 6), (3, 10), (3, 14)])
def test_setup_refuses_another_python_by_name(version: tuple[int, int], tmp_path: Path) -> None:
    result = make_setup_with(version, tmp_path)
    assert result.returncode != 0
    assert "needs Python 3.11, 3.12 or 3.13" in result.stderr
    assert f"is {version[0]}.{version[1]} " in result.stderr


@pytest.mark.parametrize("version", [(3, 11), (3, 13)])
def test_setup_takes_a_python_it_supports(version: tuple[int, int], tmp_path: Path) -> None:
    assert make_setup_with(version, tmp_path).returncode == 0
