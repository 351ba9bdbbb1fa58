"""A whole edition of Formosa against the scripted endpoint, and the same build when nothing changed: time and memory.

    python -m bench.formosa_build [--corpus FOLDER --lexicon FOLDER] [--store FOLDER]

Windows, drafts, screens, ten judges, grounding, a pool of seven and one beside it, edition, checks, publication, in one
process through Dagster; the endpoint is a process of its own and its time is not counted as processor time. Without
--corpus the sample articles are built. Read the shares and the ratio: seconds are noisy on a shared machine. What a
model would take is no part of it.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from orchestration.configuration import Configuration
from orchestration.formosa_build import FormosaBuild, FormosaReport
from orchestration.formosa_endpoint import scripted_endpoint, scripted_settings


class Timed(FormosaBuild):
    """A build that notes what each step took."""

    def _materialize(self, definitions: list[object], partitions: tuple[str, str] | None = None) -> None:
        begun, processor = time.perf_counter(), time.process_time()
        super()._materialize(definitions, partitions)
        name = definitions[0].key.to_user_string()  # type: ignore[attr-defined]
        wall, cpu = self.took.setdefault(name, [0.0, 0.0])
        self.took[name] = [wall + time.perf_counter() - begun, cpu + time.process_time() - processor]

    took: dict[str, list[float]]


def build(
    store: str, base_url: str, settings: dict[str, object]
) -> tuple[FormosaReport, dict[str, list[float]], float]:
    """The report, step -> seconds and processor seconds, and the processor seconds of all."""
    made = Timed(Configuration(store=store, endpoint={"base_url": base_url}, formosa=settings))
    made.took = {}
    begun = time.process_time()
    return made.run(), made.took, time.process_time() - begun


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="")
    parser.add_argument("--lexicon", default="")
    parser.add_argument("--store", default="")
    given = parser.parse_args()
    settings = scripted_settings(given.corpus) | ({"lexicon": given.lexicon} if given.lexicon else {})
    with tempfile.TemporaryDirectory() as temporary:
        store = given.store or str(Path(temporary) / "store")
        with scripted_endpoint(store) as endpoint:
            report, took, whole = build(store, endpoint.base_url, settings)
            requests = endpoint.stats()["requests"]
            again, _, nothing = build(store, endpoint.base_url, settings)
            assert again.unchanged and endpoint.stats()["requests"] == requests
    account = report.account
    print(f"{account['windows']:,} windows, {account['grounded']:,} grounded, {report.edition['kept']:,} in the band")
    print(f"{requests:,} requests; data set {report.state.state}")
    for name, (wall, cpu) in took.items():
        print(f"{name}: {wall:.1f} s, {cpu:.1f} s of processor time ({cpu / whole:.0%})")
    print(f"all: {whole:.1f} s of processor time, {1000 * whole / max(1, requests):.1f} ms a request")
    print(f"nothing changed: {nothing:.2f} s of processor time, {nothing / whole:.1%} of the first build")
    print(f"largest resident size {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
