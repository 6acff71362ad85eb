"""Files of the safetensors format: named tensors that other systems read and write, too.

A file is the length of its header (8 bytes, little-endian), the header in JSON, which gives each
tensor's dtype, shape and place, and all the bytes, little-endian, without gaps. It has no
checksums.
"""

import json
import math
import os
import struct
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from qanat.checkpoint.atomic_file import replacing
from qanat.core import dtypes
from qanat.core.dtypes import DType, as_dtype
from qanat.core.errors import DataLossError, NotFoundError

Array = np.ndarray[Any, Any]

_DTYPES: Final = {
    "F64": dtypes.float64,
    "F32": dtypes.float32,
    "F16": dtypes.float16,
    "BF16": dtypes.bfloat16,
    "I64": dtypes.int64,
    "I32": dtypes.int32,
    "I16": dtypes.int16,
    "I8": dtypes.int8,
    "U64": dtypes.uint64,
    "U32": dtypes.uint32,
    "U16": dtypes.uint16,
    "U8": dtypes.uint8,
    "BOOL": dtypes.bool_,
    "C64": dtypes.complex64,
}
_NAMES: Final = {dtype: name for name, dtype in _DTYPES.items()}
_METADATA = "__metadata__"
_MAX_HEADER_BYTES = 100_000_000  # As the format's own reader allows.


def save_safetensors(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Array],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes a file, atomically.

    Args:
        path: of the file.
        tensors: by name; no strings.
        metadata: whatever else the file is to hold.

    Raises:
        TypeError: a tensor's dtype has no place in the format.
        OSError: the file cannot be written; what was there before is still there.
    """
    arrays = {name: _little_endian(np.asarray(array)) for name, array in tensors.items()}
    for name, array in arrays.items():
        if as_dtype(array.dtype) not in _NAMES:
            raise TypeError(
                f"[safetensors] expected one of {', '.join(_NAMES[d] for d in _NAMES)}, got "
                f"{array.dtype} for {name!r}"
            )
    # The largest elements first: then all are aligned.
    ordered = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    header: dict[str, Any] = {_METADATA: dict(metadata)} if metadata else {}
    offset = 0
    for name in ordered:
        array = arrays[name]
        header[name] = {
            "dtype": _NAMES[as_dtype(array.dtype)],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with replacing(os.fspath(path)) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in ordered:
            file.write(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data)


def _little_endian(array: Array) -> Array:
    """The same values in the bytes that the file is to have, whatever the order of the given."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def load_safetensors(path: str | os.PathLike[str]) -> dict[str, Array]:
    """All tensors of a file, by name; raises as `SafetensorsReader` does."""
    reader = SafetensorsReader(path)
    return {name: reader.read(name) for name in reader.names()}


class SafetensorsReader:
    """Reads the tensors of a file.

    Attributes:
        metadata: what else the file holds.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: it is truncated, or no file of the format.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        try:
            with open(self._path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                (length,) = struct.unpack("<Q", file.read(8).ljust(8, b"\xff"))
                if length > min(size - 8, _MAX_HEADER_BYTES):
                    raise ValueError(f"expected a header within its {size} bytes")
                self._header: dict[str, Any] = _parse(file.read(length))
                self._start = 8 + length
            self.metadata: dict[str, str] = self._header.pop(_METADATA, {})
            _check(self._header, size - self._start)
        except FileNotFoundError:
            raise NotFoundError(f"[safetensors] expected a file {self._path}, got none") from None
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DataLossError(f"[safetensors] {self._path} is corrupt: {error}") from error

    def names(self) -> list[str]:
        """Of all tensors, sorted."""
        return sorted(self._header)

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._header[name]["shape"])

    def dtype(self, name: str) -> DType:
        return _DTYPES[self._header[name]["dtype"]]

    def read(self, name: str) -> Array:
        """The value of a tensor.

        Raises:
            KeyError: there is no tensor of this name.
            DataLossError: the file has become shorter.
        """
        start, end = self._header[name]["data_offsets"]
        data = np.empty(end - start, np.uint8)
        with open(self._path, "rb") as file:
            file.seek(self._start + start)
            given = file.readinto(data.data)
        if given != len(data):
            raise DataLossError(
                f"[safetensors] {self._path} is truncated: expected the {len(data)} bytes of "
                f"tensor {name!r}, got {given}"
            )
        return data.view(self.dtype(name).as_numpy).reshape(self.shape(name))


def _parse(text: bytes) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        parsed = dict(pairs)
        if len(parsed) != len(pairs):
            raise ValueError(f"expected names that differ, got {[key for key, _ in pairs]}")
        return parsed

    header = json.loads(text.decode(), object_pairs_hook=unique)
    if not isinstance(header, dict):
        raise ValueError("expected a header that is a map")
    return header


def _check(header: Mapping[str, Any], size: int) -> None:
    """Whether the tensors fill the bytes, without gaps and overlaps.

    Raises:
        ValueError, KeyError, TypeError: they do not.
    """
    at = 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        start, end = entry["data_offsets"]
        if entry["dtype"] not in _DTYPES:
            raise ValueError(f"expected a known dtype of {name!r}, got {entry['dtype']!r}")
        if any(type(n) is not int or n < 0 for n in (*entry["shape"], start, end)):
            raise ValueError(f"expected sizes and offsets of {name!r}, got {entry}")
        bytes_needed = math.prod(entry["shape"]) * _DTYPES[entry["dtype"]].size
        if start != at or end - start != bytes_needed:
            raise ValueError(f"expected {bytes_needed} bytes of {name!r} at {at}, got {entry}")
        at = end
    if at != size:
        raise ValueError(f"expected {at} bytes of tensors, got {size}")
