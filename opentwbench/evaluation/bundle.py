"""The bundle for volunteers: questions, keys for the verdicts, the protocol, a runner that needs Python alone.

What belongs here: which files a bundle holds. What does not: the runner itself (volunteer.py, copied byte for byte) and
taking results in (submissions.py).
The keys are in a file of their own that only the results and the verifier read; no prompt is made from it. They are
published with the data sets anyway, and the rows of a submission carry a verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from opentwbench.dataset.atomic import replace_folder
from opentwbench.dataset.contract import OPTION_COLUMNS, excerpt
from opentwbench.dataset.files import jsonl_bytes
from opentwbench.dataset.manifest import json_bytes, sha256
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation import volunteer
from opentwbench.evaluation.model import AskedItem
from opentwbench.evaluation.protocols import Protocol

RUNNER_NAME = "run.py"


@dataclass(frozen=True, slots=True)
class About:
    """What a bundle is of; it goes into the provenance record that comes back."""

    benchmark: str
    dataset_version: str
    item_set: str
    protocol: Protocol


def bundle_files(items: Iterable[AskedItem], about: About) -> dict[str, bytes]:
    """Every file of a bundle, name -> bytes. Raises DatasetError when there is nothing to ask."""
    asked = list(items)
    if not asked:
        raise DatasetError("no items for a bundle")
    files = {
        "questions.jsonl": jsonl_bytes(_question(item) for item in asked),
        "keys.json": json_bytes({item.item_id: item.key for item in asked}),
        "protocol.json": json_bytes(about.protocol.to_json()),
        RUNNER_NAME: Path(volunteer.__file__).read_bytes(),
        "README.md": _readme(len(asked), about).encode(),
    }
    manifest = {
        "benchmark": about.benchmark,
        "dataset_version": about.dataset_version,
        "item_set": about.item_set,
        "items": len(asked),
        "protocol_id": about.protocol.protocol_id,
        "files": {name: sha256(data) for name, data in files.items()},
    }
    return {**files, "manifest.json": json_bytes(manifest)}


def write_bundle(items: Iterable[AskedItem], about: About, out: Path) -> bool:
    """Write a bundle's folder; False when it held just these bytes.

    Raises DatasetError for a folder that holds anything else: a volunteer's replies are never overwritten.
    """
    files = bundle_files(items, about)
    for entry in sorted(out.iterdir()) if out.is_dir() else ():
        if entry.name not in files:
            raise DatasetError(f"{excerpt(out.name)} holds {excerpt(entry.name)}; choose another folder")
    return replace_folder(out, files)


def _question(item: AskedItem) -> dict[str, str]:
    return {
        "item_id": item.item_id,
        "question": item.question,
        **{letter: item.options[letter] for letter in OPTION_COLUMNS},
    }


def _readme(n: int, about: About) -> str:
    return f"""# {n:,} questions of {about.benchmark}, version {about.dataset_version}

Protocol {about.protocol.protocol_id}. Needs Python 3.11 or newer, nothing else.

    python3 run.py ask --base-url http://127.0.0.1:8000/v1 --model NAME     # may be stopped and started again
    python3 run.py results                                                # writes results.jsonl and provenance.json
    python3 run.py verify

1. `ask` writes replies.jsonl. Leave every other file as it is: the settings are part of the protocol.
   An API key is read from the variable that `--api-key-env` names.
2. Fill in provenance.json: hardware, driver, runtime and its version, batch settings, serving precision
   (native, quantised, unknown). No host and no user names. Set "consent" to true if the results may be published.
3. Send results.jsonl and provenance.json. replies.jsonl stays with you.

A row holds the first 16 hex digits of the question's hash, the item id, the letters read by the strict and the lenient
rule, and the verdicts. Exit status: 0 done, 2 wrong arguments, 3 stopped, with the reason.
"""
