"""Slices of tensors: how they are written in a graph, and the keys they have in an index.

A variable that is partitioned is stored in slices of one tensor. In a graph, a slice is a string,
"<sizes of the whole tensor> <extents>", such as "6 4 0,3:-": rows 0 to 2 of a 6 x 4 matrix, all of
its columns. In an index, the entry of the tensor lists its slices, and each has an entry of its
own, with a key that begins with a zero byte.
"""

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from qanat.checkpoint.tensor_bundle_pb2 import TensorSliceProto

Extent = tuple[int, int] | None  # (start, length); None for all of a dimension.


@dataclass(frozen=True)
class TensorSlice:
    """A block of a tensor.

    Attributes:
        shape: of the whole tensor.
        extents: one a dimension.
    """

    shape: tuple[int, ...]
    extents: tuple[Extent, ...]

    @property
    def index(self) -> tuple[slice, ...]:
        """What selects the block in an array of the whole."""
        return tuple(slice(None) if e is None else slice(e[0], sum(e)) for e in self.extents)

    @property
    def block_shape(self) -> tuple[int, ...]:
        return tuple(
            size if e is None else e[1] for size, e in zip(self.shape, self.extents, strict=True)
        )

    @property
    def is_whole(self) -> bool:
        return self.block_shape == self.shape


def whole_slice(shape: Sequence[int]) -> TensorSlice:
    return TensorSlice(tuple(shape), (None,) * len(shape))


def parse_slice(text: str) -> TensorSlice:
    """Reads "6 4 0,3:-".

    Raises:
        ValueError: it is no slice, or one that reaches beyond the tensor.
    """
    *sizes, block = text.split(" ")
    try:
        shape = tuple(int(size) for size in sizes)
        extents = tuple(_parse_extent(part) for part in block.split(":"))
    except ValueError:
        raise ValueError(f"expected a slice such as '6 4 0,3:-', got {text!r}") from None
    if len(shape) != len(extents) or any(
        extent is not None and not 0 <= extent[0] <= sum(extent) <= size
        for size, extent in zip(shape, extents, strict=True)
    ):
        raise ValueError(f"expected a slice within the tensor, got {text!r}")
    return TensorSlice(shape, extents)


def _parse_extent(text: str) -> Extent:
    if text == "-":
        return None
    start, length = text.split(",")
    return int(start), int(length)


def format_slice(block: TensorSlice) -> str:
    """The opposite of `parse_slice`."""
    extents = ":".join("-" if e is None else f"{e[0]},{e[1]}" for e in block.extents)
    return " ".join([*map(str, block.shape), extents])


def slice_to_proto(block: TensorSlice) -> TensorSliceProto:
    proto = TensorSliceProto()
    for extent in block.extents:
        added = proto.extent.add()
        if extent is not None:
            added.start, added.length = extent
    return proto


def slice_from_proto(shape: Sequence[int], proto: TensorSliceProto) -> TensorSlice:
    extents = ((e.start, e.length) if e.HasField("length") else None for e in proto.extent)
    return TensorSlice(tuple(shape), tuple(extents))


def slice_key(name: str, block: TensorSlice) -> bytes:
    """The key of a slice's own entry: zero, the name, the rank and the extents, in an encoding
    whose order as bytes is that of the values (TensorFlow's "ordered code")."""
    key = _ordered_unsigned(0) + _ordered_string(name.encode())
    key += _ordered_unsigned(len(block.extents))
    for extent in block.extents:
        start, length = (0, -1) if extent is None else extent
        key += _ordered_signed(start) + _ordered_signed(length)
    return key


def is_slice_key(key: bytes) -> bool:
    return key.startswith(b"\0")


def _ordered_string(text: bytes) -> bytes:
    """The bytes 0 and 255 are escaped by each other; 0 and 1 end the string."""
    return re.sub(rb"[\0\xff]", lambda byte: byte[0] + bytes([255 - byte[0][0]]), text) + b"\0\1"


def _ordered_unsigned(value: int) -> bytes:
    """Its length, then its bytes, the highest first."""
    digits = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([len(digits)]) + digits


def _ordered_signed(value: int) -> bytes:
    """Seven bits a byte, the highest first; the count of leading ones (zeros, where it is negative)
    is the number of bytes."""
    magnitude = ~value if value < 0 else value
    length = magnitude.bit_length() // 7 + 1
    digits = bytearray((b"\xff" if value < 0 else b"\0") * 2 + struct.pack(">q", value))[-length:]
    header = ((1 << length) - 1) << (16 - length)
    digits[0] ^= header >> 8
    if length > 1:
        digits[1] ^= header & 255
    return bytes(digits)
