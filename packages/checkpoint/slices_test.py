"""Slices as text and as keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qanat.checkpoint.slices import (
    TensorSlice,
    format_slice,
    is_slice_key,
    parse_slice,
    slice_from_proto,
    slice_key,
    slice_to_proto,
    whole_slice,
)

BLOCK = TensorSlice((6, 4), ((0, 3), None))


def test_text() -> None:
    assert parse_slice("6 4 0,3:-") == BLOCK and format_slice(BLOCK) == "6 4 0,3:-"
    assert BLOCK.block_shape == (3, 4) and BLOCK.index == (slice(0, 3), slice(None))
    assert not BLOCK.is_whole and whole_slice([6, 4]).is_whole
    assert format_slice(whole_slice([6])) == "6 -"


def test_proto() -> None:
    assert slice_from_proto((6, 4), slice_to_proto(BLOCK)) == BLOCK
    empty = TensorSlice((6,), ((2, 0),))
    assert slice_from_proto((6,), slice_to_proto(empty)) == empty


@pytest.mark.parametrize("text", ["", "6", "6 4 -", "a -", "6 0,7", "6 -1,2", "6 4 0,3", "6 2"])
def test_what_is_no_slice(text: str) -> None:
    with pytest.raises(ValueError, match="expected a slice"):
        parse_slice(text)


def test_keys_are_those_of_tensorflow() -> None:
    """As in testdata/partitioned.index, which TensorFlow wrote."""
    block = TensorSlice((6, 4), ((2, 2), (0, 4)))
    assert slice_key("table", block) == b"\x00table\x00\x01\x01\x02\x82\x82\x80\x84"
    assert is_slice_key(slice_key("a", BLOCK)) and not is_slice_key(b"a")


NUMBERS = st.integers(0, 2**63 - 1)


@given(NUMBERS, NUMBERS)
def test_keys_are_in_the_order_of_the_numbers(a: int, b: int) -> None:
    def key(start: int) -> bytes:
        return slice_key("x", TensorSlice((2**63,), ((start, 0),)))

    assert (key(a) < key(b)) == (a < b)


@given(st.text(max_size=5), st.text(max_size=5))
def test_keys_of_other_names_differ(a: str, b: str) -> None:
    assert (slice_key(a, BLOCK) == slice_key(b, BLOCK)) == (a == b)
    assert b"\0\1" in slice_key(a, BLOCK)
