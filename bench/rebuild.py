"""What a build costs that finds nothing to do, beside the full build of the same papers in the same run.

    python -m bench.rebuild [--mirror FOLDER] [--times 3] [--processes 0]

Both are `otb build exam` as a process of its own, from start to end: first over an empty store, then `--times` more
over the store that it left. Wall and CPU seconds are of the process and its children; the no-change one is the median.
The papers are those of the mirror in OTB_SHARED (default ../shared), or the samples where there is none. Also shown:
`otb --help`, and an interpreter that imports nothing, which no command can be faster than.
Seconds are noisy on a shared machine: read the ratios. Nothing is asserted but that each build did what it was to do.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of one process with its children."""

    wall: float
    cpu: float


def run(arguments: list[str]) -> tuple[Cost, bytes]:
    """Run a Python process to its end; raises CalledProcessError when it is killed or does not know its arguments."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "DAGSTER_HOME": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    # 3: finished, but a subject is withheld. That is a finding about papers, not a build that did less.
    if done.returncode not in (0, 3):
        raise subprocess.CalledProcessError(done.returncode, arguments)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, cpu), done.stdout


def built(mirror: Path, store: Path, processes: int, *, unchanged: bool) -> Cost:
    """One `otb build exam`; raises RuntimeError when it built although nothing changed, or built nothing at all."""
    command = ["-m", "orchestration.cli", "build", "exam", "--source", str(mirror), "--store", str(store), "--json"]
    cost, said = run([*command, "--processes", str(processes)])
    report = json.loads(said)
    if report["unchanged"] is not unchanged:
        raise RuntimeError(f"the build {'built again' if unchanged else 'built nothing'}: {report['years_built']}")
    return cost


def median(costs: list[Cost]) -> Cost:
    """The median of each figure by itself."""
    return Cost(statistics.median(each.wall for each in costs), statistics.median(each.cpu for each in costs))


def papers(given: Path | None, scratch: Path) -> tuple[str, Path]:
    """What the papers are, and their mirror."""
    shared = Path(os.environ.get("OTB_SHARED", ROOT.parent / "shared")) / "ministry"
    if given or (shared / "index.csv").is_file():
        return "mirror", given or shared
    from samples.ministry import build

    build(scratch / "ministry")
    return "samples", scratch / "ministry"


def main() -> None:
    parser = argparse.ArgumentParser(description="A build without change beside the full build, in one run.")
    parser.add_argument("--mirror", type=Path, help="a mirror folder; default OTB_SHARED/ministry, else the samples")
    parser.add_argument("--times", type=int, default=3, help="builds without change")
    parser.add_argument("--processes", type=int, default=0, help="parsing processes of the full build; 0: one a core")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="otb-rebuild-") as temporary:
        scratch = Path(temporary)
        what, mirror = papers(options.mirror, scratch)
        bare = median([run(["-c", "pass"])[0] for _ in range(options.times)])
        helped = median([run(["-m", "orchestration.cli", "--help"])[0] for _ in range(options.times)])
        store = scratch / "store"
        full = built(mirror, store, options.processes, unchanged=False)
        again = median([built(mirror, store, options.processes, unchanged=True) for _ in range(options.times)])
    print(f"papers: {what}; no-change figures: median of {options.times}")
    print(f"{'':28}{'wall s':>10}{'CPU s':>10}{'of the full build, CPU':>26}")
    for name, cost in (
        ("bare interpreter", bare),
        ("otb --help", helped),
        ("full build", full),
        ("no-change rebuild", again),
    ):
        print(f"{name:28}{cost.wall:10.2f}{cost.cpu:10.2f}{cost.cpu / full.cpu:25.1%}")
    print(f"no-change / full: wall {again.wall / full.wall:.1%}, CPU {again.cpu / full.cpu:.1%}")


if __name__ == "__main__":
    main()
