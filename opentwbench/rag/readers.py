"""PDF and docx files become parts of a document, in the order in which a reader meets them.

PyMuPDF reads PDF and python-docx reads docx; both files come from outside and both readers stand on C libraries, so
`read_files` opens them in a process of their own with bounded time and memory (docs/security.md). What cannot be read
raises RagError with the file's name and the reason.
What does not belong here: which files a data set has (adapters).
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.exam.workers import Lost, run_isolated
from opentwbench.rag.model import MAX_TEXT, Part, RagError

MAX_FILE = 200_000_000
"""Most bytes of one file. The largest filing of FinanceBench has 20 MB."""

MAX_UNPACKED = 200_000_000
"""Most bytes that a docx may claim to unpack to: a small file can hold a very large one."""

MAX_PAGES = 5_000

SECONDS_A_FILE = 120.0
"""Most processor time for one file. A filing of the samples takes under 1 s."""

MEMORY = 1024**3
"""Address space of the reading process beyond its start. The samples' files take under 0.13 GiB."""


def read_files(paths: Iterable[Path], seconds: float = SECONDS_A_FILE) -> list[tuple[Part, ...]]:
    """The parts of each file, in the order given; docx by its ending, everything else as PDF.

    One process of their own reads them one after the other. Raises RagError for the first that cannot be read: what
    the readers raise, or that the process died, was late or wanted more memory than it may.
    """
    made: list[tuple[Part, ...]] = []
    for read in run_isolated(_read, list(paths), _lost, processes=1, seconds=seconds, memory=MEMORY):
        if isinstance(read, str):
            raise RagError(read)
        made.append(read)
    return made


def _read(path: Path) -> tuple[Part, ...] | str:
    """The parts of a file, or why there are none: an exception of the worker's would lose its words."""
    try:
        return read_docx(path) if path.suffix.lower() == ".docx" else read_pdf(path)
    except RagError as error:
        return str(error)


def _lost(path: Path, lost: Lost) -> str:
    return f"{path.name}: reading it failed: {excerpt(lost.detail, 200)}"


def check_size(path: Path, most: int = MAX_FILE) -> None:
    """Raises RagError when the path is no regular file or has more than `most` bytes."""
    if path.is_symlink() or not path.is_file():
        raise RagError(f"{path.name}: missing or not a regular file")
    size = path.stat().st_size
    if size > most:
        raise RagError(f"{path.name}: {size:,} bytes, more than the {most:,} that are read")


def read_pdf(path: Path) -> tuple[Part, ...]:
    """One part a page, in page order; its span is 'p' and the page's number from 1. Pages without text stay, empty.

    Text stays in the file's own order: sorting it by place costs ten times as long on a filing and locates no more of
    its evidence. Raises RagError for what is no PDF, needs a password or has no text.
    """
    import pymupdf

    check_size(path)
    pymupdf.TOOLS.mupdf_display_errors(False)
    with path.open("rb") as opened:
        # MuPDF goes by the content and not by what it is told: the web page of a failed download would be read.
        if b"%PDF-" not in opened.read(1_024):
            raise RagError(f"{path.name}: not a PDF: no PDF header")
    try:
        return _pages(path)
    except RagError:
        raise
    except Exception as error:  # PyMuPDF raises several kinds for one cause, some only when a page is read
        raise RagError(f"{path.name}: not a PDF that can be read: {type(error).__name__}") from None


def _pages(path: Path) -> tuple[Part, ...]:
    import pymupdf

    with pymupdf.open(path, filetype="pdf") as file:
        if file.needs_pass:
            raise RagError(f"{path.name}: encrypted")
        if file.page_count > MAX_PAGES:
            raise RagError(f"{path.name}: {file.page_count} pages, more than {MAX_PAGES}")
        texts, size = [], 0
        for page in file:
            texts.append(page.get_text("text"))
            size += len(texts[-1])
            if size > MAX_TEXT:  # looked at here, so that no more than that is kept or handed over
                raise RagError(f"{path.name}: more than {MAX_TEXT:,} characters")
    if not any(text.strip() for text in texts):
        raise RagError(f"{path.name}: no text layer")
    return tuple(
        Part(_lines_of(text), span=f"p{number}", heading=f"page {number}") for number, text in enumerate(texts, 1)
    )


def _lines_of(text: str) -> str:
    """Runs of blanks inside a line become one blank; empty lines go."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def read_docx(path: Path) -> tuple[Part, ...]:
    """Paragraphs and tables in the order of the document, a table as one part with a row a line, cells set apart by |.

    Empty paragraphs are left out. Text boxes, headers, footers and comments are not read. Raises RagError.
    """
    import docx
    from docx.table import Table

    check_size(path)
    _check_zip(path)
    try:
        file = docx.Document(str(path))
        blocks = list(file.iter_inner_content())
        texts = [_table(block) if isinstance(block, Table) else block.text for block in blocks]
    except Exception as error:  # python-docx lets errors of zip, XML and its own through
        raise RagError(f"{path.name}: not a docx that can be read: {type(error).__name__}") from None
    parts = tuple(Part(text.strip()) for text in texts if text.strip())
    if not parts:
        raise RagError(f"{path.name}: no text")
    return parts


def _check_zip(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as file:
            size = sum(entry.file_size for entry in file.infolist())
    except (zipfile.BadZipFile, OSError, NotImplementedError):
        raise RagError(f"{path.name}: not a docx: no zip archive") from None
    if size > MAX_UNPACKED:
        raise RagError(f"{path.name}: unpacks to {size:,} bytes, more than {MAX_UNPACKED:,}")


def _table(table: Any) -> str:
    return "\n".join(" | ".join(_cells(row)) for row in table.rows)


def _cells(row: Any) -> Iterator[str]:
    """The cells of a row, a merged one once; python-docx gives it for each column that it spans."""
    before = None
    for cell in row.cells:
        if cell._tc is not before:
            yield " ".join(_inner(cell).split())
        before = cell._tc


def _inner(cell: Any) -> str:
    from docx.table import Table

    return "\n".join(_table(b) if isinstance(b, Table) else b.text for b in cell.iter_inner_content())
