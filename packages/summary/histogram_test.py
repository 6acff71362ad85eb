"""Histograms count every value once, in the bucket that it is in."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qanat.summary.histogram import histogram_of


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_against_the_definition(numbers: list[float]) -> None:
    values = np.array(numbers)
    histogram = histogram_of(values)
    assert histogram.num == len(values)
    assert (histogram.min, histogram.max) == (values.min(), values.max())
    limits = list(histogram.bucket_limit)
    assert limits == sorted(limits) and len(limits) == len(histogram.bucket)
    assert sum(histogram.bucket) == len(values)
    below = -np.inf
    for limit, count in zip(limits, histogram.bucket, strict=True):
        if limit == sys.float_info.max:
            assert count == np.sum(below <= values)
        else:
            assert count == np.sum((below <= values) & (values < limit))
        below = limit


def test_what_is_known_of_buckets() -> None:
    histogram = histogram_of(np.array([0.0, 0.0, 5e-13, -5e-13]))
    # Everything below -1e-12 is empty, and so is what follows.
    assert list(histogram.bucket) == [0, 1, 3, 0]
    assert list(histogram.bucket_limit) == [-1e-12, 0.0, 1e-12, sys.float_info.max]
    assert histogram.sum == 0 and histogram.sum_squares == pytest.approx(5e-25)


def test_nothing() -> None:
    histogram = histogram_of(np.zeros((0, 3)))
    assert histogram.num == 0 and list(histogram.bucket) == [0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite(bad: float) -> None:
    with pytest.raises(ValueError, match=f"expected finite values, got {bad} in element 3"):
        histogram_of(np.array([[1.0, 2.0], [3.0, bad]]))
