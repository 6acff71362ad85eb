"""Programs with control flow beside what they should give, for tests of this package."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from qanat.autodiff import gradients
from qanat.core.base_ops import placeholder
from qanat.core.graph import Graph, device
from qanat.core.session import Session, SessionConfig
from qanat.ops import zeros_like

# One thread and several, rewritten or not: all must give the same bits.
CONFIGS = [
    SessionConfig(threads=threads, optimise=optimise)
    for threads in (1, 2)
    for optimise in (True, False)
]


def scattered(op: Any) -> str:
    """One of two devices, by chance, but the same in each process."""
    return f"/cpu:{zlib.crc32(op.name.encode()) % 2}"


def run(build: Callable[..., Any], *arrays: Any, timeout_ms: int = 60_000) -> Any:
    """The value of what a function builds of placeholders that are fed the arrays, which is the
    same bits whatever the session, and also where its operations are scattered over devices."""
    values = []
    for place, configs in (("", CONFIGS), (scattered, CONFIGS[2:3])):
        with Graph().as_default() as graph, device(place):
            feeds = _fed(arrays)
            fetches = build(*feeds)
        for config in configs:
            limited = replace(
                config, device_count={"CPU": 2}, operation_timeout_in_ms=timeout_ms
            )
            with Session(graph=graph, config=limited) as session:
                values.append(session.run(fetches, feeds))
    for other in values[1:]:
        _assert_same(values[0], other)
    return values[0]


def run_with_gradients(build: Callable[..., Any], *arrays: Any) -> tuple[Any, list[Any]]:
    """The value of what a function builds, and the gradients for what it is built of; the latter
    compared with central differences, in float64."""

    def both(*inputs: Any) -> Any:
        y = build(*inputs)
        return [y, *_filled(gradients(y, list(inputs)), inputs)]

    wide = [np.asarray(array, np.float64) for array in arrays]
    value, *grads = run(both, *wide)
    for i, grad in enumerate(grads):
        np.testing.assert_allclose(grad, _differences(build, wide, i), rtol=1e-6, atol=1e-7)
    return value, grads


def compare(build: Callable[..., Any], unrolled: Callable[..., Any], *arrays: Any) -> None:
    """A program and the same one without control flow give the same values and gradients."""
    value, grads = run_with_gradients(build, *arrays)

    def both(*inputs: Any) -> Any:
        y = unrolled(*inputs)
        return [y, *_filled(gradients(y, list(inputs)), inputs)]

    expected, *slopes = run(both, *(np.asarray(array, np.float64) for array in arrays))
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for grad, slope in zip(grads, slopes, strict=True):
        np.testing.assert_allclose(grad, slope, rtol=1e-10, atol=1e-14)


def _filled(grads: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """The gradients, zeros where there are none."""
    return [zeros_like(x) if grad is None else grad for grad, x in zip(grads, inputs, strict=True)]


def _fed(arrays: Sequence[Any]) -> dict[Any, Any]:
    given = [np.asarray(array) for array in arrays]
    return {placeholder(array.dtype, array.shape): array for array in given}


def _differences(build: Callable[..., Any], arrays: Sequence[Any], which: int) -> Any:
    """d sum(y) / d arrays[which], by central differences."""
    with Graph().as_default() as graph, Session(graph=graph) as session:
        feeds = _fed(arrays)
        y = build(*feeds)
        keys = list(feeds)

        def at(values: Mapping[Any, Any]) -> float:
            return float(np.sum(session.run(y, values)))

        slope = np.zeros_like(arrays[which])
        delta = 1e-6
        for place in np.ndindex(arrays[which].shape):
            moved = []
            for sign in (1, -1):
                array = arrays[which].copy()
                array[place] += sign * delta
                moved.append(at({**feeds, keys[which]: array}))
            slope[place] = (moved[0] - moved[1]) / (2 * delta)
    return slope


def _assert_same(a: Any, b: Any) -> None:
    if isinstance(a, (list, tuple)):
        for x, y in zip(a, b, strict=True):
            _assert_same(x, y)
    elif isinstance(a, dict):
        for key in a:
            _assert_same(a[key], b[key])
    else:
        np.testing.assert_array_equal(a, b)
