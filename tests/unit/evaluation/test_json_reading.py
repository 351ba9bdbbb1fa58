"""The hot path's JSON is the standard library's, whatever comes in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opentwbench.evaluation.json_reading import loads

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.booleans())
def test_every_value_is_read_as_json_reads_it(value: object, ascii_only: bool) -> None:
    data = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    assert loads(data) == json.loads(data)


@given(st.binary(max_size=60))
def test_what_is_no_json_is_refused_by_both(data: bytes) -> None:
    try:
        expected = json.loads(data)
    except ValueError:
        with pytest.raises(ValueError):
            loads(data)
    else:
        assert repr(loads(data)) == repr(expected)


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": "\\ud800"}',
        b"[NaN, -Infinity]",
        '{"a": 1}'.encode("utf-16"),
        b'\xef\xbb\xbf{"a": 1}',
        b'{"a": 1, "a": 2}',
    ],
)
def test_what_orjson_refuses_is_read_all_the_same(data: bytes) -> None:
    assert repr(loads(data)) == repr(json.loads(data))


def test_a_deep_nest_is_an_error_and_no_crash() -> None:
    with pytest.raises((RecursionError, ValueError)):
        loads(b"[" * 100_000)


def test_the_one_difference_is_an_integer_beyond_64_bits() -> None:
    assert loads(b"18446744073709551616") == float(2**64)
