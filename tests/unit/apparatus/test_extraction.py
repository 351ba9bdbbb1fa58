"""Study 1: known answers, and what it says without replies."""

from __future__ import annotations

import pytest
from support.apparatus import card, cells, inputs, rows, run

from opentwbench.apparatus.extraction import count, moves, study
from opentwbench.apparatus.result import MissingInput
from opentwbench.apparatus.studies import conduct

# Ten items. Strict: alpha 6 right; beta 5 right, three more that only the lenient reader finds.
ALPHA = rows("++++++----")
BETA = rows("+++++uuu--", lenient="++++++++--", twinkle_pattern="--+++uuu--", tolerant_box="++++++uu--")


def test_counts_are_those_of_the_rows() -> None:
    found = count("beta", BETA)
    assert found.n == 10
    assert dict(found.right) == {"twinkle-pattern": 3, "lenient": 8, "strict": 5, "tolerant-box": 6}
    assert found.parsed["strict"] == 7 and found.parsed["lenient"] == 10
    pair = found.pairs["lenient", "strict"]
    assert (pair.n, pair.only_first, pair.only_second) == (10, 3, 0)
    assert pair.test.exact_p == pytest.approx(0.25)  # 2 * (1/2)^3


def test_an_error_is_no_reply() -> None:
    assert count("m", rows("+!-")).n == 2


def test_the_lenient_reader_turns_the_ranks_round() -> None:
    board = [count("alpha", ALPHA), count("beta", BETA)]
    change = moves(board, "lenient", "strict")
    assert (change.models, change.changed, change.largest, change.significant, change.rho) == (2, 2, 1, 0, None)
    assert moves(board, "twinkle-pattern", "strict").changed == 0


def test_the_study() -> None:
    found = study(inputs(run("alpha", ALPHA), run("beta", BETA), run("cut", ALPHA, complete=False)))
    assert found.n == 20
    strict = [row for row in cells(found, 0, "model", "method", "accuracy", "rank") if row[1] == "strict"]
    assert strict == [("alpha", "strict", 60.0, 1), ("beta", "strict", 50.0, 2)]
    changed = {row[:2]: row[2] for row in cells(found, 1, "first", "second", "changed")}
    assert changed["lenient", "strict"] == 2 and changed["twinkle-pattern", "tolerant-box"] == 1
    assert "50.0 points" in found.finding.en  # beta: 80 % lenient, 30 % pattern
    assert found.labelled.en == ""


def test_sample_models_are_labelled() -> None:
    found = study(inputs(run("alpha", ALPHA), cards=[card("alpha", is_sample=True)]))
    assert "sample models" in found.labelled.en and "樣本" in found.labelled.zh


@pytest.mark.parametrize("runs", [(), (run("cut", ALPHA, complete=False),), (run("dead", rows("!!!")),)])
def test_without_replies_it_says_so(runs: tuple[object, ...]) -> None:
    with pytest.raises(MissingInput, match="no complete run"):
        study(inputs(*runs))  # type: ignore[arg-type]
    found = conduct("extraction", inputs(*runs))  # type: ignore[arg-type]
    assert (found.n, found.tables) == (0, ()) and "no complete run" in found.finding.en
