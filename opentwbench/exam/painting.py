"""What one page paints, in one pass over its content: characters, and the boxes of paths and pictures.

What belongs here: running a page through MuPDF's devices. What does not: what the marks mean (`layout`).
PyMuPDF's `Page.get_texttrace` and `Page.get_bboxlog` each interpret the page's content anew, which is most of their
time. Here it is interpreted once, into a display list, and every device reads that list. A test holds that the result
is the same as theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pymupdf
from pymupdf import extra, mupdf

Corners = tuple[float, float, float, float]
"""x0, y0, x1, y1 in points, origin top left."""

Word = tuple[float, float, float, float, str, int, int, int]
"""Corners, text, and the numbers of block, line and word."""

STRUCTURED = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_IGNORE_ACTUALTEXT
"""Structured text as painted: blanks kept, ligatures expanded, other words from /ActualText not believed."""

_UNIT_SQUARE = mupdf.FzRect(mupdf.FzRect.Fixed_UNIT)
"""What a picture fills in its own coordinates."""

_EVERYWHERE = mupdf.FzRect(mupdf.FzRect.Fixed_INFINITE)


@dataclass(frozen=True, slots=True)
class Painting:
    """A page's marks in the order painted. The page is taken unrotated, as its content is written."""

    width: float
    height: float
    runs: list[dict[str, Any]]
    """Painted text as `Page.get_texttrace` gives it."""
    boxes: list[tuple[str, Corners]]
    """(kind, corners) of paths, pictures and shades as `Page.get_bboxlog` gives them; text is in `runs`."""
    words: list[Word]
    """MuPDF's structured text of the same page in words, as `Page.get_text("words")` gives it."""


def paint(page: pymupdf.Page) -> Painting:
    """Everything that the page paints. Raises RuntimeError or ValueError for a page that cannot be interpreted."""
    if page.rotation:
        page.set_rotation(0)  # in memory only: the document is never saved
    shown = page.get_displaylist()
    runs: list[dict[str, Any]] = []
    trace = extra.JM_new_texttrace_device(runs)
    trace.ptm = mupdf.FzMatrix(1, 0, 0, -1, 0, page.rect.y1)
    boxes: list[tuple[str, Corners]] = []
    for device in (trace, _GraphicsDevice(boxes)):
        mupdf.fz_run_display_list(shown.this, device, mupdf.FzMatrix(), _EVERYWHERE, mupdf.FzCookie())
        mupdf.fz_close_device(device)
    words = pymupdf.TextPage(shown.get_textpage(STRUCTURED)).extractWORDS()
    return Painting(page.rect.width, page.rect.height, runs, boxes, words)


class _GraphicsDevice(mupdf.FzDevice2):  # type: ignore[misc]  # PyMuPDF has no types
    """Logs the boxes of paths, pictures and shades. Called by MuPDF with its low-level structures."""

    def __init__(self, boxes: list[tuple[str, Corners]]) -> None:
        super().__init__()
        self.boxes = boxes
        self.use_virtual_fill_path()
        self.use_virtual_stroke_path()
        self.use_virtual_fill_shade()
        self.use_virtual_fill_image()
        self.use_virtual_fill_image_mask()

    def _log(self, kind: str, box: Any) -> None:
        self.boxes.append((kind, (box.x0, box.y0, box.x1, box.y1)))

    def fill_path(self, _context: Any, path: Any, _even_odd: Any, matrix: Any, *_paint: Any) -> None:
        self._log("fill-path", mupdf.ll_fz_bound_path(path, None, matrix))

    def stroke_path(self, _context: Any, path: Any, stroke: Any, matrix: Any, *_paint: Any) -> None:
        self._log("stroke-path", mupdf.ll_fz_bound_path(path, stroke, matrix))

    def fill_shade(self, _context: Any, shade: Any, matrix: Any, *_paint: Any) -> None:
        self._log("fill-shade", mupdf.ll_fz_bound_shade(shade, matrix))

    def fill_image(self, _context: Any, _image: Any, matrix: Any, *_paint: Any) -> None:
        self._log("fill-image", mupdf.ll_fz_transform_rect(_UNIT_SQUARE.internal(), matrix))

    def fill_image_mask(self, _context: Any, _image: Any, matrix: Any, *_paint: Any) -> None:
        self._log("fill-imgmask", mupdf.ll_fz_transform_rect(_UNIT_SQUARE.internal(), matrix))
