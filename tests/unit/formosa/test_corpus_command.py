"""`otb formosa windows | screens`: figures, files and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from opentwbench.dataset.files import jsonl_bytes, read_jsonl
from opentwbench.formosa.drafting import drafts_bytes
from opentwbench.formosa.model import Draft
from opentwbench.formosa.window_files import read_windows
from orchestration.formosa_command import app

ROOT = Path(__file__).parents[3]
ARTICLES = ROOT / "samples" / "articles"


def otb(*arguments: object, status: int = 0) -> str:
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == status, result.output
    return result.output


def figures(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(otb(*arguments, "--json"))
    return found


def test_the_sample_articles_hold_every_hazard(tmp_path: Path) -> None:
    out = tmp_path / "windows.jsonl"
    found = figures("windows", ARTICLES, "--out", out, "--limit", 120, "--tail", 40)
    assert found["articles"] == 12
    assert found["left_out"] == {"hub_page": 1, "site_page": 1, "stray_copy": 1, "other_language": 1}
    assert found["frontmatter_faults"] == {
        "frontmatter_missing": 1,
        "frontmatter_invalid": 1,
        "category_missing": 1,
    }
    windows = read_windows(out)
    assert len(windows) == found["windows"] > 12
    texts = "\n".join(window.text for window in windows.values())
    for mark in ("[^", "](", "[[", "http", "<", "|", "參考資料", "延伸閱讀", "圖片來源", "**", "只在出處", "##"):
        assert mark not in texts, mark


def test_screens_report_every_draft_and_write_what_they_found(tmp_path: Path) -> None:
    windows = tmp_path / "windows.jsonl"
    otb("windows", ARTICLES, "--out", windows)
    names = list(read_windows(windows))
    options = {"A": "甲乙", "B": "丙丁", "C": "戊己", "D": "庚辛"}
    drafts = [
        Draft(names[0], "台灣哪一座山最高？", options, "A", "", "m", "p"),
        Draft(names[1], "他是誰？", options, "A", "", "m", "p"),
    ]
    given, out = tmp_path / "drafts.jsonl", tmp_path / "findings.jsonl"
    given.write_bytes(drafts_bytes(drafts))
    found = figures("screens", given, "--windows", windows, "--out", out)
    assert (found["drafts"], found["pass"], found["excluded"]) == (2, 1, {"not_self_contained": 1})
    assert found["cautions"] == {"answer_not_in_window": 2}
    assert found["shortcuts"]["before"]["always_a"]["right"] == 1
    assert read_jsonl(out) == [{"window_id": names[1], "exclusion": "not_self_contained", "evidence": "他"}]


def test_what_cannot_be_read_stops_with_its_name(tmp_path: Path) -> None:
    assert "no article" in otb("windows", tmp_path, "--out", tmp_path / "w.jsonl", status=2)
    (tmp_path / "d.jsonl").write_bytes(jsonl_bytes([{"window_id": "x"}]))
    assert "d.jsonl" in otb("screens", tmp_path / "d.jsonl", "--windows", tmp_path / "w.jsonl", status=2)
