"""`otb study defects` over sample papers: trials at every layer that needs papers, files or a store, and its report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.exam_store import LIBRARY
from typer.testing import CliRunner

from opentwbench.dataset.study import CERTAIN, study_from_json
from opentwbench.exam.defect_study import CROSS_CHECKS, Study
from opentwbench.exam.defects import PUBLISHER, QUESTION_READER, Layer
from opentwbench.exam.release import by_scope
from opentwbench.exam.sitting import RowRecord
from orchestration import study_command
from orchestration.cli import app
from orchestration.defect_trials import (
    Plan,
    Read,
    plant_in_files,
    plant_in_print,
    plant_in_readings,
    plant_in_sets,
    plant_in_store,
    read_mirror,
    refused_samples,
)
from resources.progress import Silent

PLAN = Plan(seed=1, a_paper=1, a_set=1, files=2, processes=2)


@pytest.fixture(scope="module")
def read(sample_ministry: Path) -> tuple[list[RowRecord], list[Read]]:
    return read_mirror(sample_ministry, PLAN, Silent())


def two_papers(records: Sequence[RowRecord]) -> list[RowRecord]:
    """One paper with a corrected key and one without."""
    accepted = [each for each in records if each.record.accepted]
    corrected = next(each for each in accepted if each.row.has_corrected_key)
    plain = next(each for each in accepted if not each.row.has_corrected_key)
    return [corrected, plain]


def test_every_pair_of_the_mirror_is_read_once(read: tuple[list[RowRecord], list[Read]]) -> None:
    records, pairs = read
    assert len({each.pair for each in pairs}) == len(pairs) < len(records)
    refused = {each.of.row.paper_id for each in pairs if each.reading is None}
    assert refused == refused_samples() != set()
    assert all(each.of.record.accepted for each in pairs if each.reading)


def test_damage_to_readings(read: tuple[list[RowRecord], list[Read]]) -> None:
    study = Study()
    plant_in_readings(study, *read, PLAN, refused_samples())
    assert study.uncaught() == []
    assert {kind.layer for kind in study.kinds()} == {
        Layer.PAIRING,
        Layer.ONE_KEY_READER,
        Layer.BOTH_KEY_READERS,
        Layer.BOTH_WITH_FIRST_KEY,
        Layer.QUESTION_READER,
    }
    assert study.native == dict.fromkeys(CROSS_CHECKS, len(read[1]) - 1)
    assert study.runs_with_alarm == 0


def test_a_refused_paper_that_is_taken_for_sound_is_an_alarm(read: tuple[list[RowRecord], list[Read]]) -> None:
    study = Study()
    plant_in_readings(study, read[0], [each for each in read[1] if each.reading is None], PLAN)
    assert (study.runs, study.runs_with_alarm) == (1, 1)
    assert study.kinds() == []


def test_damage_to_printed_pages(read: tuple[list[RowRecord], list[Read]], tmp_path: Path) -> None:
    study = Study()
    plant_in_print(study, two_papers(read[0]), tmp_path / "print", PLAN, Silent())
    assert study.uncaught() == []
    names = {kind.name for kind in study.kinds()}
    assert names >= {"questions_merged", "cell_not_printed", "number_skipped", "option_not_printed"}
    assert names >= {"key_shifted_by_one_in_the_only_key", "key_shifted_by_one_in_corrected_key_alone"}
    only_print = next(kind for kind in study.kinds() if kind.name == "key_shifted_by_one_in_the_only_key")
    assert (only_print.certain, only_print.caught) == (False, 0)  # what the ministry prints is what it says


def test_damage_to_whole_files(read: tuple[list[RowRecord], list[Read]], tmp_path: Path) -> None:
    study = Study()
    plant_in_files(study, *read, tmp_path / "files", PLAN)
    assert study.uncaught() == []
    kinds = {kind.name: kind for kind in study.kinds()}
    assert kinds.keys() == {"file_cut_in_half", "error_page_for_paper", "last_page_lost"}
    assert kinds["error_page_for_paper"].by == {QUESTION_READER: 2}


def test_damage_to_items_rows_and_files(read: tuple[list[RowRecord], list[Read]], tmp_path: Path) -> None:
    study = Study()
    plant_in_sets(study, by_scope(read[0])[LIBRARY], tmp_path / "sets", PLAN, Silent())
    assert study.uncaught() == []
    for kind in study.kinds():
        assert all(kind.by.get(check) == kind.trials for check in kind.meant), kind
    assert study.runs_with_alarm == 0
    assert study.native[PUBLISHER] >= 2
    layers = {kind.layer for kind in study.kinds()}
    assert layers == {Layer.STORED_ITEMS, Layer.ROWS, Layer.WRITTEN_FILES, Layer.JUDGED_FILES}


def test_damage_to_parse_records_in_the_store(read: tuple[list[RowRecord], list[Read]], tmp_path: Path) -> None:
    study = Study()
    plant_in_store(study, by_scope(read[0])[LIBRARY], tmp_path / "store", PLAN)
    assert study.uncaught() == []
    assert {kind.name for kind in study.kinds()} == {"key_letter_changed", "record_lost"}


# ---- the command ----------------------------------------------------------------------------------------------------


def counted(*, got_through: bool) -> tuple[Study, list[str]]:
    study = Study()
    study.trial("row_lost", Layer.ROWS, ("rows_match_records",), frozenset() if got_through else frozenset({PUBLISHER}))
    study.trial("options_rotated", Layer.QUESTION_READER, (), frozenset())
    study.sound(("rows_match_records",), frozenset())
    return study, ["sample: 3 index rows, 2 question PDFs"]


def otb(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["study", "defects", *map(str, arguments)])


def test_page_and_summary_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_command, "_run", lambda mirrors, plan: counted(got_through=False))
    page, summary = tmp_path / "docs" / "page.md", tmp_path / "study.json"
    result = otb("--page", page, "--summary", summary, "--json")
    assert result.exit_code == 0, result.output
    stored = json.loads(summary.read_text(encoding="utf-8"))
    assert json.loads(result.stdout) == stored
    assert study_from_json(stored["figures"])[CERTAIN].caught == 1
    words = page.read_text(encoding="utf-8")
    assert "| row_lost | 1 | 100.0% (20.6%–100.0%) | `publisher` 100% | yes |" in words
    assert "1 kinds, 1 trials, 1 caught" in words
    assert "got through" not in words
    for layer in Layer:
        assert f"## {layer.value}\n" in words


def test_a_kind_that_must_be_caught_and_got_through_is_status_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_command, "_run", lambda mirrors, plan: counted(got_through=True))
    result = otb("--page", tmp_path / "page.md")
    assert result.exit_code == 3
    assert "rows / row_lost: 1 of 1 got through" in (tmp_path / "page.md").read_text(encoding="utf-8")


def test_a_folder_that_is_no_mirror_is_status_2(tmp_path: Path) -> None:
    result = otb("--mirror", tmp_path)
    assert result.exit_code == 2
    assert "no index.csv" in result.stderr
