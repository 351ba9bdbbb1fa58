"""Study 2: both prompts by hand, the label of a reconstruction, and what it says without both runs."""

from __future__ import annotations

import pytest
from support.apparatus import card, cells, inputs, rows, run

from opentwbench.apparatus.placeholder import effect, prompt_pairs, study
from opentwbench.apparatus.result import MissingInput
from opentwbench.apparatus.rows import Run
from opentwbench.apparatus.studies import conduct


def both(model: str, corrected: str, planted: str, **more: object) -> list[Run]:
    return [
        run(model, rows(corrected), **more),  # type: ignore[arg-type]
        run(model, rows(planted), protocol="box-placeholder", **more),  # type: ignore[arg-type]
    ]


# alpha: 6 of 8 right, all parsed; under the placeholder five unread. beta: 5 right, nothing moves but one gained.
ALPHA = both("alpha", "++++++--", "+uuuuu--")
BETA = both("beta", "+++++--u", "+++++---")


def test_an_effect_by_hand() -> None:
    found = effect("alpha", *ALPHA)
    assert found is not None
    assert (found.parsed.n, found.parsed.only_first, found.parsed.only_second) == (8, 5, 0)
    assert found.parsed.points == -62.5
    assert found.parsed.test.exact_p == pytest.approx(2 / 2**5)
    assert (found.right.only_first, found.right_rates[1].hits, found.parsed_rates[0].hits) == (5, 1, 8)


def test_the_study_ranks_again() -> None:
    found = study(inputs(*ALPHA, *BETA, cards=[card("beta", is_sample=True)]))
    assert found.n == 16
    assert cells(found, 1, "model", "rank_corrected", "rank_placeholder") == [("alpha", 1, 2), ("beta", 2, 1)]
    assert cells(found, 2, "models", "rho") == [(2, None)]
    assert "5 replies become unreadable" in found.finding.en and "2 models change rank" in found.finding.en
    assert "reconstruction" in found.labelled.en and "sample models" in found.labelled.en


def test_a_reconstruction_is_labelled_without_samples_too() -> None:
    found = study(inputs(*ALPHA))
    assert found.labelled.en.startswith("reconstruction") and found.labelled.zh.startswith("重建")


def test_errors_are_not_paired() -> None:
    found = effect("m", *both("m", "+!+", "!++"))
    assert found is not None and found.parsed.n == 1
    assert effect("m", *both("m", "!", "+")) is None


def test_a_model_with_two_budgets_stands_twice() -> None:
    runs = [*both("m", "++", "+u"), *both("m", "++", "uu", budget=16384)]
    assert [name for name, _, _ in prompt_pairs(runs)] == ["m (4096, unknown)", "m (16384, unknown)"]


@pytest.mark.parametrize(
    "runs",
    [
        [],
        ALPHA[:1],
        [ALPHA[0], BETA[1]],
        [ALPHA[0], run("alpha", rows("++"), protocol="box-placeholder", budget=16384)],
        [ALPHA[0], run("alpha", rows("++"), protocol="box-placeholder", complete=False)],
        both("m", "!", "!"),
    ],
)
def test_without_both_prompts_it_says_so(runs: list[Run]) -> None:
    with pytest.raises(MissingInput, match="box-placeholder"):
        study(inputs(*runs))
    found = conduct("prompt_placeholder", inputs(*runs))
    assert (found.n, found.tables) == (0, ())
