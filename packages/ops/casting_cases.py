"""Cases of casts between all pairs of element types."""

from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.dtypes import DType
from qanat.core.testing.case import Case, Input, listed, numbers
from qanat.ops import casting


def _cast(x: Any, target: DType) -> Any:
    """By the rules of the op: saturating from floats, NaN to 0, wrapping between integers."""
    if x.dtype.kind == "c" and not target.is_complex and target is not dtypes.bool_:
        x = x.real
    if not target.is_integer or x.dtype.kind != "f":
        return x.astype(target.as_numpy)
    least, most = int(target.min), int(target.max)
    exact = [0 if np.isnan(v) else least if v <= least else most if v >= most else int(v)
             for v in x]
    return np.array(exact, object).astype(target.as_numpy)


def _between(source: DType, target: DType) -> Case:
    values: Any = [0, 1, 2, 3, 100]
    if source.is_floating:
        values = [0.0, 1.5, -1.5, 3.99, np.nan, np.inf, -np.inf, 300.0, -300.0, 5e4]
    elif source.is_complex:
        values = [0, 1.5 - 2j, 1j, -300 + 4j]
    elif source.is_integer:
        values = [0, 1, 7, int(source.max), int(source.min), int(source.max) - 1]

    def draw(_: Any, shape: Any, dtype: DType) -> Any:
        with np.errstate(invalid="ignore", over="ignore"):
            return np.array(values).astype(dtype.as_numpy)

    given = Input((len(values),), draw, source)
    return Case(casting.cast_op, (given,), {"DstT": target}, oracle=lambda x: _cast(x, target))


TYPES = sorted(casting.CASTABLE, key=lambda dtype: dtype.number)

CASES = [
    *(_between(source, target) for source in TYPES for target in TYPES),
    *(
        Case(casting.cast_op, (numbers(*shape),), {"DstT": dtypes.float32},
             oracle=lambda x: x, dtypes=[dtypes.float64], tolerance=2.0, gradient=False)
        for shape in ((), (0, 3), (1037,))
    ),
    Case(casting.cast_op, (numbers(2, 3),), {"DstT": dtypes.float64}, oracle=np.real),
    Case(casting.cast, (numbers(3), "float64"), oracle=lambda x, _: x),
    Case(casting.saturate_cast, (listed([300, -5, 7], dtypes.int32), dtypes.uint8),
         oracle=lambda x, _: np.clip(x, 0, 255)),
]  # fmt: skip
