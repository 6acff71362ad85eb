"""Functions of functions, as loops: `map_fn`, `foldl`, `foldr`, `scan`."""

from collections.abc import Callable
from typing import Any

from qanat.control_flow import nest
from qanat.control_flow.tensor_array import TensorArray
from qanat.control_flow.while_loop import while_loop
from qanat.core.constants import describe
from qanat.core.dtypes import as_dtype
from qanat.core.graph import Output, convert_to_tensor, name_scope
from qanat.core.shapes import TensorShape
from qanat.ops import shaping


class _Elements:
    """A structure of tensors, by their first dimension."""

    def __init__(self, elems: Any, where: str) -> None:
        self.structure = elems
        self.outputs: list[Output] = [convert_to_tensor(x) for x in nest.flatten(elems)]
        if not self.outputs:
            raise ValueError(f"[{where}] elems: expected one or more, got {describe(elems)}")
        for x in self.outputs:
            if x.shape.rank == 0:
                raise ValueError(f"[{where}] elems: expected rank 1 or more, got {x!r}")
        self.static_count = next(
            (x.shape[0] for x in self.outputs if x.shape.dims and x.shape[0] is not None), None
        )
        self.count = (
            shaping.shape(self.outputs[0])[0]
            if self.static_count is None
            else convert_to_tensor(self.static_count)
        )
        self._arrays = [
            TensorArray(x.dtype, self.count, tensor_array_name=f"{where}_elems").unstack(x)
            for x in self.outputs
        ]

    def at(self, i: Any) -> Any:
        return nest.pack(self.structure, [array.read(i) for array in self._arrays])


def _results(dtypes: Any, count: Output, where: str) -> list[TensorArray]:
    return [
        TensorArray(as_dtype(dtype), count, tensor_array_name=f"{where}_results")
        for dtype in nest.flatten(dtypes)
    ]


def _write(arrays: list[TensorArray], i: Any, values: Any) -> list[TensorArray]:
    return [
        array.write(i, value) for array, value in zip(arrays, nest.flatten(values), strict=True)
    ]


def _stacked(array: TensorArray, static_count: int | None) -> Output:
    stacked = array.stack()
    stacked.set_shape(TensorShape([static_count]).concatenate(array.element_shape))
    return stacked


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """`fn` of each element of `elems` along the first dimension.

    Args:
        fn: a function of an element, or of the structure of elements.
        elems: a tensor or a structure of them, all with the same first dimension.
        dtype: the dtypes of what fn gives, in its structure; those of elems if not given.
        parallel_iterations, back_prop, swap_memory: as of `while_loop`.
        infer_shape: has no effect: static shapes are always inferred.
        name: of the scope.

    Returns:
        The results of fn along a new first dimension.

    Raises:
        TypeError, ValueError: fn gives another structure or other dtypes than it should.
    """
    with name_scope(name, "map"):
        elements = _Elements(elems, "map_fn")
        types = nest.map_structure(lambda x: convert_to_tensor(x).dtype, elems)
        types = types if dtype is None else dtype
        arrays = _results(types, elements.count, "map_fn")

        def body(i: Output, arrays: list[TensorArray]) -> Any:
            values = fn(elements.at(i))
            if not nest.same_structure(values, types):
                raise ValueError(
                    f"[map_fn] expected fn to give the structure of dtype, {describe(types)}, got "
                    f"{describe(values)}"
                )
            return i + 1, _write(arrays, i, values)

        _, arrays = while_loop(
            lambda i, _: i < elements.count,
            body,
            (0, arrays),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
        )
        return nest.pack(types, [_stacked(array, elements.static_count) for array in arrays])


def _fold(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any,
    parallel_iterations: int,
    back_prop: bool,
    backwards: bool,
    where: str,
) -> Any:
    elements = _Elements(elems, where)
    count = elements.count

    def place(i: Any) -> Any:
        return count - 1 - i if backwards else i

    first: Any = 0
    state = initializer
    if initializer is None:
        first, state = 1, elements.at(place(0))
    _, result = while_loop(
        lambda i, _: i < count,
        lambda i, state: (i + 1, fn(state, elements.at(place(i)))),
        (first, state),
        parallel_iterations=parallel_iterations,
        back_prop=back_prop,
    )
    return result


def foldl(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """fn(... fn(fn(initializer, elems[0]), elems[1]) ..., elems[-1]).

    Args:
        fn: a function of the value so far and an element.
        elems: a tensor or a structure of them, all with the same first dimension.
        initializer: the value to begin with; the first element if not given.
        parallel_iterations, back_prop, swap_memory: as of `while_loop`.
        name: of the scope.
    """
    with name_scope(name, "foldl"):
        return _fold(fn, elems, initializer, parallel_iterations, back_prop, False, "foldl")


def foldr(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """As `foldl`, from the last element to the first."""
    with name_scope(name, "foldr"):
        return _fold(fn, elems, initializer, parallel_iterations, back_prop, True, "foldr")


def scan(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """All values that `foldl` goes through, along a new first dimension.

    Args:
        fn: a function of the value so far and an element.
        elems: a tensor or a structure of them, all with the same first dimension.
        initializer: the value to begin with, which is not among the results; if not given it is the
            first element, which is.
        parallel_iterations, back_prop, swap_memory: as of `while_loop`.
        infer_shape: has no effect: static shapes are always inferred.
        reverse: whether to go from the last element to the first; results stay in the places of
            their elements.
        name: of the scope.
    """
    with name_scope(name, "scan"):
        elements = _Elements(elems, "scan")
        count = elements.count

        def place(i: Any) -> Any:
            return count - 1 - i if reverse else i

        first: Any = 0
        state = initializer
        if initializer is None:
            first, state = 1, elements.at(place(0))
        state = nest.map_structure(convert_to_tensor, state)
        types = nest.map_structure(lambda x: x.dtype, state)
        arrays = _results(types, count, "scan")
        if initializer is None:
            arrays = _write(arrays, place(0), state)

        def body(i: Output, state: Any, arrays: list[TensorArray]) -> Any:
            new = fn(state, elements.at(place(i)))
            return i + 1, new, _write(arrays, place(i), new)

        _, _, arrays = while_loop(
            lambda i, *_: i < count,
            body,
            (first, state, arrays),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
        )
        return nest.pack(types, [_stacked(array, elements.static_count) for array in arrays])
