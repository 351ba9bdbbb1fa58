"""Files become articles or are counted; every hazard of the corpus is deleted, cut or kept as its rule says."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from opentwbench.formosa.cleaning import clean, plain
from opentwbench.formosa.corpus import MAX_BYTES, CorpusError, read_article, read_commit, read_folder
from opentwbench.formosa.model import Article, Fault, LeftOut

FRONT = "---\ntitle: 鐵盒餅乾\ncategory: Food\n---\n"


def article(text: str, path: str = "Food/鐵盒餅乾.md") -> Article:
    made = read_article(path, text.encode(), "")
    assert isinstance(made, Article)
    return made


@pytest.mark.parametrize(
    ("front", "fault"),
    [
        ("", Fault.MISSING),
        ("---\ntitle: [甲\n---\n", Fault.INVALID),
        ("---\n- 甲\n---\n", Fault.INVALID),
        ("---\ntitle: 甲\n", Fault.INVALID),
        ("---\ntitle: 甲\n---\n", Fault.NO_CATEGORY),
        ("---\ntitle: 甲\ncategory: Art\n---\n", Fault.OTHER_CATEGORY),
        ("---\ncategory: Food\n---\n", Fault.NO_TITLE),
    ],
)
def test_a_fault_of_the_frontmatter_is_named_and_the_article_used(front: str, fault: Fault) -> None:
    made = article(front + "正文在此。")
    assert made.faults == (fault,)
    assert made.category == "Food"
    assert made.text.endswith("正文在此。")


def test_a_sound_article_has_no_fault_and_its_provenance() -> None:
    made = article(FRONT + "第一段。\n\n第二段。\n")
    assert (made.faults, made.title, made.text) == ((), "鐵盒餅乾", "第一段。\n\n第二段。")
    assert [made.text[start:end] for start, end in made.blocks] == ["第一段。", "第二段。"]
    assert "CC BY-SA 4.0" in made.attribution
    assert made.url in made.attribution
    assert made.body_start == len(FRONT)


def test_a_rule_further_down_is_no_fence() -> None:
    assert article(FRONT + "甲段。\n\n---\n\n乙段。").text == "甲段。\n\n乙段。"


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("餅乾[^1]很脆[^註 2]。", "餅乾很脆。"),
        ("見[《餅》(小說)](https://a.tw/w_(x(y))_z)。", "見《餅》(小說)。"),
        ("[[糕餅|餅店]]與[[夜市]]", "餅店與夜市"),
        ("詳見 https://a.tw/b?c=1，完。", "詳見 ，完。"),
        ("![圖](a.png)**鐵盒**與_木盒_", "鐵盒與木盒"),
        ("<b>甲</b>", "甲"),
        ("1 < 2 且 a_b", "1 < 2 且 a_b"),
    ],
)
def test_marks_of_a_line(line: str, kept: str) -> None:
    assert plain(line) == kept


@pytest.mark.parametrize(
    "hazard",
    [
        "[^1]: 出處\n    續行在此\n",
        "## 參考資料\n\n- 甲書\n\n### 細目\n\n乙書\n",
        "## 延伸閱讀（附完整連結）\n\n- 甲文\n",
        "**延伸閱讀**：\n\n- [甲文](a)\n- 乙文\n",
        "> **延伸閱讀**：\n> - 甲文\n",
        "| 甲 | 乙 |\n|---|---|\n| 1 | 2 |\n",
        "> | 甲 | 乙 |\n",
        "_圖片來源：某人_\n",
        "<!-- 註\n記 -->\n",
        '<iframe src="a">\n甲\n</iframe>\n',
        "```\ncode\n```\n",
        "---\n",
    ],
)
def test_a_hazard_leaves_nothing_and_takes_nothing_with_it(hazard: str) -> None:
    text = f"前段。\n\n{hazard}\n## 後章\n\n後段。\n"
    assert [block.text for block in clean(text)] == ["前段。", "後章", "後段。"]


OPENINGS = (
    "[[a|",
    "<!--",
    "[",
    "[^",
    "![",
    "![](",
    "[x](",
    "[x](()",
    "<a",
    "<http://",
    "<script>",
    "</script ",
    " ",
    ">",
    "(",
)


def seconds(body: str) -> float:
    """Processor time of this process to clean a body: the less of two, because the machine is shared."""
    taken = []
    for _ in range(2):
        started = time.process_time()
        clean(body)
        taken.append(time.process_time() - started)
    return min(taken)


@pytest.mark.parametrize("before", ["", "# a", "[x](<script>"])
@pytest.mark.parametrize("mark", [*OPENINGS, "".join(OPENINGS), "[[a|<!--["])
def test_marks_that_are_never_closed_cost_time_in_proportion(mark: str, before: str) -> None:
    """Ten times the marks, under forty times the time: a square of it would be a hundred times."""
    short, long = (before + mark * (size // len(mark)) + "b" for size in (4_000, 40_000))
    # The floor is for the clock: under a millisecond it says nothing.
    assert seconds(long) < 40 * max(seconds(short), 0.001)


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("[[甲|[[乙|丙]]", "[[乙|丙"),
        ("[^甲[乙]丙", "丙"),
        ("![甲[乙](a.png)丙", "丙"),
        ("![甲](a(丙", "![甲](a(丙"),
        ("[[甲]丁[[乙]]", "[[甲]丁乙"),
        ("<http://a b丙", "< b丙"),
        ("## 甲 # ##", "甲 #"),
        ("甲<b 乙", "甲<b 乙"),
    ],
)
def test_marks_within_marks_and_marks_without_an_end(line: str, kept: str) -> None:
    assert [block.text for block in clean(line)] == [kept]


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("甲<!-- 一 <script> 二 -->乙", "甲乙"),
        ("甲<SCRIPT>一</script >乙<script 二", "甲乙<script 二"),
        ("甲<style>一</script>乙</style>丙", "甲丙"),
        ("甲<!-- 乙", "甲<!-- 乙"),
        ("甲<script><!--</script>乙", "甲乙"),
    ],
)
def test_hidden_elements_end_at_the_first_close_of_their_own_kind(body: str, kept: str) -> None:
    assert [block.text for block in clean(body)] == [kept]


def test_quotations_keep_their_text_and_headings_are_no_text() -> None:
    made = article(FRONT + "> **30 秒概覽：** 一句。\n\n## 標題\n\n正文。")
    assert made.text == "30 秒概覽： 一句。\n\n正文。"


def planted(root: Path) -> Path:
    """A corpus with two articles and one file for each reason to leave one out."""
    files = {
        "Food/甲.md": FRONT + "正文。",
        "Art/乙.md": "正文。",
        "Food/_Food Hub.md": "正文。",
        "About/丙.md": "正文。",
        "zh-TW/people/甲.md": "正文。",
        "en/Food/a.md": "text",
        "Food/甲.en.md": "text",
        "Food/deep/丁.md": "正文。",
        "Food/空.md": FRONT + "## 參考資料\n",
    }
    for path, text in files.items():
        (root / "knowledge" / path).parent.mkdir(parents=True, exist_ok=True)
        (root / "knowledge" / path).write_text(text, encoding="utf-8")
    (root / "knowledge/Food/大.md").write_bytes(b"a" * (MAX_BYTES + 1))
    (root / "knowledge/Food/壞.md").write_bytes(b"\xff\xfe")
    (root / "knowledge/Food/連.md").symlink_to("甲.md")
    return root


EVERY_REASON = {
    LeftOut.LINK: 1,
    LeftOut.HUB_PAGE: 1,
    LeftOut.SITE_PAGE: 1,
    LeftOut.STRAY_COPY: 1,
    LeftOut.OTHER_LANGUAGE: 2,
    LeftOut.MISPLACED: 1,
    LeftOut.TOO_LARGE: 1,
    LeftOut.NOT_UTF8: 1,
    LeftOut.NO_TEXT: 1,
}


def test_every_file_is_an_article_or_counted(tmp_path: Path) -> None:
    corpus = read_folder(planted(tmp_path))
    assert [made.path for made in corpus.articles] == ["Art/乙.md", "Food/甲.md"]
    assert {reason: len(paths) for reason, paths in corpus.left_out.items()} == EVERY_REASON
    assert corpus.faults == {Fault.MISSING: ("Art/乙.md",)}


def test_a_commit_reads_as_the_folder_and_not_as_the_working_tree(tmp_path: Path) -> None:
    planted(tmp_path)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "corpus"], check=True)
    (tmp_path / "knowledge/Food/甲.md").write_text("別的。", encoding="utf-8")
    corpus = read_commit(tmp_path)
    assert {reason: len(paths) for reason, paths in corpus.left_out.items()} == EVERY_REASON
    assert [made.text for made in corpus.articles] == ["正文。", "正文。"]
    assert all(made.commit == corpus.commit and len(made.commit) == 40 for made in corpus.articles)


@pytest.mark.parametrize("commit", ["--output=x", "no-such-branch"])
def test_a_name_that_is_no_commit_is_refused(tmp_path: Path, commit: str) -> None:
    subprocess.run(["git", "-C", str(tmp_path), "init", "-q"], check=True)
    with pytest.raises(CorpusError):
        read_commit(tmp_path, commit)


def test_a_folder_without_articles_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no article"):
        read_folder(tmp_path)
