"""Histograms over buckets that are fine around zero and reach to the largest numbers."""

import sys
from typing import Any, Final

import numpy as np

from qanat.summary.summary_pb2 import HistogramProto

Array = np.ndarray[Any, Any]

_SMALLEST: Final = 1e-12
_GROWTH: Final = 1.1
_LARGEST: Final = 1e20


def _limits() -> Array:
    """The upper bounds of all buckets, ascending: each a tenth further from zero than the one
    before, the same as TensorFlow's."""
    positive = []
    limit = _SMALLEST
    while limit < _LARGEST:
        positive.append(limit)
        limit *= _GROWTH
    positive.append(sys.float_info.max)
    return np.array([*(-x for x in reversed(positive)), 0.0, *positive])


_LIMITS: Final = _limits()


def histogram_of(values: Array) -> HistogramProto:
    """The histogram of all elements.

    Args:
        values: real numbers of any shape, all finite.

    Returns:
        min, max, number, sum and sum of squares, and the buckets that hold something, with one
        bucket for each run of empty ones before them.

    Raises:
        ValueError: an element is NaN or infinite.
    """
    flat = np.asarray(values, np.float64).reshape(-1)
    if not np.isfinite(flat).all():
        at = int(np.flatnonzero(~np.isfinite(flat))[0])
        raise ValueError(f"expected finite values, got {flat[at]} in element {at}")
    if not flat.size:
        largest = sys.float_info.max
        return HistogramProto(min=largest, max=-largest, bucket_limit=[largest], bucket=[0])
    with np.errstate(over="ignore"):
        histogram = HistogramProto(
            min=flat.min(),
            max=flat.max(),
            num=flat.size,
            sum=flat.sum(),
            sum_squares=np.square(flat).sum(),
        )
    buckets = np.searchsorted(_LIMITS, flat, side="right").clip(max=len(_LIMITS) - 1)
    counts = np.bincount(buckets, minlength=len(_LIMITS))
    shown = _shown(counts)
    histogram.bucket_limit.extend(_LIMITS[shown])
    histogram.bucket.extend(counts[shown])
    return histogram


def _shown(counts: Array) -> Array:
    """The buckets to write: those that hold something, and of each run of empty ones the last."""
    filled = counts > 0
    last_of_run = ~filled & np.append(filled[1:], True)
    return np.flatnonzero(filled | last_of_run)
