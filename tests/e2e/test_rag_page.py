"""The retrieval page in a browser: no accessibility rule broken, nothing fetched, no overflow on a small screen."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.axe import cached
from support.rag_board import render, tables

import opentwbench.board

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

pytestmark = [pytest.mark.slow, pytest.mark.browser]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(Path(opentwbench.board.__file__).with_name("static"), folder / "static")
    for lang in ("zh", "en"):
        (folder / lang).mkdir()
        (folder / lang / "rag.html").write_text(render(tables(model="maker/" + "long-name-" * 12), lang), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("lang", "width", "theme"), [("zh", 1440, "light"), ("en", 1440, "dark"), ("zh", 320, "light")]
)
def test_the_page_is_sound(chromium: Any, site: Path, lang: str, width: int, theme: str) -> None:
    if not cached().is_file():
        pytest.skip("axe-core is not in the cache (make axe)")
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, bypass_csp=True)
    page, noise, asked = context.new_page(), [], []
    page.on("console", lambda message: noise.append(message.text))
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / lang / "rag.html").as_uri())
    assert page.locator("table caption").count() == 5 and page.locator("figure svg.chart").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert noise == [] and all(
        url.startswith("file://") for url in asked
    )  # before axe, which reads the stylesheet itself
    page.add_script_tag(path=str(cached()))
    options = {"runOnly": {"type": "tag", "values": RULES}}
    found = page.evaluate(f"axe.run(document, {json.dumps(options)})")
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]] == []
    context.close()
