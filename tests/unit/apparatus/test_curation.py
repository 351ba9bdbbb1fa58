"""Study 9: pruning by hand, every kind of failure planted and none native, and what it says without a board."""

from __future__ import annotations

import pytest
from support.apparatus import cells, inputs, rows, run

from opentwbench.apparatus.curation import LOUD, Failure, failure, prune, study, tally
from opentwbench.apparatus.result import MissingInput
from opentwbench.apparatus.studies import conduct
from opentwbench.statistics.paired import mcnemar

# Ten items; both solve the first four, neither the last two; item 8 has no reply of beta.
ALPHA, BETA = "++++++-+--", "+++++-+-!-"
RUNS = [run("alpha", rows(ALPHA)), run("beta", rows(BETA))]


def test_pruning_by_hand() -> None:
    found = prune(RUNS)
    assert (found.items, found.solved, found.unsolved) == (9, 5, 1)
    assert list(found.right.values()) == [7, 6]
    assert found.stretch == pytest.approx(9 / 4)


def test_pruning_keeps_the_order_and_stretches_differences() -> None:
    found = study(inputs(*RUNS))
    table = cells(found, 0, "model", "rank", "accuracy", "pruned", "points")
    # 7 of 9 -> 2 of 4; 6 of 9 -> 1 of 4.
    assert table == [("alpha", 1, 77.7778, 50.0, -27.78), ("beta", 2, 66.6667, 25.0, -41.67)]
    assert (table[0][3] - table[1][3]) == pytest.approx((7 - 6) / 9 * 100 * 9 / 4)  # type: ignore[operator]


def test_the_paired_test_is_the_same_with_and_without() -> None:
    # Of the nine shared items alpha alone has two right (places 5 and 7) and beta alone one (place 6).
    found = prune(RUNS)
    assert found.next_p == {RUNS[0].facts.run_id: mcnemar(2, 1).exact_p}
    assert cells(study(inputs(*RUNS)), 0, "model", "next_p") == [("alpha", 1.0), ("beta", None)]
    clear = [run("a", rows("+" * 12)), run("b", rows("+" * 4 + "-" * 8))]
    assert cells(study(inputs(*clear)), 0, "next_p") == [(pytest.approx(2 * 0.5**8, rel=1e-3),), (None,)]


def test_where_all_solve_all_nothing_is_left_to_rank() -> None:
    found = study(inputs(run("a", rows("+++")), run("b", rows("+++"))))
    assert cells(found, 0, "accuracy", "pruned") == [(100.0, None), (100.0, None)]
    assert "nothing is left" in found.finding.en


def planted() -> dict[Failure, object]:
    unread = rows("uuuuu", lenient="+-uuu")
    return {
        Failure.LASTING_ERROR: rows("!")[0],
        Failure.RETRIED: rows("+")[0]._replace(attempts=2),
        Failure.CAPPED: rows("c")[0],
        Failure.EMPTY: rows("e")[0],
        Failure.REFUSED: rows("r")[0],
        Failure.UNREAD: unread[0],
        Failure.READ_TWO_WAYS: rows("-", lenient="+")[0],
    }


@pytest.mark.parametrize("kind", list(Failure))
def test_every_kind_is_found(kind: Failure) -> None:
    assert failure(planted()[kind], "strict") is kind  # type: ignore[arg-type]


def test_good_replies_are_no_failures() -> None:
    native = rows("+-" * 50)
    assert [failure(row, "strict") for row in native] == [None] * 100


def test_failures_by_hand() -> None:
    made = [
        *rows("++--"),
        rows("!")[0],
        rows("+")[0]._replace(attempts=3),
        rows("-")[0]._replace(attempts=2),
        *rows("uuu", lenient="++-"),
        rows("c")[0],
        rows("-", lenient="+")[0],
    ]
    found = tally([run("m", made)])
    assert found.responses == 12
    assert found.failed == {
        Failure.LASTING_ERROR: 1,
        Failure.RETRIED: 2,
        Failure.UNREAD: 3,
        Failure.CAPPED: 1,
        Failure.READ_TWO_WAYS: 1,
    }
    assert (found.recovered[Failure.RETRIED], found.recovered[Failure.UNREAD]) == (1, 2)
    assert sum(found.failed[kind] for kind in LOUD) == 3


@pytest.mark.parametrize("runs", [(), RUNS[:1], [run("a", rows("!!")), run("b", rows("++"))]])
def test_without_a_board_it_says_so(runs: list[object]) -> None:
    with pytest.raises(MissingInput, match="two complete runs"):
        study(inputs(*runs))  # type: ignore[arg-type]
    assert conduct("curation", inputs(*runs)).n == 0  # type: ignore[arg-type]


def test_a_protocol_made_for_a_study_is_no_board() -> None:
    runs = [run(name, rows("+-"), protocol="box-placeholder") for name in "ab"]
    assert conduct("curation", inputs(*runs)).n == 0
