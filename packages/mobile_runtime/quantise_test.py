"""Quantisation: int8 where it can be, float elsewhere, and results close to those of float."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qanat import ops
from qanat.core import dtypes
from qanat.core.base_ops import placeholder
from qanat.core.graph import Graph, Output
from qanat.core.session import Session
from qanat.core.session_config import SessionConfig
from qanat.core.target import LocalTarget
from qanat.mobile_runtime.calibration import Calibration, measure
from qanat.mobile_runtime.export import inference_step
from qanat.mobile_runtime.freeze import Frozen
from qanat.mobile_runtime.lower import lower
from qanat.mobile_runtime.quantise import activation_scale, fixed_point, quantised_weights
from qanat.ops import nn

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(7)
X = RANDOM.uniform(-1, 1, (64, 8, 8, 3)).astype(np.float32)


def _weights(*shape: int) -> Array:
    """With a different scale for each channel."""
    scales = np.geomspace(0.01, 1, shape[-1])
    return (RANDOM.uniform(-1, 1, shape) * scales).astype(np.float32)


def _run(frozen: Frozen, x: Array) -> list[Array]:
    return LocalTarget(SessionConfig(threads=1)).compile(frozen.step)[1].run([x], 60.0)


def _both(make: Any, x: Array = X) -> tuple[Frozen, Frozen]:
    """A model of one input and one output, in float and quantised."""
    with Graph().as_default():
        given = placeholder(dtypes.float32, [None, *x.shape[1:]], name="x")
        inputs, outputs = {"x": given}, {"y": make(given)}
        return (
            inference_step(Session(), inputs, outputs, batch_size=len(x)),
            inference_step(
                Session(), inputs, outputs, batch_size=len(x), quantise=Calibration({"x": x})
            ),
        )


def _kinds(frozen: Frozen) -> list[str]:
    return [node.op for node in frozen.step if node.op not in ("_Arg", "Const")]


def _conv(x: Output, w: Array, b: Array | None = None, relu: bool = False) -> Output:
    y = nn.conv2d(x, w, 1, "SAME")
    y = y if b is None else nn.bias_add(y, b)
    return nn.relu(y) if relu else y


def _network(x: Output) -> Output:
    y = _conv(x, _weights(3, 3, 3, 16), _weights(16), relu=True)
    y = nn.max_pool(y, 2, 2, "SAME")
    y = ops.reshape(y, [-1, 4 * 4 * 16])
    return nn.bias_add(ops.matmul(y, _weights(256, 10)), _weights(10))


def test_a_network_is_int8_from_its_first_product_to_its_last() -> None:
    floats, int8s = _both(_network)
    assert _kinds(int8s) == [
        "Int8Quantize", "Int8Conv2D", "MaxPool", "Reshape", "Int8MatMul", "Int8Dequantize",
    ]  # fmt: skip
    expected, actual = _run(floats, X)[0], _run(int8s, X)[0]
    assert np.abs(actual - expected).max() < 0.03 * np.abs(expected).max()
    # Its constants are a quarter of the size, and a little for each channel.
    sizes = [
        sum(v.data.nbytes for v in lower(frozen).values if v.data is not None)
        for frozen in (floats, int8s)
    ]
    assert sizes[1] < 0.35 * sizes[0]


def test_weights_have_a_scale_for_each_channel() -> None:
    weights = np.array([[1.0, 0.001], [-0.51, 0.00051]], np.float32)
    found = quantised_weights(weights, None, 1.0, 1.0)
    assert found is not None
    np.testing.assert_array_equal(found.values, [[127, 127], [-65, 65]])
    factors = found.multiplier / 2.0**found.shift
    np.testing.assert_allclose(factors, [1 / 127, 0.001 / 127], rtol=1e-6)


def test_other_ops_stay_in_float_between_conversions() -> None:
    def make(x: Output) -> Output:
        y = ops.tanh(_conv(x, _weights(3, 3, 3, 4)))
        return _conv(y, _weights(1, 1, 4, 5), _weights(5), relu=True)

    floats, int8s = _both(make)
    assert _kinds(int8s) == [
        "Int8Quantize", "Int8Conv2D", "Int8Dequantize", "Tanh", "Int8Quantize", "Int8Conv2D",
        "Int8Dequantize",
    ]  # fmt: skip
    expected, actual = _run(floats, X)[0], _run(int8s, X)[0]
    assert np.abs(actual - expected).max() < 0.05 * np.abs(expected).max()


def test_products_without_constant_weights_stay_in_float() -> None:
    floats, int8s = _both(lambda x: ops.matmul(x, x, transpose_b=True), X[:, 0, :, 0])
    assert _kinds(floats) == _kinds(int8s)


def test_sums_that_int32_cannot_hold_stay_in_float() -> None:
    x = np.ones((1, 70_000), np.float32)
    _, int8s = _both(lambda given: ops.matmul(given, np.ones((70_000, 1), np.float32)), x)
    assert _kinds(int8s) == ["MatMul"]


def test_transposed_weights_and_a_channel_of_zeros() -> None:
    w = _weights(6, 3)
    w[2] = 0
    floats, int8s = _both(lambda x: ops.matmul(x, w, transpose_b=True), X[:, 0, 0])
    expected, actual = _run(floats, X[:, 0, 0])[0], _run(int8s, X[:, 0, 0])[0]
    assert "Int8MatMul" in _kinds(int8s)
    assert np.abs(actual - expected).max() < 0.03 * np.abs(expected).max()


def test_a_value_that_int8_and_float_need_is_there_in_both() -> None:
    def make(x: Output) -> Output:
        y = _conv(x, _weights(3, 3, 3, 3), _weights(3), relu=True)
        return _conv(y, _weights(1, 1, 3, 3)) + y

    floats, int8s = _both(make)
    expected, actual = _run(floats, X)[0], _run(int8s, X)[0]
    assert np.abs(actual - expected).max() < 0.03 * np.abs(expected).max()


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_scales_hold_the_range_and_zero_exactly(a: float, b: float) -> None:
    low, high = min(a, b, 0.0), max(a, b, 0.0)
    scale, zero_point = activation_scale(a, b) if a <= b else activation_scale(b, a)
    assert -128 <= zero_point <= 127
    assert scale * (-128 - zero_point) <= low + scale
    assert scale * (127 - zero_point) >= high - scale


@settings(max_examples=200)
@given(st.floats(1e-25, 2.0**29))
def test_fixed_point_is_exact_to_31_bits(factor: float) -> None:
    found = fixed_point(np.array([factor]))
    assert found is not None
    multiplier, shift = int(found[0][0]), int(found[1][0])
    assert 0 <= multiplier < 2**31 and 1 <= shift <= 62
    assert abs(multiplier / 2.0**shift - factor) <= max(factor * 2.0**-30, 2.0**-62)


def test_a_percentile_cuts_off_outliers_only() -> None:
    x = np.linspace(0, 1, 6400, dtype=np.float32).reshape(64, 100)
    x[0, 0], x[0, 1] = 50, -50
    with Graph().as_default():
        given = placeholder(dtypes.float32, [None, 100])
        frozen = inference_step(Session(), {"x": given}, {"y": given * 2.0}, batch_size=32)
    (whole, cut) = (
        measure(frozen, Calibration({"x": x}, percentile))[frozen.step.fetches[0]]
        for percentile in (100.0, 99.9)
    )
    assert whole == (-100, 100)
    assert -0.2 < cut[0] < 0.2 and 1.8 < cut[1] < 2.2


def test_wrong_examples_are_refused() -> None:
    with Graph().as_default():
        given = placeholder(dtypes.float32, [None, 4])
        frozen = inference_step(Session(), {"x": given}, {"y": ops.log(given)}, batch_size=2)
    ones = np.ones((4, 4), np.float32)
    wrong: list[tuple[dict[str, Array], str]] = [
        ({"z": ones}, "examples of x, got z"),
        ({"x": ones[:1]}, "enough examples"),
        ({"x": ones[:, :3]}, r"of shape \[n,4\], got \[4, 3\]"),
        ({"x": ones.astype(np.float64)}, "of float32, got float64"),
        ({"x": -ones}, "finite values, got others of 'Log'"),
        (
            {"x": np.concatenate([ones, ones * np.nan])},
            "finite values, got others of the input 'x'",
        ),
        ({"x": ones * np.inf}, "finite values, got others of the input 'x'"),
    ]
    for examples, message in wrong:
        with pytest.raises(ValueError, match=message):
            measure(frozen, Calibration(examples))
    with pytest.raises(ValueError, match="as many examples of each"):
        Calibration({"a": ones, "b": ones[:1]})
    with pytest.raises(ValueError, match="percentile from 50 to 100"):
        Calibration({"x": ones}, 0.999)
