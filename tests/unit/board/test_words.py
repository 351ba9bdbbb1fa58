"""Words and rules that the board shares with the mart and the studies."""

from __future__ import annotations

from pathlib import Path

import yaml

from opentwbench.apparatus.two_axes import ABOVE, SCOPES, TOP
from opentwbench.board import words
from opentwbench.dataset.withdrawal import WithdrawalReason

PROJECT = Path(__file__).parents[3] / "dbt_leaderboard" / "dbt_project.yml"


def test_mart_study_and_page_cut_the_field_alike() -> None:
    """One rule for the parts of the field: the study's; the mart's variables and the page's words are the same."""
    stated = yaml.safe_load(PROJECT.read_text(encoding="utf-8"))["vars"]
    assert (stated["rank_top"], stated["rank_threshold"]) == (TOP, ABOVE)
    assert "80%" in words.SCOPES["above_threshold"].en and "80%" in words.SCOPES["above_threshold"].zh
    assert set(words.SCOPES) - {"above_threshold"} == set(SCOPES) - {"above_80%"}


def test_every_reason_of_a_withdrawal_has_words() -> None:
    reasons = {reason.value for reason in WithdrawalReason}
    assert set(words.WITHDRAWALS) - reasons == {"maintainer_excluded"} and reasons <= set(words.WITHDRAWALS)
    assert not any("_" in told for both in words.WITHDRAWALS.values() for told in both)
