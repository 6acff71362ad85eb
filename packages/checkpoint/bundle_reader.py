"""Reads tensor bundles, and notices every bit that has changed: see `bundle_index.py`."""

import os
from io import FileIO
from typing import Any

import numpy as np

from qanat.checkpoint.bundle_index import data_path, index_path, read_index
from qanat.checkpoint.slices import (
    TensorSlice,
    is_slice_key,
    slice_from_proto,
    slice_key,
)
from qanat.checkpoint.strings import decode_strings
from qanat.checkpoint.tensor_bundle_pb2 import BundleEntryProto
from qanat.core.crc32c import crc32c, mask
from qanat.core.dtypes import DType, as_dtype, string
from qanat.core.errors import DataLossError, InvalidArgumentError
from qanat.core.python_kernel import empty

Array = np.ndarray[Any, Any]

_CHUNK_BYTES = 1 << 18  # What is read, and is in the cache when its checksum is taken.


class BundleReader:
    """Reads the tensors of a bundle.

    Args:
        prefix: path of the files, without their endings.

    Raises:
        NotFoundError: there is no index.
        DataLossError: the index is corrupt.
        UnimplementedError: the bundle is of a kind that Qanat does not read.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._index = read_index(prefix)
        try:
            self._entries = {
                key.decode(): entry
                for key, entry in self._index.entries.items()
                if not is_slice_key(key)
            }
        except UnicodeDecodeError as error:
            raise DataLossError(f"[Restore] {index_path(prefix)} is corrupt: {error}") from error

    def names(self) -> list[str]:
        """Of all tensors, sorted."""
        return sorted(self._entries)

    def shape(self, name: str) -> tuple[int, ...]:
        return _shape(self._entries[name])

    def dtype(self, name: str) -> DType:
        return as_dtype(int(self._entries[name].dtype))

    def position(self, name: str) -> tuple[int, int]:
        """What tensors are best read in the order of: the file and the place in it."""
        entry = self._entries[name]
        return entry.shard_id, entry.offset

    def read(self, name: str, block: TensorSlice | None = None) -> Array:
        """The value of a tensor, or of a slice of it, an array for the caller to keep.

        Raises:
            KeyError: there is no tensor of this name.
            DataLossError: its bytes are missing or have changed.
            InvalidArgumentError: the slice is one of a tensor of another shape.
        """
        entry = self._entries[name]
        shape = _shape(entry)
        if block is not None and block.shape != shape:
            raise InvalidArgumentError(
                f"[Restore] expected {list(block.shape)}, got {list(shape)} as the shape of tensor "
                f"{name!r} in the checkpoint {self._prefix}"
            )
        value = self._joined(name, entry) if entry.slices else self._stored(name, entry)
        return value if block is None or block.is_whole else value[block.index]

    def _joined(self, name: str, entry: BundleEntryProto) -> Array:
        """A tensor that is stored in slices."""
        shape = _shape(entry)
        value = np.empty(shape, as_dtype(int(entry.dtype)).as_numpy)
        missing = np.ones(shape, bool)
        for proto in entry.slices:
            block = slice_from_proto(shape, proto)
            stored = self._index.entries.get(slice_key(name, block))
            if stored is None or _shape(stored) != block.block_shape:
                raise DataLossError(
                    f"[Restore] {index_path(self._prefix)} is corrupt: a slice of tensor {name!r} "
                    "is missing"
                )
            value[block.index] = self._stored(name, stored)
            missing[block.index] = False
        if missing.any():
            raise DataLossError(
                f"[Restore] expected all slices of tensor {name!r} in {self._prefix}, got some"
            )
        return value

    def _stored(self, name: str, entry: BundleEntryProto) -> Array:
        """What an entry says where to find, checked."""
        path = data_path(self._prefix, entry.shard_id, self._index.shards)
        dtype, shape = as_dtype(int(entry.dtype)), _shape(entry)
        if dtype is not string:
            self._check_size(name, entry, dtype, shape)
        try:
            with open(path, "rb", buffering=0) as file:
                _require_bytes(file, entry, path, name)
                data = np.empty(entry.size, np.uint8) if dtype is string else empty(dtype, shape)
                checksum = _fill(data, file, entry, path, name)
        except FileNotFoundError:
            raise DataLossError(f"[Restore] tensor {name!r}: found no file {path}") from None
        if dtype is string:
            try:
                data, checksum = decode_strings(data.tobytes(), int(np.prod(shape)))
            except ValueError as error:
                raise DataLossError(
                    f"[Restore] {path} is corrupt: tensor {name!r}: {error}"
                ) from error
            data = data.reshape(shape)
        if mask(checksum) != entry.crc32c:
            raise DataLossError(
                f"[Restore] {path} is corrupt: expected the checksum {entry.crc32c:#010x} of "
                f"tensor {name!r}, got {mask(checksum):#010x}"
            )
        return data

    def _check_size(
        self, name: str, entry: BundleEntryProto, dtype: DType, shape: tuple[int, ...]
    ) -> None:
        size = dtype.size
        for dim in shape:
            size *= dim
        if entry.size != size or min(shape, default=0) < 0:
            raise DataLossError(
                f"[Restore] {index_path(self._prefix)} is corrupt: expected {size} bytes of tensor "
                f"{name!r}, {dtype} {list(shape)}, got {entry.size}"
            )


def _shape(entry: BundleEntryProto) -> tuple[int, ...]:
    return tuple(dim.size for dim in entry.shape.dim)


def _require_bytes(file: FileIO, entry: BundleEntryProto, path: str, name: str) -> None:
    """Before memory is asked for, which the index may have any wish of."""
    size = os.fstat(file.fileno()).st_size
    if entry.offset < 0 or entry.size < 0 or entry.offset + entry.size > size:
        raise _truncated(entry, path, name, max(0, size - entry.offset))


def _fill(data: Array, file: FileIO, entry: BundleEntryProto, path: str, name: str) -> int:
    """Fills an array from a file; gives the checksum of what was read."""
    into = data.reshape(-1).view(np.uint8).data
    file.seek(entry.offset)
    checksum = given = 0
    while given < entry.size:
        count = file.readinto(into[given : given + _CHUNK_BYTES])
        if not count:
            raise _truncated(entry, path, name, given)
        checksum = crc32c(into[given : given + count], checksum)
        given += count
    return checksum


def _truncated(entry: BundleEntryProto, path: str, name: str, given: int) -> DataLossError:
    return DataLossError(
        f"[Restore] {path} is truncated: expected the {entry.size} bytes of tensor {name!r} at "
        f"byte {entry.offset}, got {given}"
    )
