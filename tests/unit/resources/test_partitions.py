"""Every name that a model can have is a partition key that Dagster takes, and comes back unchanged."""

from __future__ import annotations

import dagster as dg
import pytest
from dagster._core.definitions.partitions.utils.base import (
    INVALID_PARTITION_SUBSTRINGS,
    raise_error_on_invalid_partition_key_substring,
)
from hypothesis import given
from hypothesis import strategies as st

from resources.partitions import model_of, models, partition_of

NATIVE = ("gemma3:270m", "maker/model-1", "org/Model 2.5 (Q4_K_M)", "模型-1", "a..b", ".", "a|b,c[d]", "x" * 200)


def taken(keys: list[str]) -> list[str]:
    """What an instance holds after it was given these keys."""
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(str(models.name), keys)
        return sorted(instance.get_dynamic_partitions(str(models.name)))


def test_the_usual_names_stand_as_they_are() -> None:
    assert [partition_of(name) for name in NATIVE] == list(NATIVE)
    assert taken(list(NATIVE)) == sorted(NATIVE)


@pytest.mark.parametrize("part", INVALID_PARTITION_SUBSTRINGS, ids=ascii)
def test_what_dagster_refuses_is_spelt_another_way(part: str) -> None:
    names = [f"maker/model{part}1", part, f"{part}.{part}"]
    for name in names:
        with pytest.raises(dg.DagsterInvalidDefinitionError):
            raise_error_on_invalid_partition_key_substring([name])
    keys = [partition_of(name) for name in names]
    raise_error_on_invalid_partition_key_substring(keys)
    assert taken(keys) == sorted(keys) and len(set(keys)) == 3
    assert [model_of(key) for key in keys] == names


def test_two_names_never_share_a_key() -> None:
    assert partition_of("a...b") == "a%2E%2E%2Eb" != partition_of("a%2E%2E%2Eb") == "a%252E%252E%252Eb"


@given(st.text(st.characters(), min_size=1, max_size=40) | st.text("a.%\n2E", min_size=1))
def test_any_name_comes_back(name: str) -> None:
    key = partition_of(name)
    assert model_of(key) == name
    assert key.isprintable() and "..." not in key
    key.encode()
