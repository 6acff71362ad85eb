"""A text as numbers: its characters, and rows of it that are read side by side."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qanat.models.data_files import DataError, bundled_folder, read_file
from qanat.models.idx import Array


def load_text(data_file: str | None) -> str:
    """A text in UTF-8, compressed by gzip or not.

    Args:
        data_file: by default the text that Bazel put beside this program.

    Raises:
        DataError: the file is missing, corrupt, no text, or empty.
    """
    path = data_file or str(bundled_folder("jargon", "--data_file") / "jargon.txt.gz")
    contents = read_file(path)
    try:
        text = contents.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: expected text in UTF-8, got the byte {contents[error.start]:#04x} at "
            f"position {error.start}"
        ) from None
    if not text:
        raise DataError(f"{path}: expected a text, got an empty file")
    return text


class Vocabulary:
    """The different characters of a text, numbered by code point.

    Attributes:
        codes: the code points in ascending order, int32 [n].
    """

    def __init__(self, text: str) -> None:
        self.codes = np.unique(_code_points(text))

    def __len__(self) -> int:
        return len(self.codes)

    def encode(self, text: str, source: str) -> Array:
        """The characters' numbers, int32 [len(text)].

        Args:
            source: where the text comes from, for the message.

        Raises:
            DataError: a character is not in the vocabulary.
        """
        wanted = _code_points(text)
        places = np.searchsorted(self.codes, wanted)
        found = self.codes[np.minimum(places, len(self.codes) - 1)]
        unknown = np.flatnonzero(found != wanted)
        if unknown.size:
            raise DataError(
                f"{source}: expected characters that the text has, got {text[unknown[0]]!r} at "
                f"position {unknown[0]}"
            )
        return places.astype(np.int32)

    def decode(self, numbers: Array) -> str:
        """The characters of so many numbers."""
        return "".join(map(chr, self.codes[numbers].reshape(-1)))


def _code_points(text: str) -> Array:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int32)


@dataclass(frozen=True)
class Rows:
    """A text cut into rows of equal length, which are read side by side, a window at a time.

    Each window goes on where the one before ended, so that what a model remembers of a row may be
    carried over.

    Attributes:
        inputs: int32 [time, rows].
        targets: the character after each, int32 [time, rows].
        length: the time of a window.
    """

    inputs: Array
    targets: Array
    length: int

    @classmethod
    def of(cls, numbers: Array, rows: int, length: int) -> "Rows":
        """Fewer characters than there are rows are left out at the end."""
        time = max(len(numbers) - 1, 0) // rows
        inputs = numbers[: time * rows].reshape(rows, time).T
        targets = numbers[1 : time * rows + 1].reshape(rows, time).T
        return cls(np.ascontiguousarray(inputs), np.ascontiguousarray(targets), length)

    @property
    def whole_windows(self) -> int:
        """How many windows have the full length."""
        return len(self.inputs) // self.length

    def windows(self, first: int = 0) -> Iterator[tuple[Array, Array]]:
        """(inputs, targets) of each window from number `first` on; the last may be shorter."""
        for start in range(first * self.length, len(self.inputs), self.length):
            window = slice(start, start + self.length)
            yield self.inputs[window], self.targets[window]


def split(text: str, share: float) -> tuple[str, str]:
    """(the text to train on, the last `share` of it to validate with)."""
    end = len(text) - int(len(text) * share)
    return text[:end], text[end:]
