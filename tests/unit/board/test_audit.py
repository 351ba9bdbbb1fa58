"""The audit of a written site: quiet on a whole one, and each planted fault named."""

from __future__ import annotations

from pathlib import Path

import pytest

from opentwbench.board.audit import audit
from opentwbench.board.rendering import POLICY

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
