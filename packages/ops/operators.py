"""Python's operators on Outputs and Variables: `a + b`, `-a`, `a[1:]`, `a @ b`, `a < b`.

`==` and `!=` compare identities, as in TensorFlow 1.x; `equal` and `not_equal` compare elements.
"""

from collections.abc import Callable
from typing import Any

from qanat.core.graph import Output, convert_to_tensor
from qanat.core.operation import Operators
from qanat.ops import arithmetic, comparison, elementwise, linalg, slicing

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": arithmetic.add,
    "sub": arithmetic.subtract,
    "mul": arithmetic.multiply,
    "truediv": arithmetic.truediv,
    "floordiv": arithmetic.floordiv,
    "mod": arithmetic.floormod,
    "pow": arithmetic.pow,
    "matmul": linalg.matmul,
    "and": comparison.logical_and,
    "or": comparison.logical_or,
    "xor": comparison.logical_xor,
}

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "lt": comparison.less,
    "le": comparison.less_equal,
    "gt": comparison.greater,
    "ge": comparison.greater_equal,
}

_UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": elementwise.negative,
    "abs": elementwise.abs,
    "invert": comparison.logical_not,
}


def _install(kind: Any) -> None:
    """Gives a class whose instances convert to Outputs the operators of tensors."""
    for name, binary in {**_BINARY, **_COMPARISONS}.items():
        setattr(kind, f"__{name}__", _forward(binary))
    for name, binary in _BINARY.items():
        setattr(kind, f"__r{name}__", _reflected(binary))
    for name, unary in _UNARY.items():
        setattr(kind, f"__{name}__", _unary(unary))
    kind.__getitem__ = _getitem


def _forward(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: function(x, y)


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda y, x: function(x, y)


def _unary(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: function(x)


def _getitem(x: Any, key: Any) -> Output:
    return slicing.getitem(convert_to_tensor(x), key)


_install(Operators)
