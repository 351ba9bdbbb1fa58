"""tw-rag-bench: contexts, rows, the folder, and its twelve blocking checks with planted defects and native sets."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.formosa import make_formosa_item, make_window
from support.tw_rag import CATEGORIES, categories, items, windows, write_tw_rag

from opentwbench.dataset.files import csv_records_bytes, jsonl_bytes, read_jsonl
from opentwbench.dataset.manifest import json_bytes, sha256
from opentwbench.dataset.model import DatasetError
from opentwbench.dataset.publication import PublicationRefused, publish
from opentwbench.evaluation.items import Roster, item_set
from opentwbench.formosa.folding import stands_in
from opentwbench.rag.adapters import read_benchmark
from opentwbench.rag.tw_rag.contexts import Pool, article_of, of_category
from opentwbench.rag.tw_rag.dataset_checks import CHECKS, judge, run_check
from opentwbench.rag.tw_rag.model import LeftOut, Rejected, account, gold_position
from opentwbench.rag.tw_rag.output import (
    COLUMNS,
    FOLDER_NAMES,
    RAGAS_COLUMNS,
    Release,
    category_bytes,
    read_category,
    write_release,
)
from opentwbench.statistics.chi_square import chi_square


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as it is published; tests that damage it work on a copy."""
    folder = tmp_path_factory.mktemp("tw-rag") / "tw-rag-bench"
    write_tw_rag(folder)
    return folder


def copied(folder: Path, to: Path) -> Path:
    to.mkdir()
    for path in folder.iterdir():
        (to / path.name).write_bytes(path.read_bytes())
    return to


# -- contexts ---------------------------------------------------------------------------------------------------------


def test_the_three_invariants_hold_over_every_item() -> None:
    rows = [item for each in categories() for item in each.items]
    assert len(rows) == 120
    for row in rows:
        assert row.contexts[row.gold_position - 1].window_id == row.source_chunk
        others = [c for n, c in enumerate(row.contexts, 1) if n != row.gold_position]
        assert all(article_of(c.window_id) != article_of(row.source_chunk) for c in others)
        assert not any(stands_in(row.answer_text, c.text) for c in others)
        assert row.gold_position == gold_position(row.formosa_id)


def test_a_window_with_the_answer_is_passed_over_under_folding_and_counted() -> None:
    gold = make_window(0, text="臺灣原住民族官方認定有16族，住在山區。")
    others = [
        make_window(3, text="台灣原住民族官方認定的族群有十六族。"),
        make_window(6, text="原住民族官方認定１６ 族。"),
        make_window(9, text="原住民族官方認定，始於2016族譜。"),
        make_window(12, text="原住民族官方語言。"),
        make_window(15, text="原住民族的族群。"),
    ]
    chosen = Pool([gold, *others]).distractors("台灣原住民族官方認定的族群有幾族？", "16族", gold, 0)
    assert {window.article for window in chosen.windows} == {others[n].article for n in (2, 3, 4)}
    assert chosen.rejected == {Rejected.HOLDS_ANSWER: 2}


def test_the_golds_own_article_and_a_text_twice_are_passed_over_and_counted() -> None:
    gold = make_window(0, text="玉山是台灣最高的山，高三千九百五十二公尺。")
    near = make_window(1, text="玉山是最高的山。", article=gold.article, window_id="Food/第0鎮/aaaaaaaaaaaa")
    twins = [make_window(n, text="雪山是第二高的山。") for n in (3, 6)]
    rest = [make_window(9, text="合歡山有雪。"), make_window(12, text="大霸尖山。")]
    chosen = Pool([gold, near, *twins, *rest]).distractors("台灣最高的山？", "玉山", gold, 0)
    assert len(chosen.windows) == 3
    assert chosen.rejected == {Rejected.OWN_ARTICLE: 1, Rejected.SAME_TEXT: 1}


def test_as_many_distractors_are_longer_as_was_drawn() -> None:
    gold = make_window(0, text="玉山很高。" * 4)
    pool = [make_window(3 * n, text=f"山{n}。" + "玉山很高。" * n) for n in range(1, 9)]
    for longer in range(4):
        chosen = Pool([gold, *pool]).distractors("玉山高？", "不在其中", gold, longer)
        assert sum(len(window.text) > len(gold.text) for window in chosen.windows) == longer


def test_what_is_left_out_is_named_with_its_reason_and_the_sums_close() -> None:
    held = windows(6)
    lost = make_formosa_item(90, category="Food")
    unasked = make_formosa_item(0, question="第0鎮有活動。", window_id=held[0].window_id)
    few = items(held)[3]
    found = of_category("Food", [lost, unasked, few], held)
    reasons = {each.formosa_id: (each.reason, each.detail) for each in found.dropped}
    assert reasons[lost.item_id] == (LeftOut.WINDOW_MISSING, lost.window_id)
    assert reasons[unasked.item_id] == (LeftOut.NEEDS_TEMPLATE, "unknown")
    assert reasons[few.item_id] == (LeftOut.TOO_FEW_DISTRACTORS, "1 of 3")
    assert (found.items, found.account.open_sums()) == ((), [])
    changed = of_category("Food", [few], [replace(held[3], text="另一段文字。"), *held])
    assert len(changed.dropped) == 1


def test_two_processes_with_other_hash_seeds_make_the_same_bytes(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from support.tw_rag import write_tw_rag; write_tw_rag(Path(sys.argv[1]))"
    )
    digests = set()
    for seed in ("1", "2"):
        out = tmp_path / seed / "tw-rag-bench"
        done = subprocess.run(
            [sys.executable, "-c", code, str(out)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "tests:.", "PATH": "/usr/bin:/bin"},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        digests.add(hashlib.sha256(b"".join((out / name).read_bytes() for name in FOLDER_NAMES)).hexdigest())
    assert len(digests) == 1


# -- the folder -------------------------------------------------------------------------------------------------------


def test_the_folder_is_whole_and_every_reader_of_the_platform_takes_it(made: Path) -> None:
    assert {path.name for path in made.iterdir()} == set(FOLDER_NAMES)
    ragas, mcq = read_jsonl(made / "ragas.jsonl"), read_jsonl(made / "benchmark.jsonl")
    assert tuple(ragas[0]) == RAGAS_COLUMNS and tuple(mcq[0]) == COLUMNS
    benchmark = read_benchmark("tw_rag", made)
    assert (len(benchmark.questions), benchmark.dropped) == (120, {})
    asked = item_set([made])
    assert len(Roster(asked)) == 120
    first = next(iter(asked))
    assert all(text in first.question for text in ragas[0]["contexts"]) and ragas[0]["question"] in first.question


def test_equal_items_are_equal_bytes_and_a_change_is_in_the_changelog(tmp_path: Path) -> None:
    folder = tmp_path / "tw-rag-bench"
    parts = categories()
    version = write_release(Release(tuple(parts), "0" * 12, "test"), folder)
    before = {name: (folder / name).read_bytes() for name in FOLDER_NAMES}
    assert write_release(Release(tuple(reversed(parts)), "0" * 12, "test"), folder) == version
    assert {name: (folder / name).read_bytes() for name in FOLDER_NAMES} == before
    public = tmp_path / "publications" / folder.name
    publish(folder, (), public, (), FOLDER_NAMES)
    none, *others = parts[2].items
    withheld = write_release(Release((*parts[:2], replace(parts[2], items=tuple(others[1:]))), "0" * 12, "t"), folder)
    fewer = Release((*parts[:2], replace(parts[2], items=tuple(others))), "0" * 12, "test")
    second = write_release(fewer, folder, public)
    log = (folder / "CHANGELOG.md").read_text()
    assert len({version, withheld, second}) == 3
    assert none.formosa_id in log and log.index(second) < log.rindex(version)
    assert withheld not in log and others[0].formosa_id not in log, "a version that nobody published is no history"
    publish(folder, (), public, (), FOLDER_NAMES)
    assert write_release(fewer, folder, public) == second
    assert (folder / "CHANGELOG.md").read_text() == log


def test_a_category_survives_the_way_through_its_file(tmp_path: Path) -> None:
    for category in categories(30):
        (tmp_path / "c.jsonl").write_bytes(category_bytes(category))
        assert read_category(tmp_path / "c.jsonl") == category
    (tmp_path / "c.jsonl").write_text('{"category": "Food", "rejected": {}}\n{"kept": {"question": 1}}\n')
    with pytest.raises(DatasetError, match="line 2"):
        read_category(tmp_path / "c.jsonl")


# -- checks -----------------------------------------------------------------------------------------------------------


def test_no_check_fires_on_a_sound_set(made: Path) -> None:
    for name in CHECKS:
        outcome = run_check(name, made)
        assert outcome.passed, outcome.detail
        assert outcome.figures["rows"] == 120


Rows = list[dict[str, Any]]


def rewrite(folder: Path, damage: Callable[[Rows, Rows], None]) -> None:
    ragas, mcq = read_jsonl(folder / "ragas.jsonl"), read_jsonl(folder / "benchmark.jsonl")
    damage(ragas, mcq)
    (folder / "ragas.jsonl").write_bytes(jsonl_bytes(ragas))
    (folder / "benchmark.jsonl").write_bytes(jsonl_bytes(mcq))
    (folder / "benchmark.csv").write_bytes(csv_records_bytes(mcq, COLUMNS))


def _swap_gold(ragas: Rows, mcq: Rows) -> None:
    for name in ("contexts", "context_chunks"):
        ragas[3][name] = ragas[3][name][1:] + ragas[3][name][:1]


def _other_text(ragas: Rows, mcq: Rows) -> None:
    ragas[3]["contexts"][0] += "。"


def _own_article(ragas: Rows, mcq: Rows) -> None:
    place = ragas[3]["gold_position"] % 4
    ragas[3]["context_chunks"][place] = article_of(ragas[3]["source_chunk"]) + "/0123456789ab"


def _other_category(ragas: Rows, mcq: Rows) -> None:
    place = ragas[3]["gold_position"] % 4
    ragas[3]["context_chunks"][place] = "Elsewhere/x/0123456789ab"


def _answer_inside(ragas: Rows, mcq: Rows) -> None:
    ragas[3]["contexts"][ragas[3]["gold_position"] % 4] += "見" + ragas[3]["answer_text"]


def _all_first(ragas: Rows, mcq: Rows) -> None:
    for row in ragas:
        row["gold_position"] = 1


def _long_gold(ragas: Rows, mcq: Rows) -> None:
    for row in ragas[:90]:
        row["contexts"][row["gold_position"] - 1] += "長" * 200


def _asks(ragas: Rows, mcq: Rows) -> None:
    ragas[3]["reference"] = ragas[3]["question"].rstrip("？") + f"：{ragas[3]['answer_text']}。"


def _free(ragas: Rows, mcq: Rows) -> None:
    ragas[3]["reference"] = f"其實就是{ragas[3]['answer_text']}。"


def _other_stem(ragas: Rows, mcq: Rows) -> None:
    mcq[3]["question"] = mcq[3]["question"].replace("三月", "四月")


def _other_key(ragas: Rows, mcq: Rows) -> None:
    mcq[3]["answer"] = "ABCD"["ABCD".index(mcq[3]["answer"]) - 1]


def _no_licence(ragas: Rows, mcq: Rows) -> None:
    ragas[3]["context_attributions"][2] = "somebody"


def _no_address(ragas: Rows, mcq: Rows) -> None:
    ragas[3]["context_urls"][0] = "http://example.org"


def _twice(ragas: Rows, mcq: Rows) -> None:
    ragas.append(ragas[3])
    mcq.append(mcq[3])


def _equal_options(ragas: Rows, mcq: Rows) -> None:
    mcq[3]["A"] = mcq[3]["B"]


def _full_width(ragas: Rows, mcq: Rows) -> None:
    ragas[3]["reference"] += "\u3000"


def _lost_row(ragas: Rows, mcq: Rows) -> None:
    del ragas[3], mcq[3]


DEFECTS = [
    ("gold_at_position", _swap_gold),
    ("gold_at_position", _other_text),
    ("gold_at_position", _all_first),
    ("no_own_article", _own_article),
    ("no_own_article", _other_category),
    ("no_answer_in_distractors", _answer_inside),
    ("position_balance", _all_first),
    ("length_balance", _long_gold),
    ("template_coverage", _asks),
    ("template_coverage", _free),
    ("mcq_mirrors_ragas", _other_stem),
    ("mcq_mirrors_ragas", _other_key),
    ("licence_present", _no_licence),
    ("licence_present", _no_address),
    ("row_contract", _twice),
    ("row_contract", _equal_options),
    ("row_contract", _full_width),
    ("row_contract", _other_stem),
    ("accounting_closes", _lost_row),
]


@pytest.mark.parametrize(("check", "damage"), DEFECTS)
def test_a_planted_defect_is_found(
    made: Path, tmp_path: Path, check: str, damage: Callable[[Rows, Rows], None]
) -> None:
    folder = copied(made, tmp_path / "tw-rag-bench")
    rewrite(folder, damage)
    outcome = run_check(check, folder)
    assert outcome.blocks and outcome.detail


def test_every_check_has_a_planted_defect() -> None:
    elsewhere = {"csv_mirrors_jsonl", "card_matches"}  # below
    assert {check for check, _ in DEFECTS} | elsewhere == set(CHECKS)


def test_a_cell_that_the_csv_says_otherwise_and_a_damaged_file_are_found(made: Path, tmp_path: Path) -> None:
    folder = copied(made, tmp_path / "tw-rag-bench")
    data = (folder / "benchmark.csv").read_bytes()
    (folder / "benchmark.csv").write_bytes(data.replace("燈會".encode(), "花季".encode(), 1))
    assert run_check("csv_mirrors_jsonl", folder).blocks
    for name in CHECKS:
        (folder / "ragas.jsonl").write_bytes(b'{"question": 1}\n')
        (folder / "benchmark.jsonl").write_bytes(b"{}\n")
        outcome = run_check(name, folder)
        assert outcome.blocks and ".jsonl" in outcome.detail, name


def _extra(folder: Path) -> None:
    (folder / "notes.txt").write_text("x")


def _prose(folder: Path) -> None:
    card = folder / "README.md"
    card.write_text(card.read_text().replace("Nothing here is generated", "Everything here is generated"))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["README.md"] = {"sha256": sha256(card.read_bytes()), "bytes": len(card.read_bytes())}
    (folder / "manifest.json").write_bytes(json_bytes(manifest))


def _foreign_withdrawal(folder: Path) -> None:
    record = {"item_id": "rag-0123456789ab", "reason": "text_damaged", "date": "2026-11-30", "evidence": "seen"}
    (folder / "withdrawn.jsonl").write_text(json.dumps(record) + "\n")


def _altered(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes() + b" ") and None


def _removed(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_extra, "notes.txt: no file of tw-rag-bench"),
        (_prose, "README.md line"),
        (_foreign_withdrawal, "rag-0123456789ab is not published"),
        *((_altered(name), name) for name in FOLDER_NAMES if name != "manifest.json"),
        *((_removed(name), name) for name in FOLDER_NAMES),
    ],
)
def test_a_folder_that_is_not_whole_is_a_failed_check(
    made: Path, tmp_path: Path, damage: Callable[[Path], None], said: str
) -> None:
    folder = copied(made, tmp_path / "tw-rag-bench")
    damage(folder)
    outcome = run_check("card_matches", folder)
    shown = " ".join([outcome.detail, *map(str, outcome.figures.values())])
    assert outcome.blocks and said in shown and str(tmp_path) not in shown


@pytest.mark.parametrize("name", FOLDER_NAMES)
def test_a_missing_file_ends_no_check_with_an_exception(made: Path, tmp_path: Path, name: str) -> None:
    folder = copied(made, tmp_path / "tw-rag-bench")
    (folder / name).unlink()
    (folder / name).mkdir()
    outcomes = [run_check(check, folder) for check in CHECKS]
    assert any(each.blocks for each in outcomes) and all(each.detail for each in outcomes)


def test_a_listed_need_of_templates_that_is_not_counted_is_found(made: Path, tmp_path: Path) -> None:
    folder = copied(made, tmp_path / "tw-rag-bench")
    stats = json.loads((folder / "build_stats.json").read_text())
    stats["needs_template"] = ["formosa-000000000000"]
    (folder / "build_stats.json").write_bytes(json_bytes(stats))
    assert run_check("template_coverage", folder).blocks


def test_the_published_spread_passes_with_its_p() -> None:
    assert chi_square([641, 648, 717, 659]).p == pytest.approx(0.1447, abs=1e-4)
    # The figure below which a spread blocks is crossed between these two.
    assert chi_square([760, 640, 640, 625]).p > 1e-4 > chi_square([800, 620, 620, 625]).p


def test_only_bytes_that_every_check_passed_are_published(made: Path, tmp_path: Path) -> None:
    folder = copied(made, tmp_path / "tw-rag-bench")
    verdicts = [judge(name, folder, "test")[1] for name in CHECKS]
    published = publish(folder, verdicts, tmp_path / "out", tuple(CHECKS), FOLDER_NAMES)
    assert published.slug == "tw-rag-bench" and published.changed
    assert (tmp_path / "out" / "ragas.jsonl").read_bytes() == (made / "ragas.jsonl").read_bytes()
    rewrite(folder, _no_licence)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["ragas.jsonl"]["sha256"] = sha256((folder / "ragas.jsonl").read_bytes())
    (folder / "manifest.json").write_bytes(json_bytes(manifest))
    with pytest.raises(PublicationRefused, match="other bytes"):
        publish(folder, verdicts, tmp_path / "out", tuple(CHECKS), FOLDER_NAMES)
    with pytest.raises(PublicationRefused, match="licence_present"):
        again = [judge(name, folder, "test")[1] for name in CHECKS]
        publish(folder, again, tmp_path / "out", tuple(CHECKS), FOLDER_NAMES)


def test_the_account_over_all_is_the_sum_of_its_categories() -> None:
    parts = categories()
    whole = account(parts)
    assert whole.grounded == sum(each.account.grounded for each in parts) == 120
    assert {each.name for each in parts} == set(CATEGORIES)
    assert whole.open_sums() == []
