"""Damaged sample papers and keys through both readers: each ends as a record, accepted or rejected, never as a fault.

The damage is drawn by a seeded generator and not by hypothesis: papers are read in worker processes, many at once, as a
build reads them. How many files is OTB_FUZZ_PDFS.
"""

from __future__ import annotations

import os
import random
import zlib
from pathlib import Path

from opentwbench.exam.paper import parse_pairs
from samples.examples import plain_key, plain_paper
from samples.key import typeset_key
from samples.paper import typeset_paper
from samples.spec import KeySpec

FILES = int(os.environ.get("OTB_FUZZ_PDFS", "60"))
SEED = os.environ.get("OTB_FUZZ_SEED", "1")


def damage(data: bytes, chance: random.Random) -> bytes:
    """Some places of a file changed, cut or doubled; every other time inside an unpacked content stream."""
    if chance.random() < 0.5:
        return _in_a_stream(data, chance)
    changed = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        at, length = chance.randrange(len(changed)), chance.randint(0, 60)
        piece = bytes(changed[at : at + length])
        changed[at : at + length] = chance.choice([b"", piece * 2, chance.randbytes(length), b"99999999"])
    return bytes(changed)


def _in_a_stream(data: bytes, chance: random.Random) -> bytes:
    """The last stream (a page's content), damaged and packed again, so that what is damaged is the drawing itself."""
    start = data.rindex(b"stream\n", 0, data.rindex(b"endstream")) + len(b"stream\n")
    end = data.index(b"\nendstream", start)
    words = zlib.decompress(data[start:end]).split(b" ")
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(words))
        words[at] = chance.choice([b"", b"-1e38", b"Tj", b"q", b"BT", b"<FFFF>", b"0", chance.choice(words)])
    return data[:start] + zlib.compress(b" ".join(words)) + data[end:]


def test_damaged_papers_and_keys_end_as_records(tmp_path: Path) -> None:
    plain = plain_key()
    spec = KeySpec(plain.exam_name, plain.category, plain.subject, {1: "B", 2: "C", 3: "A", 4: "B"}, single=4)
    question, key = typeset_paper(plain_paper()), typeset_key(spec)
    (tmp_path / "Q.pdf").write_bytes(question)
    (tmp_path / "K.pdf").write_bytes(key)
    pairs = [(tmp_path / "Q.pdf", tmp_path / "K.pdf")]
    for number in range(FILES):
        chance = random.Random(f"{SEED} {number}")
        name = tmp_path / f"{number}.pdf"
        name.write_bytes(damage(question if number % 2 else key, chance))
        pairs.append((name, tmp_path / "K.pdf") if number % 2 else (tmp_path / "Q.pdf", name))
    sound, *damaged = parse_pairs(pairs, 2)
    assert sound.accepted
    faults = {record.question_file: record.detail for record in damaged if "fault while parsing" in record.detail}
    died = {record.question_file: record.detail for record in damaged if "worker died" in record.detail}
    assert (faults, died) == ({}, {})
    # Damage that is none of the words' may pass; then the items are those of the sound paper.
    texts = {(item.question, *item.options.values()) for item in sound.items}
    rejected = [record for record in damaged if not record.accepted]
    assert len(rejected) >= FILES // 4
    for record in damaged:
        if record.accepted and record.question_file == str(tmp_path / "Q.pdf"):
            assert {(item.question, *item.options.values()) for item in record.items} == texts
