"""Cases of convolution and its gradients."""

from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.errors import InvalidArgumentError
from qanat.core.testing.case import Case, Misuse, listed, numbers
from qanat.ops import convolution as c

Attrs = dict[str, Any]


def _paddings(x: Any, w: Any, attrs: Attrs) -> list[tuple[int, int]]:
    """What is put around height and width."""
    if attrs["padding"] == "EXPLICIT":
        explicit = attrs["explicit_paddings"]
        return [(explicit[2], explicit[3]), (explicit[4], explicit[5])]
    if attrs["padding"] == "VALID":
        return [(0, 0), (0, 0)]
    pairs = []
    for axis in (0, 1):
        size, stride = x[axis + 1], attrs["strides"][axis + 1]
        extent = (w[axis] - 1) * attrs.get("dilations", [1] * 4)[axis + 1] + 1
        total = max((-(-size // stride) - 1) * stride + extent - size, 0)
        pairs.append((total // 2, total - total // 2))
    return pairs


def _windows(x: Any, w_shape: Any, attrs: Attrs) -> Any:
    """The padded images, and for each tap of the filter the images' elements it meets."""
    pads = _paddings(x.shape, w_shape, attrs)
    padded = np.pad(x, [(0, 0), *pads, (0, 0)])
    strides, dilations = attrs["strides"][1:3], attrs.get("dilations", [1] * 4)[1:3]
    counts = [
        (padded.shape[a + 1] - (w_shape[a] - 1) * dilations[a] - 1) // strides[a] + 1
        for a in (0, 1)
    ]
    taps = {}
    for u in range(w_shape[0]):
        for v in range(w_shape[1]):
            top, left = u * dilations[0], v * dilations[1]
            taps[u, v] = (
                slice(None),
                slice(top, top + (counts[0] - 1) * strides[0] + 1, strides[0]),
                slice(left, left + (counts[1] - 1) * strides[1] + 1, strides[1]),
            )
    return padded, taps, pads, counts


def _forward(attrs: Attrs) -> Any:
    def oracle(x: Any, w: Any) -> Any:
        padded, taps, _, counts = _windows(x, w.shape, attrs)
        total = np.zeros((x.shape[0], *counts, w.shape[3]))
        for (u, v), key in taps.items():
            total += padded[key] @ w[u, v]
        return total

    return oracle


def _for_input(attrs: Attrs) -> Any:
    def oracle(sizes: Any, w: Any, dy: Any) -> Any:
        padded, taps, pads, _ = _windows(np.zeros(sizes), w.shape, attrs)
        for (u, v), key in taps.items():
            padded[key] += dy @ w[u, v].T
        (top, _), (left, _) = pads
        return padded[:, top : top + sizes[1], left : left + sizes[2]]

    return oracle


def _for_filter(attrs: Attrs) -> Any:
    def oracle(x: Any, sizes: Any, dy: Any) -> Any:
        padded, taps, _, _ = _windows(x, sizes, attrs)
        result = np.zeros(sizes)
        for (u, v), key in taps.items():
            result[u, v] = np.tensordot(padded[key], dy, ([0, 1, 2], [0, 1, 2]))
        return result

    return oracle


def _three(x: Any, w: Any, padding: str = "VALID", **how: Any) -> list[Case]:
    """A convolution and both its gradients. Strides and dilations are given as one int."""
    stride, dilation = how.pop("stride", 1), how.pop("dilation", 1)
    attrs: Attrs = {"padding": padding, "strides": [1, stride, stride, 1], **how}
    if dilation != 1:
        attrs["dilations"] = [1, dilation, dilation, 1]
    dy = _forward(attrs)(np.zeros(x), np.zeros(w)).shape
    small = np.prod(x) <= 64
    more: Any = {"tolerance": 20.0 if small else 200.0}
    return [
        Case(c.conv2d_op, (numbers(*x), numbers(*w)), attrs, oracle=_forward(attrs), **more),
        Case(c.conv2d_backprop_input_op, (np.array(x, np.int32), numbers(*w), numbers(*dy)), attrs,
             oracle=_for_input(attrs), **more),
        Case(c.conv2d_backprop_filter_op, (numbers(*x), np.array(w, np.int32), numbers(*dy)), attrs,
             oracle=_for_filter(attrs), **more),
    ]  # fmt: skip


PLAIN = {"strides": [1, 1, 1, 1], "padding": "VALID"}


def _refused(x: Any, w: Any, message: str, **attrs: Any) -> Misuse:
    return Misuse((numbers(*x), numbers(*w)), message, attrs=attrs)


IMAGES, FILTERS = (1, 4, 4, 2), (3, 3, 2, 2)

CASES = [
    *_three((2, 4, 4, 1), (2, 2, 1, 2)),
    *_three((1, 4, 4, 2), (3, 3, 2, 2), "SAME"),
    *_three((1, 5, 5, 1), (3, 3, 1, 2), "SAME", stride=2),
    *_three((1, 4, 5, 1), (2, 3, 1, 1), "VALID", stride=2),
    *_three((1, 6, 5, 1), (2, 2, 1, 2), "VALID", dilation=2),
    *_three((1, 5, 5, 1), (3, 3, 1, 1), "SAME", dilation=2),
    *_three((2, 3, 3, 2), (1, 1, 2, 3)),
    *_three((1, 3, 3, 1), (2, 2, 1, 2), "EXPLICIT", explicit_paddings=[0, 0, 1, 0, 2, 1, 0, 0]),
    *_three((1, 5, 4, 1), (1, 1, 1, 2), "SAME", stride=3),
    *_three((0, 4, 4, 2), (3, 3, 2, 2), "SAME"),
    *_three((1, 1, 1, 3), (3, 3, 3, 1), "SAME"),
    *_three((2, 28, 28, 1), (5, 5, 1, 32), "SAME"),
    *_three((2, 14, 14, 32), (5, 5, 32, 64), "SAME"),
    *_three((1, 15, 13, 24), (5, 5, 24, 48)),
    *_three((1, 17, 11, 24), (3, 3, 24, 40), "SAME"),
    *_three((3, 14, 15, 40), (3, 3, 40, 24)),
    *_three((1, 15, 13, 17), (3, 3, 17, 9), "SAME", stride=2),
    *_three((1, 17, 19, 8), (1, 1, 8, 40)),
    *_three((3, 12, 11, 5), (3, 2, 5, 19), "VALID", dilation=2),
    Case(c.conv2d_op, (numbers(1, 3, 3, 1), numbers(2, 2, 1, 1)), PLAIN, oracle=_forward(PLAIN),
         tolerance=20.0, misuse=[
        _refused(IMAGES, (3, 3, 3, 2), "the channels of input and filter"),
        _refused(IMAGES[:3], FILTERS, "input of rank 4"),
        _refused(IMAGES, FILTERS[:3], "filter of rank 4"),
        _refused((1, 2, 2, 2), FILTERS, "a window of at most 2 elements, got 3"),
        _refused(IMAGES, (0, 3, 2, 2), "at least one element"),
        _refused(IMAGES, FILTERS, "strides as", strides=[1, 1]),
        _refused(IMAGES, FILTERS, "strides as", strides=[1, 0, 1, 1]),
        _refused(IMAGES, FILTERS, "strides as", strides=[2, 1, 1, 1]),
        _refused(IMAGES, FILTERS, "dilations as", dilations=[1, 0, 1, 1]),
        _refused(IMAGES, FILTERS, "data_format NHWC", data_format="NCHW"),
        _refused(IMAGES, FILTERS, "explicit_paddings", explicit_paddings=[0] * 8),
        _refused(IMAGES, FILTERS, "explicit_paddings as", padding="EXPLICIT"),
        Misuse((numbers(*IMAGES), numbers(*FILTERS)), "'SAME'", ValueError,
               attrs={"padding": "FULL"}),
    ]),
    Case(c.conv2d_backprop_input_op, ([1, 3, 3, 1], numbers(2, 2, 1, 1), numbers(1, 2, 2, 1)),
         PLAIN,
         oracle=_for_input(PLAIN), tolerance=20.0, misuse=[
        Misuse(([1, 3, 3, 1], numbers(2, 2, 1, 1), numbers(1, 3, 2, 1)), "shapes that agree"),
        Misuse(([3, 3, 1], numbers(2, 2, 1, 1), numbers(1, 2, 2, 1)), "rank 4"),
        Misuse((listed([1, 9, 3, 1], dtypes.int32), numbers(2, 2, 1, 1), numbers(1, 2, 2, 1)), "",
               InvalidArgumentError),
    ]),
    Case(c.conv2d_backprop_filter_op, (numbers(1, 3, 3, 1), [2, 2, 1, 1], numbers(1, 2, 2, 1)),
         PLAIN,
         oracle=_for_filter(PLAIN), tolerance=20.0, misuse=[
        Misuse((numbers(1, 3, 3, 1), [2, 2, 1, 1], numbers(1, 3, 2, 1)), "shapes that agree"),
        Misuse((numbers(1, 3, 3, 1), listed([2, 9, 1, 1], dtypes.int32), numbers(1, 2, 2, 1)), "",
               InvalidArgumentError),
    ]),
    Case(c.conv2d, (numbers(1, 4, 4, 1), numbers(2, 2, 1, 2)), {"strides": 2, "padding": "VALID"},
         oracle=_forward({"strides": [1, 2, 2, 1], "padding": "VALID"}), tolerance=20.0),
    Case(c.conv2d, (numbers(1, 3, 3, 1), numbers(2, 2, 1, 1)),
         {"strides": 1, "padding": [[0, 0], [1, 1], [0, 1], [0, 0]]}, tolerance=20.0,
         oracle=_forward({"strides": [1, 1, 1, 1], "padding": "EXPLICIT",
                          "explicit_paddings": [0, 0, 1, 1, 0, 1, 0, 0]})),
    Case(c.conv2d_backprop_input, ([1, 3, 3, 1], numbers(2, 2, 1, 1), numbers(1, 2, 2, 1)),
         {"strides": 1, "padding": "VALID"}, oracle=_for_input(PLAIN), tolerance=20.0),
    Case(c.conv2d_backprop_filter, (numbers(1, 3, 3, 1), [2, 2, 1, 1], numbers(1, 2, 2, 1)),
         {"strides": 1, "padding": "VALID"}, oracle=_for_filter(PLAIN), tolerance=20.0),
]  # fmt: skip
