"""Tensor bundles: named tensors in an index file and data files, checked by CRC-32C.

The layout is that of TensorFlow's checkpoints, so either system reads the other's: `<prefix>.index`
is a sorted string table from each tensor's name to its dtype, shape, place and checksum; the bytes,
little-endian, lie in `<prefix>.data-<shard>-of-<shards>`.

Writing is atomic, also over a bundle that exists: the index is replaced last, in one rename, and
the data file that it names is never one that the index before it names. For that the number of
shards, which is part of a data file's name, is chosen to be free; the entries all lie in shard 0,
and no reader opens others.
"""

import glob
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from qanat.checkpoint.atomic_file import replacing
from qanat.checkpoint.strings import decode_strings, encode_strings
from qanat.checkpoint.table import CorruptTableError, decode_table, encode_table
from qanat.checkpoint.tensor_bundle_pb2 import BundleEntryProto, BundleHeaderProto
from qanat.core.crc32c import crc32c, mask
from qanat.core.dtypes import DType, as_dtype, string
from qanat.core.errors import DataLossError, NotFoundError, UnimplementedError

Array = np.ndarray[Any, Any]

_HEADER_KEY = b""
_PRODUCER = 1  # The version of the layout.


def write_bundle(prefix: str, tensors: Mapping[str, Array]) -> None:
    """Writes tensors, in the place of a bundle of the same prefix if there is one.

    Args:
        prefix: path of the files, without their endings; the folder exists.
        tensors: by name, which is not empty; strings as object arrays of bytes.

    Raises:
        OSError: a file cannot be written; the bundle is then what it was before.
    """
    shards = 1
    while os.path.exists(_data_path(prefix, 0, shards)):
        shards += 1
    header = BundleHeaderProto(num_shards=shards)
    header.version.producer = _PRODUCER
    index = {_HEADER_KEY: header.SerializeToString()}
    data_path = _data_path(prefix, 0, shards)
    with replacing(data_path) as file:
        offset = 0
        for name in sorted(tensors, key=str.encode):
            array = np.asarray(tensors[name])
            data, checksum = _encode(array)
            number: Any = as_dtype(array.dtype).number
            entry = BundleEntryProto(
                dtype=number, offset=offset, size=len(data), crc32c=mask(checksum)
            )
            for dim in array.shape:
                entry.shape.dim.add(size=dim)
            index[name.encode()] = entry.SerializeToString()
            file.write(data)
            offset += len(data)
    with replacing(index_path(prefix)) as file:
        file.write(encode_table(index))
    for path in glob.glob(glob.escape(prefix) + ".data-?????-of-?????"):
        if path != data_path:
            os.unlink(path)


def remove_bundle(prefix: str) -> None:
    """Removes a bundle's files, the index first; none need exist."""
    for path in [index_path(prefix), *glob.glob(glob.escape(prefix) + ".data-?????-of-?????")]:
        if os.path.exists(path):
            os.unlink(path)


def index_path(prefix: str) -> str:
    """The file whose existence makes a bundle exist."""
    return prefix + ".index"


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
        path = index_path(prefix)
        try:
            with open(path, "rb") as file:
                table = decode_table(file.read())
            self._header = BundleHeaderProto.FromString(table.pop(_HEADER_KEY))
            self._entries = {
                key.decode(): BundleEntryProto.FromString(value) for key, value in table.items()
            }
        except FileNotFoundError:
            raise NotFoundError(f"[Restore] expected a checkpoint, found no file {path}") from None
        except (CorruptTableError, KeyError, DecodeError, UnicodeDecodeError) as error:
            raise DataLossError(f"[Restore] {path} is corrupt: {error}") from error
        if self._header.endianness != BundleHeaderProto.LITTLE:
            raise UnimplementedError(
                f"[Restore] expected little-endian data, got big-endian: {path}"
            )

    def names(self) -> list[str]:
        """Of all tensors, sorted."""
        return sorted(self._entries)

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(dim.size for dim in self._entries[name].shape.dim)

    def dtype(self, name: str) -> DType:
        return as_dtype(int(self._entries[name].dtype))

    def read(self, name: str) -> Array:
        """The value of a tensor.

        Raises:
            KeyError: there is no tensor of this name.
            DataLossError: its bytes are missing or have changed.
        """
        entry = self._entries[name]
        if entry.slices:
            raise UnimplementedError(f"[Restore] expected a whole tensor, got slices of {name!r}")
        path = _data_path(self._prefix, entry.shard_id, self._header.num_shards)
        data = np.empty(entry.size, np.uint8)
        try:
            with open(path, "rb") as file:
                file.seek(entry.offset)
                given = file.readinto(data.data)
        except FileNotFoundError:
            raise DataLossError(f"[Restore] tensor {name!r}: found no file {path}") from None
        if given != entry.size:
            raise DataLossError(
                f"[Restore] {path} is truncated: expected the {entry.size} bytes of tensor "
                f"{name!r} at byte {entry.offset}, got {given}"
            )
        array, checksum = self._decode(name, data, path)
        if mask(checksum) != entry.crc32c:
            raise DataLossError(
                f"[Restore] {path} is corrupt: expected the checksum {entry.crc32c:#010x} of "
                f"tensor {name!r}, got {mask(checksum):#010x}"
            )
        return array

    def _decode(self, name: str, data: Array, path: str) -> tuple[Array, int]:
        """A tensor and its checksum."""
        shape, dtype = self.shape(name), self.dtype(name)
        if dtype is not string:
            return data.view(dtype.as_numpy).reshape(shape), crc32c(data.data)
        try:
            array, checksum = decode_strings(data.tobytes(), int(np.prod(shape)))
        except ValueError as error:
            raise DataLossError(f"[Restore] {path} is corrupt: tensor {name!r}: {error}") from error
        return array.reshape(shape), checksum


def _encode(array: Array) -> tuple[memoryview | bytes, int]:
    """A tensor's bytes as stored, and their checksum."""
    if as_dtype(array.dtype) is string:
        return encode_strings(array)
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    return data, crc32c(data)


def _data_path(prefix: str, shard: int, shards: int) -> str:
    return f"{prefix}.data-{shard:05d}-of-{shards:05d}"
