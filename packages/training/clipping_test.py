"""Norms are bounded, directions are kept."""

from typing import Any

import numpy as np
import pytest

from qanat.core.base_ops import constant
from qanat.core.graph import Graph
from qanat.core.session import Session
from qanat.training.clipping import clip_by_global_norm, clip_by_norm, global_norm


@pytest.fixture(autouse=True)
def session() -> Any:
    with Graph().as_default(), Session() as session:
        yield session


def test_by_norm(session: Any) -> None:
    x = constant([[3.0, 4.0], [0.3, 0.4]])
    np.testing.assert_allclose(session.run(clip_by_norm(x, 1.0, axes=1)), [[0.6, 0.8], [0.3, 0.4]])
    whole = session.run(clip_by_norm(x, 1.0))
    assert np.linalg.norm(whole) == pytest.approx(1.0)
    np.testing.assert_array_equal(session.run(clip_by_norm(constant([0.0, 0.0]), 1.0)), [0, 0])


def test_global_norm(session: Any) -> None:
    assert session.run(global_norm([constant([3.0]), None, constant([[4.0]])])) == 5.0
    with pytest.raises(ValueError, match="expected at least one output"):
        global_norm([None])


def test_by_global_norm(session: Any) -> None:
    clipped, norm = clip_by_global_norm([constant([3.0]), None, constant([4.0])], 1.0)
    assert clipped[1] is None
    np.testing.assert_allclose(session.run([clipped[0], clipped[2]]), [[0.6], [0.8]])
    assert session.run(norm) == 5.0


def test_small_gradients_are_not_changed(session: Any) -> None:
    clipped, _ = clip_by_global_norm([constant([0.25, 0.5])], 1.0)
    np.testing.assert_array_equal(session.run(clipped[0]), [0.25, 0.5])


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_a_lost_step_is_seen(session: Any, bad: float) -> None:
    clipped, _ = clip_by_global_norm([constant([1.0, 2.0]), constant([bad])], 1.0)
    assert np.isnan(session.run(clipped[0])).all()
