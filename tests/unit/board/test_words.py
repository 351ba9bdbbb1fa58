"""Words and rules that the board shares with the mart and the studies."""

from __future__ import annotations

from pathlib import Path

import yaml

from opentwbench.apparatus.two_axes import ABOVE, SCOPES, TOP
from opentwbench.board import words

PROJECT = Path(__file__).parents[3] / "dbt_leaderboard" / "dbt_project.yml"


def test_mart_study_and_page_cut_the_field_alike() -> None:
    """One rule for the parts of the field: the study's; the mart's variables and the page's words are the same."""
    stated = yaml.safe_load(PROJECT.read_text(encoding="utf-8"))["vars"]
    assert (stated["rank_top"], stated["rank_threshold"]) == (TOP, ABOVE)
    assert "80%" in words.SCOPES["above_threshold"].en and "80%" in words.SCOPES["above_threshold"].zh
    assert set(words.SCOPES) - {"above_threshold"} == set(SCOPES) - {"above_80%"}
