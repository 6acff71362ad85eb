"""`TensorArray`: tensors by number, written once each: what loops read from and write to."""

from typing import Any

from qanat.control_flow.handles import beside
from qanat.core.dtypes import DType, as_dtype, int32, int64
from qanat.core.graph import Output, convert_to_tensor, name_scope
from qanat.core.shapes import UNKNOWN, ShapeLike, TensorShape, as_shape, merge
from qanat.ops import cast, sequences, shaping
from qanat.ops import tensor_arrays as ops


class TensorArray:
    """An array of tensors of one dtype, which lives as long as the step.

    Each element is written once, in any order. A write gives a new TensorArray, which stands for
    the array after it: go on with that one. Gradients pass through: what is read in several places
    adds up. Source: Yu et al., "Dynamic control flow in large-scale machine learning" (EuroSys
    2018), sections 2.1 and 5.2.

    Attributes:
        dtype: of the elements.
        handle: the Output that refers to the array.
        flow: an Output that is there once all writes so far are done.
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Output | None = None,
        flow: Output | None = None,
        infer_shape: bool = True,
        element_shape: ShapeLike = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        """
        Args:
            dtype: of the elements.
            size: a scalar integer, the number of elements.
            dynamic_size: whether writing beyond the end makes the array larger.
            clear_after_read: whether a read drops the element (the default), so that a second read
                of it is an error.
            tensor_array_name: for messages.
            handle, flow: of an existing array, in place of size and what follows.
            infer_shape: whether all elements have the shape of the first that is written.
            element_shape: that all elements have, as far as it is known.
            colocate_with_first_write_call: has no effect.
            name: of the node.

        Raises:
            ValueError: both or none of size and handle are given.
        """
        if (size is None) == (handle is None):
            raise ValueError("[TensorArray] expected either a size or a handle")
        self.dtype: DType = as_dtype(dtype)
        self._infer = infer_shape
        self._element: list[TensorShape] = [as_shape(element_shape)]  # shared with later states
        if handle is not None:
            if flow is None:
                raise ValueError("[TensorArray] expected a flow beside the handle, got none")
            self.handle, self.flow = handle, flow
            return
        self.handle, self.flow = ops.tensor_array_v3(
            _as_int32(size),
            dtype=self.dtype,
            element_shape=self._element[0],
            dynamic_size=bool(dynamic_size),
            clear_after_read=True if clear_after_read is None else clear_after_read,
            identical_element_shapes=infer_shape,
            tensor_array_name=tensor_array_name or "",
            name=name or "TensorArray",
        )

    @property
    def element_shape(self) -> TensorShape:
        """What is known of the shape of an element."""
        return self._element[0]

    def with_flow(self, flow: Output) -> "TensorArray":
        """The same array after other writes."""
        other = TensorArray(self.dtype, handle=self.handle, flow=flow, infer_shape=self._infer)
        other._element = self._element
        return other

    def identity(self) -> "TensorArray":
        """The same array."""
        return self.with_flow(self.flow)

    def read(self, index: Any, name: str | None = None) -> Output:
        """The element `index`, a scalar integer. A second read is an error of the step, unless the
        array was made with clear_after_read=False; and so is the read of what is not written."""
        number = _as_int32(index)
        with beside(self.handle):
            value: Output = ops.tensor_array_read_v3(
                self.handle, number, self.flow, dtype=self.dtype, name=name
            )
        value.set_shape(self.element_shape)
        return value

    def write(self, index: Any, value: Any, name: str | None = None) -> "TensorArray":
        """The array after `value` was written to element `index`.

        Raises:
            TypeError, ShapeError: value has not the dtype or shape of the elements.
        """
        element = convert_to_tensor(value, dtype=self.dtype)
        self._note(element.shape)
        number = _as_int32(index)
        with beside(self.handle):
            flow = ops.tensor_array_write_v3(self.handle, number, element, self.flow, name=name)
        return self.with_flow(flow)

    def stack(self, name: str | None = None) -> Output:
        """All elements along a new first dimension."""
        with name_scope(name, "TensorArrayStack"):
            return self.gather(sequences.range(0, self.size(), 1))

    def gather(self, indices: Any, name: str | None = None) -> Output:
        """The elements at `indices`, an integer vector, along a new first dimension."""
        numbers = _as_int32(indices)
        with beside(self.handle):
            value: Output = ops.tensor_array_gather_v3(
                self.handle,
                numbers,
                self.flow,
                dtype=self.dtype,
                element_shape=self.element_shape,
                name=name,
            )
        return value

    def concat(self, name: str | None = None) -> Output:
        """All elements joined along their first dimension; they may differ there."""
        rest = self.element_shape
        with beside(self.handle):
            value: Output = ops.tensor_array_concat_v3(
                self.handle,
                self.flow,
                dtype=self.dtype,
                element_shape_except0=UNKNOWN if rest.dims is None else rest[1:],
                name=name,
            )[0]
        return value

    def unstack(self, value: Any, name: str | None = None) -> "TensorArray":
        """The array after value[i] was written to element i, for all i."""
        with name_scope(name, "TensorArrayUnstack"):
            rows = convert_to_tensor(value, dtype=self.dtype)
            return self.scatter(sequences.range(0, shaping.shape(rows)[0], 1), rows)

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> "TensorArray":
        """The array after value[i] was written to element indices[i], for all i."""
        rows = convert_to_tensor(value, dtype=self.dtype)
        self._note(UNKNOWN if rows.shape.dims is None else rows.shape[1:])
        numbers = _as_int32(indices)
        with beside(self.handle):
            flow = ops.tensor_array_scatter_v3(self.handle, numbers, rows, self.flow, name=name)
        return self.with_flow(flow)

    def split(self, value: Any, lengths: Any, name: str | None = None) -> "TensorArray":
        """The array after consecutive pieces of `value`, of these lengths along the first
        dimension, were written to its elements."""
        rows = convert_to_tensor(value, dtype=self.dtype)
        counts = cast(convert_to_tensor(lengths), int64)
        with beside(self.handle):
            flow = ops.tensor_array_split_v3(self.handle, rows, counts, self.flow, name=name)
        return self.with_flow(flow)

    def size(self, name: str | None = None) -> Output:
        """The number of elements, a scalar int32."""
        with beside(self.handle):
            size: Output = ops.tensor_array_size_v3(self.handle, self.flow, name=name)
        return size

    def close(self, name: str | None = None) -> Any:
        """An Operation that drops all elements."""
        with beside(self.handle):
            return ops.tensor_array_close_v3(self.handle, name=name)

    def _note(self, shape: TensorShape) -> None:
        """Checks the shape of an element; where all have one shape, it is known from now on."""
        known = merge(self._element[0], shape)
        if self._infer:
            self._element[0] = known

    def __repr__(self) -> str:
        return f"<qn.TensorArray {self.handle.op.name!r} of {self.dtype.name}{self.element_shape}>"


def _as_int32(value: Any) -> Output:
    converted = convert_to_tensor(value, preferred_dtype=int32)
    return converted if converted.dtype is int32 else cast(converted, int32)
