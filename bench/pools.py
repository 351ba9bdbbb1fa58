"""Whether the limit of a pool holds when many ask at once, with Dagster's own instance and with the platform's.

    python -m bench.pools [--home FOLDER] [--processes 4] [--rounds 60] [--limit 2] [--held 0.1]

Each process takes a place, keeps it for --held seconds and leaves, --rounds times. Counted: the most that were in the
pool at once, the entries above the limit, and the waits that nobody ended within 20 s. The storage is SQLite in a new
folder, or what FOLDER/dagster.yaml names (a deployment's settings with PostgreSQL; a test instance: pools named
`bench-...` stay behind). Where fewer were ever inside than there are places, hold them longer. An ask: the median, as a
ratio to Dagster's own of the same run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from dagster import DagsterInstance

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 20.0
"""Seconds after which a wait counts as one that nobody ends."""


def ask(home: str, pool: str, who: str, rounds: int, held: float) -> None:
    """One process: its events as lines on stdout, the seconds that each ask took among them."""
    with DagsterInstance.from_config(home) as instance:
        storage = instance.event_log_storage
        storage.get_pool_limits()
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(rounds):
            run, began = f"{who}-{number}", time.monotonic()
            while True:
                before = time.perf_counter()
                claimed = storage.claim_concurrency_slot(pool, run, "step").is_claimed
                print(f"ask {time.perf_counter() - before}")
                if claimed or time.monotonic() - began > PATIENCE:
                    break
                time.sleep(0.01)
            print(f"{'in' if claimed else 'stuck'} {time.time()}")
            time.sleep(held if claimed else 0)
            print(f"{'out' if claimed else 'gone'} {time.time()}")
            storage.free_concurrency_slots_for_run(run)


def contend(home: str, pool: str, args: argparse.Namespace) -> tuple[int, int, int, float]:
    """Most at once, entries above the limit, endless waits, and the median seconds of one ask."""
    with DagsterInstance.from_config(home) as instance:
        instance.event_log_storage.set_concurrency_slots(pool, args.limit)
    command = [sys.executable, __file__, "--asks", pool, "--home", home]
    command += ["--rounds", str(args.rounds), "--held", str(args.held), "--who"]
    with tempfile.TemporaryDirectory() as folder:
        said = [Path(folder) / str(number) for number in range(args.processes)]
        asking = []
        for path in said:
            with path.open("w") as out:
                asking.append(subprocess.Popen([*command, path.name], stdin=subprocess.PIPE, stdout=out, text=True))
        try:
            while not all(path.read_text().startswith("ready") for path in said):
                if any(each.poll() is not None for each in asking):
                    raise SystemExit("a process ended before it began")
                time.sleep(0.05)
            for each in asking:  # all begin before the first is waited for
                assert each.stdin
                each.stdin.write("\n")
                each.stdin.flush()
            codes = [each.wait() for each in asking]
        finally:
            for each in asking:
                each.kill()
        lines = [line.split() for path in said for line in path.read_text().splitlines()[1:]]
    entries = sum(line[0] in ("in", "stuck") for line in lines)
    if any(codes) or entries != args.processes * args.rounds:
        raise SystemExit(f"nothing is counted: exit statuses {codes}, {entries} of {args.processes * args.rounds} asks")
    now = most = above = 0
    for word, _ in sorted((line for line in lines if line[0] in ("in", "out")), key=lambda line: float(line[1])):
        now += 1 if word == "in" else -1
        above += word == "in" and now > args.limit
        most = max(most, now)
    took = [float(seconds) for word, seconds in lines if word == "ask"]
    return most, above, sum(word == "stuck" for word, _ in lines), statistics.median(took)


def main(argv: list[str] | None = None) -> None:
    """Both instances over one storage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", default="")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--limit", type=int, default=2)
    parser.add_argument("--held", type=float, default=0.1)
    parser.add_argument("--asks", default="", help=argparse.SUPPRESS)
    parser.add_argument("--who", default="", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.asks:
        ask(args.home, args.asks, args.who, args.rounds, args.held)
        return
    settings = yaml.safe_load((Path(args.home) / "dagster.yaml" if args.home else ROOT / "dagster.yaml").read_text())
    with tempfile.TemporaryDirectory() as folder:
        if not args.home:
            settings["storage"] = {"sqlite": {"base_dir": f"{folder}/base"}}
        print(f"{args.processes} processes, {args.rounds} rounds each, {args.limit} places, held {args.held} s")
        times = []
        for name in ("Dagster's own", "the platform's"):
            made = dict(settings)
            if name == "Dagster's own":
                made.pop("instance_class", None)
            home = Path(folder) / name.split()[0]
            home.mkdir()
            (home / "dagster.yaml").write_text(yaml.safe_dump(made))
            most, above, stuck, seconds = contend(str(home), f"bench-{os.getpid()}-{home.name}", args)
            times.append(seconds)
            ratio = f"{seconds / times[0]:.1f} x"
            if most < args.limit:
                print(f"{name}: the places were never all taken; a longer --held says more")
            print(f"{name:15} most at once {most}   above the limit {above:3}   endless waits {stuck}   an ask {ratio}")


if __name__ == "__main__":
    main()
