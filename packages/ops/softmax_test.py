"""Along another axis than the last, softmax and its losses need to know the rank."""

from typing import Any

import pytest

from qanat.core import dtypes
from qanat.core.base_ops import placeholder
from qanat.core.errors import ShapeError
from qanat.core.graph import Graph
from qanat.ops import softmax as s


@pytest.mark.parametrize(
    "function",
    [
        s.softmax,
        s.log_softmax,
        lambda x, axis: s.softmax_cross_entropy_with_logits_v2(logits=x, labels=x, axis=axis),
    ],
)
def test_an_axis_of_an_unknown_rank(function: Any) -> None:
    with Graph().as_default():
        logits = placeholder(dtypes.float32)
        function(logits, axis=-1)
        with pytest.raises(ShapeError, match="a known rank or the last axis"):
            function(logits, axis=0)


@pytest.mark.parametrize(
    "function", [s.softmax_cross_entropy_with_logits_v2, s.sigmoid_cross_entropy_with_logits]
)
def test_labels_of_another_shape(function: Any) -> None:
    with Graph().as_default():
        logits, labels = (placeholder(dtypes.float32, [2, classes]) for classes in (4, 3))
        with pytest.raises(ShapeError, match=r"_with_logits.*of shape \[2,4\].*got \[2,3\]"):
            function(labels=labels, logits=logits)
