"""The studies by name, and conducting one: its result, or a record that says what is missing.

What belongs here: the list. What does not: any study (one module each). To add a study, write its module and its line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from opentwbench.apparatus import (
    curation,
    extraction,
    free_text,
    half_life,
    judge_panel,
    noise_floor,
    placeholder,
    sample_population,
    thinking_budget,
    two_axes,
)
from opentwbench.apparatus.result import Both, MissingInput, Study, StudyError, missing
from opentwbench.apparatus.rows import Inputs
from opentwbench.dataset.contract import excerpt


@dataclass(frozen=True, slots=True)
class Plan:
    """A study that can be conducted: what it asks and how, known before there is any reply."""

    title: Both
    question: Both
    method: Both
    conduct: Callable[[Inputs], Study]


_MODULES = {
    "extraction": extraction,
    "prompt_placeholder": placeholder,
    "thinking_budget": thinking_budget,
    "judge_panel": judge_panel,
    "noise_floor": noise_floor,
    "half_life": half_life,
    "two_axes": two_axes,
    "sample_population": sample_population,
    "curation": curation,
    "free_text": free_text,
}

STUDIES: Mapping[str, Plan] = MappingProxyType(
    {name: Plan(of.TITLE, of.QUESTION, of.METHOD_TEXT, of.study) for name, of in _MODULES.items()}
)
"""Study id -> plan, in the order in which the site lists them."""


def conduct(study_id: str, inputs: Inputs) -> Study:
    """Conduct one study. Without the input that it needs, the record says what is missing and holds no number.

    Raises StudyError for an unknown study.
    """
    plan = STUDIES.get(study_id)
    if plan is None:
        raise StudyError(f"no study {excerpt(study_id)}; there are {', '.join(STUDIES)}")
    try:
        return plan.conduct(inputs)
    except MissingInput as error:
        return missing(study_id, plan.title, plan.question, plan.method, error.words)
