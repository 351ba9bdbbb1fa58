"""The windows of a corpus under our rules and under those that give the figures stated for the snapshot.

    python -m bench.formosa_windows --corpus FOLDER

2,468 windows of median 1,118 are stated for Taiwan.md at 5459d7f6, with rules in words and no code. `stated` is the
construction that gives exactly these figures. It differs from ours (`windows.cut`) in six points, each printed with
what it alone changes; docs/formosa.md says why ours stays.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from opentwbench.formosa.cleaning import SECTIONS, clean
from opentwbench.formosa.corpus import KNOWLEDGE, joined, read_folder
from opentwbench.formosa.model import Article, Window
from opentwbench.formosa.windows import LIMIT, TAIL, cut

_QUOTE = re.compile(r"[^\S\n]*(?:>[ ]?)+")
_MARK = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")


@dataclass(frozen=True)
class Construction:
    """The choices in which a construction can differ from ours."""

    sections: tuple[str, ...] = SECTIONS
    list_marks: bool = True
    every_quote: bool = False
    """The first > of a line goes wherever it stands, not at its beginning alone: 1+1>2 becomes 1+12."""
    announced: bool = True
    """A block that ends on a colon stays with the next."""
    limit: int = LIMIT
    """The longest packed window."""
    tail: int = TAIL
    """The shortest last window that stands alone."""


STATED = Construction(("參考資料", "資料來源", "參考文獻", "延伸閱讀"), False, True, False, LIMIT - 1, TAIL + 1)


def recut(article: Article, body: str, rules: Construction) -> list[Window]:
    """An article's windows under other rules. `body` is the Markdown below the frontmatter."""
    if rules.every_quote:
        body = "\n".join(line if line.startswith("#") else _QUOTE.sub("", line, count=1) for line in body.split("\n"))
    texts = [block.text for block in clean(body, rules.sections) if not block.heading]
    if not rules.list_marks:
        texts = ["\n".join(_MARK.sub("", line) for line in text.split("\n")).strip() for text in texts]
    whole, blocks = joined([text for text in texts if text])
    made = replace(article, text=whole, blocks=blocks)
    return cut(made, rules.limit, rules.tail, rules.announced)


def bodies(corpus: Path) -> Iterator[tuple[Article, str]]:
    """Every usable article with its Markdown."""
    root = corpus / KNOWLEDGE if (corpus / KNOWLEDGE).is_dir() else corpus
    for article in read_folder(corpus).articles:
        text = (root / article.path).read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        yield article, text[article.body_start :]


def figures(read: Iterable[tuple[Article, str]], rules: Construction) -> tuple[int, float]:
    """Number of windows and median of their characters."""
    sizes = [len(window.text) for article, body in read for window in recut(article, body, rules)]
    return len(sizes), median(sizes)


def main() -> None:
    """Print both constructions and the six steps between them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--corpus", type=Path, required=True)
    read = list(bodies(parser.parse_args().corpus))
    ours = Construction()
    steps = {
        "ours": ours,
        "picture credits (and 參考來源) kept": replace(ours, sections=STATED.sections),
        "list marks deleted": replace(ours, list_marks=False),
        "a > deleted wherever it stands": replace(ours, every_quote=True),
        "no block kept with the next for its colon": replace(ours, announced=False),
        "windows under the limit, not up to it": replace(ours, limit=STATED.limit),
        "a tail of just 300 joined as well": replace(ours, tail=STATED.tail),
        "all six: as stated": STATED,
    }
    for name, rules in steps.items():
        number, middle = figures(read, rules)
        print(f"{number:>6,} windows, median {middle:>7,.1f}: {name}")


if __name__ == "__main__":
    main()
