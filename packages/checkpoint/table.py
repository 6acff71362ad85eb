"""Sorted string tables: an immutable map from bytes to bytes in one file, every block with a
checksum.

The layout is LevelDB's (its document `table_format`), which TensorFlow uses for the index of a
checkpoint: data blocks, an empty meta-index block, an index block (last key of a data block -> its
place), and a footer of 48 bytes (places of the last two, padding, magic number). Blocks are written
uncompressed.
"""

import struct
from collections.abc import Iterator, Mapping

from qanat.checkpoint.varint import decode_varint, encode_varint
from qanat.core.crc32c import crc32c, mask

_MAGIC = 0xDB4775248B80FB57
_FOOTER_BYTES = 48
_TRAILER_BYTES = 5  # The kind of compression, 0 for none; the masked CRC-32C of block and kind.
_BLOCK_BYTES = 1 << 16
_RESTART_INTERVAL = 16


class CorruptTableError(ValueError):
    """The bytes are no table, or not all of it, or have changed since they were written."""


def encode_table(items: Mapping[bytes, bytes]) -> bytes:
    """The table of `items` as the contents of a file."""
    contents = bytearray()
    index: list[tuple[bytes, bytes]] = []

    def append(entries: list[tuple[bytes, bytes]]) -> bytes:
        """Appends a block and gives its place."""
        block = _encode_block(entries)
        place = encode_varint(len(contents)) + encode_varint(len(block))
        trailer = struct.pack("<BI", 0, mask(crc32c(b"\0", crc32c(block))))
        contents.extend(block + trailer)
        return place

    for entries in _blocks(sorted(items.items())):
        index.append((entries[-1][0], append(entries)))
    places = append([]) + append(index)
    contents += places.ljust(_FOOTER_BYTES - 8, b"\0") + struct.pack("<Q", _MAGIC)
    return bytes(contents)


def decode_table(contents: bytes) -> dict[bytes, bytes]:
    """The map that `contents`, a whole file, holds.

    Raises:
        CorruptTableError: a checksum, the magic number or the structure is wrong.
    """
    if len(contents) < _FOOTER_BYTES:
        raise CorruptTableError(
            f"expected a footer of {_FOOTER_BYTES} bytes, got a file of {len(contents)} bytes"
        )
    footer = contents[-_FOOTER_BYTES:]
    (magic,) = struct.unpack("<Q", footer[-8:])
    if magic != _MAGIC:
        raise CorruptTableError(f"expected the magic number {_MAGIC:#x} at the end, got {magic:#x}")
    try:
        cursor = _Cursor(footer)
        cursor.varint(), cursor.varint()  # The meta-index is of no interest.
        index = _decode_block(_block(contents, cursor.varint(), cursor.varint()))
        items: dict[bytes, bytes] = {}
        for _, place in index:
            cursor = _Cursor(place)
            items.update(_decode_block(_block(contents, cursor.varint(), cursor.varint())))
        return items
    except (ValueError, struct.error) as error:
        raise CorruptTableError(str(error)) from error


def _blocks(items: list[tuple[bytes, bytes]]) -> Iterator[list[tuple[bytes, bytes]]]:
    """Cuts sorted items into runs for a block each."""
    entries: list[tuple[bytes, bytes]] = []
    size = 0
    for key, value in items:
        entries.append((key, value))
        size += len(key) + len(value)
        if size >= _BLOCK_BYTES:
            yield entries
            entries, size = [], 0
    if entries:
        yield entries


def _encode_block(entries: list[tuple[bytes, bytes]]) -> bytes:
    """Keys lose what they share with the one before, but at restart points, listed at the end."""
    block = bytearray()
    restarts: list[int] = []
    previous = b""
    for count, (key, value) in enumerate(entries):
        shared = 0
        if count % _RESTART_INTERVAL == 0:
            restarts.append(len(block))
        else:
            shared = _common_prefix(previous, key)
        block += (
            encode_varint(shared) + encode_varint(len(key) - shared) + encode_varint(len(value))
        )
        block += key[shared:] + value
        previous = key
    restarts = restarts or [0]
    return bytes(block) + struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts))


def _decode_block(block: bytes) -> list[tuple[bytes, bytes]]:
    (restarts,) = struct.unpack("<I", block[-4:])
    cursor = _Cursor(block[: len(block) - 4 * (restarts + 1)])
    entries: list[tuple[bytes, bytes]] = []
    key = b""
    while not cursor.at_end():
        shared, rest, size = cursor.varint(), cursor.varint(), cursor.varint()
        key = key[:shared] + cursor.take(rest)
        entries.append((key, cursor.take(size)))
    return entries


def _block(contents: bytes, offset: int, size: int) -> bytes:
    """The block at a place, checked."""
    block = contents[offset : offset + size]
    kind, expected = struct.unpack("<BI", contents[offset + size : offset + size + _TRAILER_BYTES])
    given = mask(crc32c(bytes([kind]), crc32c(block)))
    if given != expected:
        raise CorruptTableError(
            f"expected the checksum {expected:#010x} of the block at byte {offset}, "
            f"got {given:#010x}"
        )
    if kind != 0:
        raise CorruptTableError(f"expected an uncompressed block at byte {offset}, got kind {kind}")
    return block


def _common_prefix(a: bytes, b: bytes) -> int:
    return next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


class _Cursor:
    """Reads a run of bytes from the left; ValueError past its end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def at_end(self) -> bool:
        return self._at == len(self._data)

    def take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise ValueError("a length points past the end of its block")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def varint(self) -> int:
        value, self._at = decode_varint(self._data, self._at)
        return value
