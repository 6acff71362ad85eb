"""Parts of a tensor by ranges of coordinates, with Python's rules for slices."""

import builtins
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from qanat.core import dtypes
from qanat.core.errors import ShapeError
from qanat.core.graph import Operation, Output, convert_to_tensor
from qanat.core.op_def import Grads, In, Shapes, op
from qanat.core.shapes import TensorShape, merge
from qanat.ops import arranging, casting, joining, shaping
from qanat.ops.shape_functions import Dims, as_int, dims_of_vector, ints, same_dim, sizes

__all__ = ["slice", "strided_slice"]

T = Annotated[In, "T"]
Index = Annotated[In, "Index"]
MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


@op("Slice", outputs="output: T", T=dtypes.ALL, Index=dtypes.INDEX)
def slice_op(input: T, begin: Index, size: Index) -> Shapes:
    """size[i] elements from begin[i] on along each dimension i; see `slice`."""
    rank = same_dim(
        dims_of_vector(begin, "begin"),
        dims_of_vector(size, "size"),
        "the lengths of begin and size",
    )
    rank = same_dim(rank, input.shape.rank, "begin's length and input's rank")
    if rank is None:
        return [TensorShape(None)]
    starts, sizes = _entries(begin, rank), _entries(size, rank)
    dims = input.shape.with_rank(rank).known_dims()
    return [TensorShape([_sliced(*of) for of in zip(dims, starts, sizes, strict=True)])]


def _entries(x: In, length: int) -> Sequence[int | None]:
    """The elements of a vector, None each where they are not statically known."""
    known = ints(x)
    return [None] * length if known is None else known


def _sliced(dim: int | None, start: int | None, size: int | None) -> int | None:
    if (start is not None and start < 0) or (size is not None and size < -1):
        raise ShapeError(
            f"expected begin of 0 or more and size of -1 or more, got {start} and {size}"
        )
    if dim is not None and start is not None and start + max(size or 0, 0) > dim:
        raise ShapeError(f"expected a slice within {dim} elements, got {size} from {start} on")
    if size == -1:
        return None if dim is None or start is None else dim - start
    return size


@slice_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    """Zeros around the gradient."""
    x, begin = op.inputs[:2]
    y = op.outputs[0]
    start = In(begin).value
    if start is not None and x.shape.is_fully_defined() and y.shape.is_fully_defined():
        after = (
            np.array(x.shape.as_list(), np.int64) - start - np.array(y.shape.as_list(), np.int64)
        )
        paddings: Any = np.stack([start, after], axis=1).astype(begin.dtype.as_numpy)
    else:
        total = shaping.shape(x, out_type=begin.dtype)
        taken = shaping.shape(y, out_type=begin.dtype)
        paddings = joining.stack([begin, total - begin - taken], axis=1)
    return [arranging.pad_op(grad, paddings), None, None]


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Output:
    """size[i] elements from begin[i] on along each dimension i.

    Args:
        input_: any shape and dtype.
        begin: integer vector as long as input_'s rank, 0 or more each.
        size: integer vector; -1 takes all that remain.

    Raises:
        ShapeError: the lengths are wrong, or the slice does not lie within input_.
    """
    begin = convert_to_tensor(begin)
    return slice_op(input_, begin, convert_to_tensor(size, dtype=begin.dtype), name=name)


@op("StridedSlice", outputs="output: T", T=dtypes.ALL, Index=dtypes.INDEX)
def strided_slice_op(
    input: T,
    begin: Index,
    end: Index,
    strides: Index,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Shapes:
    """Python's x[begin:end:strides, ...]; see `strided_slice`."""
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    return [_strided(input.shape, begin, end, strides, masks)]


def _strided(
    source: TensorShape, begin: In, end: In, strides: In, masks: tuple[int, ...]
) -> TensorShape:
    length = dims_of_vector(begin, "begin")
    for x, name in ((end, "end"), (strides, "strides")):
        length = same_dim(length, dims_of_vector(x, name), f"the lengths of begin and {name}")
    if length is None or source.dims is None:
        return TensorShape(None)
    begins, ends, steps = (_entries(x, length) for x in (begin, end, strides))
    begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask = masks
    rest, sliced = list(source.dims), []
    for i, skipped in enumerate(_skipped(length, len(rest), ellipsis_mask, new_axis_mask)):
        bit = 1 << i
        if ellipsis_mask & bit:
            sliced += [rest.pop(0) for _ in range(skipped)]
        elif new_axis_mask & bit:
            sliced.append(1)
        elif shrink_axis_mask & bit:
            _require_index(begins[i], rest.pop(0), steps[i])
        else:
            masked = bool(begin_mask & bit), bool(end_mask & bit)
            sliced.append(_strided_dim(rest.pop(0), begins[i], ends[i], steps[i], masked))
    return TensorShape([*sliced, *rest])


def _skipped(length: int, rank: int, ellipsis_mask: int, new_axis_mask: int) -> list[int]:
    """For each entry of the specification how many dimensions an ellipsis there stands for."""
    if ellipsis_mask & (ellipsis_mask - 1):
        raise ShapeError("expected at most one ellipsis, got several")
    used = sum(not (ellipsis_mask | new_axis_mask) >> i & 1 for i in range(length))
    if used > rank:
        raise ShapeError(f"expected at most {rank} indices, got {used}")
    return [rank - used] * length


def _strided_dim(
    dim: int | None, begin: int | None, end: int | None, step: int | None, masked: tuple[bool, bool]
) -> int | None:
    if step == 0:
        raise ShapeError("expected strides other than 0, got 0")
    if all(masked) and step in (1, -1):
        return dim
    bounds_known = (masked[0] or begin is not None) and (masked[1] or end is not None)
    if dim is None or step is None or not bounds_known:
        return None
    key = builtins.slice(None if masked[0] else begin, None if masked[1] else end, step)
    return len(range(*key.indices(dim)))


def _require_index(index: int | None, dim: int | None, step: int | None) -> None:
    if step is not None and step <= 0:
        raise ShapeError(f"expected a positive stride at an index, got {step}")
    if index is not None and dim is not None and not -dim <= index < dim:
        raise ShapeError(f"expected an index in [{-dim}, {dim}), got {index}")


@strided_slice_op.static_value
def _(
    input: In, begin: In, end: In, strides: In, **masks: int
) -> np.ndarray[Any, Any] | TensorShape | None:
    """Of a vector of sizes, which may be known in part only: one element, or a range of them."""
    if input.shape.rank != 1 or input.dtype not in dtypes.INDEX or masks["ellipsis_mask"]:
        return None
    bounds = [ints(x) for x in (begin, end, strides)]
    if masks["new_axis_mask"] or any(b is None or len(b) != 1 for b in bounds):
        return None
    first, last, step = (b[0] for b in bounds if b is not None)
    sizes = _known_sizes(input)
    if sizes is None:
        return None
    if masks["shrink_axis_mask"]:
        part = [sizes[first]] if -len(sizes) <= first < len(sizes) else [None]
    else:
        key = builtins.slice(
            None if masks["begin_mask"] else first, None if masks["end_mask"] else last, step
        )
        part = list(sizes[key])
    if None in part:
        return None if masks["shrink_axis_mask"] else TensorShape(part)
    array = np.array(part, input.dtype.as_numpy)
    return array.reshape(()) if masks["shrink_axis_mask"] else array


def _known_sizes(x: In) -> Dims | None:
    if x.value is not None:
        return tuple(int(i) for i in x.value)
    return x.value_as_shape().dims


@strided_slice_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    x, begin, end, strides = op.inputs
    shape = shaping.shape_of(x)
    if isinstance(shape, Output):
        shape = shaping.shape(x, out_type=begin.dtype)
    masks = {mask: op.get_attr(mask) for mask in MASKS}
    shape = convert_to_tensor(shape, dtype=begin.dtype)
    return [strided_slice_grad(shape, begin, end, strides, grad, **masks), None, None, None]


@op("StridedSliceGrad", outputs="output: T", T=dtypes.ALL, Index=dtypes.INDEX)
def strided_slice_grad(
    shape: Index,
    begin: Index,
    end: Index,
    strides: Index,
    dy: T,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Shapes:
    """Zeros of `shape` with dy at the elements that `strided_slice` with these arguments would
    take.
    """
    target = sizes(shape, "shape")
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    merge(_strided(target, begin, end, strides, masks), dy.shape)
    return [target]


@strided_slice_grad.gradient
def _(op: Operation, grad: Output) -> Grads:
    _, begin, end, strides, _ = op.inputs
    masks = {mask: op.get_attr(mask) for mask in MASKS}
    return [None, None, None, None, strided_slice_op(grad, begin, end, strides, **masks)]


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Output:
    """Python's input_[begin[0]:end[0]:strides[0], ...], with the bounds as tensors.

    Args:
        input_: any shape and dtype.
        begin, end, strides: integer vectors of one length, an entry a dimension from the first on;
            negative bounds count from the end, bounds outside are moved to the ends. Strides are 1
            if not given, never 0.
        begin_mask, end_mask: bit i: begin[i] (end[i]) is ignored, the slice runs from (to) the end.
        ellipsis_mask: bit i: entry i stands for all dimensions that the others do not name.
        new_axis_mask: bit i: entry i makes a new dimension of 1.
        shrink_axis_mask: bit i: begin[i] is an index; its dimension goes away.
        var: has no effect: assignment to slices is not supported.

    Raises:
        ShapeError: the lengths differ, there are too many entries, a stride is 0 or an index is out
            of range.
    """
    begin = convert_to_tensor(begin)
    end = convert_to_tensor(end, dtype=begin.dtype)
    if strides is None:
        length = begin.shape.with_rank(1)[0]
        strides = (
            shaping.ones_like(begin) if length is None else np.ones(length, begin.dtype.as_numpy)
        )
    strides = convert_to_tensor(strides, dtype=begin.dtype)
    return strided_slice_op(
        input_,
        begin,
        end,
        strides,
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
        name=name,
    )


def getitem(x: Output, key: Any) -> Output:
    """x[key] for the keys that Python code writes: ints, slices, `...`, None and scalar tensors.

    Raises:
        TypeError: the key holds anything else, such as a mask; see `boolean_mask` and `gather`.
    """
    keys = key if isinstance(key, tuple) else (key,)
    spec = _Spec()
    for part in keys:
        spec.add(part)
    return spec.apply(x)


class _Spec:
    """The bounds and masks that a subscript amounts to."""

    def __init__(self) -> None:
        self.bounds: list[tuple[Any, Any, Any]] = []
        self.masks: dict[str, Any] = dict.fromkeys(MASKS, 0)

    def add(self, part: Any) -> None:
        if part is Ellipsis:
            self._append(0, 0, 1, "ellipsis_mask")
        elif part is None:
            self._append(0, 0, 1, "new_axis_mask")
        elif isinstance(part, builtins.slice):
            masks = [
                m
                for m, bound in (("begin_mask", part.start), ("end_mask", part.stop))
                if bound is None
            ]
            start, stop = (0 if bound is None else bound for bound in (part.start, part.stop))
            self._append(start, stop, 1 if part.step is None else part.step, *masks)
        elif isinstance(part, bool) or not _is_index(part):
            raise TypeError(
                f"expected ints, slices, ..., None or scalar integer tensors, got {part!r}"
            )
        elif not isinstance(part, Output) and int(part) == -1:
            self._append(-1, 0, 1, "end_mask", "shrink_axis_mask")
        else:
            self._append(part, part + 1, 1, "shrink_axis_mask")

    def _append(self, begin: Any, end: Any, stride: Any, *masks: str) -> None:
        for mask in masks:
            self.masks[mask] |= 1 << len(self.bounds)
        self.bounds.append((begin, end, stride))

    def apply(self, x: Output) -> Output:
        begins, ends, strides = (_as_vector([b[i] for b in self.bounds]) for i in range(3))
        dtype = (
            dtypes.int64
            if dtypes.int64 in (begins.dtype, ends.dtype, strides.dtype)
            else dtypes.int32
        )
        return strided_slice_op(
            x, *(casting.cast(bound, dtype) for bound in (begins, ends, strides)), **self.masks
        )


def _is_index(part: Any) -> bool:
    if isinstance(part, Output):
        return part.dtype in dtypes.INDEX
    return isinstance(part, (int, np.integer)) or (
        isinstance(part, np.ndarray) and part.shape == () and part.dtype.kind in "iu"
    )


def _as_vector(bounds: list[Any]) -> Output:
    """The bounds as one int32 or int64 vector, a constant where none of them is an Output."""
    outputs = [bound for bound in bounds if isinstance(bound, Output)]
    if not outputs:
        numbers = [as_int(bound, "a slice's bound") for bound in bounds]
        big = any(not -(2**31) <= number < 2**31 for number in numbers)
        return convert_to_tensor(np.array(numbers, np.int64 if big else np.int32))
    wide = any(bound.dtype == dtypes.int64 for bound in outputs)
    dtype = dtypes.int64 if wide else dtypes.int32
    parts = [b if isinstance(b, Output) else convert_to_tensor(b, dtype=dtype) for b in bounds]
    return joining.pack([casting.cast(part, dtype) for part in parts])
