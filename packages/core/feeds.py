"""Checks and converts the values that users feed, before a step begins."""

from typing import Any

import numpy as np

from qanat.core.constants import MAX_RANK, describe, to_array
from qanat.core.dtypes import as_dtype
from qanat.core.errors import located
from qanat.core.operation import Output


class Feed:
    """What one fed output accepts."""

    __slots__ = ("_dims", "_dtype", "_is_array", "_known", "_limit", "_output", "_scalar")

    def __init__(self, output: Output) -> None:
        """
        Raises:
            TypeError: no value of its type can be fed.
        """
        if output.dtype.kind == "R":
            raise TypeError(f"expected an output with values to feed, got the handle {output!r}")
        self._output = output
        self._dtype = output.dtype.as_numpy
        self._dims = output.shape.dims
        self._known = output.shape.is_fully_defined()
        self._is_array = output.dtype.size > 0
        # Native code takes these scalars as they are: Python floats of this size at most, -1 for
        # none at all, and NumPy's of this type.
        scalar = self._dims is None or self._dims == ()
        self._limit = float(output.dtype.max) if scalar and output.dtype.is_floating else -1.0
        self._scalar = self._dtype.type if scalar and self._is_array else None

    def convert(self, value: Any) -> Any:
        """The value as native code takes it.

        Args:
            value: a NumPy array of exactly the dtype, or Python values that convert to it.

        Raises:
            TypeError: it has another dtype.
            ValueError: it has another shape, or numbers out of range.
        """
        kind = type(value)
        if kind is self._scalar or (kind is float and -self._limit <= value <= self._limit):
            return value
        if kind is not np.ndarray or value.dtype is not self._dtype or not self._is_array:
            value = self._converted(value)
        shape = value.shape
        if shape != self._dims and (self._known or not self._fits(shape)):
            deep = f", of more than {MAX_RANK} dimensions" if len(shape) > MAX_RANK else ""
            raise ValueError(self._message(f"a value of shape {list(shape)}{deep}"))
        return value

    def _fits(self, shape: tuple[int, ...]) -> bool:
        dims = self._dims
        if dims is None:
            return len(shape) <= MAX_RANK
        return len(shape) == len(dims) and (
            all(want is None or want == shape[i] for i, want in enumerate(dims))
        )

    def _converted(self, value: Any) -> Any:
        dtype = self._output.dtype
        if isinstance(value, Output):
            raise TypeError(self._message(f"the symbolic {value!r}: run it first"))
        if isinstance(value, np.ndarray) and value.dtype.kind not in "OSU":
            try:
                given = as_dtype(value.dtype)
            except TypeError:
                given = None
            if given is not dtype:
                raise TypeError(
                    self._message(f"{describe(value)}; convert it with .astype({dtype.name!r})")
                )
            return np.asarray(value, self._dtype)
        try:
            return to_array(value, dtype)
        except (TypeError, ValueError) as error:
            raise type(error)(self._message(f"{describe(value)}: {error}")) from None

    def _message(self, got: str) -> str:
        output = self._output
        op = output.op
        return located(
            f"feed_dict: expected a value of {output.dtype}{output.shape} for '{output.name}', got "
            f"{got}",
            op.type,
            op.name,
            op.user_line,
        )
