"""From whatever users give to Outputs: the protocol that variables and their like join."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NoReturn

from qanat.core import signature, user_line
from qanat.core.constants import describe, to_array
from qanat.core.default_graph import get_default_graph
from qanat.core.dtypes import DType, as_dtype
from qanat.core.errors import raise_located
from qanat.core.operation import Operation, Output
from qanat.core.shapes import TensorShape

if TYPE_CHECKING:
    import numpy as np

    from qanat.core.graph import Graph

# fn(value, dtype or None, name or None) -> an Output, or NotImplemented for "as a constant".
Conversion = Callable[[Any, DType | None, str | None], Any]

_conversions: Final[dict[type, Conversion]] = {}
_by_exact_type: Final[dict[type, Conversion | None]] = {}


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...], conversion_func: Conversion
) -> None:
    """Makes values of a type usable wherever an op takes an Output.

    Args:
        base_type: a class or several; subclasses are meant too, the nearest class wins.
        conversion_func: called as `(value, dtype, name)`; dtype None is "as it is". Gives an
            Output, or NotImplemented where the value is to become a constant.
    """
    for one in base_type if isinstance(base_type, tuple) else (base_type,):
        _conversions[one] = conversion_func
    _by_exact_type.clear()


def _conversion_of(kind: type) -> Conversion | None:
    if kind not in _by_exact_type:
        found = (_conversions[base] for base in kind.__mro__ if base in _conversions)
        _by_exact_type[kind] = next(found, None)
    return _by_exact_type[kind]


def converted(value: Any, dtype: DType | None, name: str | None = None) -> Output | None:
    """The Output that a value is or is registered to become; None where it is a plain value."""
    if type(value) is Output or isinstance(value, Output):
        return value
    conversion = _conversion_of(type(value))
    if conversion is None:
        return None
    result = conversion(value, dtype, name)
    return None if result is NotImplemented else result


def constant_node(
    graph: "Graph", array: "np.ndarray[Any, Any]", name: str | None = None, free: bool = False
) -> Output:
    """A new Const with the elements of `array`, which becomes read-only."""
    array.flags.writeable = False
    attrs = {"value": array, "dtype": as_dtype(array.dtype)}
    op_def = signature.lookup("Const")
    shapes = [TensorShape(array.shape)]
    return graph.add_node(op_def, (), attrs, name, user_line.capture(), free, shapes).outputs[0]


def convert_to_tensor(
    value: Any, dtype: Any = None, name: str | None = None, preferred_dtype: Any = None
) -> Output:
    """An Output with the given value.

    Args:
        value: an Output, a variable or another object that is registered to convert, a NumPy array,
            a number, bool, string, bytes, or nested lists of them.
        dtype: the type to have. An Output or NumPy array must have it already.
        name: of the node, where one is made.
        preferred_dtype: taken where `dtype` is None and the value converts to it.

    Raises:
        TypeError: the value has another type, or none that a tensor holds.
        ValueError: the lists are ragged, or a number is out of range.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    output = converted(value, wanted, name)
    if output is None:
        array = None
        if wanted is None and preferred_dtype is not None:
            try:
                array = to_array(value, as_dtype(preferred_dtype))
            except (TypeError, ValueError):
                array = None
        if array is None:
            try:
                array = to_array(value, wanted)
            except (TypeError, ValueError) as error:
                _raise(error, name)
        return constant_node(get_default_graph(), array, name, free=name is None)
    if wanted is not None and output.dtype is not wanted:
        message = f"expected {wanted.name}, got {output!r}; qn.cast changes types"
        _raise(TypeError(message), name)
    return output


def _raise(error: Exception, name: str | None) -> NoReturn:
    line = user_line.describe(user_line.capture())
    raise_located(error, "convert_to_tensor", name, line)


def as_graph_element(value: Any) -> Operation | Output:
    """The Operation or Output that an object is or stands for.

    An object stands for one by a method `_as_graph_element()`, as variables have.

    Raises:
        TypeError: it does not.
    """
    if isinstance(value, (Output, Operation)):
        return value
    method = getattr(value, "_as_graph_element", None)
    if method is not None:
        element: Operation | Output = method()
        return element
    raise TypeError(
        f"expected an Output, an Operation or what stands for one, got {describe(value)}"
    )
