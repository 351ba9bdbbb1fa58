"""The three fonts of a sample paper: a CJK face, the private-use face, a Latin face.

The ministry's PDFs set Chinese in MingLiU or DFKai, Latin and digits in Times or Arial, and option markers in an
"EUDC" face of private-use glyphs, so one printed line is several spans. The sample papers do the same:

* CJK: outlines of Droid Sans Fallback (Apache-2.0), which PyMuPDF carries as "cjk"; only the characters used.
* EUDC: circled letters for U+E18C..U+E190, and body glyphs at the code points that real papers use for them.
* Latin: the standard Times-Roman of every PDF reader, not embedded.

Every code point has its own glyph, so the text layer yields exactly the code points asked for, CJK compatibility
ideographs included. Nothing is cached on disk: building a face for one paper costs some hundredths of a second.
"""

from __future__ import annotations

import io
from functools import cache, lru_cache
from typing import Any

import pymupdf
from fontTools.fontBuilder import FontBuilder
from fontTools.misc.transform import Transform
from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.pens.transformPen import TransformPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont

from samples.pdf import stream_object

MARKERS = "\ue18c\ue18d\ue18e\ue18f\ue190"
"""The private-use option markers A-E of the ministry's papers (facts of hazards.md)."""

BODY_GLYPHS = {
    "\ue2cc": "疱",
    "\ue2c6": "酶",
    "\ue2e6": "苷",
    "\ue129": "㈠",
    "\ue12a": "㈡",
    "\ue12b": "㈢",
    "\ue12c": "㈣",
    "\ue5b7": "鼾",
}
"""Private-use code point -> the character whose outline it shows. U+E5B7 was seen in no real paper: it is unmapped."""

UNMAPPED_GLYPH = "\ue5b7"

COMPATIBILITY = {
    "列": "\uf99c",
    "不": "\uf967",
    "年": "\uf98e",
    "理": "\uf9e4",
    "類": "\uf9d0",
    "數": "\uf969",
    "行": "\ufa08",
    "度": "\ufa01",
    "立": "\uf9f7",
    "路": "\uf937",
}
"""Ordinary character -> the CJK compatibility ideograph that real papers hold in its place; NFC undoes each."""

_ASCENT, _DESCENT = 0.8, -0.2
"""Line metrics of the ministry's faces in em (a span of 11 points reaches from 8.8 above to 2.2 below its base)."""


def is_private(char: str) -> bool:
    """True for a code point of the Basic Multilingual Plane's private-use area."""
    return "\ue000" <= char <= "\uf8ff"


@cache
def _droid() -> TTFont:
    return TTFont(io.BytesIO(pymupdf.Font("cjk").buffer), lazy=True)


@cache
def _outlines() -> tuple[dict[int, str], Any, Any, int]:
    font = _droid()
    return font.getBestCmap(), font.getGlyphSet(), font["hmtx"], font["head"].unitsPerEm


class MissingGlyphError(ValueError):
    """A text holds a character that the sample fonts cannot draw."""


def _source(char: str) -> str:
    """The Droid glyph name that shows a character; compatibility ideographs borrow their twin's outline."""
    plain = {v: k for k, v in COMPATIBILITY.items()}.get(char, char)
    name = _outlines()[0].get(ord(plain))
    if name is None:
        raise MissingGlyphError(f"no glyph for U+{ord(char):04X} {char!r}")
    return name


def advance(char: str, *, half_width: bool = False) -> float:
    """Advance width of a character in em in the CJK face."""
    if half_width and char < "\x7f":
        return 0.5
    _, _, metrics, upem = _outlines()
    return float(metrics[_source(char)][0] / upem)


def _draw(name: str, pen: TTGlyphPen, move: Transform) -> None:
    """Draw a Droid glyph moved; composite glyphs are taken apart, for their parts are not in the new face."""
    recording = DecomposingRecordingPen(_outlines()[1])
    _outlines()[1][name].draw(recording)
    recording.replay(TransformPen(pen, move))


@lru_cache(maxsize=4096)
def _outline(char: str, half_width: bool) -> tuple[Any, int]:
    _, _, metrics, upem = _outlines()
    name = _source(char)
    width = metrics[name][0]
    squeeze = half_width and char < "\x7f"
    shift = (upem // 2 - width) / 2 if squeeze else 0
    pen = TTGlyphPen(None)
    _draw(name, pen, Transform().translate(shift, 0))
    return pen.glyph(), upem // 2 if squeeze else width


def _ring(pen: Any, centre: tuple[float, float], radius: float, clockwise: bool) -> None:
    """A circle of eight quadratic arcs; the control points lie on the circumscribed octagon."""
    corner = 0.41421356
    points = [(1, corner), (corner, 1), (-corner, 1), (-1, corner)]
    points += [(-x, -y) for x, y in points]
    if clockwise:
        points.reverse()
    pen.qCurveTo(*[(centre[0] + radius * x, centre[1] + radius * y) for x, y in points], None)
    pen.closePath()


@lru_cache(maxsize=64)
def _private_outline(char: str) -> tuple[Any, int]:
    _, _, metrics, upem = _outlines()
    if char in BODY_GLYPHS:
        return _outline(BODY_GLYPHS[char], False)
    if char not in MARKERS:
        raise MissingGlyphError(f"no private-use glyph for U+{ord(char):04X}")
    letter = _source("ABCDE"[MARKERS.index(char)])
    pen = TTGlyphPen(None)
    centre = (upem / 2, upem * 0.36)
    _ring(pen, centre, upem * 0.46, clockwise=True)
    _ring(pen, centre, upem * 0.42, clockwise=False)
    scale = 0.62
    move = Transform().translate(centre[0] - metrics[letter][0] * scale / 2, centre[1] - upem * 0.22).scale(scale)
    _draw(letter, pen, move)
    return pen.glyph(), upem


class EmbeddedFont:
    """A composite font holding exactly the characters given, one glyph a code point, with a ToUnicode map."""

    def __init__(self, resource: str, name: str, chars: set[str], *, private: bool = False, half_width: bool = False):
        self.resource = resource
        self._name = name
        self._chars = sorted(chars)
        self._codes = {char: gid for gid, char in enumerate(self._chars, 1)}
        self._private = private
        self._half_width = half_width

    def __bool__(self) -> bool:
        return bool(self._chars)

    def encode(self, text: str) -> bytes:
        """Two bytes a character: the glyph's number."""
        return b"".join(self._codes[char].to_bytes(2, "big") for char in text)

    def _build(self) -> tuple[bytes, list[int]]:
        upem = _outlines()[3]
        drawn = [_private_outline(c) if self._private else _outline(c, self._half_width) for c in self._chars]
        names = [".notdef"] + [f"u{ord(char):04X}" for char in self._chars]
        builder = FontBuilder(upem, isTTF=True)
        builder.setupGlyphOrder(names)
        builder.setupCharacterMap({ord(char): name for char, name in zip(self._chars, names[1:], strict=True)})
        builder.setupGlyf(dict(zip(names, [TTGlyphPen(None).glyph()] + [glyph for glyph, _ in drawn], strict=True)))
        widths = [upem] + [width for _, width in drawn]
        table = builder.font["glyf"]
        builder.setupHorizontalMetrics(
            {n: (w, getattr(table[n], "xMin", 0)) for n, w in zip(names, widths, strict=True)}
        )
        builder.setupHorizontalHeader(ascent=round(_ASCENT * upem), descent=round(_DESCENT * upem))
        builder.setupPost(keepGlyphNames=False)
        # A fixed stamp: the file must not change with the clock.
        builder.font["head"].created = builder.font["head"].modified = 0
        builder.font.recalcTimestamp = False
        out = io.BytesIO()
        builder.font.save(out, reorderTables=False)
        return out.getvalue(), [round(width * 1000 / upem) for width in widths]

    def _to_unicode(self) -> bytes:
        pairs = [b"<%04X> <%04X>" % (gid, ord(char)) for char, gid in self._codes.items()]
        # A bfchar block holds at most 100 entries (ISO 32000-1, 9.10.3).
        blocks = [pairs[i : i + 100] for i in range(0, len(pairs), 100)]
        body = b"\n".join(b"%d beginbfchar\n%s\nendbfchar" % (len(block), b"\n".join(block)) for block in blocks)
        return (
            b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n"
            b"/CMapName /Adobe-Identity-UCS def /CMapType 2 def\n"
            b"1 begincodespacerange <0000> <FFFF> endcodespacerange\n" + body + b"\nendcmap end end\n"
        )

    def objects(self, first: int) -> list[bytes]:
        """The five objects that embed the font; `first` is the number of the Type0 dictionary."""
        data, widths = self._build()
        name = self._name.encode()
        return [
            b"<< /Type /Font /Subtype /Type0 /BaseFont /%s /Encoding /Identity-H /DescendantFonts [%d 0 R] "
            b"/ToUnicode %d 0 R >>" % (name, first + 1, first + 3),
            b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /%s /CIDToGIDMap /Identity /DW 1000 "
            b"/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> "
            b"/FontDescriptor %d 0 R /W [0 [%s]] >>" % (name, first + 2, b" ".join(b"%d" % w for w in widths)),
            b"<< /Type /FontDescriptor /FontName /%s /Flags 4 /FontBBox [0 -200 1000 800] /ItalicAngle 0 "
            b"/Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 /FontFile2 %d 0 R >>" % (name, first + 4),
            stream_object(self._to_unicode()),
            stream_object(data, b"/Length1 %d " % len(data)),
        ]


class TimesRoman:
    """The standard Latin face (one of the fourteen that no PDF need embed)."""

    resource = "FL"

    def encode(self, text: str) -> bytes:
        """One byte a character."""
        return text.encode("ascii")

    def objects(self, first: int) -> list[bytes]:
        """One dictionary: the reader brings the outlines."""
        return [b"<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman /Encoding /WinAnsiEncoding >>"]

    @staticmethod
    @cache
    def advance(char: str) -> float:
        """Advance width in em."""
        return float(_times().glyph_advance(ord(char)))


@cache
def _times() -> Any:
    return pymupdf.Font("tiro")
