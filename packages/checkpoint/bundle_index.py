"""The index of a tensor bundle, and which files a bundle is made of.

The layout is that of TensorFlow's checkpoints, so either system reads the other's: `<prefix>.index`
is a sorted string table from each tensor's name to its dtype, shape, place and checksum; the bytes,
little-endian, lie in `<prefix>.data-<shard>-of-<shards>`.

A bundle exists when its index does, and the index is replaced in one rename. So that a bundle can
be replaced without a gap, the data files of the new one have names that are free: the number of
shards, which is part of a name, is chosen for that, and may be larger than the number of files.
"""

import glob
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from google.protobuf.message import DecodeError

from qanat.checkpoint.atomic_file import replacing
from qanat.checkpoint.table import CorruptTableError, decode_table, encode_table
from qanat.checkpoint.tensor_bundle_pb2 import BundleEntryProto, BundleHeaderProto
from qanat.core.errors import DataLossError, NotFoundError, UnimplementedError

_HEADER_KEY = b""
_PRODUCER = 1  # The version of the layout.


@dataclass(frozen=True)
class Index:
    """What an index file says.

    Attributes:
        shards: the number in the names of the data files.
        entries: by key, which is a tensor's name, or that of a slice of one (see `slices.py`).
    """

    shards: int
    entries: Mapping[bytes, BundleEntryProto]


def index_path(prefix: str) -> str:
    """The file whose existence makes a bundle exist."""
    return prefix + ".index"


def data_path(prefix: str, shard: int, shards: int) -> str:
    return f"{prefix}.data-{shard:05d}-of-{shards:05d}"


def data_paths(prefix: str) -> list[str]:
    """The data files there are, of whatever bundle of this prefix."""
    return glob.glob(glob.escape(prefix) + ".data-?????-of-?????")


def free_shards(prefix: str, files: int) -> int:
    """A number of shards, at least `files`, of which no data file exists."""
    taken = {path[-5:] for path in data_paths(prefix)}
    shards = max(files, 1)
    while f"{shards:05d}" in taken:
        shards += 1
    return shards


def write_index(prefix: str, index: Index) -> None:
    """Makes the bundle exist, in the place of one that does. The data files are on disk already.

    Raises:
        OSError: it cannot be written; the bundle is then what it was before.
    """
    header = BundleHeaderProto(num_shards=index.shards)
    header.version.producer = _PRODUCER
    table = {key: entry.SerializeToString() for key, entry in index.entries.items()}
    with replacing(index_path(prefix)) as file:
        file.write(encode_table({_HEADER_KEY: header.SerializeToString(), **table}))


def remove_other_data(prefix: str, kept: Iterable[str]) -> None:
    """Removes the data files of a prefix that its bundle does not use."""
    for path in set(data_paths(prefix)) - set(kept):
        os.unlink(path)


def _hint(prefix: str) -> str:
    """What may have been meant by a prefix that no checkpoint has."""
    if prefix.endswith(".safetensors"):
        return "; restore_matching and load_safetensors read files of safetensors"
    stem = re.sub(r"\.(index|data-\d{5}-of-\d{5})$", "", prefix)
    return "" if stem == prefix else f"; a checkpoint is named by the prefix of its files, {stem}"


def read_index(prefix: str) -> Index:
    """
    Raises:
        NotFoundError: there is no index.
        DataLossError: it is corrupt.
        UnimplementedError: the bundle is of a kind that Qanat does not read.
    """
    path = index_path(prefix)
    try:
        with open(path, "rb") as file:
            table = decode_table(file.read())
        header = BundleHeaderProto.FromString(table.pop(_HEADER_KEY))
        entries = {key: BundleEntryProto.FromString(value) for key, value in table.items()}
    except FileNotFoundError:
        raise NotFoundError(
            f"[Restore] expected a checkpoint, found no file {path}{_hint(prefix)}"
        ) from None
    except (CorruptTableError, KeyError, DecodeError) as error:
        raise DataLossError(f"[Restore] {path} is corrupt: {error}") from error
    if header.endianness != BundleHeaderProto.LITTLE:
        raise UnimplementedError(f"[Restore] expected little-endian data, got big-endian: {path}")
    return Index(header.num_shards, entries)
