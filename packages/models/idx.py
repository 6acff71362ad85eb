"""IDX files: how MNIST and its successors store arrays.

Two zero bytes, the element type (8 for uint8), the number of dimensions, each dimension as a
big-endian uint32, then the elements. Source: LeCun, Cortes and Burges, "The MNIST database of
handwritten digits".
"""

import math
import struct
from typing import Any

import numpy as np

from qanat.models.data_files import DataError, read_file

Array = np.ndarray[Any, Any]

_UINT8 = 8


def read_idx(path: str) -> Array:
    """The array of uint8 in an IDX file, which may be compressed by gzip.

    Raises:
        DataError: the file cannot be read, or is no whole IDX file of uint8.
    """
    contents = read_file(path)
    if len(contents) < 4:
        raise DataError(f"{path}: expected an IDX header of 4 bytes, got {len(contents)} bytes")
    zeros, kind, rank = struct.unpack(">HBB", contents[:4])
    if zeros != 0 or kind != _UINT8 or rank == 0:
        raise DataError(
            f"{path}: expected the magic number of an IDX file of uint8 (00 00 08 and the number "
            f"of dimensions), got {contents[:4].hex(' ')}"
        )
    start = 4 + 4 * rank
    if len(contents) < start:
        raise DataError(f"{path}: truncated within its {rank} dimensions")
    shape = struct.unpack(f">{rank}I", contents[4:start])
    expected = math.prod(shape)
    if len(contents) - start != expected:
        problem = "truncated" if len(contents) - start < expected else "too long"
        raise DataError(
            f"{path}: {problem}: expected {expected} elements for the shape {list(shape)}, "
            f"got {len(contents) - start}"
        )
    return np.frombuffer(contents, np.uint8, offset=start).reshape(shape)
