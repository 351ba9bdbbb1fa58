"""The sample: the published order, what withdrawals and new sittings leave alone, the frozen file, the anchor."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.evaluation import make_item

from opentwbench.evaluation.model import AskedItem
from opentwbench.evaluation.sample import (
    Edition,
    SampleError,
    anchor,
    draw,
    edition_bytes,
    read_edition,
    standing,
    write_edition,
)
from opentwbench.evaluation.scoring import rate


def items(subjects: int = 3, each: int = 20, first: int = 0) -> Iterator[AskedItem]:
    for s in range(subjects):
        for n in range(first, first + each):
            digest = hashlib.sha256(f"{s} {n}".encode()).hexdigest()[:12]
            yield make_item(
                n, item_id=f"subject-{s}-{digest}", question=f"科目 {s} 第 {n} 題？", subject=f"subject-{s}"
            )


def test_the_published_order() -> None:
    """Per subject the rows with the smallest sha256(stem) in hex order, one block after another."""
    pool = list(items(3, 20))
    expected = [
        item.item_id
        for s in range(3)
        for item in sorted(
            (i for i in pool if i.subject == f"subject-{s}"),
            key=lambda i: hashlib.sha256(i.question.encode()).hexdigest(),
        )[:7]
    ]
    edition = draw(reversed(pool), "2026-11", per_subject=7)
    assert list(edition.ids) == expected
    assert draw(pool, "2026-11", per_subject=7) == edition  # the order of reading changes nothing


def test_a_small_subject_is_drawn_whole() -> None:
    edition = draw([*items(2, 20), make_item(1, subject="tiny", item_id="tiny-0123456789ab")], "e", per_subject=7)
    assert {subject: len(ids) for subject, ids in edition.subjects.items()} == {
        "subject-0": 7,
        "subject-1": 7,
        "tiny": 1,
    }


def test_rows_that_share_a_stem_both_appear() -> None:
    twins = [make_item(n, question="同一題幹？", subject="s", item_id=f"s-{n:012x}") for n in (2, 1)]
    assert draw([*twins], "e").ids == ("s-000000000001", "s-000000000002")


def test_the_published_sizes() -> None:
    """148 subjects with at least 150 items: 22,200; 22,021 after 179 withdrawals. One item less in a subject shows."""
    pool = list(items(148, 152))
    edition = draw(pool, "2026-11")
    assert len(edition) == 22_200
    withdrawn = edition.ids[::124][:179]
    assert len(withdrawn) == 179
    now = standing(edition, (item.item_id for item in pool), withdrawn)
    assert (len(now.scored), len(now.withdrawn), now.gone) == (22_021, 179, ())
    short = [item for n, item in enumerate(pool) if n >= 3]  # the first subject has 149 left
    assert len(draw(short, "2026-11")) == 22_199


def test_withdrawals_move_no_other_item() -> None:
    pool = list(items())
    edition = draw(pool, "e", per_subject=10)
    out = {edition.ids[0], edition.ids[11], pool[-1].item_id}
    now = standing(edition, (item.item_id for item in pool), out)
    assert now.scored == tuple(item_id for item_id in edition.ids if item_id not in out)
    assert len(now.scored) + len(now.withdrawn) + len(now.gone) == len(edition)


def test_new_sittings_do_not_redraw_an_edition(tmp_path: Path) -> None:
    edition = draw(items(), "2026-11", per_subject=10)
    path = tmp_path / "2026-11.json"
    assert write_edition(edition, path)
    grown = [*items(), *items(first=20)]
    redrawn = draw(grown, "2026-11", per_subject=10)
    assert redrawn.ids != edition.ids
    with pytest.raises(SampleError, match="frozen"):
        write_edition(redrawn, path)
    assert read_edition(path) == edition
    assert standing(edition, (item.item_id for item in grown), ()).scored == edition.ids
    assert write_edition(replace(redrawn, name="2027-01"), tmp_path / "2027-01.json")
    assert not write_edition(edition, path)


def test_a_corrected_text_is_followed_and_a_lost_item_is_counted() -> None:
    edition = draw(items(1, 5), "e")
    old, lost, *rest = edition.ids
    new = "subject-0-ffffffffffff"
    now = standing(edition, [new, *rest], [new], {old: new})
    assert (now.scored, now.withdrawn, now.gone, now.renamed) == (tuple(rest), (new,), (lost,), 1)
    merged = standing(edition, [new, *rest], [], {old: new, lost: new})
    assert (merged.scored, merged.gone) == ((new, *rest), (lost,))  # an item counts once


def test_the_file_round_trips_and_names_what_is_wrong(tmp_path: Path) -> None:
    edition = draw(items(), "2026-11", {"subject-0": "0" * 12})
    path = tmp_path / "e.json"
    path.write_bytes(edition_bytes(edition))
    assert read_edition(path) == edition
    record = json.loads(path.read_text())
    changed = {**record, "subjects": {**record["subjects"], "subject-0": record["subjects"]["subject-0"][1:]}}
    for broken, words in (
        (changed, "digest"),
        ({**record, "format": 2}, "format"),
        ({**record, "edition": "../x"}, "name"),
        ({**record, "subjects": {"s": ["../../etc/passwd"]}}, "item ids"),
        ({**record, "subjects": {"s": ["s-0123456789ab"] * 2}}, "twice"),
        ({**record, "subjects": {}}, "mappings"),
        ({**record, "per_subject": 1}, "more than 1"),
        ({**record, "versions": {"s": 7}}, "version"),
    ):
        path.write_text(json.dumps(broken))
        with pytest.raises(SampleError, match=words):
            read_edition(path)
    for data in (b"", b"[]", b"\xff", b"{" * 100_000):
        path.write_bytes(data)
        with pytest.raises(SampleError, match="no edition"):
            read_edition(path)


@pytest.mark.parametrize("name", ["", "../x", "a/b", "-x", "x" * 41, "上"])
def test_a_name_that_could_leave_its_folder_is_refused(name: str) -> None:
    with pytest.raises(SampleError, match="named"):
        draw(items(), name)


def test_nothing_to_draw_from() -> None:
    with pytest.raises(SampleError, match="no items"):
        draw([], "e")
    with pytest.raises(SampleError, match="twice"):
        draw([*items(1, 2), *items(1, 1)], "e")


# -- the anchor ------------------------------------------------------------------------------------------------------


def test_the_anchor_by_hand() -> None:
    """A large subject at 95 % and two small ones at 50 % and 60 %: equal weighting takes the score down."""
    full = {"medicine": rate(1_900, 2_000), "law": rate(100, 200), "civics": rate(120, 200)}
    found = anchor(full, {"medicine": 150, "law": 150, "civics": 100})
    assert found.population == pytest.approx(2_120 / 2_400)
    assert found.on_sample == pytest.approx((150 * 0.95 + 150 * 0.5 + 100 * 0.6) / 400)
    assert found.shift == pytest.approx(0.69375 - 2_120 / 2_400)
    assert found.interval.low < found.on_sample < found.interval.high
    assert (
        anchor({**full, "law": rate(101, 200)}, {"medicine": 150, "law": 150, "civics": 100}).on_sample
        > found.on_sample
    )


def test_a_sample_in_proportion_shifts_nothing() -> None:
    full = {"a": rate(300, 400), "b": rate(100, 400)}
    assert anchor(full, {"a": 150, "b": 150}).shift == pytest.approx(0)
    assert anchor(full, {"a": 150, "b": 0}).on_sample == pytest.approx(0.75)


def test_a_subject_that_the_full_run_did_not_answer_is_refused() -> None:
    with pytest.raises(SampleError, match="law"):
        anchor({"a": rate(1, 2), "law": rate(0, 0)}, {"a": 1, "law": 1})
    with pytest.raises(SampleError, match="any subject"):
        anchor({"a": rate(1, 2)}, {})


def test_an_edition_is_versioned_by_its_blocks() -> None:
    one, other = Edition("e", 2, {}, {"a": ("x", "y")}), Edition("e", 2, {}, {"a": ("y", "x")})
    assert one.digest != other.digest
    assert len(one.digest) == 12
