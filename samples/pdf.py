"""A small PDF writer whose bytes depend on nothing but what is drawn: no clock, no random identifier.

What belongs here: pages, text runs, lines, the file structure. What does not: what a paper looks like.
Every text run goes into the content stream in the order of the calls, which is the order that a text layer shows.
Coordinates are points with the origin at the top left of the page (the writer flips them). Structure after PDF 1.4
(ISO 32000-1, sections 7.5 "File structure" and 9.7 "Composite fonts").
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

A4 = (595.22, 842.0)
"""Page size in points as the ministry's papers have it."""


class PdfFont(Protocol):
    """What the writer needs of a font: codes for a text, and the objects that embed it."""

    @property
    def resource(self) -> str: ...

    def encode(self, text: str) -> bytes: ...

    def objects(self, first: int) -> list[bytes]: ...


def _number(value: float) -> bytes:
    return f"{value:.3f}".rstrip("0").rstrip(".").encode()


@dataclass(slots=True)
class Canvas:
    """One page: its content stream grows with every call."""

    width: float = A4[0]
    height: float = A4[1]
    _parts: list[bytes] = field(default_factory=list)

    def text(self, font: PdfFont, size: float, x: float, baseline: float, text: str) -> None:
        """Draw one run of text; x and baseline in points from the top left."""
        if not text:
            return
        place = b" ".join(map(_number, (x, self.height - baseline)))
        code = font.encode(text).hex().encode()
        self._parts.append(
            b"BT /%s %s Tf 1 0 0 1 %s Tm <%s> Tj ET" % (font.resource.encode(), _number(size), place, code)
        )

    def line(self, x0: float, y0: float, x1: float, y1: float, width: float = 0.5) -> None:
        """Draw a straight line."""
        ends = [_number(v) for v in (x0, self.height - y0, x1, self.height - y1)]
        self._parts.append(b"%s w %s %s m %s %s l S" % (_number(width), *ends))

    def box(self, x0: float, y0: float, x1: float, y1: float, width: float = 0.5) -> None:
        """Draw the outline of a rectangle."""
        edges = [_number(v) for v in (x0, self.height - y1, x1 - x0, y1 - y0)]
        self._parts.append(b"%s w %s %s %s %s re S" % (_number(width), *edges))

    def stream(self) -> bytes:
        """The page's content so far."""
        return b"\n".join(self._parts) + b"\n"


def stream_object(data: bytes, entries: bytes = b"") -> bytes:
    """A compressed stream object's body."""
    packed = zlib.compress(data, 9)
    return b"<< /Length %d /Filter /FlateDecode %s>>\nstream\n%s\nendstream" % (len(packed), entries, packed)


def write_pdf(pages: Sequence[Canvas], fonts: Sequence[PdfFont]) -> bytes:
    """The file: the same pages and fonts give the same bytes."""
    objects: list[bytes] = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    resources = b""
    for font in fonts:
        first = len(objects) + 1
        resources += b"/%s %d 0 R " % (font.resource.encode(), first)
        objects += font.objects(first)
    kids = []
    for page in pages:
        number = len(objects) + 1
        kids.append(b"%d 0 R" % number)
        media = b"[0 0 %s %s]" % (_number(page.width), _number(page.height))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox %s /Resources << /Font << %s>> >> /Contents %d 0 R >>"
            % (media, resources, number + 1)
        )
        objects.append(stream_object(page.stream()))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    return _assemble(objects)


def _assemble(objects: Sequence[bytes]) -> bytes:
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)
