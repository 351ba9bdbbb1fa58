"""Hostile PDFs among the ministry's papers: a whole `otb build exam` rejects and counts each, and builds the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.exam_store import CONSTITUTION, LIBRARY
from support.hostile_pdfs import HOSTILE
from support.rehearsal import ministry

from opentwbench.exam.index import INDEX_URL
from orchestration.build import Build, BuildReport
from orchestration.configuration import Configuration
from resources.store import Store
from samples.loopback import LoopbackMinistry
from samples.ministry import URL

QUESTIONS = {
    "many_pages": "too_large",
    "flate_bomb": "too_large",
    "javascript": "active_content",
    "attachment": "active_content",
    "encrypted": "encrypted",
    "page_tree_loop": "not_a_pdf",
    "garbage_font": "no_questions",
}
"""Hostile file as a question paper -> the reason of its rejection (tests/unit/exam/test_hostile_pdfs.py has all)."""

KEYS = {"launch": "active_content", "xref_bomb": "not_a_pdf"}
"""The same as the key of a sound question paper."""

POLITE = {"delay_seconds": 0.0, "jitter_seconds": 0.0}


def plant(folder: Path, sound: Path) -> None:
    """Add a row to the index for each hostile file; its subject is the one of the sound paper."""
    rows, listed = [], []
    for number, (name, role) in enumerate([*((n, "Q") for n in QUESTIONS), *((n, "S") for n in KEYS)], start=901):
        question, key = (URL.format(t=t, code="104802", c=str(number), s="0401") for t in "QS")
        rows.append(f"104,104802,樣本考試,,普考,普考,{number},樣本,01,圖書館學大意,測驗題,{question},{key},\r\n")
        for each, url in (("Q", question), ("S", key)):
            path = f"files/104802/{number}/0401/{each}.pdf"
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(HOSTILE[name]() if each == role else (sound / f"{each}.pdf").read_bytes())
            listed.append(f"{url},{path}\r\n")
    for name, lines in (("index.csv", rows), ("urls.csv", listed)):
        with (folder / name).open("ab") as file:
            file.write("".join(lines).encode())


def build(folder: Path, store: Path) -> BuildReport:
    with LoopbackMinistry(folder) as server:
        report = Build(Configuration(store=str(store), source=server.base_url, processes=1, ministry=POLITE)).run()
        assert sum(request.url == INDEX_URL for request in server.log) == 1
    return report


@pytest.mark.slow
def test_a_build_rejects_and_counts_each_hostile_file_and_publishes_the_others(tmp_path: Path) -> None:
    ministry(tmp_path / "calm", 1)
    hostile = ministry(tmp_path / "hostile", 1)
    plant(hostile, hostile / "files/104802/401/0401")
    reports = {name: build(tmp_path / name, tmp_path / f"{name}-store") for name in ("calm", "hostile")}
    assert [report.errors for report in reports.values()] == [[], []]
    assert [each["slug"] for each in reports["hostile"].in_state("published")] == [LIBRARY, CONSTITUTION]
    rejected = reports["hostile"].release["rejected"]
    reasons = sorted(each["reason"] for each in rejected)
    assert reasons == sorted([*QUESTIONS.values(), *KEYS.values()])
    assert reports["calm"].release["rejected"] == []
    place = Store(str(tmp_path / "hostile-store"))
    stats = json.loads((tmp_path / "hostile-store" / "datasets" / LIBRARY / "build_stats.json").read_bytes())
    assert sum(stats["papers"]["rejected"].values()) == len(QUESTIONS) + len(KEYS)
    assert stats["papers"]["accepted"] == 1
    assert place.read_json(place.release())["closes"] == []
    # The items are those of the build without them, to the byte.
    for slug in (LIBRARY, CONSTITUTION):
        one, other = (tmp_path / f"{name}-store" / "datasets" / slug / "benchmark.jsonl" for name in reports)
        assert one.read_bytes() == other.read_bytes()
