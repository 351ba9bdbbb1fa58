"""The sample ministry: the mirror's form, the balance of its items, its two days, and the truth about it."""

import csv
import hashlib
import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from opentwbench.exam.fingerprint import exact, loose
from opentwbench.exam.index import read_index
from opentwbench.exam.model import Exclusion
from opentwbench.exam.subjects import assign
from samples.families import number_systems
from samples.items import BANKS, read_bank, read_planted
from samples.ministry import COLUMNS, NotASampleError, build
from samples.sittings import papers

ROOT = Path(__file__).parents[3]


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def truth_of(mirror: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((mirror / "truth.json").read_text(encoding="utf-8"))
    return found


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as handle:
        return list(csv.DictReader(handle))


@pytest.fixture(scope="module")
def second_day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("second") / "mirror"
    build(out, day=2)
    return out


# ------------------------------------------------------------------------------------------------------------- items


def test_there_are_more_than_300_distinct_good_items_and_most_were_written_by_hand() -> None:
    written = [item for name in BANKS for item in read_bank(name)]
    generated = number_systems()
    fingerprints = {loose(i.stem, dict(zip("ABCD", i.options, strict=True))) for i in (*written, *generated)}
    assert (len(written), len(generated)) == (248, 72)
    assert len(fingerprints) == 320
    assert len(generated) < len(fingerprints) / 3


def test_keys_are_spread_over_the_letters_in_every_bank() -> None:
    for items in [*(read_bank(name) for name in BANKS), number_systems()]:
        counts = Counter(item.key for item in items)
        assert set(counts) == set("ABCD")
        assert max(counts.values()) <= 0.3 * len(items)


def test_every_good_item_has_four_different_options() -> None:
    for item in (item for name in BANKS for item in read_bank(name)):
        assert len({option.strip() for option in item.options}) == 4, item.item


def test_computed_keys_are_right() -> None:
    checked = 0
    for item in number_systems():
        answer = item.options["ABCD".index(item.key)]
        if item.item.startswith("num-bin"):
            number = int(item.stem.removeprefix("將十進位數").split("轉換")[0])
            assert int(answer, 2) == number
            checked += 1
        if item.item.startswith("num-unhex"):
            assert int(item.stem.removeprefix("十六進位數").split("換算")[0], 16) == int(answer)
            checked += 1
        if item.item.startswith("num-twos"):
            assert int(answer, 2) - 256 == int(item.stem.split("十進位數")[1].split("之")[0])
            checked += 1
    assert checked == 32


def test_the_exclusions_that_a_paper_can_show_are_planted() -> None:
    planted = {item.exclusion for item in read_planted().values()} - {None}
    not_on_one_paper = {"conflicting_keys", "in_legal_benchmark_v2", "in_tmmlu_plus", "maintainer_excluded"}
    needs_a_broken_page = {"swallowed_text", "displaced_stem", "not_four_choice"}
    assert planted == {e.value for e in Exclusion} - not_on_one_paper - needs_a_broken_page


# ------------------------------------------------------------------------------------------------------------ mirror


def test_the_index_has_the_ministrys_form(mirror: Path) -> None:
    data = (mirror / "index.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbf") and data.endswith(b"\r\n")
    index = read_index(data, "index.csv")
    assert tuple(rows_of(mirror / "index.csv")[0]) == COLUMNS
    assert (len(index.rows), len(index.problems)) == (18, 0)
    assert len(index.keyed()) == 17
    assert {row.year_roc for row in index.rows} == {101, 104, 107, 110}


def test_every_url_has_its_file_but_the_missing_paper(mirror: Path) -> None:
    urls = {row["url"]: row["path"] for row in rows_of(mirror / "urls.csv")}
    named = {row[c] for row in rows_of(mirror / "index.csv") for c in ("試題網址", "測驗式試題答案網址") if row[c]}
    assert {url for url in named if url not in urls} == {url for url in named if "c=506" in url}
    assert len({url for url in named if "c=506" in url}) == 2
    files = {path for path in digests(mirror) if path.startswith("files/")}
    assert files == set(urls.values())
    assert all((mirror / path).read_bytes().startswith(b"%PDF-") for path in files)


def test_one_pdf_is_served_under_several_rows(mirror: Path) -> None:
    served = Counter(row["path"] for row in rows_of(mirror / "urls.csv"))
    assert served["files/101801/101/0101/Q.pdf"] == 3


def test_subjects_are_found_by_full_name_by_head_and_not_at_all(mirror: Path) -> None:
    truth = {paper["paper"]: paper for paper in truth_of(mirror)["papers"]}
    seen: Counter[str | None] = Counter()
    for row in read_index((mirror / "index.csv").read_bytes(), "index.csv").keyed():
        paper = truth.get(row.paper_id) or truth["101801-101-0101"]
        found = assign(row.subject_name)
        assert (found.subject.slug if found.subject else None, found.how) == (paper["subject"], paper["matched"])
        seen[found.how] += 1
    assert seen == {"full": 12, "head": 4, None: 1}


def test_keys_of_every_subject_are_spread(mirror: Path) -> None:
    published: dict[str, Counter[str]] = {}
    for paper in truth_of(mirror)["papers"]:
        if paper["status"] == "accepted" and paper["subject"]:
            keys = (q["key"] for q in paper["questions"] if q["exclusion"] is None)
            published.setdefault(paper["subject"], Counter()).update(keys)
    assert len(published) == 6
    assert {slug for slug, counts in published.items() if sum(counts.values()) >= 25} >= {
        "tw-roc-constitution-bench",
        "tw-computer-science-bench",
        "tw-library-science-bench",
        "tw-medicine-bench",
        "tw-chinese-language-bench",
    }
    for slug, counts in published.items():
        assert max(counts.values()) / sum(counts.values()) < 0.4, slug


def test_reprints_share_a_loose_fingerprint_and_one_pair_disagrees(mirror: Path) -> None:
    truth = truth_of(mirror)
    questions = {(p["paper"], q["q_no"]): q for p in truth["papers"] for q in p["questions"]}
    exact_pairs = 0
    for item, reprint in truth["reprints"].items():
        copies = [questions[place["paper"], place["q_no"]] for place in reprint["places"]]
        assert len({loose(q["question"], q["options"]) for q in copies}) == 1, item
        exact_pairs += len({exact(q["question"], q["options"]) for q in copies}) == 1
    assert (len(truth["reprints"]), exact_pairs) == (9, 5)
    assert [item for item, reprint in truth["reprints"].items() if reprint["conflict"]] == ["chi-006"]


def test_building_twice_gives_the_same_bytes(mirror: Path, tmp_path: Path) -> None:
    build(tmp_path / "again")
    assert digests(tmp_path / "again") == digests(mirror)


def test_a_folder_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    with pytest.raises(NotASampleError, match="nothing written"):
        build(tmp_path / "mine")
    assert digests(tmp_path) == {"mine/notes.txt": hashlib.sha256(b"keep").hexdigest()}


def test_the_command_replaces_an_older_sample(second_day: Path, tmp_path: Path) -> None:
    out = tmp_path / "mirror"
    shutil.copytree(second_day, out)
    command = [sys.executable, "-m", "samples", "build", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, f"16 papers in {out}"), done.stderr
    assert truth_of(out)["day"] == 1
    assert not (out / "files/113805").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["mirror"]


# -------------------------------------------------------------------------------------------------------- second day


def test_the_second_day_adds_a_sitting_and_corrects_one_key(mirror: Path, second_day: Path) -> None:
    before, after = digests(mirror), digests(second_day)
    assert {path for path in after if path not in before} == {
        "files/104802/401/0401/M.pdf",
        "files/113805/701/0701/Q.pdf",
        "files/113805/701/0701/S.pdf",
    }
    changed = {path for path in before if after.get(path) != before[path]}
    assert changed == {"index.csv", "urls.csv", "truth.json"}
    old = {row["試題網址"]: row for row in rows_of(mirror / "index.csv")}
    new = {row["試題網址"]: row for row in rows_of(second_day / "index.csv")}
    assert len(new) == len(old) + 1
    touched = [row for url, row in new.items() if url in old and row != old[url]]
    assert [(row["科目全名"], row["備註"]) for row in touched] == [("圖書館學大意", "更正答案")]
    assert "t=M" in touched[0]["測驗式試題答案網址"]


def test_the_second_days_correction_re_keys_one_item_and_voids_one(mirror: Path, second_day: Path) -> None:
    def questions(folder: Path) -> dict[int, dict[str, Any]]:
        paper = next(p for p in truth_of(folder)["papers"] if p["paper"] == "104802-401-0401")
        return {q["q_no"]: q for q in paper["questions"]}

    old, new = questions(mirror), questions(second_day)
    assert {n for n in old if old[n] != new[n]} == {3, 5}
    assert (new[3]["exclusion"], new[3]["key"]) == ("voided", None)
    assert new[5]["exclusion"] is None and new[5]["key"] != old[5]["key"] and new[5]["corrected"]


def test_a_third_day_does_not_exist() -> None:
    with pytest.raises(ValueError, match="days 1 and 2"):
        papers(3)
