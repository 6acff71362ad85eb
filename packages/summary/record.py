"""Files of records in TensorFlow's TFRecord framing, each with checksums of its own.

A record is its length (8 bytes, little-endian), the masked CRC-32C of these 8 bytes, its bytes, and
the masked CRC-32C of those.
"""

import os
import struct
from collections.abc import Iterator
from typing import BinaryIO

from qanat.core.crc32c import crc32c, mask
from qanat.core.errors import DataLossError, NotFoundError

_HEAD_BYTES = 12
_TAIL_BYTES = 4


def framed(data: bytes) -> bytes:
    """A record as it stands in a file."""
    length = struct.pack("<Q", len(data))
    return b"".join((length, _checksum(length), data, _checksum(data)))


def read_records(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """The records of a file, in order. A record that is cut off at the end of the file ends them:
    the writer may still be at it.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: a checksum is wrong; the message names the file and the byte.
    """
    path = os.fspath(path)
    try:
        file = open(path, "rb")
    except FileNotFoundError:
        raise NotFoundError(f"[read_records] expected a file {path}, got none") from None
    with file:
        size = os.fstat(file.fileno()).st_size
        while (record := _next(file, path, size)) is not None:
            yield record


def _next(file: BinaryIO, path: str, size: int) -> bytes | None:
    start = file.tell()
    head = file.read(_HEAD_BYTES)
    if len(head) < _HEAD_BYTES:
        return None
    if _checksum(head[:8]) != head[8:]:
        raise DataLossError(f"[read_records] {path} is corrupt: the length at byte {start}")
    (length,) = struct.unpack("<Q", head[:8])
    if start + _HEAD_BYTES + length + _TAIL_BYTES > size:
        return None
    data = file.read(length)
    if _checksum(data) != file.read(_TAIL_BYTES):
        raise DataLossError(f"[read_records] {path} is corrupt: the record at byte {start}")
    return data


def _checksum(data: bytes) -> bytes:
    return struct.pack("<I", mask(crc32c(data)))
