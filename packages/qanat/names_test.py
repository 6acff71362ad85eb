"""The names that the face promises of parts that may not be installed are the parts' own."""

import importlib

import pytest

import qanat as qn
from qanat.core.face import PARTS


@pytest.mark.parametrize("part", sorted(PARTS))
def test_promised_names_exist(part: str) -> None:
    public = importlib.import_module(f"qanat.{part}").__all__
    assert set(PARTS[part]) <= set(public)
    assert all(getattr(qn, name) is not None for name in PARTS[part])


@pytest.mark.parametrize("part", ["autodiff", "checkpoint", "control_flow"])
def test_nothing_public_is_missing(part: str) -> None:
    assert set(PARTS[part]) == set(importlib.import_module(f"qanat.{part}").__all__)


def test_training_has_names_of_its_own() -> None:
    assert all(getattr(qn.train, name) is not None for name in qn.train.__all__)
    assert qn.train.Saver is qn.Saver
    assert qn.losses.mean_squared_error and qn.metrics.confusion_matrix


def test_control_flow_adds_to_nn() -> None:
    assert qn.nn.dynamic_rnn and qn.nn.rnn_cell.LSTMCell
    with pytest.raises(AttributeError, match="nn.*'dynamic_rn'"):
        _ = qn.nn.dynamic_rn
