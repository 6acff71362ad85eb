"""Texts become numbers and windows, and what is wrong with one is said."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from qanat.models.data_files import DataError
from qanat.models.text import Rows, Vocabulary, load_text, split


@pytest.mark.parametrize("compress", [False, True])
def test_loading(tmp_path: Path, compress: bool) -> None:
    contents = "größer\n".encode()
    path = tmp_path / "text"
    path.write_bytes(gzip.compress(contents) if compress else contents)
    assert load_text(str(path)) == "größer\n"


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"", "expected a text, got an empty file"),
        (b"ab\xffc", "expected text in UTF-8, got the byte 0xff at position 2"),
        (gzip.compress(b"a text")[:-3], "truncated"),
    ],
)
def test_a_bad_file(tmp_path: Path, contents: bytes, message: str) -> None:
    (tmp_path / "text").write_bytes(contents)
    with pytest.raises(DataError, match=f"text: {message}"):
        load_text(str(tmp_path / "text"))


def test_a_vocabulary() -> None:
    vocabulary = Vocabulary("das 𝄞 ist es")
    assert vocabulary.decode(np.arange(len(vocabulary))) == " adeist𝄞"
    numbers = vocabulary.encode("ist 𝄞", "here")
    assert numbers.dtype == np.int32 and numbers.tolist() == [4, 5, 6, 0, 7]
    assert vocabulary.decode(numbers) == "ist 𝄞"
    assert vocabulary.encode("", "here").tolist() == []
    with pytest.raises(DataError, match="here: expected characters that the text has, got 'z' at"):
        vocabulary.encode("esz", "here")
    with pytest.raises(DataError, match="got '\U0001f600' at position 0"):
        vocabulary.encode("\U0001f600", "here")


def test_windows_go_on_where_the_last_ended() -> None:
    rows = Rows.of(np.arange(24, dtype=np.int32), rows=3, length=3)
    assert rows.whole_windows == 2
    windows = list(rows.windows())
    assert [inputs.shape for inputs, _ in windows] == [(3, 3), (3, 3), (1, 3)]
    read = np.concatenate([inputs for inputs, _ in windows])
    np.testing.assert_array_equal(read.T, [np.arange(7), np.arange(7, 14), np.arange(14, 21)])
    np.testing.assert_array_equal(np.concatenate([t for _, t in windows]), read + 1)
    later = list(rows.windows(1))
    assert len(later) == 2
    np.testing.assert_array_equal(later[0][0], windows[1][0])


@pytest.mark.parametrize("size", [0, 1, 3])
def test_texts_without_a_window(size: int) -> None:
    rows = Rows.of(np.zeros(size, np.int32), rows=3, length=2)
    assert rows.whole_windows == 0 and list(rows.windows()) == []


def test_splitting() -> None:
    assert split("0123456789", 0.25) == ("01234567", "89")
    assert split("0123456789", 0) == ("0123456789", "")
