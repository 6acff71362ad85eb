"""Cases of arithmetic on int8, with oracles that give the exact bits."""

from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.errors import InvalidArgumentError
from qanat.core.testing.case import Case, Input, Misuse, ints, listed
from qanat.ops import quantized as q

Attrs = dict[str, Any]


def _int8(*shape: int) -> Input:
    return ints(*shape, low=-128, high=128, dtype=dtypes.int8)


def _int32(values: Any) -> Input:
    return listed(np.asarray(values, np.int32), dtypes.int32)


def _float32(values: Any) -> Input:
    return listed(np.asarray(values, np.float32), dtypes.float32)


def _end(channels: int) -> tuple[Input, Input, Input]:
    """Bias, multiplier and shift: of channels whose results fill int8's range, and of others."""
    multiplier = np.linspace(2**30, 2**31 - 1, channels).astype(np.int32)
    shift = np.full(channels, 38, np.int32)
    if channels > 3:
        multiplier[0], shift[0], shift[1], shift[2] = 0, 1, 1, 62
    bias = ints(channels, low=-3000, high=3000, dtype=dtypes.int32)
    return bias, _int32(multiplier), _int32(shift)


def _ended(sums: Any, end: Any, attrs: Attrs) -> Any:
    bias, multiplier, shift = end
    wrapped = (sums + bias).astype(np.int64).astype(np.int32)
    products = wrapped.astype(np.int64) * multiplier.astype(np.int64)
    shift = shift.astype(np.int64)
    zero_point = attrs["output_zero_point"]
    results = ((products + (1 << (shift - 1))) >> shift) + zero_point
    least = zero_point if attrs.get("activation") == "Relu" else -128
    return np.clip(results, least, 127).astype(np.int8)


def _product(attrs: Attrs) -> Any:
    def oracle(a: Any, b: Any, *end: Any) -> Any:
        sums = (a.astype(np.int64) - attrs["input_zero_point"]) @ b.astype(np.int64)
        return _ended(sums, end, attrs)

    return oracle


def _paddings(sizes: Any, extents: Any, attrs: Attrs) -> Any:
    """Before and after, for height and width."""
    if attrs["padding"] == "EXPLICIT":
        explicit = attrs["explicit_paddings"]
        return [tuple(explicit[2:4]), tuple(explicit[4:6])]
    if attrs["padding"] == "VALID":
        return [(0, 0), (0, 0)]
    strides = attrs["strides"][1:3]
    needed = [
        max((-(-size // stride) - 1) * stride + extent - size, 0)
        for size, extent, stride in zip(sizes, extents, strides, strict=True)
    ]
    return [(n // 2, n - n // 2) for n in needed]


def _convolution(attrs: Attrs) -> Any:
    """Pads, then sums over taps: each is a product of pixels and a matrix of weights."""

    def oracle(x: Any, w: Any, *end: Any) -> Any:
        (stride_h, stride_w), dilations = attrs["strides"][1:3], attrs.get("dilations", [1] * 4)
        extents = [(n - 1) * d + 1 for n, d in zip(w.shape[:2], dilations[1:3], strict=True)]
        around = _paddings(x.shape[1:3], extents, attrs)
        real = np.pad(x.astype(np.int64) - attrs["input_zero_point"], [(0, 0), *around, (0, 0)])
        rows, columns = (
            (size - extent) // stride + 1
            for size, extent, stride in zip(
                real.shape[1:3], extents, (stride_h, stride_w), strict=True
            )
        )
        sums = np.zeros((x.shape[0], rows, columns, w.shape[3]), np.int64)
        for u, v in np.ndindex(*w.shape[:2]):
            top, left = u * dilations[1], v * dilations[2]
            pixels = real[
                :,
                top : top + (rows - 1) * stride_h + 1 : stride_h,
                left : left + (columns - 1) * stride_w + 1 : stride_w,
            ]
            sums += pixels @ w[u, v].astype(np.int64)
        return _ended(sums, end, attrs)

    return oracle


def _quantized(attrs: Attrs) -> Any:
    def oracle(x: Any) -> Any:
        steps = x.astype(np.float32) / np.float32(attrs["scale"])
        rounded = np.rint(np.clip(np.nan_to_num(steps, nan=0.0), -512, 512))
        return np.clip(rounded + attrs["zero_point"], -128, 127).astype(np.int8)

    return oracle


def _dequantized(attrs: Attrs) -> Any:
    def oracle(x: Any) -> Any:
        return (x.astype(np.float32) - attrs["zero_point"]) * np.float32(attrs["scale"])

    return oracle


def _mat_mul(m: int, k: int, n: int, **attrs: Any) -> Case:
    attrs = {"input_zero_point": 5, "output_zero_point": -3, **attrs}
    inputs = (_int8(m, k), _int8(k, n), *_end(n))
    return Case(q.int8_mat_mul, inputs, attrs, oracle=_product(attrs))


def _conv(x: Any, w: Any, padding: str, stride: int = 1, **attrs: Any) -> Case:
    attrs = {
        "strides": [1, stride, stride, 1],
        "padding": padding,
        "input_zero_point": -128,
        "output_zero_point": 7,
        **attrs,
    }
    inputs = (_int8(*x), _int8(*w), *_end(w[3]))
    return Case(q.int8_conv2d, inputs, attrs, oracle=_convolution(attrs))


_POINTS = {"input_zero_point": 0, "output_zero_point": 0}
_FLOATS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.25, 0.75, -0.25, 1e30, -1e30, 31.0, -40.5]
_REALS = [
    _float32(_FLOATS),
    _float32(np.linspace(-70, 70, 300).reshape(3, 100)),
    _float32(np.zeros((0, 2))),
    _float32(3.25),
]
_SCALES = [{"scale": 0.5, "zero_point": 3}, {"scale": 0.0123, "zero_point": -128}]

CASES = [
    *(Case(q.int8_quantize, (x,), a, oracle=_quantized(a)) for x in _REALS for a in _SCALES),
    Case(
        q.int8_quantize,
        (_float32([1, 1]),),
        _SCALES[0],
        oracle=_quantized(_SCALES[0]),
        misuse=[
            Misuse((_float32([1, 1]),), "a positive scale", attrs={"scale": 0.0}),
            Misuse((_float32([1, 1]),), "zero_point from -128 to 127",
                   attrs={"zero_point": 128}),
            Misuse((np.ones(2, np.float64),), "float32", TypeError),
        ],
    ),
    *(
        Case(q.int8_dequantize, (_int8(*shape),), a, oracle=_dequantized(a))
        for shape in ((3, 100), (0, 2), ())
        for a in _SCALES
    ),
    Case(
        q.int8_dequantize,
        (_int8(4),),
        _SCALES[0],
        oracle=_dequantized(_SCALES[0]),
        misuse=[
            Misuse((_int8(4),), "a positive scale", attrs={"scale": float("inf")}),
            Misuse((_int8(4),), "zero_point from -128 to 127", attrs={"zero_point": -129}),
        ],
    ),
    *(
        _mat_mul(*sizes)
        for sizes in ((3, 4, 5), (1, 1, 1), (0, 4, 5), (3, 0, 5), (3, 4, 0), (33, 65, 17),
                      (1, 300, 70))
    ),
    _mat_mul(4, 30, 20, activation="Relu", output_zero_point=-128),
    _mat_mul(4, 30, 20, activation="Relu", output_zero_point=20, input_zero_point=127),
    Case(
        q.int8_mat_mul,
        (_int8(2, 3), _int8(3, 4), *_end(4)),
        _POINTS,
        oracle=_product(_POINTS),
        misuse=[
            Misuse((_int8(2, 3), _int8(4, 4), *_end(4)), "inner dimensions"),
            Misuse((_int8(2, 3), _int8(3, 4), *_end(5)), "last dimension and bias's length"),
            Misuse((_int8(2, 3), _int8(3, 4), *_end(4)[:2], _int32(np.ones(3))),
                   "last dimension and shift's length"),
            Misuse((_int8(2, 3), _int8(3, 4), *_end(4)), "output_zero_point from -128 to 127",
                   attrs={"output_zero_point": 200}),
            Misuse((_int8(2, 3), _int8(3, 4), *_end(4)[:2], _int32(np.zeros(4))),
                   "shift from 1 to 62", InvalidArgumentError),
            Misuse((_int8(2, 3), _int8(3, 4), *_end(4)[:2], _int32([63] * 4)),
                   "shift from 1 to 62", InvalidArgumentError),
            Misuse((_int8(2, 3), _int8(3, 4), _end(4)[0], _int32([-1] * 4),
                    _end(4)[2]), "a multiplier of 0 or more", InvalidArgumentError),
        ],
    ),
    _conv((1, 5, 5, 1), (3, 3, 1, 4), "SAME"),
    _conv((2, 6, 5, 3), (3, 2, 3, 5), "VALID"),
    _conv((1, 9, 8, 2), (3, 3, 2, 4), "SAME", stride=2),
    _conv((1, 7, 7, 32), (5, 5, 32, 33), "SAME", activation="Relu", output_zero_point=-128),
    _conv((1, 8, 9, 3), (3, 3, 3, 4), "VALID", dilations=[1, 2, 3, 1]),
    _conv((1, 4, 4, 2), (3, 3, 2, 4), "EXPLICIT", explicit_paddings=[0, 0, 2, 1, 0, 3, 0, 0]),
    _conv((0, 5, 5, 1), (3, 3, 1, 4), "SAME"),
    _conv((1, 5, 5, 0), (3, 3, 0, 4), "SAME"),
    _conv((1, 5, 5, 2), (1, 1, 2, 0), "SAME"),
    Case(
        q.int8_conv2d,
        (_int8(1, 4, 4, 2), _int8(3, 3, 2, 4), *_end(4)),
        {**_POINTS, "strides": [1, 1, 1, 1], "padding": "VALID"},
        oracle=_convolution({**_POINTS, "strides": [1, 1, 1, 1], "padding": "VALID"}),
        misuse=[
            Misuse((_int8(1, 4, 4, 3), _int8(3, 3, 2, 4), *_end(4)), "channels"),
            Misuse((_int8(1, 2, 4, 2), _int8(3, 3, 2, 4), *_end(4)), "window of at most 2"),
            Misuse((_int8(1, 4, 4, 2), _int8(3, 3, 2, 4), *_end(3)), "bias's length"),
            Misuse((_int8(1, 4, 4, 2), _int8(3, 3, 2, 4), *_end(4)), "strides as",
                   attrs={"strides": [1, 0, 1, 1]}),
            Misuse((_int8(1, 4, 4, 2), _int8(3, 3, 2, 4), *_end(4)), "input_zero_point from",
                   attrs={"input_zero_point": -129}),
            Misuse((_int8(1, 4, 4, 2), _int8(3, 3, 2, 4), *_end(4)[:2],
                    _int32(np.zeros(4))), "shift from 1 to 62", InvalidArgumentError),
        ],
    ),
]
