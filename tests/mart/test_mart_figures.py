"""The mart against the library, against published numbers, and against what was planted."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opentwbench.apparatus.two_axes import ABOVE, TOP
from opentwbench.evaluation.mart import BUILD_DATABASE, EXPORT, open_mart
from opentwbench.evaluation.scoring import summarise
from opentwbench.statistics.intervals import wilson
from opentwbench.statistics.paired import mcnemar
from opentwbench.statistics.ranks import spearman, spearman_above, spearman_top
from opentwbench.statistics.stratified import Stratum, estimate
from resources.warehouse import MartBuildError, Warehouse

from .conftest import (
    BANDS,
    HARD_SUBJECT,
    LARGE,
    LONE_RUN,
    LONE_SUBJECT,
    NATIVE,
    PLANTED,
    QUIET_RUN,
    SIZE,
    WITHDRAWN,
    WRONG_KEY,
    Built,
)

Mart = duckdb.DuckDBPyConnection
ANALYSTS = Path(__file__).parents[2] / "docs" / "analysts.md"


def rows(mart: Mart, query: str, *values: object) -> list[dict[str, object]]:
    found = mart.execute(query, list(values))
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def one(mart: Mart, query: str, *values: object) -> dict[str, object]:
    found = rows(mart, query, *values)
    assert len(found) == 1, found
    return found[0]


# -- against the library ----------------------------------------------------------------------------------------------


def test_a_run_has_the_figures_of_the_library(mart: Mart, built: Built) -> None:
    summary = summarise(built.graded, built.scripted)
    score = summary.methods["strict"]
    board = one(mart, "FROM leaderboard WHERE run_id = 'scripted'")
    assert (board["n"], board["hits"], board["parsed"]) == (score.micro.n, score.micro.hits, score.parsed.hits)
    assert board["errors"] == sum(summary.errors.values()) > 0
    assert (board["accuracy_low"], board["accuracy_high"]) == pytest.approx((score.micro.low, score.micro.high))
    assert (board["parse_rate_low"], board["parse_rate_high"]) == pytest.approx((score.parsed.low, score.parsed.high))
    assert board["macro_accuracy"] == pytest.approx(score.macro.value)
    bounds = (board["macro_accuracy_low"], board["macro_accuracy_high"])
    assert bounds == pytest.approx((score.macro.low, score.macro.high))
    assert board["clustered_error"] == pytest.approx(score.clustered_error)
    assert board["error_rate"] == pytest.approx(summary.error_rate.value)
    assert board["cap_hit_rate"] == pytest.approx(summary.cap_hits.value)
    assert board["several_boxes_rate"] == pytest.approx(summary.several_boxes.value)
    assert board["repeats"] == summary.repeats == 2
    assert board["repeat_mean"] == pytest.approx(score.repeats.mean)
    assert board["repeat_sd"] == pytest.approx(score.repeats.deviation)
    for method in ("lenient", "tolerant-box", "twinkle-box", "twinkle-pattern"):
        assert board[f"{method.replace('-', '_')}_accuracy"] == pytest.approx(summary.methods[method].micro.value)
    outcomes = {each.value: count for each, count in score.outcomes.items()}
    for outcome in ("unparsed", "refused", "empty", "capped"):
        assert board[outcome] == outcomes.get(outcome, 0) > 0
    # An error that a resumed run would not ask again leaves a run complete.
    assert board["is_complete"] is True


@pytest.mark.parametrize(
    ("table", "column", "part"),
    [
        ("subject_scores", "subject", "by_subject"),
        ("field_scores", "field", "by_field"),
        ("year_scores", "year_roc", "by_year"),
    ],
)
def test_cells_have_the_figures_of_the_library(mart: Mart, built: Built, table: str, column: str, part: str) -> None:
    cells = getattr(summarise(built.graded, built.scripted).methods["strict"], part)
    found = {row[column]: row for row in rows(mart, f"FROM {table} WHERE run_id = 'scripted'")}
    assert set(found) == set(cells) and len(cells) > 1
    for name, cell in cells.items():
        row = found[name]
        assert (row["hits"], row["n"], row["parsed"]) == (cell.correct.hits, cell.correct.n, cell.parsed.hits)
        assert (row["accuracy_low"], row["accuracy_high"]) == pytest.approx((cell.correct.low, cell.correct.high))


def test_a_macro_interval_is_that_of_strata_of_equal_weight(mart: Mart) -> None:
    cells = "SELECT hits, n FROM subject_scores WHERE run_id = 'run-003' AND n > 0"
    some_field = "SELECT min(field) AS name FROM field_scores WHERE run_id = 'run-003'"
    field = str(one(mart, some_field)["name"])
    for table, where in (("leaderboard", "true"), ("field_scores", f"field = '{field}'")):
        strata = [(int(str(row["hits"])), int(str(row["n"]))) for row in rows(mart, f"{cells} AND {where}")]
        # Of a huge size, so that none counts as judged whole.
        expected = estimate([Stratum(10**12, n, hits) for hits, n in strata])
        row = one(mart, f"FROM {table} WHERE run_id = 'run-003' AND {where}")
        found = (row["macro_accuracy"], row["macro_accuracy_low"], row["macro_accuracy_high"])
        assert found == pytest.approx((expected.share, expected.interval.low, expected.interval.high))
        assert len(strata) == row["n_subjects"] > 1


def test_every_interval_is_wilsons(mart: Mart) -> None:
    found = rows(mart, "SELECT hits, n, accuracy_low AS low, accuracy_high AS high FROM subject_scores WHERE n > 0")
    found += rows(mart, "SELECT hits, n, pass_rate_low, pass_rate_high FROM item_difficulty WHERE n > 0 LIMIT 500")
    assert len(found) > 700
    repeated = {row["run_id"] for row in rows(mart, "SELECT run_id FROM leaderboard WHERE repeats > 1")}
    assert repeated == {"repeated", "scripted"}
    single = rows(
        mart,
        "SELECT hits, n, accuracy_low, accuracy_high FROM subject_scores WHERE run_id NOT IN ('repeated', 'scripted')",
    )
    for row in single:
        expected = wilson(int(str(row["hits"])), int(str(row["n"])))
        assert (row["accuracy_low"], row["accuracy_high"]) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_mcnemar_is_the_librarys(mart: Mart) -> None:
    found = rows(mart, "FROM head_to_head")
    assert len(found) > 100
    for row in found:
        expected = mcnemar(int(str(row["only_a"])), int(str(row["only_b"])))
        assert row["discordant"] == expected.discordant
        assert row["mcnemar_exact_p"] == pytest.approx(expected.exact_p, rel=1e-8, abs=1e-300)
        assert row["mcnemar_mid_p"] == pytest.approx(expected.mid_p, rel=1e-8, abs=1e-300)


def test_pairs_are_counted_as_answer_by_answer(mart: Mart) -> None:
    right: dict[str, dict[object, bool]] = {}
    for row in rows(mart, "FROM answers WHERE repeat = 0 AND outcome <> 'error' AND run_id LIKE 'planted-00%'"):
        right.setdefault(str(row["run_id"]), {})[row["item_id"]] = row["outcome"] == "correct"
    assert len(right) == 10
    pairs = {(row["run_a"], row["run_b"]): row for row in rows(mart, "FROM head_to_head WHERE benchmark = ?", PLANTED)}
    assert set(pairs) == set(combinations(sorted(right), 2))
    for (a, b), row in pairs.items():
        both = right[a].keys() & right[b].keys()
        counted = (
            len(both),
            sum(right[a][item] and right[b][item] for item in both),
            sum(right[a][item] and not right[b][item] for item in both),
            sum(right[b][item] and not right[a][item] for item in both),
        )
        assert (row["n"], row["both_right"], row["only_a"], row["only_b"]) == counted


def test_spearman_is_the_librarys(mart: Mart) -> None:
    board = rows(mart, "FROM leaderboard WHERE benchmark = ? AND protocol_name = 'box' AND is_complete", NATIVE)
    found = {
        row["scope"]: row
        for row in rows(
            mart,
            "FROM rank_agreement WHERE kind = 'extraction' AND benchmark_a = ? AND protocol_a = 'box'"
            " AND method_b = 'lenient'",
            NATIVE,
        )
    }
    first, second = [float(str(r["accuracy"])) for r in board], [float(str(r["lenient_accuracy"])) for r in board]
    expected = {
        "all": spearman(first, second),
        "top_20": spearman_top(first, second, TOP),
        "above_threshold": spearman_above(first, second, ABOVE),
    }
    assert len(board) > 12
    for scope, agreement in expected.items():
        assert found[scope]["n"] == agreement.n
        assert found[scope]["spearman"] == (agreement.rho and pytest.approx(agreement.rho, abs=1e-12))


def test_columns_are_paired_three_ways(mart: Mart) -> None:
    kinds = {(row["kind"], row["n"]) for row in rows(mart, "FROM rank_agreement WHERE scope = 'all'")}
    protocol = one(mart, "FROM rank_agreement WHERE kind = 'protocol' AND scope = 'all'")
    assert {kind for kind, _ in kinds} == {"extraction", "benchmark", "protocol"}
    assert (protocol["protocol_a"], protocol["protocol_b"], protocol["benchmark_a"]) == ("box", "pattern", NATIVE)
    assert int(str(protocol["n"])) >= 3


# -- published numbers ------------------------------------------------------------------------------------------------


def percent(value: object, digits: int = 1) -> float:
    return round(100 * float(str(value)), digits)


@pytest.mark.parametrize(("right", "low", "high"), [(1_000, 56.6, 61.3), (784, 43.9, 48.6), (658, 36.5, 41.1)])
def test_published_intervals_of_1696(mart: Mart, right: int, low: float, high: float) -> None:
    row = one(mart, "FROM leaderboard WHERE run_id = ?", f"of-1696-{right}")
    assert (row["n"], percent(row["accuracy_low"]), percent(row["accuracy_high"])) == (1_696, low, high)


def test_published_interval_of_none_in_twenty(mart: Mart) -> None:
    row = one(mart, "FROM leaderboard WHERE run_id = 'zero-of-20'")
    assert (percent(row["accuracy_low"]), percent(row["accuracy_high"])) == (0.0, 16.1)


def test_published_exam_set_with_its_withdrawals(mart: Mart) -> None:
    row = one(mart, "FROM leaderboard WHERE run_id = 'large'")
    assert (row["n"], row["n_withdrawn"], row["item_set"]) == (LARGE - WITHDRAWN, WITHDRAWN, "scored")
    shown = [percent(row[name], 2) for name in ("accuracy", "accuracy_low", "accuracy_high")]
    assert shown == [82.19, 82.04, 82.34]


def test_published_sample_after_withdrawals(mart: Mart) -> None:
    row = one(mart, "FROM leaderboard WHERE run_id = 'sample'")
    assert (row["n"], row["n_withdrawn"]) == (22_021, 179)


def test_published_key_consistency(mart: Mart) -> None:
    row = one(mart, "FROM key_consistency WHERE scope = 'all'")
    assert (row["groups"], row["flagged"], percent(row["consistency"], 4)) == (31_312, 27, 99.9138)
    constitution = one(mart, "FROM key_consistency WHERE scope = 'tw-roc-constitution-bench'")
    assert (constitution["groups"], constitution["flagged"]) == (724, 0)


def test_published_accounts_of_the_constitution(mart: Mart) -> None:
    lines = {
        (row["section"], row["line"]): row["count"]
        for row in rows(mart, "FROM build_accounting WHERE scope = 'tw-roc-constitution-bench'")
    }
    assert lines["papers", "total"] == 164
    assert (lines["papers", "accepted"], lines["papers", "no_text_layer"]) == (141, 23)
    assert lines["questions", "published"] == 1_068
    assert one(mart, "FROM build_accounting WHERE scope = 'all' AND line = 'voided'")["count"] == 9


def test_the_longer_budget_reads_as_parse_transitions_and_a_paired_test(mart: Mart) -> None:
    row = one(mart, "FROM head_to_head WHERE benchmark = 'budget'")
    assert (row["run_a"], row["run_b"]) == ("budget-16384", "budget-8192")
    assert (row["parsed_only_a"], row["parsed_only_b"]) == (130, 103)
    shares = {r["run_id"]: r for r in rows(mart, "FROM leaderboard WHERE benchmark = 'budget'")}
    assert [percent(1 - float(str(shares[f"budget-{n}"]["parse_rate"]))) for n in (8_192, 16_384)] == [15.9, 14.0]
    # The published half-width is that of a single run, not of the pair.
    low, high = (float(str(shares["budget-8192"][f"accuracy_{end}"])) for end in ("low", "high"))
    assert percent((high - low) / 2) == 2.6
    assert shares["budget-8192"]["protocol_id"] != shares["budget-16384"]["protocol_id"]


# -- the board --------------------------------------------------------------------------------------------------------


def test_only_whole_and_latest_runs_stand_on_the_board(mart: Mart) -> None:
    log = {row["run_id"]: row for row in rows(mart, "FROM run_log")}
    assert (log["old"]["is_complete"], log["old"]["is_current"]) == (True, False)
    assert (log["part"]["is_complete"], log["part"]["is_current"]) == (False, False)
    assert log["run-002"]["is_current"] is True, "a later run that lacks items does not replace a complete one"
    failed = one(mart, "FROM leaderboard WHERE run_id = 'failed'")
    assert (failed["n"], failed["hits"], failed["errors"]) == (900, 900, 300)
    assert (failed["is_complete"], failed["rank_band"], failed["error_rate"]) == (False, None, 0.25)
    assert (log["trial"]["is_complete"], log["trial"]["is_current"]) == (False, False)
    assert log["trial"]["standing"] == "it asked a part of the benchmark"
    assert log["run-002"]["is_current"] is True, "a later trial over a part does not replace the whole"
    assert len(log) == len(built_runs(mart)) + 3


def built_runs(mart: Mart) -> list[object]:
    return [row["run_id"] for row in rows(mart, "SELECT run_id FROM leaderboard")]


def test_rank_bands_by_hand(mart: Mart) -> None:
    board = rows(mart, "FROM leaderboard WHERE benchmark = ? AND protocol_name = 'box' AND is_complete", NATIVE)
    for row in board:
        above = {other["model"] for other in board if other["accuracy_low"] > row["accuracy_high"]}  # type: ignore[operator]
        assert row["rank_band"] == 1 + len(above - {row["model"]})
    assert len({row["rank_band"] for row in board}) > 3


def test_bands_count_models_and_a_model_never_stands_above_itself(mart: Mart) -> None:
    bands = {row["run_id"]: row["rank_band"] for row in rows(mart, "FROM leaderboard WHERE benchmark = ?", BANDS)}
    assert bands == {"twice-16384": 1, "between": 2, "twice-8192": 2, "below": 3}


def test_two_protocols_are_two_rows_and_never_ranked_together(mart: Mart) -> None:
    found = rows(mart, "FROM leaderboard WHERE model = 'maker/model-001' AND benchmark = ?", NATIVE)
    assert {(row["protocol_name"], row["ranked_by"]) for row in found} == {
        ("box", "strict"),
        ("pattern", "twinkle-pattern"),
    }
    assert 1 in {row["rank_band"] for row in rows(mart, "FROM leaderboard WHERE protocol_name = 'pattern'")}
    assert {row["serving_precision"] for row in rows(mart, "FROM leaderboard")} == {"native", "quantised"}


def test_repeats_give_a_spread_and_no_narrower_interval(mart: Mart) -> None:
    row = one(mart, "FROM leaderboard WHERE run_id = 'repeated'")
    assert (row["n"], row["hits"], row["repeats"]) == (3_600, 2_100, 3)
    assert row["repeat_mean"] == pytest.approx(700 / 1_200)
    assert row["repeat_sd"] == pytest.approx(10 / 1_200)
    expected = wilson(700, 1_200)
    assert (row["accuracy_low"], row["accuracy_high"]) == pytest.approx((expected.low, expected.high))


def test_annotations_stand_beside_the_model(mart: Mart) -> None:
    found = rows(mart, "SELECT DISTINCT model FROM leaderboard WHERE annotations = 'wrote the draft items'")
    assert found == [{"model": "maker/model-001"}]


def test_submissions_stay_apart(mart: Mart) -> None:
    published = one(mart, "FROM submissions_log WHERE submission_id = 'published'")
    exact = one(mart, "FROM submissions_log WHERE submission_id = 'exact'")
    assert (published["n"], published["rows_missing"], published["rows_identified"]) == (1_198, 2, 1_196)
    assert (exact["n"], exact["rows_missing"], exact["rows_identified"]) == (1_200, 0, 1_200)
    assert (published["strict_is_derived"], exact["strict_is_derived"]) == (True, False)
    assert exact["strict_hits"] == 400
    known = rows(mart, "SELECT submission_id, count(*) AS n FROM submission_items GROUP BY ALL ORDER BY 1")
    assert known == [{"submission_id": "exact", "n": 1_200}, {"submission_id": "published", "n": 1_196}]
    expected = wilson(400, 1_200)
    assert (exact["strict_accuracy_low"], exact["strict_accuracy_high"]) == pytest.approx((expected.low, expected.high))
    assert not {"published", "exact"}.intersection(map(str, built_runs(mart)))


def test_refused_submissions_stand_in_the_log_without_a_score(mart: Mart) -> None:
    counts = rows(mart, "SELECT is_accepted, count(*) AS n FROM submissions_log GROUP BY ALL ORDER BY 1")
    assert counts == [{"is_accepted": False, "n": 2}, {"is_accepted": True, "n": 2}]
    known = one(mart, "FROM submissions_log WHERE submission_id = 'ref-0000000000000001'")
    assert (known["model"], known["refused_for"], known["n"]) == ("maker/model-002", "missing_items", 900)
    assert (known["strict_accuracy"], known["strict_hits"], known["n_items"]) == (None, None, None)
    unknown = one(mart, "FROM submissions_log WHERE submission_id = 'ref-0000000000000002'")
    assert (unknown["model"], unknown["form"], unknown["refused_for"]) == (None, None, "no_consent")


# -- parse alarms -----------------------------------------------------------------------------------------------------


def test_the_planted_cell_is_found_by_both_comparisons(mart: Mart) -> None:
    found = one(
        mart,
        "FROM parse_alarms WHERE run_id = ? AND subject = ?",
        LONE_RUN,
        f"tw-made-{LONE_SUBJECT:03d}-bench",
    )
    assert (found["outlier_for_model"], found["outlier_for_subject"]) == (True, True)
    assert float(str(found["parse_rate"])) < 0.7 < 0.95 < float(str(found["run_typical"]))


def test_a_hard_subject_and_a_run_that_reads_badly_everywhere_are_told_apart(mart: Mart) -> None:
    hard = rows(
        mart,
        "FROM parse_alarms WHERE benchmark = ? AND subject = ?",
        PLANTED,
        f"tw-made-{HARD_SUBJECT:03d}-bench",
    )
    # For its own models the subject is an outlier, among the models of the subject no single one is.
    assert len(hard) >= 8
    assert all(row["outlier_for_model"] for row in hard if row["run_id"] != QUIET_RUN)
    assert not any(row["outlier_for_subject"] for row in hard if row["run_id"] != QUIET_RUN)
    quiet = rows(mart, "FROM parse_alarms WHERE run_id = ?", QUIET_RUN)
    assert len(quiet) <= 1, "a run that reads badly everywhere is a result, no outlier in every subject"
    others = rows(mart, "FROM parse_alarms WHERE benchmark = ?", PLANTED)
    assert len(others) == len(hard) + len([r for r in quiet if r not in hard]) + 1


def test_the_native_board_is_silent(mart: Mart) -> None:
    judged = one(
        mart,
        "SELECT count(*) FILTER (WHERE parse_judged) AS judged, count(*) FILTER (WHERE parse_alarm) AS alarms"
        " FROM subject_scores WHERE benchmark = ? AND run_id NOT IN ('failed', 'repeated')",
        NATIVE,
    )
    # 12 drawn runs and 6 under the bare prompt in 20 subjects.
    assert judged == {"judged": 18 * 20, "alarms": 0}


def test_small_cells_are_not_judged(mart: Mart) -> None:
    found = rows(mart, "FROM subject_scores WHERE n < 30")
    assert len(found) > 3
    assert not any(row["parse_judged"] or row["parse_alarm"] for row in found)


# -- items ------------------------------------------------------------------------------------------------------------


def test_item_difficulty_is_counted_from_the_answers(mart: Mart) -> None:
    differing = rows(
        mart,
        """
        WITH counted AS (
            SELECT l.benchmark, l.protocol_name, a.item_id, count(*) FILTER (WHERE outcome = 'correct') AS hits,
                   count(*) FILTER (WHERE answer = 'C') AS chose_c
            FROM answers AS a JOIN leaderboard AS l USING (run_id)
            WHERE l.is_complete AND a.repeat = 0 GROUP BY ALL)
        FROM item_difficulty AS d FULL JOIN counted AS c USING (benchmark, protocol_name, item_id)
        WHERE d.hits IS DISTINCT FROM c.hits OR d.chose_c IS DISTINCT FROM c.chose_c
        """,
    )
    assert differing == []


def test_a_wrong_key_is_suspect_and_a_hard_item_is_not(mart: Mart, built: Built) -> None:
    planted = rows(mart, "FROM item_difficulty WHERE benchmark = ? AND key_is_suspect", PLANTED)
    wrong = built.tables.items[WRONG_KEY]
    assert [row["item_id"] for row in planted] == [wrong.item_id]
    assert planted[0]["chosen_most"] != wrong.key
    judged = "SELECT count(*) FILTER (WHERE parsed >= 8) AS judged, count(*) FILTER (WHERE key_is_suspect) AS suspect"
    native = one(mart, f"{judged} FROM item_difficulty WHERE benchmark = ? AND protocol_name = 'box'", NATIVE)
    assert native == {"judged": SIZE.items, "suspect": 0}
    hard = one(mart, f"{judged} FROM item_difficulty WHERE benchmark = ? AND pass_rate < 0.3", PLANTED)
    assert int(str(hard["judged"])) > 20 and hard["suspect"] == 1


def test_the_withdrawn_are_in_no_item_table(mart: Mart, built: Built) -> None:
    for table in ("answers", "item_difficulty"):
        found = mart.execute(f"SELECT count(*) FROM {table} WHERE item_id = ?", [built.withdrawn[0]]).fetchone()
        assert found == (0,)


# -- what is shipped --------------------------------------------------------------------------------------------------


def test_every_table_and_column_is_described(mart: Mart) -> None:
    nameless = rows(
        mart,
        "SELECT table_name, column_name FROM duckdb_columns() WHERE comment IS NULL AND NOT internal"
        " AND table_name <> 'made_from'",
    )
    assert nameless == []
    assert rows(mart, "SELECT table_name FROM duckdb_tables() WHERE comment IS NULL") == []


def test_the_mart_holds_no_path_and_only_tables(mart: Mart, built: Built) -> None:
    assert rows(mart, "SELECT view_name FROM duckdb_views() WHERE NOT internal") == []
    data = (built.warehouse.folder / "leaderboard.duckdb").read_bytes()
    assert str(built.warehouse.folder).encode() not in data


def test_the_export_is_the_mart(mart: Mart, built: Built) -> None:
    folder = built.warehouse.folder / EXPORT
    exported = {path.stem: pq.read_metadata(path).num_rows for path in folder.iterdir()}
    assert exported == dict(built.swapped.tables)
    assert exported["subject_scores"] > 12 * SIZE.subjects


def test_the_mart_is_current_until_a_raw_table_changes(built: Built, tmp_path: Path) -> None:
    copy = Warehouse(Path(shutil.copytree(built.warehouse.folder, tmp_path / "warehouse")))
    assert copy.standing().is_current
    (copy.raw / "responses" / "old.parquet").unlink()
    assert copy.standing().changed == ("raw/responses/old.parquet",)


# -- analysts ---------------------------------------------------------------------------------------------------------

QUESTIONS = re.findall(r"^### (\d+\. .+?)\n.*?```sql\n(.*?)```", ANALYSTS.read_text(encoding="utf-8"), re.M | re.S)


def test_there_are_ten_questions() -> None:
    assert [int(title.split(".")[0]) for title, _ in QUESTIONS] == list(range(1, 11))


def test_a_question_names_its_protocol_whole() -> None:
    # 'box-%' finds the runs of box-placeholder too, and the mean of the field would be of both.
    assert not [title for title, query in QUESTIONS if re.search(r"protocol_id\s+LIKE", query, re.IGNORECASE)]


@pytest.mark.parametrize(("title", "query"), QUESTIONS, ids=[title.split(".")[0] for title, _ in QUESTIONS])
def test_the_query_of_a_question_answers_it(mart: Mart, title: str, query: str) -> None:
    found = rows(mart, query)
    assert found, title
    assert all(any(value is not None for value in row.values()) for row in found)


# -- invariants: each fires on a planted defect and not on good data --------------------------------------------------


@dataclass(frozen=True)
class Damage:
    test: str
    statement: str


RUN = " WHERE run_id = 'run-003'"

DAMAGES = (
    Damage("leaderboard_counts_are_those_of_the_responses", f"UPDATE leaderboard SET n = n - 1{RUN}"),
    Damage("leaderboard_counts_are_those_of_the_responses", f"UPDATE leaderboard SET lenient_hits = 0{RUN}"),
    Damage("every_model_with_responses_is_on_the_board", f"DELETE FROM leaderboard{RUN}"),
    Damage("no_cell_is_lost", f"DELETE FROM subject_scores{RUN} AND subject LIKE '%004%'"),
    Damage("no_cell_is_lost", f"UPDATE subject_scores SET subject = 'x'{RUN} AND subject LIKE '%004%'"),
    Damage("sums_agree_across_tables", f"UPDATE field_scores SET hits = hits + 1{RUN} AND field = 'law'"),
    Damage("sums_agree_across_tables", f"DELETE FROM answers{RUN} AND item_id LIKE '%0000ff'"),
    Damage("outcomes_add_up", f"UPDATE year_scores SET empty = empty + 1{RUN} AND year_roc = 104"),
    Damage("intervals_contain_their_rate", f"UPDATE leaderboard SET accuracy_low = accuracy + 0.01{RUN}"),
    Damage("intervals_contain_their_rate", "UPDATE key_consistency SET consistency_high = consistency_low"),
    Damage("rank_bands_are_as_defined", f"UPDATE leaderboard SET rank_band = rank_band + 1{RUN}"),
    Damage("rank_bands_are_as_defined", "UPDATE leaderboard SET rank_band = 1 WHERE run_id = 'failed'"),
    # What counting runs made of it.
    Damage("rank_bands_are_as_defined", "UPDATE leaderboard SET rank_band = 4 WHERE run_id = 'below'"),
    Damage("accounts_close", "UPDATE build_accounting SET count = count + 1 WHERE line = 'english' AND scope = 'all'"),
    Damage("accounts_close", "DELETE FROM build_accounting WHERE line = 'total' AND section = 'papers'"),
    Damage("submissions_stay_apart", "UPDATE submissions_log SET submission_id = 'run-003' WHERE form = 'exact'"),
    Damage("two_protocols_are_two_rows", f"UPDATE leaderboard SET protocol_id = 'box-0'{RUN}"),
    Damage("two_protocols_are_two_rows", "UPDATE head_to_head SET run_a = 'bare-001' WHERE run_b = 'run-003'"),
    Damage("intervals_contain_their_rate", f"UPDATE leaderboard SET macro_accuracy_high = 0{RUN}"),
    Damage("intervals_contain_their_rate", "UPDATE field_scores SET macro_accuracy_low = 1"),
    Damage("filled_accepted_submissions", "UPDATE submissions_log SET strict_hits = NULL WHERE form = 'exact'"),
    Damage("filled_refused_submissions", "UPDATE submissions_log SET refused_for = NULL WHERE NOT is_accepted"),
    Damage("apparatus_payload", "INSERT INTO apparatus_studies VALUES ('odd', '{\"tables\": []}', 1, 'made up')"),
    Damage("filled_leaderboard", f"UPDATE leaderboard SET model = NULL{RUN}"),
    Damage("within_leaderboard", f"UPDATE leaderboard SET accuracy_low = -0.1{RUN}"),
    Damage("within_leaderboard", f"UPDATE leaderboard SET error_rate = 'nan'{RUN}"),
    Damage("vocabulary_int_answers", f"UPDATE intermediate.int_answers SET ranked_outcome = 'odd'{RUN}"),
    Damage("unique_together_leaderboard", f"INSERT INTO leaderboard FROM leaderboard{RUN}"),
)  # fmt: skip


def compiled(built: Built, name: str) -> list[str]:
    """The SQL of a dbt test as it ran; it returns the rows that break the rule."""
    folder = built.warehouse.folder / "dbt" / "compiled" / "dbt_leaderboard"
    found = list(folder.rglob(f"{name}*.sql"))
    assert found, f"no compiled test {name}"
    return [path.read_text(encoding="utf-8") for path in found]


def broken(connection: Mart, queries: list[str]) -> int:
    return sum(len(connection.execute(query).fetchall()) for query in queries)


@pytest.fixture(scope="module")
def reopen(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Mart]:
    """The database as dbt left it, on a copy that may be damaged; sources are found where they were."""
    copy = tmp_path_factory.mktemp("damaged") / BUILD_DATABASE
    shutil.copy(built.made, copy)

    def connect() -> Mart:
        connection = duckdb.connect(str(copy))
        connection.execute(f"SET file_search_path = '{built.warehouse.folder}'")
        return connection

    return connect


@pytest.mark.parametrize("damage", DAMAGES, ids=[f"{n}-{each.test}" for n, each in enumerate(DAMAGES)])
def test_an_invariant_fires_on_damage_and_is_silent_without(
    built: Built, reopen: Callable[[], Mart], damage: Damage
) -> None:
    queries = compiled(built, damage.test)
    with reopen() as connection:
        assert broken(connection, queries) == 0
        connection.execute("BEGIN")
        connection.execute(damage.statement)
        assert broken(connection, queries) > 0
        connection.execute("ROLLBACK")


def test_every_singular_test_has_a_planted_defect() -> None:
    folder = Path(__file__).parents[2] / "dbt_leaderboard" / "tests"
    singular = {path.stem for path in folder.glob("*.sql")}
    # keys_are_the_current_ones reads raw files only; its defect is planted below.
    assert singular - {"keys_are_the_current_ones"} == {each.test for each in DAMAGES if each.test in singular}
    generic = {path.stem for path in (folder / "generic").glob("*.sql")}
    assert all(any(each.test.startswith(name) for each in DAMAGES) for name in generic)


def test_a_key_that_was_corrected_since_is_warned_of(built: Built, reopen: Callable[[], Mart]) -> None:
    query = compiled(built, "keys_are_the_current_ones")
    with reopen() as connection:
        assert broken(connection, query) == 0
        connection.execute("BEGIN")
        connection.execute("CREATE TABLE staging.corrected AS FROM staging.stg_item_versions")
        connection.execute(
            "UPDATE staging.corrected SET key = CASE key WHEN 'A' THEN 'B' ELSE 'A' END WHERE item_id LIKE 'made-003-%'"
        )
        changed = [each.replace('"stg_item_versions"', '"corrected"') for each in query]
        assert broken(connection, changed) > 0
        connection.execute("ROLLBACK")


# -- a build that fails -----------------------------------------------------------------------------------------------


def test_a_failing_test_leaves_the_old_mart_in_place(built: Built, tmp_path: Path) -> None:
    copy = Warehouse(Path(shutil.copytree(built.warehouse.folder, tmp_path / "warehouse")))
    table = pq.read_table(copy.raw / "responses" / "run-003.parquet")
    for path in (copy.raw / "responses").glob("*.parquet"):
        if path.name not in ("run-003.parquet", "run-004.parquet"):
            path.unlink()
    pq.write_table(pa.concat_tables([table, table.slice(0, 5)]), copy.raw / "responses" / "run-003.parquet")
    with pytest.raises(MartBuildError, match="unique_together_stg_responses"):
        copy.build()
    with open_mart(copy.folder) as old:
        assert one(old, "SELECT count(*) AS n FROM leaderboard")["n"] == built.swapped.tables["leaderboard"]
    assert not copy.standing().is_current
