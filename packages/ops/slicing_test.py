"""The static shapes of slices are those of NumPy's slices, whatever the subscript."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from qanat.core import dtypes
from qanat.core.base_ops import constant, placeholder
from qanat.core.errors import ShapeError
from qanat.core.graph import Graph
from qanat.core.op_def import In
from qanat.core.shapes import TensorShape
from qanat.ops import slicing
from qanat.ops.shaping import shape

BOUNDS = st.none() | st.integers(-7, 7)
STEPS = st.sampled_from([None, 1, 2, 3, -1, -2, -3])
# Mostly slices: an index out of range ends a subscript, one within takes a dimension away.
PARTS = st.one_of(
    st.builds(slice, BOUNDS, BOUNDS, STEPS),
    st.builds(slice, st.none(), st.none(), STEPS),
    st.integers(-6, 6),
    st.none(),
)


@st.composite
def _subscripts(draw: Any) -> Any:
    """A shape, and a subscript with at most one ellipsis."""
    dims = draw(st.lists(st.integers(0, 5), max_size=4))
    parts = draw(st.lists(PARTS, max_size=len(dims) + 1))
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), Ellipsis)
    return dims, tuple(parts)


@settings(max_examples=400)
@example(([5], (slice(None, None, 2),)))
@example(([5], (slice(None, None, -1),)))
@given(_subscripts())
def test_static_shape_is_numpys(subscript: Any) -> None:
    dims, key = subscript
    with Graph().as_default():
        x = placeholder(dtypes.float32, dims)
        try:
            expected: Any = np.empty(dims)[key].shape
        except IndexError:
            with pytest.raises(ShapeError):
                slicing.getitem(x, key)
            return
        assert slicing.getitem(x, key).shape == expected


@given(_subscripts())
def test_what_is_unknown_of_the_input_is_compatible(subscript: Any) -> None:
    dims, key = subscript
    try:
        expected = np.empty(dims)[key].shape
    except IndexError:
        return
    with Graph().as_default():
        for known in ([None] * len(dims), None):
            x = placeholder(dtypes.float32, known)
            assert slicing.getitem(x, key).shape.is_compatible_with(expected)


def test_a_scalar_tensor_is_an_index() -> None:
    with Graph().as_default():
        x = placeholder(dtypes.float32, [4, 3])
        at = placeholder(dtypes.int64, [])
        assert slicing.getitem(x, at).shape == [3]
        assert slicing.getitem(x, slice(0, at)).shape.as_list() == [None, 3]


@pytest.mark.parametrize("key", ["a", 1.5, [0, 1], True, np.array([True, False])])
def test_other_keys_are_refused(key: Any) -> None:
    with Graph().as_default(), pytest.raises(TypeError, match="expected ints, slices"):
        slicing.getitem(constant([1, 2]), key)


def test_parts_of_a_shape_stay_known() -> None:
    with Graph().as_default():
        sizes = shape(placeholder(dtypes.float32, [None, 3, 4]))
        assert In(slicing.getitem(sizes, 2)).value == 4
        assert In(slicing.getitem(sizes, 0)).value is None
        assert In(slicing.getitem(sizes, slice(0, 2))).value_as_shape() == TensorShape([None, 3])
