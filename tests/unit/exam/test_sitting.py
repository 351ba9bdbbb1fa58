"""A sitting: equal bytes are parsed once, every row gets its record, and what is stored is read back as it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from opentwbench.exam.index import PAPER_ENDPOINT, first_key_url
from opentwbench.exam.model import Declared, IndexRow, PaperItem, PaperKind, PaperRecord, RejectionReason
from opentwbench.exam.paper import Pair
from opentwbench.exam.retrieval import RetrievalStatus, Retrieved
from opentwbench.exam.sitting import (
    Hashes,
    ParseCache,
    collect,
    file_name,
    from_line,
    needed_urls,
    to_line,
)

OPTIONS = {"A": "甲", "B": "乙", "C": "丙", "D": "丁"}
ITEM = PaperItem(1, "下列何者為是？", OPTIONS, "A", ("A",), (), 1)
RECORD = PaperRecord("x", "y", "accepted", None, "", Declared(1, None), 1, (ITEM,))


def url(role: str, category: str) -> str:
    return f"{PAPER_ENDPOINT}?t={role}&code=110001&c={category}&s=0101&q=1"


def row(category: str = "101", key: str = "S") -> IndexRow:
    remark = "更正答案" if key == "M" else ""
    names = ("110001", "樣本考試", "", "高考", "高考", category, "樣本類科", "01", "樣本科目")
    return IndexRow(110, *names, PaperKind.MULTIPLE_CHOICE, url("Q", category), url(key, category), remark, "0101")


def there(address: str, content: str) -> Retrieved:
    return Retrieved(RetrievalStatus.CACHED, Path(f"{content}.pdf"), content, 1, address)


def missing(address: str, status: RetrievalStatus = RetrievalStatus.MISSING) -> Retrieved:
    return Retrieved(status, None, "", 0, address, "no such file")


class Parser:
    """Counts what it is given."""

    def __init__(self, record: PaperRecord = RECORD) -> None:
        self.given: list[Pair] = []
        self.record = record

    def __call__(self, pairs: Sequence[Pair]) -> Iterator[PaperRecord]:
        self.given += pairs
        yield from (self.record for _ in pairs)


def all_there(rows: Sequence[IndexRow], question: str = "q", key: str = "k") -> dict[str, Retrieved]:
    return {u: there(u, question if "t=Q" in u else key + u[len(PAPER_ENDPOINT) + 3]) for u in needed_urls(rows)}


def test_a_corrected_row_needs_its_first_key_as_well() -> None:
    rows = [row("101"), row("102", key="M"), row("101")]
    assert needed_urls(rows) == [url("Q", "101"), url("S", "101"), url("Q", "102"), url("M", "102"), url("S", "102")]
    assert first_key_url(rows[0]) is None


def test_rows_that_serve_the_same_bytes_are_parsed_once_and_counted_each(tmp_path: Path) -> None:
    rows, parser = [row("101"), row("102"), row("103")], Parser()
    records = collect(rows, all_there(rows), parser, ParseCache(tmp_path, "p"))
    assert len(parser.given) == 1
    assert [each.record.question_file for each in records] == [f"110001/{c}/0101/Q.pdf" for c in ("101", "102", "103")]
    assert len({each.hashes for each in records}) == 1


def test_a_corrected_key_with_and_without_its_first_key_are_two_pairs(tmp_path: Path) -> None:
    rows, parser = [row("101", key="M"), row("102", key="M")], Parser()
    retrieved = all_there(rows)
    retrieved[url("S", "102")] = missing(url("S", "102"))
    records = collect(rows, retrieved, parser, ParseCache(tmp_path, "p"))
    assert [pair[2] for pair in parser.given] == [Path("kS.pdf"), None]
    assert [each.hashes.first_key for each in records] == ["kS", ""]


def test_what_was_parsed_by_this_parser_is_not_parsed_again(tmp_path: Path) -> None:
    rows = [row("101")]
    first, second, other = Parser(), Parser(), Parser()
    made = collect(rows, all_there(rows), first, ParseCache(tmp_path, "p"))
    again = collect(rows, all_there(rows), second, ParseCache(tmp_path, "p"))
    collect(rows, all_there(rows), other, ParseCache(tmp_path, "another parser"))
    assert (len(first.given), len(second.given), len(other.given)) == (1, 0, 1)
    assert made == again


def test_a_changed_file_is_parsed_again(tmp_path: Path) -> None:
    rows, parser = [row("101")], Parser()
    for question in ("q", "q2"):
        collect(rows, all_there(rows, question), parser, ParseCache(tmp_path, "p"))
    assert [str(pair[0]) for pair in parser.given] == ["q.pdf", "q2.pdf"]


def test_a_damaged_entry_of_the_cache_is_no_record(tmp_path: Path) -> None:
    cache, hashes = ParseCache(tmp_path, "p"), Hashes("q", "k", "")
    cache.put(hashes, RECORD)
    (entry,) = tmp_path.rglob("*.json")
    for damage in (b"", b"{", b"[]", b'{"status": "accepted"}'):
        entry.write_bytes(damage)
        assert cache.get(hashes) is None
    cache.put(hashes, RECORD)
    assert cache.get(hashes) == RECORD


def test_a_rejection_that_a_busy_machine_can_cause_is_not_kept(tmp_path: Path) -> None:
    cache, hashes = ParseCache(tmp_path, "p"), Hashes("q", "k", "")
    for reason in RejectionReason:
        cache.put(hashes, PaperRecord("", "", "rejected", reason, "why", Declared(None, None), 0, ()))
        kept = cache.get(hashes)
        by_chance = reason in (RejectionReason.NOT_A_PDF, RejectionReason.TOO_LARGE)
        assert (kept is None) == by_chance, reason
        for entry in tmp_path.rglob("*.json"):
            entry.unlink()


def test_a_row_without_its_files_is_rejected_by_name_and_not_parsed(tmp_path: Path) -> None:
    rows, parser = [row("101"), row("102"), row("103")], Parser()
    retrieved = all_there(rows)
    retrieved[url("Q", "101")] = missing(url("Q", "101"))
    retrieved[url("S", "102")] = missing(url("S", "102"), RetrievalStatus.TOO_LARGE)
    records = collect(rows, retrieved, parser, ParseCache(tmp_path, "p"))
    assert [each.record.reason for each in records] == [RejectionReason.NOT_A_PDF, RejectionReason.TOO_LARGE, None]
    assert "question paper" in records[0].record.detail
    assert "110001/102/0101/S.pdf" in records[1].record.detail
    assert len(parser.given) == 1


def test_a_stored_line_is_read_back_as_it_was(tmp_path: Path) -> None:
    rows = [row("101", key="M")]
    (record,) = collect(rows, all_there(rows), Parser(), ParseCache(tmp_path, "p"))
    assert from_line(to_line(record)) == record
    assert b"\n" not in to_line(record)


def test_no_local_path_gets_into_a_record(tmp_path: Path) -> None:
    rows = [row("101")]
    (record,) = collect(rows, all_there(rows), Parser(), ParseCache(tmp_path, "p"))
    assert str(tmp_path).encode() not in to_line(record)
    assert file_name(url("M", "101")) == "110001/101/0101/M.pdf"
