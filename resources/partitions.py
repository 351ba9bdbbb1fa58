"""Partitions of the exam track, shared by assets and checks.

They stand here and not in `orchestration` because assets and checks need them and may not import what is above them.
"""

from __future__ import annotations

import dagster as dg

from opentwbench.exam.subjects import REGISTRY

subjects = dg.StaticPartitionsDefinition(sorted(REGISTRY))
"""One partition a subject: exactly the registry's slugs."""

exam_years = dg.DynamicPartitionsDefinition(name="exam_years")
"""One partition a sitting year (ROC, as text). A new year in the index adds one."""

models = dg.DynamicPartitionsDefinition(name="models")
"""One partition a model that has a run, by the model's name. The sensor `new_responses` adds them."""
