"""Tables come back as they were written; no changed or missing byte goes unnoticed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qanat.checkpoint.table import CorruptTableError, decode_table, encode_table


@given(st.dictionaries(st.binary(max_size=20), st.binary(max_size=20)))
def test_round_trip(items: dict[bytes, bytes]) -> None:
    assert decode_table(encode_table(items)) == items


def test_many_keys_in_several_blocks() -> None:
    items = {f"layer_{i}/kernel".encode(): bytes([i % 256]) * (i % 300) for i in range(3000)}
    contents = encode_table(items)
    assert decode_table(contents) == items
    assert len(contents) < sum(len(key) + len(value) for key, value in items.items())


def test_keys_are_sorted() -> None:
    items = {b"b": b"2", b"": b"0", b"a": b"1"}
    assert list(decode_table(encode_table(items))) == [b"", b"a", b"b"]


def test_a_changed_byte_is_noticed_or_of_no_consequence() -> None:
    items = {b"": b"header", b"weights": b"somewhere"}
    contents = encode_table(items)
    noticed = 0
    for position in range(len(contents)):
        changed = bytearray(contents)
        changed[position] ^= 1
        try:
            assert decode_table(bytes(changed)) == items
        except CorruptTableError:
            noticed += 1
    # Unused: the meta-index (8 bytes, a trailer of 5), and of the 40 bytes before the magic number
    # all but the 2 that place the index.
    assert noticed == len(contents) - 13 - 38


def test_every_truncation_is_noticed() -> None:
    contents = encode_table({b"": b"header", b"weights": b"somewhere"})
    for size in range(len(contents)):
        with pytest.raises(CorruptTableError):
            decode_table(contents[:size])
