"""Files become articles or are counted; every hazard of the corpus is deleted, cut or kept as its rule says."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from opentwbench.formosa.cleaning import clean, plain
from opentwbench.formosa.corpus import (
    MAX_BYTES,
    MAX_FRONT,
    CorpusError,
    read_article,
    read_commit,
    read_folder,
    state_of,
)
from opentwbench.formosa.model import Article, Fault, LeftOut
from opentwbench.formosa.windows import MAX_BLOCK

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
        ("---\ntitle: [甲, 乙]\ncategory: Food\n---\n", Fault.NO_TITLE),
        ("---\ntitle: 甲\ncategory: [Food]\n---\n", Fault.OTHER_CATEGORY),
        (f"---\ntitle: 甲\ncategory: 0x{'F' * 5_000}\n---\n", Fault.OTHER_CATEGORY),
        ("---\ntitle: &a 甲\ncategory: Food\n---\n", Fault.INVALID),
        ("---\ntitle: *a\ncategory: Food\n---\n", Fault.INVALID),
        ('---\ntitle: "\\UFFFFFFFF"\ncategory: Food\n---\n', Fault.INVALID),
        (f"---\ntitle: {'[' * 20_000}\ncategory: Food\n---\n", Fault.INVALID),
        (f"---\ntitle: 甲\ncategory: Food\nmore: {'a' * MAX_FRONT}\n---\n", Fault.INVALID),
        ('---\ntitle: "\\ud800甲"\ncategory: Food\n---\n', Fault.CONTROL),
        ('---\ntitle: "\\e[2J甲\\u202e"\ncategory: Food\n---\n', Fault.CONTROL),
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


def test_scalars_stay_texts_and_a_title_is_bounded() -> None:
    assert article("---\ntitle: 2026-13-45\ncategory: Food\n---\n正文。").title == "2026-13-45"
    made = article(f"---\ntitle: 0x{'F' * 5_000}\ncategory: Food\n---\n正文。")
    assert (made.title, made.faults) == ("0x" + "F" * 198, ())


def test_an_alias_bomb_costs_nothing() -> None:
    """Nine lists of nine aliases each: 9^9 values, 0.8 GB once somebody prints them."""
    lists = [f"&{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]" for n in range(9)]
    started = time.process_time()
    made = article(f"---\ntitle: [&a [x], {', '.join(lists)}]\n---\n正文。")
    assert (made.faults, made.title) == ((Fault.INVALID,), "鐵盒餅乾")
    assert time.process_time() - started < 5  # without the refusal: half a minute


@pytest.mark.parametrize("harm", ["\x1b", "\0", "\x7f", "\x9b", "\u202e", "\u2066", "\u200b", "\ufeff", "\U000e0041"])
def test_characters_that_do_harm_are_deleted_and_the_article_named(harm: str) -> None:
    made = article(f"{FRONT}第{harm}一段。\n")
    assert (made.text, made.faults) == ("第一段。", (Fault.CONTROL,))


def test_other_line_ends_part_lines_and_emoji_stay_whole() -> None:
    assert article(f"{FRONT}甲。\r\n\r\n乙。\r\r丙。\u2028\u2028丁。").text == "甲。\n\n乙。\n\n丙。\n\n丁。"
    family = "👨\u200d👩\u200d👧 ☀\ufe0f 𠮷"
    made = article(FRONT + family)
    assert (made.text, made.faults) == (family, ())


def test_a_title_is_folded_as_every_published_text_is() -> None:
    made = article("---\ntitle: 鐵\u3000盒\u00a0cafe\u0301\ncategory: Food\n---\n正文。")
    assert (made.title, made.faults) == ("鐵 盒 caf\u00e9", ())
    assert made.title in made.attribution


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"{FRONT}正\ue000文。", LeftOut.PRIVATE_USE),
        ('---\ntitle: "\U000f0000"\ncategory: Food\n---\n正文。', LeftOut.PRIVATE_USE),
        (FRONT + "字" * (MAX_BLOCK + 1), LeftOut.LONG_PARAGRAPH),
        (f"{FRONT}正文。\n\n" + "一行。\n" * MAX_BLOCK, LeftOut.LONG_PARAGRAPH),
        (FRONT + "\u200b\x00", LeftOut.NO_TEXT),
    ],
)
def test_a_text_that_can_be_no_window_leaves_its_article_out(text: str, reason: LeftOut) -> None:
    assert read_article("Food/甲.md", text.encode(), "") is reason


def test_what_is_cut_anyway_leaves_no_article_out() -> None:
    made = article(f"{FRONT}{'字' * MAX_BLOCK}\n\n## 參考資料\n\n{'出處' * MAX_BLOCK}\ue000")
    assert (len(made.text), made.faults) == (MAX_BLOCK, ())


def test_a_surrogate_in_the_bytes_is_no_utf8() -> None:
    assert read_article("Food/甲.md", FRONT.encode() + b"\xed\xa0\x80", "") is LeftOut.NOT_UTF8


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


def test_a_sign_within_a_line_is_no_quotation_mark() -> None:
    assert [block.text for block in clean("1+1>2 是口號。\n\n> > 引文 a > b\n\n<b>粗體</b>字")] == [
        "1+1>2 是口號。",
        "引文 a > b",
        "粗體字",
    ]


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
    for name in BAD_NAMES:
        (root / "knowledge/Food" / os.fsdecode(name)).write_text(FRONT + "正文。", encoding="utf-8")
    (root / "knowledge/Food/長.md").write_text(FRONT + "字" * (MAX_BLOCK + 1), encoding="utf-8")
    (root / "knowledge/Food/私.md").write_text(FRONT + "\ue000", encoding="utf-8")
    return root


BAD_NAMES = (
    b"\xff\xfe.md",
    b"a\nb.md",
    b"a\x1bb.md",
    "cafe\u0301.md".encode(),
    "a\u202eb.md".encode(),
    b"\xee\x80\x80.md",
)
"""No UTF-8, a line feed, ESC, not NFC, bidi, private use."""


EVERY_REASON = {
    LeftOut.LINK: 1,
    LeftOut.BAD_NAME: 6,
    LeftOut.HUB_PAGE: 1,
    LeftOut.SITE_PAGE: 1,
    LeftOut.STRAY_COPY: 1,
    LeftOut.OTHER_LANGUAGE: 2,
    LeftOut.MISPLACED: 1,
    LeftOut.TOO_LARGE: 1,
    LeftOut.NOT_UTF8: 1,
    LeftOut.NO_TEXT: 1,
    LeftOut.LONG_PARAGRAPH: 1,
    LeftOut.PRIVATE_USE: 1,
}


def test_every_file_is_an_article_or_counted(tmp_path: Path) -> None:
    corpus = read_folder(planted(tmp_path))
    assert [made.path for made in corpus.articles] == ["Art/乙.md", "Food/甲.md"]
    assert {reason: len(paths) for reason, paths in corpus.left_out.items()} == EVERY_REASON
    assert corpus.faults == {Fault.MISSING: ("Art/乙.md",)}
    # Every path can be written down, also that of a name that is no UTF-8.
    assert all(path.encode() for paths in corpus.left_out.values() for path in paths)


def test_without_a_stated_commit_the_corpus_names_its_state_and_an_article_its_own(tmp_path: Path) -> None:
    corpus = read_folder(planted(tmp_path))
    assert corpus.commit == state_of(tmp_path) and len(corpus.commit) == len("sha256:") + 64
    assert [made.commit for made in corpus.articles] == [f"sha256:{made.sha256}" for made in corpus.articles]
    (tmp_path / "knowledge/Food" / os.fsdecode(BAD_NAMES[0])).rename(tmp_path / "knowledge/Food/新.md")
    assert state_of(tmp_path) != corpus.commit
    stated = read_folder(tmp_path, "5459d7f6")
    assert {stated.commit, *(made.commit for made in stated.articles)} == {"5459d7f6"}


@pytest.mark.parametrize("stated", ["HEAD", "5459d7", "\x1b[2J5459d7f6", "5459D7F6", "5459d7f6\n"])
def test_a_stated_commit_that_is_none_is_refused(tmp_path: Path, stated: str) -> None:
    with pytest.raises(CorpusError, match="7 to 64 hex digits"):
        read_folder(planted(tmp_path), stated)


def test_a_file_that_may_not_be_read_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(tmp_path)
    opened = Path.open

    def refused(path: Path, *arguments: Any, **more: Any) -> Any:
        if path.name == "空.md":
            raise PermissionError(13, "Permission denied")
        return opened(path, *arguments, **more)

    monkeypatch.setattr(Path, "open", refused)
    assert read_folder(tmp_path).left_out[LeftOut.UNREADABLE] == ("Food/空.md",)


def test_a_folder_that_may_not_be_listed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many articles it hides nobody can count."""
    planted(tmp_path)
    listed = os.scandir

    def refused(place: Any) -> Any:
        if Path(place).name == "Art":
            raise PermissionError(13, "Permission denied", place)
        return listed(place)

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(CorpusError, match="Art: its files cannot be listed: Permission denied"):
        read_folder(tmp_path)


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
