"""Cases of activations and biases."""

from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.testing.case import Case, Misuse, listed, numbers, specials
from qanat.ops import activations as a

SHAPES = ((2, 3), (), (0, 3), (1037,))
ALPHA = float(np.float32(0.2))  # attrs are float32


def _leaky(x: Any) -> Any:
    return np.where(x > 0, x, ALPHA * x)


def _elu(x: Any) -> Any:
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def _softplus(x: Any) -> Any:
    return np.logaddexp(x, 0)


def _selu(x: Any) -> Any:
    return 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0)))


ONE_ARGUMENT: list[tuple[Any, Any]] = [
    (a.relu, lambda x: np.maximum(x, 0)),
    (a.relu6, lambda x: np.minimum(np.maximum(x, 0), 6)),
    (a.leaky_relu_op, _leaky),
    (a.elu, _elu),
    (a.softplus, _softplus),
    (a.selu, _selu),
    (a.softsign, lambda x: x / (1 + abs(x))),
]

GRADIENTS: list[tuple[Any, Any]] = [
    (a.relu_grad, lambda g, x: np.where(x > 0, g, 0)),
    (a.relu6_grad, lambda g, x: np.where((x > 0) & (x < 6), g, 0)),
    (a.leaky_relu_grad, lambda g, x: np.where(x > 0, g, ALPHA * g)),
    (a.elu_grad, lambda g, y: np.where(y < 0, g * (y + 1), g)),
]

AGREE = Misuse((numbers(2), numbers(3)), "shapes that agree")

CASES = [
    *(Case(op, (numbers(*shape, low=-4.0, high=9.0),), oracle=oracle, tolerance=2.0)
      for op, oracle in ONE_ARGUMENT for shape in SHAPES),
    *(Case(op, (specials(),), oracle=oracle, gradient=False) for op, oracle in ONE_ARGUMENT),
    *(Case(op, (numbers(*shape), numbers(*shape, low=-4.0, high=9.0)), oracle=oracle,
           misuse=[AGREE],
           second_order=op is not a.elu_grad)
      for op, oracle in GRADIENTS for shape in SHAPES),
    Case(a.relu_grad, (listed([np.nan, 1.0, 1.0]), listed([-1.0, 0.0, 1.0])),
         oracle=lambda g, x: [0, 0, 1], dtypes=dtypes.FLOATING, gradient=False),
    Case(a.leaky_relu, (numbers(5),), {"alpha": 0.5}, oracle=lambda x: np.where(x > 0, x, x / 2)),
    Case(a.swish, (numbers(5),), oracle=lambda x: x / (1 + np.exp(-x))),
    *(
        Case(a.bias_add_op, (numbers(*shape), numbers(shape[-1])), oracle=np.add, misuse=[
            Misuse((numbers(2, 3), numbers(2)), "value's last dimension and bias's length"),
            Misuse((numbers(3), numbers(3)), "value of rank 2 or more"),
            Misuse((numbers(2, 3), numbers(1, 3)), "bias of rank 1"),
            Misuse((numbers(2, 3), numbers(3)), "data_format NHWC", attrs={"data_format": "NCHW"}),
        ])
        for shape in ((2, 3), (2, 2, 2, 3), (0, 3), (2, 2, 3), (61, 37), (2, 0))
    ),
    *(
        Case(a.bias_add_grad, (numbers(*shape),), tolerance=20.0,
             oracle=lambda g: g.sum(tuple(range(g.ndim - 1)), dtype=g.dtype), misuse=[
                Misuse((numbers(3),), "out_backprop of rank 2 or more"),
                Misuse((numbers(2, 3),), "data_format NHWC", attrs={"data_format": "NCHW"}),
            ])
        for shape in ((2, 3), (2, 2, 2, 3), (0, 3), (2, 2, 3), (61, 37), (2, 0))
    ),
    Case(a.bias_add, (numbers(2, 3), numbers(3)), oracle=np.add),
]  # fmt: skip
