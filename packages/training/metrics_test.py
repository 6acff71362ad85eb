"""Counting what is right, and what was taken for what."""

from typing import Any

import numpy as np
import pytest

from qanat.core import dtypes
from qanat.core.base_ops import placeholder
from qanat.core.graph import Graph
from qanat.core.session import Session
from qanat.training.metrics import batch_accuracy, confusion_matrix, count_correct


@pytest.fixture(autouse=True)
def session() -> Any:
    with Graph().as_default(), Session() as session:
        yield session


def test_accuracy(session: Any) -> None:
    labels = np.array([0, 1, 2, 2], np.int32)
    predictions = np.array([0, 1, 1, 2], np.int64)
    assert session.run(count_correct(labels, predictions)) == 3
    assert session.run(batch_accuracy(labels, predictions)) == 0.75


def test_an_empty_batch(session: Any) -> None:
    labels = placeholder(dtypes.int32, [None])
    none = np.zeros(0, np.int32)
    assert session.run(batch_accuracy(labels, labels), {labels: none}) == 0
    matrix = session.run(confusion_matrix(labels, labels, 3), {labels: none})
    np.testing.assert_array_equal(matrix, np.zeros((3, 3)))


def test_confusion_matrix(session: Any) -> None:
    labels = np.array([0, 1, 2, 2, 2], np.int32)
    predictions = np.array([0, 1, 1, 2, 1], np.int32)
    matrix = session.run(confusion_matrix(labels, predictions, 3))
    assert matrix.dtype == np.int64
    np.testing.assert_array_equal(matrix, [[1, 0, 0], [0, 1, 0], [0, 2, 1]])
