"""Tests of static shapes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qanat.core.errors import ShapeError
from qanat.core.shapes import SCALAR, TensorShape, broadcast, concatenate, merge

known = st.lists(st.integers(0, 3), max_size=4).map(tuple)
partial = st.lists(st.one_of(st.none(), st.integers(0, 3)), max_size=4).map(tuple)


def test_forms() -> None:
    assert TensorShape([2, None, -1]).dims == (2, None, None)
    assert TensorShape(3).dims == (3,) and TensorShape(None).dims is None
    assert TensorShape(np.array([2, 3])).dims == (2, 3) and TensorShape(TensorShape([1])).dims == (
        1,
    )
    assert str(TensorShape([2, None])) == "[2,?]" and str(TensorShape(None)) == "<unknown>"
    assert TensorShape([2, 3]) == (2, 3) and TensorShape([2]) != [3] and TensorShape(None) == None  # noqa: E711
    assert TensorShape([4, None])[0] == 4 and TensorShape([1, 2, 3])[1:] == [2, 3]
    assert bool(SCALAR) and not TensorShape(None)


@pytest.mark.parametrize("dims", [["a"], [2.5], [True], "ab", [[1]]])
def test_what_is_no_size(dims: object) -> None:
    with pytest.raises(TypeError, match="expected a shape of integers and None"):
        TensorShape(dims)  # type: ignore[arg-type]


def test_sizes_out_of_range() -> None:
    with pytest.raises(ShapeError, match="expected sizes of 0 or more"):
        TensorShape([-2])
    with pytest.raises(ShapeError, match=r"at most 2\^63 - 1 elements, got \[2147483648,"):
        TensorShape([2**31, 2**31, 2])
    with pytest.raises(ShapeError, match="elements"):
        TensorShape([2**62, None, 2])
    with pytest.raises(ShapeError, match="elements"):
        TensorShape([0, 2**62, 2])
    assert TensorShape([2**62]).num_elements() == 2**62


def test_ranks() -> None:
    unknown = TensorShape(None)
    assert unknown.with_rank(2) == [None, None] and unknown.rank is None
    with pytest.raises(ShapeError, match=r"expected rank 1, got shape \[2,3\]"):
        TensorShape([2, 3]).with_rank(1)
    with pytest.raises(ShapeError, match=r"expected rank 3 or more, got shape \[2,3\]"):
        TensorShape([2, 3]).with_rank_at_least(3)
    with pytest.raises(ShapeError, match="of unknown rank"):
        unknown.as_list()
    with pytest.raises(ShapeError, match="of unknown rank"):
        len(unknown)


@given(known, known)
def test_broadcast_is_numpys(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ShapeError, match="expected shapes that broadcast"):
            broadcast(TensorShape(a), TensorShape(b))
    else:
        assert broadcast(TensorShape(a), TensorShape(b)).dims == expected


@given(partial, partial, st.data())
def test_broadcast_of_partial_shapes_covers_all_they_may_be(
    a: tuple[int | None, ...], b: tuple[int | None, ...], data: st.DataObject
) -> None:
    fill = [tuple(data.draw(st.integers(0, 3)) if d is None else d for d in s) for s in (a, b)]
    try:
        expected = np.broadcast_shapes(*fill)
    except ValueError:
        return
    assert broadcast(TensorShape(a), TensorShape(b)).is_compatible_with(expected)


@given(partial, partial)
def test_merge_knows_what_both_know(a: tuple[int | None, ...], b: tuple[int | None, ...]) -> None:
    x, y = TensorShape(a), TensorShape(b)
    if x.is_compatible_with(y):
        merged = merge(x, y)
        assert merged == merge(y, x) and merge(merged, x) == merged
        assert merge(x, TensorShape(None)) == x
    else:
        with pytest.raises(ShapeError, match="expected shapes that agree"):
            merge(x, y)


def test_concatenate() -> None:
    assert concatenate(TensorShape([1, None]), TensorShape([3])) == [1, None, 3]
    assert concatenate(TensorShape([1]), TensorShape(None)).dims is None
