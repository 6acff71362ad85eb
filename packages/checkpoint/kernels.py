"""Kernels of the checkpoint ops."""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from qanat.checkpoint.bundle_reader import BundleReader
from qanat.checkpoint.bundle_writer import Piece, merge_bundles, write_pieces
from qanat.checkpoint.slices import TensorSlice, parse_slice
from qanat.core.dtypes import DType
from qanat.core.errors import InvalidArgumentError, NotFoundError
from qanat.core.python_kernel import python_kernel

Array = np.ndarray[Any, Any]


@python_kernel("SaveV2", expensive=True)
def _(prefix: bytes, tensor_names: Array, shape_and_slices: Array, *tensors: Any) -> None:
    path = _path(prefix)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    pieces = [
        Piece(name, _array(tensor), block)
        for (name, block), tensor in zip(
            _named(tensor_names, shape_and_slices, len(tensors)), tensors, strict=True
        )
    ]
    for piece in pieces:
        if piece.block is not None and piece.array.shape != piece.block.block_shape:
            raise ValueError(
                f"expected {list(piece.block.block_shape)}, the shape of the slice of tensor "
                f"{piece.name!r}, got {list(piece.array.shape)}"
            )
    write_pieces(path, pieces)


@python_kernel("RestoreV2", expensive=True)
def _(
    prefix: bytes, tensor_names: Array, shape_and_slices: Array, *, dtypes: Sequence[DType]
) -> list[Array]:
    reader = BundleReader(_path(prefix))
    named = _named(tensor_names, shape_and_slices, len(dtypes))
    present = set(reader.names())
    missing = [name for name, _ in named if name not in present]
    if missing:
        raise NotFoundError(
            f"expected the tensors {', '.join(map(repr, missing[:10]))} in the checkpoint "
            f"{_path(prefix)}, found none of them"
        )
    for (name, _), dtype in zip(named, dtypes, strict=True):
        if reader.dtype(name) is not dtype:
            raise InvalidArgumentError(
                f"expected {dtype} for the tensor {name!r}, got {reader.dtype(name)} in the "
                f"checkpoint {_path(prefix)}"
            )
    values: dict[int, Array] = {}
    for i in sorted(range(len(named)), key=lambda i: reader.position(named[i][0])):
        values[i] = reader.read(*named[i])
    return [values[i] for i in range(len(named))]


@python_kernel("MergeV2Checkpoints")
def _(
    checkpoint_prefixes: Array,
    destination_prefix: bytes,
    *,
    delete_old_dirs: bool,
    allow_missing_files: bool,
) -> None:
    parts = [_path(prefix) for prefix in checkpoint_prefixes]
    destination = _path(destination_prefix)
    os.makedirs(os.path.dirname(destination) or ".", exist_ok=True)
    merge_bundles(parts, destination, allow_missing_files)
    if delete_old_dirs:
        for folder in {os.path.dirname(part) for part in parts} - {os.path.dirname(destination)}:
            with suppress(OSError):  # somebody else has something there
                os.rmdir(folder)


@python_kernel("ShardedFilename")
def _(basename: bytes, shard: np.int32, num_shards: np.int32) -> bytes:
    return b"%s-%05d-of-%05d" % (basename, shard, num_shards)


def _path(prefix: bytes) -> str:
    path = os.fsdecode(prefix)
    if not os.path.basename(path):
        raise ValueError(f"expected a prefix with a name at its end, got {path!r}")
    return path


def _array(tensor: Any) -> Array:
    return np.array(tensor, object) if isinstance(tensor, bytes) else np.asarray(tensor)


def _named(names: Array, specs: Array, count: int) -> list[tuple[str, TensorSlice | None]]:
    """The names of the tensors and which slice of each is meant."""
    if not len(names) == len(specs) == count:
        raise ValueError(
            f"expected {count} tensor_names and shape_and_slices, one a tensor, got {len(names)} "
            f"and {len(specs)}"
        )
    return [
        (name.decode(), parse_slice(spec.decode()) if spec else None)
        for name, spec in zip(names, specs, strict=True)
    ]
