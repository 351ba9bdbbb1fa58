"""Years that are added to real papers take nothing out of what is published: the warning check is silent on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestration.build import Build, BuildReport
from orchestration.configuration import Configuration
from resources.exam_products import PUBLISHED, PUBLISHED_ITEMS_STAY

pytestmark = pytest.mark.real

FIRST = (100, 101, 102, 103)
THEN = (*FIRST, 106)


def published(report: BuildReport) -> dict[str, int]:
    """Subject -> its published items."""
    subjects = report.release["subjects"].values()
    return {each["slug"]: each["items"] for each in subjects if each["state"] == PUBLISHED}


@pytest.mark.timeout(900)
def test_another_year_of_real_papers_warns_of_no_item(shared: Path, tmp_path: Path) -> None:
    configuration = Configuration(store=str(tmp_path), source=str(shared / "ministry"), processes=2)
    before = published(Build(configuration).run(FIRST))
    report = Build(configuration).run(THEN)
    after = published(report)
    assert report.errors == [] and report.years_built == [106]
    assert sum(before.values()) > 300 and before.keys() <= after.keys()
    # The check judged subjects that were published and are not the same now.
    changed = [slug for slug, items in before.items() if after[slug] != items]
    assert changed
    warned = [words for each in report.release["subjects"].values() for words in each["warnings"]]
    assert [words for words in warned if words.startswith(PUBLISHED_ITEMS_STAY)] == []
