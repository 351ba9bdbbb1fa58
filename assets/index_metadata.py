"""What the page of `ministry_index` shows of a version of the index: when it was seen and how it differs from the last.

What belongs here: the history's line turned into Dagster metadata. What does not: comparing (`opentwbench.exam.index`).
"""

from __future__ import annotations

from collections import Counter

import dagster as dg

from assets.metadata import Metadata
from opentwbench.exam.index import CHANGES, RowChange
from opentwbench.exam.tables import table
from resources.index_versions import IndexVersion


def of_index_version(version: IndexVersion) -> Metadata:
    """When this version was first seen, and how it differs from the one before it."""
    counts = Counter(change.change for change in version.changes)
    return {
        "version": version.sha256,
        "first_seen": version.seen,
        **{f"{kind}_rows_since": counts[kind] for kind in CHANGES},
        "difference": dg.MetadataValue.md(table(RowChange._fields, version.changes)),
    }
