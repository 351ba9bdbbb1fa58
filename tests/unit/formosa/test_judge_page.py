"""The page of a judge study: every judge and figure is on it, hostile names are escaped, scripted judges said so."""

from __future__ import annotations

from support.formosa import make_draft, make_window

from opentwbench.formosa.judge_page import page
from opentwbench.formosa.judge_study import ClassFigures, Defect, JudgeResult, plant
from opentwbench.formosa.panel import degeneracy


def result(judge: str, found: int) -> JudgeResult:
    figures = ClassFigures(40, 20, 40 - found, found, 0)
    return JudgeResult(judge, "prompt-1", ClassFigures(20, 20, 20, 0, 0), dict.fromkeys(Defect, figures), "x")


TRIALS = plant([(make_draft(n), make_window(n)) for n in range(20)])
VERDICTS = {"one": {t.trial_id: t.planted is None for t in TRIALS}, "two": {t.trial_id: True for t in TRIALS}}


def test_the_page_holds_every_judge_its_figures_and_the_panel() -> None:
    text = page([result("one", 40), result("two", 0)], TRIALS, degeneracy(VERDICTS), "by rule", "otb x")
    assert "| one | 20 / 20" in text and "| two | 20 / 20" in text and "scripted" not in text
    assert "| wrong_key | 40 | 20 |" in text
    assert "finds 0 of 40 wrong_key" in text and "Effective number of judges: **1.00**" in text
    assert "Always the same: two." in text and f"{len(TRIALS)} trials were judged by all 2" in text
    assert text.count("| yes |") == 1 and text.count("| no |") == 1


def test_scripted_judges_are_called_so_and_names_are_escaped() -> None:
    text = page([result("scripted/a", 40)], TRIALS, degeneracy({}), "by rule", "otb x")
    assert "No figure here is one of a model." in " ".join(text.split())
    hostile = page([result("<img src=x>|a", 0)], TRIALS, degeneracy({"<img src=x>|a": {}}), "by rule", "otb x")
    assert "<img" not in hostile
    row = next(line for line in hostile.splitlines() if "img" in line and "20 / 20" in line)
    assert row.replace("\\|", "").count("|") == 8
