"""Hostile PDFs, made when a test needs them: each a small file that asks for much, or one that lies about itself.

What belongs here: bytes. What does not: how a reader must end (the tests' table).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence

Objects = Sequence[bytes]
"""Bodies of the objects 1, 2, ...; object 1 is the catalog."""

FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
WORDS = b"BT /F1 10 Tf 40 700 Td (Question one of a sample paper, long enough for a text layer.) Tj ET"


def pdf(objects: Objects, trailer: bytes = b"") -> bytes:
    """A whole file with a correct cross-reference table."""
    out, places = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer, start)
    return bytes(out)


def stream(data: bytes, entries: bytes = b"") -> bytes:
    """A stream object as it stands."""
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), entries, data)


def deflated(chunk: bytes, times: int) -> bytes:
    """`times` copies of `chunk`, deflated: one packed block repeated, so that gigabytes are made in no time.

    The check sum at the end is that of nothing; readers warn of it and go on.
    """
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(chunk) + packer.flush(zlib.Z_FULL_FLUSH)
    return b"\x78\xda" + block * times + b"\x03\x00" + b"\0\0\0\1"


def one_page(contents: bytes, resources: bytes = b"", catalog: bytes = b"", page: bytes = b"", *more: bytes) -> bytes:
    """A file of one page; `more` are the objects from 6 on."""
    media = b"" if b"/MediaBox" in page else b"/MediaBox [0 0 595 842]"
    return pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R %s >>" % catalog,
            b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
            b"<< /Type /Page /Parent 2 0 R %s /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> %s >> %s >>"
            % (media, resources, page),
            contents,
            FONT,
            *more,
        ]
    )


def plain() -> bytes:
    """A page of words: no harm in it, and no paper either."""
    return one_page(stream(WORDS))


def flate_bomb() -> bytes:
    """A content stream of 2 MB that unpacks to 8 GB."""
    packed = deflated(b" " * 1_000_000, 8_000)
    return one_page(stream(packed, b"/Filter /FlateDecode"))


def nested_flate_bomb() -> bytes:
    """Deflated twice: some kilobytes that unpack to 8 GB."""
    packed = zlib.compress(deflated(b" " * 1_000_000, 8_000), 9)
    return one_page(stream(packed, b"/Filter [/FlateDecode /FlateDecode]"))


def painting_bomb() -> bytes:
    """A content stream that paints 50 million characters."""
    packed = deflated(b"BT /F1 10 Tf 40 700 Td (%s) Tj ET\n" % (b"(A)question" * 1000).replace(b"(A)", b"A"), 5_000)
    return one_page(stream(packed, b"/Filter /FlateDecode"))


def path_bomb() -> bytes:
    """A content stream that draws 30 million boxes."""
    packed = deflated(b"1 1 2 2 re S\n" * 10_000, 3_000)
    return one_page(stream(packed, b"/Filter /FlateDecode"))


def many_pages(count: int = 100_000) -> bytes:
    """`count` pages in a tree, all of them really there."""
    kids = b" ".join(b"%d 0 R" % (number + 4) for number in range(count))
    pages = [b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 3 0 R >>"] * count
    return pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count %d /Kids [%s] >>" % (count, kids),
            stream(WORDS),
            *pages,
        ]
    )


def false_page_count() -> bytes:
    """One page, and a tree that says 2 billion."""
    return plain().replace(b"/Count 1 ", b"/Count 2000000000 ")


def page_tree_loop() -> bytes:
    """A page tree whose only child is itself."""
    return pdf([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Count 1 /Kids [2 0 R] /Parent 2 0 R >>"])


def javascript() -> bytes:
    """A script that runs when the file is opened."""
    action = b"/OpenAction << /S /JavaScript /JS (app.alert\\('x'\\); this.submitForm\\('http://127.0.0.1:9/'\\);) >>"
    return one_page(stream(WORDS), catalog=action)


def javascript_names() -> bytes:
    """Scripts under the document's names."""
    names = b"/Names << /JavaScript << /Names [(a) << /S /JavaScript /JS (while\\(1\\);) >>] >> >>"
    return one_page(stream(WORDS), catalog=names)


def javascript_escaped() -> bytes:
    """A script whose name is spelt with escapes."""
    return one_page(stream(WORDS), catalog=b"/OpenAction << /S /Java#53cript /JS (1) >>")


def attachment() -> bytes:
    """A program that the file carries."""
    names = b"/Names << /EmbeddedFiles << /Names [(a.exe) << /Type /Filespec /F (a.exe) /EF << /F 6 0 R >> >>] >> >>"
    return one_page(stream(WORDS), b"", names, b"", stream(b"MZ", b"/Type /EmbeddedFile"))


def many_objects() -> bytes:
    """A page of words among 150,000 objects that nobody needs."""
    return one_page(stream(WORDS), b"", b"", b"", *[b"null"] * 150_000)


def launch() -> bytes:
    """An action that starts a program."""
    return one_page(stream(WORDS), catalog=b"/OpenAction << /S /Launch /F (/bin/sh) >>")


def huge_image() -> bytes:
    """A picture of 60,000 by 60,000 pixels in 10 MB, beside words."""
    picture = stream(
        deflated(b"\0" * 1_000_000, 3_600),
        b"/Type /XObject /Subtype /Image /Width 60000 /Height 60000 /ColorSpace /DeviceGray /BitsPerComponent 8"
        b" /Filter /FlateDecode",
    )
    return one_page(stream(b"q 500 0 0 500 40 100 cm /I Do Q\n" + WORDS), b"/XObject << /I 6 0 R >>", b"", b"", picture)


def huge_image_mask() -> bytes:
    """A picture whose sizes do not fit into 32 bits."""
    picture = stream(b"\0", b"/Type /XObject /Subtype /Image /Width 2147483647 /Height 2147483647 /ImageMask true")
    return one_page(stream(b"q 9 0 0 9 40 100 cm /I Do Q\n" + WORDS), b"/XObject << /I 6 0 R >>", b"", b"", picture)


def huge_page() -> bytes:
    """A page as wide as a country."""
    return one_page(stream(WORDS), page=b"/MediaBox [0 0 100000000 100000000]")


def self_drawing_form() -> bytes:
    """A form that draws itself."""
    form = stream(b"/X Do", b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 6 0 R >> >>")
    return one_page(stream(b"/X Do\n" + WORDS), b"/XObject << /X 6 0 R >>", b"", b"", form)


def form_bomb(levels: int = 12, times: int = 10) -> bytes:
    """Forms that draw the next one ten times each: 10 to the 12th boxes from a few kilobytes."""
    forms = []
    for level in range(levels):
        inner = b"/X Do " * times if level + 1 < levels else b"1 1 2 2 re S"
        resources = b"/Resources << /XObject << /X %d 0 R >> >>" % (7 + level) if level + 1 < levels else b""
        forms.append(stream(inner, b"/Type /XObject /Subtype /Form /BBox [0 0 900 900] " + resources))
    return one_page(stream(b"/X Do\n" + WORDS), b"/XObject << /X 6 0 R >>", b"", b"", *forms)


def form_painting_bomb() -> bytes:
    """A form, which no limit on a page's content sees, that paints 50 million characters."""
    packed = deflated(b"BT /F1 10 Tf 40 700 Td (%s) Tj ET\n" % (b"question " * 1000), 5_500)
    resources = b"/Resources << /Font << /F1 5 0 R >> >> /Filter /FlateDecode"
    form = stream(packed, b"/Type /XObject /Subtype /Form /BBox [0 0 900 900] " + resources)
    return one_page(stream(b"/X Do\n" + WORDS), b"/XObject << /X 6 0 R >>", b"", b"", form)


def deep_arrays() -> bytes:
    """An object nested a million deep."""
    return one_page(stream(WORDS), catalog=b"/Deep " + b"[" * 1_000_000 + b"]" * 1_000_000)


def deep_content() -> bytes:
    """A content stream of saved states and opened arrays that are never closed."""
    return one_page(stream(b"q " * 100_000 + b"[" * 1_000_000 + WORDS))


def xref_loop() -> bytes:
    """A cross-reference table whose predecessor is itself."""
    data = plain()
    start = data.rindex(b"xref\n0 ")
    return data.replace(b"/Root 1 0 R", b"/Root 1 0 R /Prev %d" % start)


def xref_bomb() -> bytes:
    """A cross-reference stream that claims two billion objects."""
    data = b"%PDF-1.7\n"
    body = stream(b"", b"/Type /XRef /Size 2147483647 /Index [0 2147483646] /W [0 0 0] /Root 1 0 R")
    return data + b"1 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF\n" % (body, len(data))


def xref_nowhere() -> bytes:
    """Offsets that lead out of the file, and objects that are no objects."""
    data = plain()
    start = data.rindex(b"xref\n0 ")
    return data[:start] + data[start:].replace(b"00000 n", b"00000 n").replace(b"0000000", b"9999999")


def no_objects() -> bytes:
    """A head and a tail with nothing between."""
    return b"%PDF-1.7\nxref\n0 0\ntrailer\n<< /Size 0 >>\nstartxref\n9\n%%EOF\n"


def object_stream_loop() -> bytes:
    """A catalog that is held in an object stream that is held in itself."""
    data = b"%PDF-1.7\n"
    table = b"\x02" + (1).to_bytes(4, "big") + b"\0" + b"\x02" + (1).to_bytes(4, "big") + b"\1"
    body = stream(table, b"/Type /XRef /Size 2 /W [1 4 1] /Root 1 0 R")
    return data + b"2 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF\n" % (body, len(data))


def encrypted() -> bytes:
    """A file behind a password."""
    import pymupdf

    with pymupdf.open(stream=plain(), filetype="pdf") as document:
        return bytes(document.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="secret", owner_pw="more"))


def garbage_font() -> bytes:
    """Words in an embedded font that is noise."""
    noise = bytes((n * 167 + 13) % 256 for n in range(20_000))
    font = b"<< /Type /Font /Subtype /TrueType /BaseFont /Noise /FontDescriptor 7 0 R /FirstChar 32 /LastChar 33"
    font += b" /Widths [500 500] >>"
    descriptor = b"<< /Type /FontDescriptor /FontName /Noise /Flags 4 /FontFile2 8 0 R >>"
    contents = stream(WORDS.replace(b"/F1", b"/N"))
    data = one_page(contents, b"", b"", b"", font, descriptor, stream(noise, b"/Length1 20000"))
    return data.replace(b"/F1 5 0 R", b"/F1 5 0 R /N 6 0 R")


def cut_short() -> bytes:
    """The first half of a file."""
    data = plain()
    return data[: len(data) // 2]


def web_page() -> bytes:
    """What a server sends instead of a file."""
    return b"<!DOCTYPE html><html><body>Not found</body></html>"


HOSTILE: Mapping[str, Callable[[], bytes]] = {
    made.__name__: made
    for made in (
        web_page, cut_short, no_objects, encrypted, many_pages, false_page_count, page_tree_loop,
        flate_bomb, nested_flate_bomb, painting_bomb, path_bomb, form_bomb, form_painting_bomb, self_drawing_form,
        many_objects, javascript, javascript_names, javascript_escaped, launch, attachment,
        huge_image, huge_image_mask, huge_page, garbage_font,
        deep_arrays, deep_content, xref_loop, xref_bomb, xref_nowhere, object_stream_loop,
    )
}  # fmt: skip
