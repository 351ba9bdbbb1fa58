"""The audit of a written site: quiet on a whole one, and each planted fault named."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest

from opentwbench.board.audit import MOST_OF_A_KIND, MOST_PAGE_BYTES, audit
from opentwbench.board.rendering import POLICY
from opentwbench.board.site import RECORD, SUMS, Written, whole
from opentwbench.dataset.manifest import sha256

PAGE = (
    '<!DOCTYPE html><html lang="{lang}"><head><meta charset="utf-8">'
    f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    '<title>t</title><link rel="stylesheet" href="../static/board.css"><script src="../static/board.js"></script>'
    "</head>"
    '<body><h1 id="top">t</h1><a href="other.html#top">o</a>{more}</body></html>'
)


def site(folder: Path, more: str = "", lang: str = "zh-Hant-TW") -> Path:
    """Two pages in both languages; `more` stands in one of them."""
    for place, language in (("zh", lang), ("en", "en")):
        (folder / place).mkdir(parents=True)
        for name in ("index.html", "other.html"):
            added = more if (place, name) == ("zh", "index.html") else ""
            page = PAGE.replace("{lang}", language).replace("{more}", added)
            (folder / place / name).write_text(page, encoding="utf-8")
    (folder / "static").mkdir()
    (folder / "static" / "board.css").write_text("")
    (folder / "static" / "board.js").write_text("")
    return folder


def test_a_whole_site_is_whole(tmp_path: Path) -> None:
    found = audit(site(tmp_path / "site"))
    assert (found.pages, found.count, found.whole) == (4, 0, True)
    assert found.links == 12


def test_an_empty_folder_is_not_whole(tmp_path: Path) -> None:
    assert not audit(tmp_path).whole


@pytest.mark.parametrize(
    ("planted", "words"),
    [
        ('<a href="gone.html">x</a>', "gone.html is not there"),
        ('<a href="other.html#nowhere">x</a>', "has no place nowhere"),
        ('<a href="../../etc/passwd">x</a>', "is not there"),
        ('<a href="javascript:alert(1)">x</a>', "a link to javascript:"),
        ('<img src="https://example.org/x.png">', "<img> fetches"),
        ("<script>alert(1)</script>", "a script inside the page"),
        ('<p onclick="x()">x</p>', "<p> holds onclick"),
        ('<p style="color:red">x</p>', "<p> holds style"),
        ('<iframe src="other.html"></iframe>', "<iframe> inside the page"),
        ("<h1>again</h1>", "2 headings of the first level"),
        ('<p id="top">x</p>', "stands twice"),
        ('<a href="http://[">x</a>', "which cannot be read"),
        ('<a href="//\u2100.example.org">x</a>', "which cannot be read"),
        (f'<a href="&#{"9" * 5_000};">x</a>', "which cannot be read"),
        ('<img src="http://[">', "which cannot be read"),
        ('<a href="%00">x</a>', "is not there"),
        ('<a href="x\0">x</a>', "is not there"),
    ],
)
def test_a_planted_fault_is_named_with_its_page(tmp_path: Path, planted: str, words: str) -> None:
    found = audit(site(tmp_path / "site", planted))
    assert found.count == 1
    assert found.problems[0].startswith("zh/index.html: ") and words in found.problems[0]


def test_a_page_of_one_language_or_without_its_language_is_named(tmp_path: Path) -> None:
    folder = site(tmp_path / "site", lang="xx")
    (folder / "en" / "index.html").unlink()
    found = audit(folder).problems
    assert any("has no counterpart in en" in each for each in found)
    assert any("no language" in each for each in found)


@pytest.mark.parametrize(
    ("more", "count"),
    [
        ("<div>" * 50_000, 0),
        ("\0" * 1_000, 0),
        ("<a " * 100_000, 0),
        ('<a href="' * 20_000, 0),
        ("<" * 500_000, 0),
        ("x" * MOST_PAGE_BYTES, 1),
        ('<a href="http://[">x</a>' * 1_000, 1_000),
    ],
    ids=["nested", "nul", "open tags", "open values", "angles", "huge", "many"],
)
def test_a_hostile_page_is_read_to_its_end_or_named(tmp_path: Path, more: str, count: int) -> None:
    found = audit(site(tmp_path / "site", more))
    assert (found.pages, found.count) == (4, count)
    assert len(found.problems) == min(count, MOST_OF_A_KIND)


def test_bytes_that_are_no_text_and_names_that_are_none_are_named(tmp_path: Path) -> None:
    folder = site(tmp_path / "site")
    (folder / "zh" / "index.html").write_bytes((folder / "zh" / "index.html").read_bytes() + b"\xff\xfe")
    (folder / "en" / "loop.html").symlink_to("loop.html")
    (folder / "en" / "\udcff\n.html").write_text("x")
    found = audit(folder)
    assert "zh/index.html: is not UTF-8" in found.problems
    assert found.pages == 5 and not found.whole
    assert all(each.isprintable() and each.encode() for each in found.problems)


def test_every_kind_of_problem_is_named_however_many_there_are_of_another(tmp_path: Path) -> None:
    folder = site(tmp_path / "site", '<a href="gone.html">x</a>' * 300 + "<iframe></iframe>")
    found = audit(folder, [("en/index.html", "is not as it was written")])
    assert found.count == 302
    assert found.problems[0] == "en/index.html: is not as it was written"
    assert found.problems.count("zh/index.html: gone.html is not there") == MOST_OF_A_KIND
    assert "zh/index.html: <iframe> inside the page" in found.problems


def test_an_edited_score_is_named_before_the_links_to_a_page_that_is_gone(tmp_path: Path) -> None:
    folder = site(tmp_path / "site", '<a href="../en/other.html">x</a>' * 300)
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    sums = "".join(f"{sha256((folder / name).read_bytes())}  {name}\n" for name in names)
    (folder / SUMS).write_text(sums)
    record = asdict(Written("m", 4, 0, 0, 0, 0, sha256(sums.encode())))
    (folder / RECORD).write_text(json.dumps(record))
    assert whole(folder).problems == []
    (folder / "en" / "other.html").unlink()
    (folder / "en" / "index.html").write_text((folder / "en" / "index.html").read_text() + "99.9")
    found = whole(folder)
    assert found.problems[:2] == ["en/other.html: is not there", "en/index.html: is not as it was written"]
    assert found.count == 2 + 300 + 1 + 1, "two files, the links, that of the page itself, its counterpart"
    os.mkfifo(folder / "en" / "other.html")
    assert "en/other.html: is not as it was written" in whole(folder).problems
    (folder / RECORD).write_text("[" * 100_000)
    assert whole(folder).problems[0] == f"{SUMS}: is not the one that the site was written with"
