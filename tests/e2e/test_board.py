"""The public board in Chromium: an invented mart with hostile names, rendered, opened from a folder and used.

axe-core is fetched by `make axe`; its test skips, saying so, where it is absent. With OTB_SCREENSHOTS=FOLDER the
pictures are kept there.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, example, given, seed, settings
from support.axe import cached
from support.board_addresses import BEFORE, EXAMPLES, NAMES, SEED, addresses, look, tried
from support.board_mart import HOSTILE, Size, fill_board, study_payload

from opentwbench.apparatus import figures
from opentwbench.apparatus.result import Both as StudyText
from opentwbench.apparatus.result import Study, Table, payload
from opentwbench.board.audit import audit
from opentwbench.board.site import SiteError, Written, build_site
from opentwbench.board.studies import SHOWN_ROWS
from opentwbench.evaluation.warehouse import write_table
from resources.warehouse import Warehouse

FIRST_PAGE_BYTES = 300_000
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

pytestmark = pytest.mark.slow
browser = pytest.mark.browser


@dataclass(frozen=True)
class Board:
    folder: Path
    warehouse: Path
    written: Written


def long_study() -> Study:
    """What 110 models give: a table of 500 rows, and every kind of chart with long names, Chinese ones too."""
    names = [f"maker/{word * 6}{n} (16384, native)" for n in range(40) for word in ("model-", "模型")]
    rows = tuple((names[n % 80], float(n % 97), float(n % 41 - 20)) for n in range(500))
    columns = (figures.MODEL, figures.ACCURACY, figures.POINTS)
    name, axis = StudyText("長", "Long"), StudyText("正確率 (%)，以最長的名稱為準", "accuracy (%), " + "long " * 12)
    marks = [{"name": name, "value": 50 + n % 9, "low": 40, "high": 70, "series": ("長的系列名稱", "one series")[n % 2]}
             for n, name in enumerate(names)]  # fmt: skip
    points = [{"name": each["name"], "x": n, "y": n % 7, "series": each["series"]} for n, each in enumerate(marks)]
    charts = (
        figures.range_chart(name, marks, axis), figures.range_chart(name, marks, axis, name),
        figures.bar_chart(name, marks, axis), figures.bar_chart(name, marks, axis, name),
        figures.scatter(name, points, axis, figures.benchmark_name("exam"), name),
    )  # fmt: skip
    return Study("noise_floor", name, name, name, name, 500, tables=(Table(name, columns, rows),), charts=charts)


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Board:
    place = tmp_path_factory.mktemp("board")
    house = Warehouse(place / "warehouse")
    fill_board(house.raw, Size(), hostile=True)
    studies = {"extraction": study_payload(), "noise_floor": payload(long_study())}
    write_table(house.raw, "apparatus_studies", [{"study_id": n, "payload": text} for n, text in studies.items()])
    house.build()
    return Board(place / "site", house.folder, build_site(house.folder, place / "site"))


@dataclass
class Opened:
    """A page, and what it said on its console or asked of the network."""

    page: Any
    noise: list[str]
    requests: list[str]
    folder: str


@pytest.fixture
def visit(chromium: Any, board: Board) -> Iterator[Any]:
    contexts = []

    def go(path: str, width: int = 1440, theme: str = "light", script: str = "", **more: Any) -> Opened:
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, **more)
        contexts.append(context)
        opened = Opened(context.new_page(), [], [], f"file://{board.folder}/")
        opened.page.on("console", lambda message: opened.noise.append(message.text))
        opened.page.on("pageerror", lambda error: opened.noise.append(str(error)))
        opened.page.on("dialog", lambda dialog: (opened.noise.append("a dialog"), dialog.dismiss()))
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        if script:
            opened.page.route("**/board.js", lambda route: route.fulfill(body=script, content_type="text/javascript"))
        opened.page.add_init_script(BEFORE)
        opened.page.goto(f"file://{board.folder}/{path}")
        return opened

    yield go
    for context in contexts:
        context.close()


def some_pages(board: Board) -> list[str]:
    """Every kind of page, in one language or the other."""
    fixed = [f"en/{name}.html" for name in ("index", "benchmarks", "subjects", "methodology", "changes", "cite")]
    kinds = ("models", "subjects", "items", "apparatus")
    found = [sorted((board.folder / "zh" / kind).rglob("*.html"))[0] for kind in kinds]
    return ["zh/index.html", *fixed, "zh/apparatus.html", *(str(path.relative_to(board.folder)) for path in found)]


# ---- the files ------------------------------------------------------------------------------------------------------


def test_the_site_is_whole_in_both_languages(board: Board) -> None:
    found = audit(board.folder)
    assert found.problems == []
    assert found.whole and found.pages == board.written.pages
    assert board.written.items >= 480
    assert board.written.first_page_bytes < FIRST_PAGE_BYTES


def test_names_and_texts_from_outside_do_no_harm(board: Board) -> None:
    names = [path.relative_to(board.folder).as_posix() for path in board.folder.rglob("*")]
    assert all(re.fullmatch(r"[A-Za-z0-9._/-]{1,160}", name) for name in names)
    seen = 0
    for path in board.folder.rglob("*.html"):
        html = path.read_text(encoding="utf-8")
        assert "<script>alert" not in html and 'href="javascript:' not in html and "<img" not in html
        assert "\u202e" not in html and "\u2067" not in html
        seen += "&lt;script&gt;alert" in html
    assert seen >= 4
    assert len(HOSTILE[-1]) > 10_000
    assert max(path.stat().st_size for path in board.folder.rglob("*.html")) < FIRST_PAGE_BYTES


def test_the_same_mart_gives_the_same_bytes_and_no_other_folder_is_replaced(board: Board, tmp_path: Path) -> None:
    again = build_site(board.warehouse, tmp_path / "again")
    assert again == board.written
    for path in board.folder.rglob("*"):
        if path.is_file():
            assert (tmp_path / "again" / path.relative_to(board.folder)).read_bytes() == path.read_bytes()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    with pytest.raises(SiteError, match="holds something else"):
        build_site(board.warehouse, tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "mine"


# ---- in the browser -------------------------------------------------------------------------------------------------


@browser
def test_no_page_complains_acts_or_asks_another_site(board: Board, visit: Any) -> None:
    for path in some_pages(board):
        opened = visit(path)
        assert opened.noise == [], path
        assert all(url.startswith(("file://", "blob:", "data:")) for url in opened.requests), path


@browser
@pytest.mark.parametrize("width", [360, 768, 1440])
def test_no_page_is_wider_than_the_screen(board: Board, visit: Any, width: int, tmp_path: Path) -> None:
    pictures = Path(os.environ.get("OTB_SCREENSHOTS", str(tmp_path)))
    for path in some_pages(board):
        page = visit(path, width).page
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        page.screenshot(path=pictures / f"board-{path.replace('/', '-')[:60]}-{width}.png")


CUT = """() => [...document.querySelectorAll('svg.chart')].flatMap(svg => {
  const box = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text:not([opacity="0"])')]
    .map(text => [text.textContent, text.getBoundingClientRect()])
    .filter(([words, of]) => words.trim() && (of.left < box.left - 0.5 || of.right > box.right + 0.5 ||
      of.top < box.top - 0.5 || of.bottom > box.bottom + 0.5)).map(([words]) => words);
})"""
"""Labels whose box does not lie inside the box of their drawing."""


@browser
@pytest.mark.parametrize("width", [360, 1440])
def test_no_label_of_a_chart_is_cut(board: Board, visit: Any, width: int) -> None:
    paths = [path for path in sorted(board.folder.rglob("*.html")) if '<svg class="chart"' in path.read_text("utf-8")]
    kinds = {path.relative_to(board.folder).parts[1] for path in paths}
    assert kinds >= {"index.html", "apparatus", "models", "subjects"}
    chosen = [path for path in paths if path.parent.name == "apparatus" or path.name == "index.html"]
    chosen += [next(path for path in paths if path.parent.name == kind) for kind in ("models", "subjects")]
    labels = 0
    for path in chosen:
        page = visit(path.relative_to(board.folder).as_posix(), width).page
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        assert page.evaluate(CUT) == [], path
        labels += page.evaluate("document.querySelectorAll('svg.chart text').length")
    assert labels > 800


@browser
def test_a_cut_label_is_seen(board: Board, visit: Any) -> None:
    page = visit("en/index.html").page
    assert page.evaluate(CUT) == []
    page.evaluate("document.querySelector('svg.chart text').setAttribute('transform', 'translate(-900, 0)')")
    assert len(page.evaluate(CUT)) == 1


@browser
def test_a_chart_and_a_table_that_go_on_sideways_say_so(board: Board, visit: Any) -> None:
    path = next((board.folder / "zh" / "apparatus").glob("extraction*.html")).relative_to(board.folder).as_posix()
    narrow, wide = visit(path, 360).page, visit(path, 1440).page
    hint = "figure:has(svg.chart) .hint >> nth=0"
    assert narrow.is_visible(hint) and not wide.is_visible(hint)
    assert narrow.evaluate("(x => x.scrollWidth > x.clientWidth)(document.querySelector('.draw'))")
    shade = "getComputedStyle(document.querySelector('main .scroll')).backgroundImage.split('gradient').length - 1"
    assert narrow.evaluate(shade) == 4
    tall = "[...document.querySelectorAll('.figures thead tr')].map(each => each.offsetHeight)"
    heights = narrow.evaluate(tall)
    assert heights and max(heights) < 90, "a heading of a letter a line leaves 100 pixels of blank"


TALLEST = 12_000
"""Pixels of a page with a table of 500 rows and five charts of 80 marks; unfolded they were 33,000."""


@browser
@pytest.mark.parametrize("width", [360, 1440])
def test_a_long_study_is_short_until_it_is_unfolded(board: Board, visit: Any, width: int) -> None:
    path = next((board.folder / "en" / "apparatus").glob("noise-floor*.html")).relative_to(board.folder).as_posix()
    page = visit(path, width, java_script_enabled=False).page
    heading = page.locator("details", has_text="The whole table, 500 rows")
    assert page.locator("html").bounding_box()["height"] < TALLEST
    assert page.locator("main table >> visible=true").locator("tbody tr").count() == SHOWN_ROWS
    heading.locator("summary").first.click()
    assert heading.locator("tbody tr").count() == 500 and heading.locator("tbody tr").first.is_visible()
    assert page.locator("html").bounding_box()["height"] < TALLEST + 1_000, "the whole table scrolls by itself"


@browser
def test_a_folded_table_is_sorted_and_printed_as_a_whole(board: Board, visit: Any) -> None:
    path = next((board.folder / "en" / "apparatus").glob("noise-floor*.html")).relative_to(board.folder).as_posix()
    page = visit(path).page
    page.click("details:has(table) > summary")
    page.click("#table-1 th[data-key=points] button")
    moved = page.evaluate(
        "[...document.querySelectorAll('#table-1 tbody tr')].map(row => Number(row.cells[2].dataset.v))"
    )
    assert len(moved) == 500 and moved == sorted(moved, reverse=True)
    page.emulate_media(media="print")
    inside = page.evaluate("(x => [x.scrollHeight, x.clientHeight])(document.querySelector('.scroll.tall'))")
    assert inside[0] <= inside[1] + 1, "nothing of it is cut on paper"


def models(page: Any) -> list[str]:
    """The names in the order shown."""
    shown = "[...document.querySelectorAll('#board tbody tr:not([hidden]) th')].map(x => x.dataset.v)"
    found: list[str] = page.evaluate(shown)
    return found


@browser
def test_sorting_filtering_and_comparing(visit: Any) -> None:
    page = visit("en/index.html").page
    ranked = models(page)
    assert len(ranked) == 12
    page.click("th[data-key=model] button")
    ordered = models(page)
    assert ordered != ranked and sorted(ordered) == sorted(ranked)
    assert page.get_attribute("th[data-key=model]", "aria-sort") == "ascending"
    page.click("th[data-key=accuracy] button")
    scores = page.evaluate("[...document.querySelectorAll('#board tbody td.s')].map(each => Number(each.dataset.v))")
    assert scores == sorted(scores, reverse=True) and len(set(scores)) > 6
    page.check("input[name=open]")
    kept = models(page)
    assert 0 < len(kept) < 12
    assert f"{len(kept)} of 12 shown" in page.inner_text("#status")
    page.uncheck("input[name=open]")
    for box in page.query_selector_all(".pick input")[:6]:
        box.click()
    assert len(page.query_selector_all(".pick input:checked")) == 5
    assert page.is_visible("#compare")
    assert len(page.query_selector_all("#compare thead th")) == 5
    page.fill("input[name=q]", "no such model")
    assert models(page) == []


@browser
def test_the_address_is_hostile_and_the_state_goes_along(visit: Any) -> None:
    opened = visit("en/index.html#sort=<img src=x>.down&family=%3Cscript%3E&q=%E0%A4%A&compare=../..&open=7")
    assert len(models(opened.page)) == 12 and opened.noise == []
    opened.page.check("input[name=open]")
    kept = models(opened.page)
    opened.page.click("#language")
    opened.page.wait_for_load_state()
    assert "/zh/index.html#" in opened.page.url
    assert opened.page.get_attribute("html", "lang") == "zh-Hant-TW"
    assert models(opened.page) == kept


@browser
def test_a_hash_that_names_no_order_restores_the_written_one(visit: Any) -> None:
    page = visit("en/index.html#sort=model.up").page
    ranked = models(visit("en/index.html").page)
    assert models(page) != ranked
    page.evaluate("location.hash = ''")
    page.wait_for_function("document.querySelector('th[data-key=accuracy]').getAttribute('aria-sort') === 'descending'")
    assert models(page) == ranked
    assert page.get_attribute("th[data-key=model]", "aria-sort") is None
    page.evaluate("location.hash = 'sort=model.up'")
    page.wait_for_function("document.querySelector('th[data-key=model]').hasAttribute('aria-sort')")
    page.evaluate("location.hash = 'open=1'")
    page.wait_for_function("document.querySelector('th[data-key=accuracy]').hasAttribute('aria-sort')")
    assert models(page) == [name for name in ranked if name in set(models(page))] and len(models(page)) < len(ranked)


@browser
def test_theme_is_kept_and_downloads_hold_what_is_shown(visit: Any) -> None:
    page = visit("en/index.html").page
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.select_option("#theme", "dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark != light
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    page.check("input[name=open]")
    with page.expect_download() as started:
        page.click("button[data-save=json]")
    rows = json.loads(Path(started.value.path()).read_text(encoding="utf-8"))
    assert [row["model"] for row in rows] == models(page)
    assert {"accuracy", "accuracy_low", "accuracy_high", "parse_rate"} <= set(rows[0])
    assert started.value.suggested_filename == "opentwbench-exam_sample-box.json"
    told = {"benchmark": "exam_sample", "protocol_name": "box", "ranked_by": "strict", "open_weights": 1}
    assert all({key: row[key] for key in told} == told for row in rows)
    sized = {row["model"]: row["parameters_b"] for row in rows}
    chips = "[...document.querySelectorAll('#board tbody tr:not([hidden]) .chips')].map(each => each.innerText)"
    assert all(isinstance(size, int | float) for size in sized.values() if size is not None)
    for row, shown in zip(rows, page.evaluate(chips), strict=True):
        assert all(word in shown for word in (row["licence"], row["annotations"]) if word and len(word) < 20)
        assert ("Taiwan-tuned" in shown) == (row["taiwan_tuned"] == 1)
        assert (row["parameters_b"] is not None) == bool(re.search(r"\d[MBT]\b", shown))
    page.uncheck("input[name=open]")
    with page.expect_download() as started:
        page.click("button[data-save=csv]")
    text = Path(started.value.path()).read_text(encoding="utf-8")
    assert '"\'=HYPERLINK(1)"' in text and not re.search(r'(^|,)"?=', text, re.MULTILINE)


@browser
def test_the_keyboard_alone_is_enough(visit: Any) -> None:
    page = visit("en/index.html").page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('th') && document.activeElement.closest('th').dataset.key"):
            break
    key = page.evaluate("document.activeElement.closest('th').dataset.key")
    page.keyboard.press("Enter")
    assert page.get_attribute(f"th[data-key={key}]", "aria-sort") in ("ascending", "descending")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"


@browser
def test_without_its_script_the_board_is_complete(visit: Any) -> None:
    page = visit("zh/index.html", java_script_enabled=False).page
    assert len(page.query_selector_all("#board tbody tr")) == 12
    assert not page.is_visible("#filters")
    page.click("#language")
    assert "/en/index.html" in page.url


@browser
@pytest.mark.parametrize(("width", "theme"), [(360, "dark"), (1440, "light"), (1440, "dark"), (360, "light")])
def test_axe_finds_no_violation(board: Board, visit: Any, width: int, theme: str) -> None:
    if not cached().is_file():
        pytest.skip("axe-core is not in the cache (make axe)")
    script = cached().read_text(encoding="utf-8")
    options = {"runOnly": {"type": "tag", "values": RULES}, "rules": {"target-size": {"enabled": True}}}
    for path in some_pages(board):
        page = visit(path, width, theme, reduced_motion="reduce", bypass_csp=True).page
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        page.evaluate(script)
        found = page.evaluate(f"axe.run(document, {json.dumps(options)})")
        assert len(found["passes"]) > 10
        named = [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]]
        assert named == [], path


# ---- WCAG 2.2 AA where axe sees nothing; docs/board.md has the list and what was found -------------------------------

KEPT_IN = ".scroll, .draw, pre"
"""What may scroll sideways by itself: tables, charts and quoted prompts need two dimensions (1.4.10)."""

SPACED = (
    "* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important }"
    "p { margin-bottom: 2em !important }"
)
"""The overrides of 1.4.12."""

CLIPPED = """() => [...document.querySelectorAll('main *, header *')].filter(each => {
  const style = getComputedStyle(each);
  return style.overflowX === 'hidden' && each.scrollWidth > each.clientWidth + 1 || style.textOverflow === 'ellipsis';
}).map(each => each.outerHTML.slice(0, 120))"""


@browser
@pytest.mark.parametrize(("width", "root"), [(320, "100%"), (720, "100%"), (1280, "200%")])
def test_text_reflows_at_320_px_and_at_twice_its_size(board: Board, visit: Any, width: int, root: str) -> None:
    for path in some_pages(board):
        page = visit(path, width, bypass_csp=True).page
        page.add_style_tag(content=f"html {{ font-size: {root} }}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate(CLIPPED) == [], path


@browser
def test_text_spacing_may_be_widened(board: Board, visit: Any) -> None:
    for path in some_pages(board):
        page = visit(path, 360, bypass_csp=True).page
        page.add_style_tag(content=SPACED)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        assert page.evaluate(CLIPPED) == [], path


@browser
def test_headings_are_nested_and_foreign_texts_say_their_language(board: Board, visit: Any) -> None:
    for path in some_pages(board):
        page = visit(path).page
        levels = page.evaluate(
            "[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(each => Number(each.tagName[1]))"
        )
        assert levels[0] == 1 and levels.count(1) == 1, path
        assert all(after - before <= 1 for before, after in pairwise(levels)), path
    # Names of models and families are proper names, whose language need not be said (3.1.2).
    for path in (each for each in some_pages(board) if each.startswith("en/")):
        page = visit(path).page
        unsaid = page.evaluate(
            """() => { const found = []; const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            while (walk.nextNode()) { const node = walk.currentNode;
              if (/[\\u4e00-\\u9fff]/.test(node.data) && !node.parentElement.closest('bdi, [lang^="zh"], option, svg'))
                found.push(node.data.trim().slice(0, 60)); }
            return found.filter(Boolean); }"""
        )
        assert unsaid == [], path


@browser
def test_targets_are_24_px_or_inside_a_sentence(board: Board, visit: Any) -> None:
    for path in some_pages(board):
        small = visit(path, 360).page.evaluate(
            """() => [...document.querySelectorAll('button, select, input, summary, nav a, td a, th a, .report')]
            .filter(each => each.offsetParent && !each.closest('.skip'))
            .map(each => [each.getBoundingClientRect(), each]).filter(([box]) => box.height < 24 || box.width < 20)
            .map(([box, each]) => each.outerHTML.slice(0, 90) + ' ' + box.width + 'x' + box.height)"""
        )
        assert small == [], path


@browser
def test_the_keyboard_goes_through_in_order_and_out_again_and_always_shows_where(visit: Any) -> None:
    page = visit("en/index.html").page
    seen: list[float] = []
    for _ in range(200):
        page.keyboard.press("Tab")
        at = page.evaluate(
            """() => { const each = document.activeElement; if (each === document.body) return null;
            const box = each.getBoundingClientRect(), style = getComputedStyle(each);
            const over = document.elementFromPoint(
              Math.max(0, Math.min(innerWidth - 1, box.x + box.width / 2)), Math.max(0, box.y + box.height / 2));
            return {place: [...document.querySelectorAll('*')].indexOf(each), outline: style.outlineStyle,
              free: !over || each.contains(over) || over.contains(each), html: each.outerHTML.slice(0, 80)}; }"""
        )
        if at is None:
            break
        assert at["outline"] != "none" and at["free"], at["html"]
        seen.append(at["place"])
    else:
        raise AssertionError("the keyboard never leaves the page")
    assert len(seen) > 20 and seen == sorted(seen)


@browser
def test_nothing_moves_sticks_or_needs_a_drag(board: Board, visit: Any) -> None:
    for path in some_pages(board):
        page = visit(path, reduced_motion="reduce").page
        moving = page.evaluate(
            """() => [...document.querySelectorAll('*')].filter(each => { const style = getComputedStyle(each);
            return style.animationName !== 'none' || parseFloat(style.transitionDuration) > 0 ||
              ['fixed', 'sticky'].includes(style.position) || each.draggable && !['A', 'IMG'].includes(each.tagName) ||
              each.hasAttribute('title'); }).map(each => each.outerHTML.slice(0, 80))"""
        )
        assert moving == [], path
        assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"


@browser
def test_on_paper_and_in_forced_colours(visit: Any, tmp_path: Path) -> None:
    pictures = Path(os.environ.get("OTB_SCREENSHOTS", str(tmp_path)))
    page = visit("en/index.html", theme="dark").page
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.is_visible("header nav") and not page.is_visible("#filters")
    assert page.evaluate("getComputedStyle(document.querySelector('.scroll')).overflowX") == "visible"
    page.screenshot(path=pictures / "board-print.png")
    page = visit("en/index.html", forced_colors="active").page
    stroke = "getComputedStyle(document.querySelector('.iv .i')).stroke"
    ink = "getComputedStyle(document.body).color"
    assert page.evaluate(stroke) == page.evaluate(ink)
    page.screenshot(path=pictures / "board-forced-colours.png")


# ---- the address: anybody can send a link to the board --------------------------------------------------------------


def try_addresses(opened: Opened, examples: int, phases: Sequence[Phase] = tuple(Phase)) -> Counter[str]:
    """Go to drawn hashes in one open page and judge it after each; what they brought about, by count."""
    there = look(opened.page)
    done: Counter[str] = Counter()

    @seed(SEED)
    @settings(tried, max_examples=examples, phases=phases)
    @given(addresses(there.evaluate("there => there.known")))
    @example("q=a" + "\U0001f600" * 40)  # found: cut at 60, it ends in half a character
    def one(address: str) -> None:
        found = there.evaluate("(there, address) => there.open(address)", address)
        assert found["wrong"] + opened.noise == [], address
        done.update(addresses=1, **found["did"])

    one()
    opened.page.wait_for_timeout(100)  # what an address asked of the network is heard a little later
    assert opened.noise == [] and all(url.startswith(opened.folder) for url in opened.requests)
    return done


@browser
@pytest.mark.timeout(7_200)  # `make fuzz` asks for as many as it likes
@pytest.mark.parametrize("lang", ["zh", "en"])
def test_no_hash_makes_the_board_do_anything_but_sort_filter_and_compare(visit: Any, lang: str) -> None:
    done = try_addresses(visit(f"{lang}/index.html"), EXAMPLES // 2)
    assert done["addresses"] >= EXAMPLES // 2
    # They get as far as the rows: a test of what is passed over alone would hold for any script.
    assert min(done[each] for each in ("shown", "filtered", "sorted", "compared")) > 0, done


@browser
@pytest.mark.timeout(7_200)  # `make fuzz` asks for as many as it likes
@pytest.mark.parametrize("path", ["en/index.html", "zh/apparatus/{study}", "en/subjects.html"])
def test_a_page_opened_with_a_hostile_query_and_hash_is_the_same_page(board: Board, visit: Any, path: str) -> None:
    study = next((board.folder / "zh" / "apparatus").glob("noise-floor*.html")).name
    opened = visit(path.format(study=study))
    page, start = opened.page, opened.page.url
    there = look(page)
    clean, known = there.get_property("clean").json_value(), there.evaluate("there => there.known")
    drawn = addresses(known or {name: ["1"] for name in NAMES})

    @seed(SEED)
    @settings(tried, max_examples=max(4, EXAMPLES // 50))
    @given(drawn, drawn)
    def one(query: str, hashed: str) -> None:
        page.goto("about:blank")
        page.goto(f"{start}?{query.replace('#', '%23')}#{hashed}")
        found = look(page).evaluate("(there, clean) => there.state(clean)", clean)
        assert found["wrong"] + opened.noise == [], (query, hashed)

    one()
    assert all(url.startswith((opened.folder, "about:blank")) for url in opened.requests)


WITHOUT = {
    "any text is decoded": ("try { found[part", "{ found[part", " catch (error) { /* no text */ }", ""),
    "an id that is no row": ("every.indexOf(id) === n && !!rowOf(id)", "every.indexOf(id) === n"),
    "any length": ("(given.q || '').slice(0, 60)", "(given.q || '')"),
    "text as markup": ("status.textContent = status", "status.innerHTML = form.elements.q.value + status"),
    "any name": ("found[part.slice(0, cut)] =", "Object.prototype[part.slice(0, cut)] ="),
}
"""Checks of the script, and the script without each: what stands there, what takes its place, in pairs."""


@browser
@pytest.mark.parametrize("check", WITHOUT)
def test_a_script_without_one_of_its_checks_is_caught(board: Board, visit: Any, check: str) -> None:
    script, pairs = (board.folder / "static" / "board.js").read_text(encoding="utf-8"), WITHOUT[check]
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in script, old
        script = script.replace(old, new, 1)
    opened = visit("en/index.html", script=script)
    with pytest.raises(AssertionError):
        try_addresses(opened, 300, [Phase.generate])
