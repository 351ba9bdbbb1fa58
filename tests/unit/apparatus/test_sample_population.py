"""Study 8: the anchor and the composition shift by hand, and what it says without both runs."""

from __future__ import annotations

import pytest
from support.apparatus import cells, inputs, rows, run

from opentwbench.apparatus.result import MissingInput
from opentwbench.apparatus.sample_population import composition, decomposed, place, study
from opentwbench.apparatus.studies import conduct

# Two subjects. Population: easy 8 items (all right), hard 2 items (none right): 80 %.
# The sample draws two of each: composition says 50 %, and the drawn items are right 2 of 4: all of it composition.
EASY, HARD = rows("++++++++", "easy"), rows("--", "hard")
SUBJECTS = {row.item_id: row.item_id.partition("-")[0] for row in (*EASY, *HARD)}
FULL = run("m", [*EASY, *HARD], benchmark="exam")
SAMPLED = run("m", [*rows("+-", "easy"), *rows("+-", "hard")], benchmark="exam_sample")


def test_the_shift_by_hand() -> None:
    drawn = composition([SAMPLED], SUBJECTS)
    assert sorted(drawn.values()) == ["easy", "easy", "hard", "hard"]
    found = place(FULL, "m", drawn, SUBJECTS, SAMPLED)
    assert found is not None
    assert (found.replies, found.anchor.population, found.anchor.on_sample) == (10, 0.8, 0.5)
    assert (found.whole, 100 * found.anchor.shift, found.rest) == pytest.approx((-30.0, -30.0, 0.0))
    assert found.inside
    assert found.again is not None and found.again.value == 0.5
    # Asked twice: easy-1 lost, hard-0 won.
    assert (found.pair.n, found.pair.only_first, found.pair.only_second) == (4, 1, 1)


def test_what_the_draw_does_beside_composition() -> None:
    # As above, but the drawn easy items are the two that the run has wrong: composition cannot explain that.
    full = run("m", [*rows("--++++++", "easy"), *HARD], benchmark="exam")
    found = place(full, "m", composition([SAMPLED], SUBJECTS), SUBJECTS, None)
    assert found is not None
    assert (found.anchor.population, found.anchor.on_sample, found.on_items.value) == (0.6, 0.375, 0.0)
    assert (found.whole, found.rest) == pytest.approx((-60.0, -37.5))
    assert not found.inside


def test_the_study() -> None:
    other = run("other", [*EASY, *HARD], benchmark="exam")
    found = study(inputs(FULL, SAMPLED, other, subjects=SUBJECTS))
    assert found.n == 20
    assert cells(found, 0, "model", "population", "anchored", "on_items", "again", "inside") == [
        ("m", 80.0, 50.0, 50.0, 50.0, "yes"),
        ("other", 80.0, 50.0, 50.0, None, "yes"),
    ]
    assert cells(found, 1, "model", "n", "exact_p") == [("m", 4, 1.0)]
    assert cells(found, 2, "subject", "population_share", "sample_share") == [
        ("easy", 80.0, 50.0),
        ("hard", 20.0, 50.0),
    ]


@pytest.mark.parametrize(
    ("whole", "part", "en"),
    [
        (
            0.3,
            0.6,
            "by +0.3 points on average, the sum of +0.6 by composition and \u22120.3 by everything else (opposite",
        ),
        (
            -30.0,
            -30.0,
            "by \u221230.0 points on average, the sum of \u221230.0 by composition and +0.0 by everything else",
        ),
        (-0.04, 1.2, "by +0.0 points on average, the sum of +1.2 by composition and \u22121.2 by everything else (opp"),
        # 0.34 = 0.05 + 0.29 to the tenth is 0.3 = 0.1 + 0.3: the rest is what the printed figures leave.
        (0.34, 0.051, "by +0.3 points on average, the sum of +0.1 by composition and +0.2 by everything else"),
        (
            -2.0,
            -0.5,
            "by \u22122.0 points on average, the sum of \u22120.5 by composition and \u22121.5 by everything else",
        ),
    ],
)
def test_the_parts_add_up_in_words_whatever_their_signs(whole: float, part: float, en: str) -> None:
    told = decomposed(whole, part)
    assert en in told.en
    assert ("cancel" in told.en) is ("抵銷" in told.zh) is en.endswith(("(opposite", "(opp"))
    assert "of which" not in told.en and "其中" not in told.zh


def test_a_run_without_a_drawn_subject_cannot_be_weighed() -> None:
    partial = run("partial", EASY, benchmark="exam")
    found = study(inputs(FULL, partial, SAMPLED, subjects=SUBJECTS))
    assert [row[0] for row in cells(found, 0, "model")] == ["m"]
    assert "1 runs lack a drawn subject" in found.finding.en
    with pytest.raises(MissingInput):
        study(inputs(partial, SAMPLED, subjects=SUBJECTS))


@pytest.mark.parametrize(
    "given",
    [
        inputs(subjects=SUBJECTS),
        inputs(FULL, subjects=SUBJECTS),
        inputs(SAMPLED, subjects=SUBJECTS),
        inputs(FULL, SAMPLED),
        inputs(FULL, run("m", SAMPLED.rows, benchmark="exam_sample", protocol="pattern"), subjects=SUBJECTS),
    ],
)
def test_without_both_it_says_so(given: object) -> None:
    found = conduct("sample_population", given)  # type: ignore[arg-type]
    assert (found.n, found.tables) == (0, ()) and "population" in found.finding.en
