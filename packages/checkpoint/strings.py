"""How a bundle stores a tensor of strings: all lengths, a checksum of them, then all bytes."""

import struct
from typing import Any

import numpy as np

from qanat.checkpoint.varint import decode_varint, encode_varint
from qanat.core.crc32c import crc32c, mask

Array = np.ndarray[Any, Any]


def encode_strings(array: Array) -> tuple[bytes, int]:
    """The strings of an object array of bytes as stored, and the checksum for the index, not yet
    masked.
    """
    strings = [value.encode() if isinstance(value, str) else value for value in array.flat]
    lengths = b"".join(encode_varint(len(value)) for value in strings)
    crc = _checksum_of_lengths([len(value) for value in strings])
    length_check = struct.pack("<I", mask(crc))
    contents = b"".join(strings)
    return lengths + length_check + contents, crc32c(contents, crc32c(length_check, crc))


def decode_strings(data: bytes, count: int) -> tuple[Array, int]:
    """`count` strings as an object array of bytes, and the checksum of what was read, not yet
    masked.

    Raises:
        ValueError: the lengths do not add up or do not have their checksum.
    """
    lengths, at = [], 0
    for _ in range(count):
        length, at = decode_varint(data, at)
        lengths.append(length)
    crc = _checksum_of_lengths(lengths)
    length_check = data[at : at + 4]
    at += 4
    if length_check != struct.pack("<I", mask(crc)) or at + sum(lengths) != len(data):
        raise ValueError("the lengths of its strings are wrong")
    crc = crc32c(data[at:], crc32c(length_check, crc))
    strings = np.empty(count, object)
    for i, length in enumerate(lengths):
        strings[i] = data[at : at + length]
        at += length
    return strings, crc


def _checksum_of_lengths(lengths: list[int]) -> int:
    """Not of the bytes as stored, but of each length as a number of 32 bits, or 64 where it needs
    them.
    """
    words = (struct.pack("<I" if length < 1 << 32 else "<Q", length) for length in lengths)
    return crc32c(b"".join(words))
