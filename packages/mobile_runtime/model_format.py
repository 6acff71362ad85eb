"""The records of a model file: README.md has the format, native/model_format.h its twin."""

import enum
from typing import Final

import numpy as np

MAGIC: Final = b"QANATMDL"
VERSION: Final = 1

ALIGNMENT: Final = 64
"""Of constants in the file and of values in the arena."""

MAX_RANK: Final = 8

UNKNOWN_RANK: Final = 0xFFFFFFFF
"""The count of a shape attribute whose rank is unknown."""

SPAN: Final = np.dtype([("offset", "<u4"), ("size", "<u4")])
"""Text in the file, followed by a zero byte that `size` does not count."""

HEADER: Final = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("checksum", "<u4"),
        ("file_bytes", "<u8"),
        ("arena_bytes", "<u8"),
        ("values", "<u4"),
        ("tensors", "<u4"),
        ("nodes", "<u4"),
        ("attrs", "<u4"),
        ("inputs", "<u4"),
        ("outputs", "<u4"),
        ("edges", "<u4"),
        ("reserved", "<u4"),
    ]
)
CHECKED_FROM: Final = 16
"""The checksum is of all bytes from here on."""

VALUE: Final = np.dtype(
    [
        ("name", SPAN),
        ("dtype", "<u4"),
        ("rank", "<u4"),
        ("place", "<u4"),
        ("reserved", "<u4"),
        ("offset", "<u8"),
        ("dims", "<i8", (MAX_RANK,)),
    ]
)

NODE: Final = np.dtype(
    [
        ("name", SPAN),
        ("op", SPAN),
        ("first_input", "<u4"),
        ("inputs", "<u4"),
        ("first_output", "<u4"),
        ("outputs", "<u4"),
        ("first_attr", "<u4"),
        ("attrs", "<u4"),
    ]
)

ATTR: Final = np.dtype([("name", SPAN), ("kind", "<u4"), ("count", "<u4"), ("payload", "<u8")])

PORT: Final = np.dtype([("name", SPAN), ("value", "<u4"), ("reserved", "<u4")])
"""A public input or output."""

EDGE: Final = np.dtype("<u4")
"""The index of a value that is an input or output of a node."""


class Place(enum.IntEnum):
    """Where a value's bytes are, counted from the start of the arena or of the file."""

    ARENA = 0
    FILE = 1


class Kind(enum.IntEnum):
    """What an attribute's payload is; the lists, strings and shapes lie at that offset."""

    BOOL = 0
    INT = 1
    FLOAT = 2  # the bits of a float64
    STRING = 3
    TYPE = 4
    SHAPE = 5  # int64 dimensions, -1 for an unknown one
    TENSOR = 6  # an index into the tensors
    INTS = 7
    FLOATS = 8
    TYPES = 9  # int64 numbers


SECTIONS: Final = (
    ("values", VALUE, ("values", "tensors")),
    ("nodes", NODE, ("nodes",)),
    ("attrs", ATTR, ("attrs",)),
    ("ports", PORT, ("inputs", "outputs")),
    ("edges", EDGE, ("edges",)),
)
"""What follows the header, in this order: name, record, and the counts that are added."""
