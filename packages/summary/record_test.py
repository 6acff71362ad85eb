"""Records come back as they were written, and changed bits are noticed."""

from pathlib import Path

import pytest

from qanat.core.errors import DataLossError, NotFoundError
from qanat.summary.record import framed, read_records


def test_the_framing_of_a_known_record() -> None:
    """Length 0: eight zero bytes and their masked CRC-32C, then that of nothing."""
    assert framed(b"").hex() == "0000000000000000" + "29039807" + "d8ea82a2"


def test_records_come_back(tmp_path: Path) -> None:
    records = [b"", b"a", bytes(range(256)) * 100]
    path = tmp_path / "records"
    path.write_bytes(b"".join(map(framed, records)))
    assert list(read_records(path)) == records


def test_a_record_that_is_not_all_there_yet_ends_them(tmp_path: Path) -> None:
    whole = framed(b"first") + framed(b"second")
    path = tmp_path / "records"
    for size in range(len(framed(b"first")), len(whole)):
        path.write_bytes(whole[:size])
        assert list(read_records(path)) == [b"first"]


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    contents = framed(b"abc")
    path = tmp_path / "records"
    for position in range(len(contents)):
        for bit in range(8):
            changed = bytearray(contents)
            changed[position] ^= 1 << bit
            path.write_bytes(changed)
            with pytest.raises(DataLossError, match=r"records is corrupt: the .* at byte 0"):
                list(read_records(path))


def test_no_such_file() -> None:
    with pytest.raises(NotFoundError, match="/nowhere"):
        list(read_records("/nowhere"))
