"""Templates become pages: the environment, what templates can call, and the rules for every expression.

What belongs here: the bridge from Python to the templates. What does not: which pages there are (pages.py).
Every expression is escaped. A text that is not marked safe also loses its acting characters (text.visible); a float is
refused, so that no number reaches a page without a form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from opentwbench.board import text, words
from opentwbench.board.charts import Drawer
from opentwbench.board.studies import in_language
from opentwbench.board.words import Both
from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.terms import CHECKS, EXCLUSIONS, REJECTIONS
from opentwbench.exam.subjects import REGISTRY

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "object-src 'none'"
)
"""Content security policy of every page: its own stylesheet and script, nothing else; no inline script or style."""

FOREIGN = "zh-Hant-TW"
"""The language of item texts, names of examinations and subjects, whatever the page is in."""


NOTHING_TOLD = Both("", "")


class LinkError(ValueError):
    """An outside address of the site's settings that no page may link to."""


@dataclass(frozen=True, slots=True)
class Links:
    """Where the site points outside itself; '' for nowhere.

    `cards` holds {dataset}, `report` holds {item} and may hold {dataset}. Raises LinkError for another scheme than
    https or mailto.
    """

    cards: str = ""
    report: str = ""

    def __post_init__(self) -> None:
        """An address from a setting is looked at once."""
        for name, needs in (("cards", "{dataset}"), ("report", "{item}")):
            value = getattr(self, name)
            if value and not value.startswith(("https://", "mailto:")):
                raise LinkError(f"{name}: {excerpt(value)} begins with neither https:// nor mailto:")
            if value and needs not in value:
                raise LinkError(f"{name}: {excerpt(value)} does not hold {needs}")

    def card(self, dataset: str) -> str:
        """The address of a data set's card."""
        return self.cards.replace("{dataset}", quote(dataset, safe=""))

    def report_item(self, dataset: str, item_id: str) -> str:
        """The address where an item is reported, its id filled in."""
        return self.report.replace("{dataset}", quote(dataset, safe="")).replace("{item}", quote(item_id, safe=""))


LONG_CHART = 60
"""Marks of a chart that is tall: at 9 to 20 pixels a mark it fills a screen."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart of a page: the specification with placeholders for words, its name, and what it shows in words."""

    identity: str
    spec: Mapping[str, Any]
    title: Both
    description: Both
    labels: Mapping[str, Both] = field(default_factory=dict)
    """Placeholder in the specification -> what stands there. Pages of both languages share one drawing."""

    @property
    def is_long(self) -> bool:
        """Whether it is a tall drawing, by the rows of its inline data: a second of that kind is folded."""
        data = self.spec.get("data")
        values = data.get("values") if isinstance(data, Mapping) else None
        return isinstance(values, list) and len(values) > LONG_CHART


@dataclass(frozen=True, slots=True)
class Page:
    """One page, which is written in every language under the same name."""

    path: str
    """Under the folder of a language, e.g. 'subjects/tw-law-bench.html'."""
    template: str
    section: str
    """The entry of the navigation that it belongs to."""
    title: Both
    context: Mapping[str, Any]
    description: Both = NOTHING_TOLD

    @property
    def root(self) -> str:
        """The way from the page up to the folder of its language."""
        return "../" * self.path.count("/")


def finalize(value: object) -> object:
    """What an expression of a template may be."""
    if isinstance(value, Markup) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, str):
        return text.visible(value)
    raise TypeError(f"a page prints texts and counts, not {type(value).__name__}")


@cache
def environment() -> jinja2.Environment:
    """The templates of the site."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("opentwbench.board", "templates"),
        undefined=jinja2.StrictUndefined,
        finalize=finalize,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do"],
    )
    made.filters.update(
        pct=text.percent,
        points=text.points,
        count=text.count,
        decimal=text.decimal,
        p=text.p_value,
        params=text.size,
        day=text.day,
        short=text.shorten,
        attribute=attribute,
    )
    made.globals.update(
        bounds=text.bounds, name=outside, prose=prose, strip=strip, policy=POLICY, foreign=FOREIGN,
        languages=words.NAMES, nothing=text.NOTHING, item_path=item_path, model_path=model_path,
        subject_path=subject_path, study_path=study_path, size_class=words.size_class,
    )  # fmt: skip
    return made


class Renderer:
    """Renders pages in one language; charts come from a drawer that both languages share."""

    def __init__(self, lang: str, drawer: Drawer, site: Mapping[str, Any]) -> None:
        self.lang, self._drawer = lang, drawer
        self._common: dict[str, Any] = {
            "lang": lang,
            "language": words.LANGUAGES[lang],
            "other": next(each for each in words.LANGUAGES if each != lang),
            "other_language": next(value for key, value in words.LANGUAGES.items() if key != lang),
            "w": self.choose,
            "both": self.pick,
            "chart": self.chart,
            "word": self._vocabulary(),
            "subject": self.subject,
            "field": lambda name: words.word(words.FIELDS, name, lang),
            **site,
        }

    def render(self, page: Page) -> bytes:
        """The page as UTF-8 HTML."""
        made = (
            environment()
            .get_template(page.template)
            .render({**self._common, "page": page, "root": page.root, "title": self.pick(page.title), **page.context})
        )
        return made.encode("utf-8")

    def choose(self, zh: str, en: str) -> str:
        """One of two texts that a template holds; they are the project's own and may hold markup."""
        return Markup(zh if self.lang == "zh" else en)

    def pick(self, both: Any) -> str:
        """The text of a pair in this language, escaped like any other."""
        return str(both.zh if self.lang == "zh" else both.en)

    def chart(self, figure: Figure) -> Markup:
        """The drawing of a figure with its words in this language."""
        labels = {key: self.pick(value) for key, value in figure.labels.items()}
        return self._drawer.chart(
            in_language(figure.spec, self.lang),
            figure.identity,
            self.pick(figure.title),
            self.pick(figure.description),
            labels,
        )

    def subject(self, slug: str) -> Markup:
        """The name of a subject in this language; a slug or category that the registry does not know as it is."""
        found = REGISTRY.get(slug)
        if slug in words.DATA_SETS:
            return Markup(escape(self.pick(words.DATA_SETS[slug])))
        if found is None:
            return outside(slug)
        return Markup(escape(found.name_zh if self.lang == "zh" else found.name_en))

    def _vocabulary(self) -> Mapping[str, Callable[[str], str]]:
        tables: dict[str, dict[str, Both]] = {
            "benchmark": words.BENCHMARKS,
            "outcome": words.OUTCOMES,
            "error": words.ERRORS,
            "method": words.METHODS,
            "precision": words.PRECISIONS,
            "removal": words.REMOVALS,
            "standing": words.STANDINGS,
            "withdrawal": words.WITHDRAWALS,
            "scope": words.SCOPES,
            "exclusion": {key: Both(*value) for key, value in EXCLUSIONS.items()},
            "rejection": {key: Both(*value) for key, value in REJECTIONS.items()},
            "check": {key: Both(*value) for key, value in CHECKS.items()},
        }
        return {kind: self._speaker(table) for kind, table in tables.items()}

    def _speaker(self, table: dict[str, Both]) -> Callable[[str], str]:
        return lambda name: words.word(table, name, self.lang)


def outside(value: str, limit: int = text.SHORT) -> Markup:
    """A name from outside on one line: shortened, escaped, isolated so that its direction stays its own."""
    shown = text.shorten(text.visible(value).replace("\n", " "), limit)
    return Markup(f"<bdi>{escape(shown)}</bdi>")


def prose(value: str, lang: str = "", limit: int = text.LONG) -> Markup:
    """A text from outside with its line ends; one that is long is shown shortened, and whole where it is unfolded."""
    whole = text.visible(value)
    told = f' lang="{lang}"' if lang else ""
    if len(whole) <= limit:
        return Markup(f'<bdi class="prose"{told}>{escape(whole)}</bdi>')
    rest = text.shorten(whole, text.MAX_SHOWN)
    return Markup(
        f'<details class="long"><summary><bdi class="prose"{told}>{escape(text.shorten(whole, limit))}</bdi>'
        f' <span class="more">({len(whole):,})</span></summary><bdi class="prose"{told}>{escape(rest)}</bdi></details>'
    )


def attribute(value: object) -> str:
    """A value of a data attribute: '' for nothing, six places of a number, 1 and 0 for a flag."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    return f"{value:.6g}" if isinstance(value, float) else text.shorten(text.visible(str(value)), text.SHORT)


def strip(
    low: float | None,
    value: float | None,
    high: float | None,
    mark: float | None = None,
    domain: tuple[float, float] = (0.0, 1.0),
) -> Markup:
    """A small drawing of a share in its interval on a line from one share to another (`domain`), beside the figures
    that say the same; `mark` is a second tick, for what is usual."""
    if low is None or value is None or high is None:
        return Markup("")
    start, width = domain[0], domain[1] - domain[0]

    def place(share: float) -> str:
        return f"{min(100.0, max(0.0, 100 * (share - start) / width)):.1f}"

    typical = "" if mark is None else f'<path d="M{place(mark)} 0v12" class="m"/>'
    return Markup(
        '<svg class="iv" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">'
        f'<path d="M0 6h100" class="b"/>{typical}<path d="M{place(low)} 6H{place(high)}" class="i"/>'
        f'<path d="M{place(value)} 2v8" class="p"/></svg>'
    )


def item_path(item_id: str) -> str:
    """Where the page of an item stands, in one of 256 folders: a folder of 23,717 files is slow to list."""
    name = text.item_file(item_id)
    return f"items/{text.slug(item_id)[-2:]}/{name}.html"


def model_path(model: str) -> str:
    """Where the page of a model stands."""
    return f"models/{text.slug(model)}.html"


def subject_path(subject: str) -> str:
    """Where the page of a subject stands."""
    return f"subjects/{subject if subject in REGISTRY else text.slug(subject)}.html"


def study_path(study_id: str) -> str:
    """Where the page of a study stands."""
    return f"apparatus/{text.slug(study_id)}.html"
