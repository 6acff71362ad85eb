"""Writes tensor bundles, atomically: see `bundle_index.py` for the files."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from qanat.checkpoint.atomic_file import replacing, sync_folder
from qanat.checkpoint.bundle_index import (
    Index,
    data_path,
    data_paths,
    free_shards,
    index_path,
    read_index,
    remove_other_data,
    write_index,
)
from qanat.checkpoint.slices import TensorSlice, slice_key, slice_to_proto
from qanat.checkpoint.strings import encode_strings
from qanat.checkpoint.tensor_bundle_pb2 import BundleEntryProto
from qanat.core.crc32c import crc32c, mask
from qanat.core.dtypes import as_dtype, string
from qanat.core.errors import InvalidArgumentError, NotFoundError

Array = np.ndarray[Any, Any]

_CHUNK_BYTES = 1 << 20  # What is written while it is in the cache from its checksum.


@dataclass(frozen=True)
class Piece:
    """A tensor to write, or a slice of one.

    Attributes:
        name: of the tensor, not empty.
        array: the values; strings as an object array of bytes.
        block: which slice they are; None for all of the tensor.
    """

    name: str
    array: Array
    block: TensorSlice | None = None


def write_bundle(prefix: str, tensors: Mapping[str, Array]) -> None:
    """Writes whole tensors, by name, see `write_pieces`."""
    write_pieces(prefix, [Piece(name, np.asarray(array)) for name, array in tensors.items()])


def write_pieces(prefix: str, pieces: Iterable[Piece]) -> None:
    """Writes a bundle, in the place of one of the same prefix if there is one.

    Args:
        prefix: path of the files, without their endings; the folder exists.
        pieces: in the order in which they are to lie in the file.

    Raises:
        OSError: a file cannot be written; the bundle is then what it was before.
        InvalidArgumentError: two pieces have one name.
    """
    shards = free_shards(prefix, 1)
    path = data_path(prefix, 0, shards)
    entries: dict[bytes, BundleEntryProto] = {}
    offset = 0
    with replacing(path) as file:
        for piece in pieces:
            entry = _entry(piece.array)
            entry.offset = offset
            entry.size, entry.crc32c = _write(file, piece.array)
            offset += entry.size
            _add(entries, piece, entry)
    write_index(prefix, Index(shards, entries))
    remove_other_data(prefix, [path])


def merge_bundles(prefixes: Sequence[str], prefix: str, allow_missing: bool = False) -> None:
    """Moves the tensors of some bundles into one, which then exists, or replaces one that did; the
    others exist no more. No data is copied.

    Args:
        prefixes: of the bundles to merge, on the file system of `prefix`.
        prefix: of the bundle to make; its folder exists.
        allow_missing: whether bundles that do not exist are left out.

    Raises:
        NotFoundError: a bundle is missing.
        InvalidArgumentError: two have a tensor of one name, and not slices of one.
        OSError: a file cannot be moved or written; the old bundle is then what it was before.
    """
    found = {}
    for part in dict.fromkeys(prefixes):
        with suppress(*([NotFoundError] if allow_missing else [])):
            found[part] = read_index(part)
    sources = [
        data_path(part, shard, index.shards)
        for part, index in found.items()
        for shard in sorted({entry.shard_id for entry in index.entries.values()})
    ]
    shards = free_shards(prefix, len(sources))
    number = {source: i for i, source in enumerate(sources)}
    entries: dict[bytes, BundleEntryProto] = {}
    for part, index in found.items():
        for key, entry in index.entries.items():
            entry.shard_id = number[data_path(part, entry.shard_id, index.shards)]
            _merge(entries, key, entry)
    paths = [data_path(prefix, i, shards) for i in range(len(sources))]
    for source, path in zip(sources, paths, strict=True):
        os.rename(source, path)
    sync_folder(os.path.dirname(prefix))
    write_index(prefix, Index(shards, entries))
    remove_other_data(prefix, paths)
    for part in found:
        if part != prefix:
            remove_bundle(part)


def remove_bundle(prefix: str) -> None:
    """Removes a bundle's files, the index first; none need exist."""
    for path in [index_path(prefix), *data_paths(prefix)]:
        with suppress(FileNotFoundError):
            os.unlink(path)


def _entry(array: Array) -> BundleEntryProto:
    number: Any = as_dtype(array.dtype).number
    entry = BundleEntryProto(dtype=number)
    for size in array.shape:
        entry.shape.dim.add(size=size)
    return entry


def _write(file: BinaryIO, array: Array) -> tuple[int, int]:
    """Appends a tensor's bytes; gives their number and their masked checksum."""
    if as_dtype(array.dtype) is string:
        encoded, checksum = encode_strings(array)
        file.write(encoded)
        return len(encoded), mask(checksum)
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    checksum = 0
    for start in range(0, len(data), _CHUNK_BYTES):
        chunk = data[start : start + _CHUNK_BYTES]
        checksum = crc32c(chunk, checksum)
        file.write(chunk)
    return len(data), mask(checksum)


def _add(entries: dict[bytes, BundleEntryProto], piece: Piece, entry: BundleEntryProto) -> None:
    """Adds the entries of a piece whose data has been written."""
    key = piece.name.encode()
    block = piece.block
    if block is not None:
        slice_entry, entry = entry, BundleEntryProto(dtype=entry.dtype)
        for size in block.shape:
            entry.shape.dim.add(size=size)
        entry.slices.append(slice_to_proto(block))
        _merge(entries, slice_key(piece.name, block), slice_entry)
    _merge(entries, key, entry)


def _merge(entries: dict[bytes, BundleEntryProto], key: bytes, entry: BundleEntryProto) -> None:
    """Adds an entry; the slices of two entries of one tensor are put together."""
    known = entries.get(key)
    if known is None:
        entries[key] = entry
    elif known.slices and entry.slices and known.shape == entry.shape:
        known.slices.extend(entry.slices)
    else:
        raise InvalidArgumentError(
            f"[Save] expected names that differ, got {key.decode(errors='replace')!r} twice"
        )
