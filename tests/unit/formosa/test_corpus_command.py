"""`otb formosa windows | screens`: figures, files and refusals."""

from __future__ import annotations

import json
import os
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from opentwbench.dataset.files import jsonl_bytes, read_jsonl
from opentwbench.formosa.corpus import HARMFUL, state_of
from opentwbench.formosa.drafting import drafts_bytes
from opentwbench.formosa.model import Draft
from opentwbench.formosa.window_files import read_windows
from opentwbench.formosa.windows import MAX_BLOCK, TAIL
from orchestration.formosa_command import app

ROOT = Path(__file__).parents[3]
ARTICLES = ROOT / "samples" / "articles"


def run(*arguments: object, status: int = 0) -> Result:
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == status, result.output
    return result


def otb(*arguments: object, status: int = 0) -> str:
    return run(*arguments, status=status).output


def figures(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments, "--json").stdout)
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


def test_a_folder_without_a_stated_commit_is_warned_of_and_states_take_its_place(tmp_path: Path) -> None:
    out, state = tmp_path / "windows.jsonl", state_of(ARTICLES)
    assert "no commit is stated" in run("windows", ARTICLES, "--out", out).stderr
    assert figures("windows", ARTICLES, "--out", out)["commit"] == state
    for window in read_windows(out).values():
        article = ARTICLES / "knowledge" / window.article
        assert window.commit == f"sha256:{sha256(article.read_bytes()).hexdigest()}"
    result = run("windows", ARTICLES, "--out", out, "--stated", "5459d7f6")
    assert "no commit" not in result.output
    assert {window.commit for window in read_windows(out).values()} == {"5459d7f6"}
    assert "7 to 64 hex digits" in otb("windows", ARTICLES, "--out", out, "--stated", "HEAD", status=2)


def hostile(root: Path) -> Path:
    """The sample articles and one article of every kind that once stopped the corpus or never came to an end."""
    shutil.copytree(ARTICLES, root)
    food, front = root / "knowledge" / "Food", "---\ntitle: 甲\ncategory: Food\n---\n"
    lists = ", ".join(f"&{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]" for n in range(9))
    texts = {
        "hex.md": f"---\ntitle: 0x{'F' * 5_000}\ncategory: 0x{'F' * 5_000}\n---\n正文。",
        "surrogate.md": '---\ntitle: "\\ud800"\ncategory: "\\ud800"\n---\n正文。',
        "bomb.md": f"---\ntitle: [&a [x], {lists}]\n---\n正文。",
        "marks.md": f"{front}正文。\n\n{'[[a|' * 30_000}{'<!--' * 30_000}",
        "brackets.md": f"{front}正文。\n\n{'[' * 60_000}{'![' * 30_000}",
        "dump.md": front + "字" * 525_000,
        "colons.md": front + "甲：\n\n" * 20_000,
        "escape.md": '---\ntitle: "\\e[2J\\0甲"\ncategory: Food\n---\n正\x1b[2J文\x00。',
        "private.md": f"{front}正\ue000文。",
    }
    for name, text in texts.items():
        (food / name).write_text(text, encoding="utf-8")
    (food / "bytes.md").write_bytes(front.encode() + b"\xed\xa0\x80")
    (food / os.fsdecode(b"\xff.md")).write_text(front + "正文。", encoding="utf-8")
    return root


def test_a_hostile_article_never_stops_the_corpus(tmp_path: Path) -> None:
    out = tmp_path / "windows.jsonl"
    found = figures("windows", hostile(tmp_path / "corpus"), "--out", out)
    assert found["articles"] == 12 + 5
    left = {"not_utf8": 1, "bad_name": 1, "long_paragraph": 3, "private_use": 1}
    assert {name: found["left_out"][name] for name in left} == left
    assert found["frontmatter_faults"]["control_characters"] == 2
    texts = [
        value for window in read_windows(out).values() for value in (window.title, window.attribution, window.text)
    ]
    assert not any(HARMFUL.search(text) for text in texts)
    assert max(map(len, texts)) <= MAX_BLOCK + TAIL


def test_what_cannot_be_read_stops_with_its_name(tmp_path: Path) -> None:
    assert "no article" in otb("windows", tmp_path, "--out", tmp_path / "w.jsonl", status=2)
    (tmp_path / "d.jsonl").write_bytes(jsonl_bytes([{"window_id": "x"}]))
    assert "d.jsonl" in otb("screens", tmp_path / "d.jsonl", "--windows", tmp_path / "w.jsonl", status=2)
