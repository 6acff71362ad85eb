"""Cases of accumulators' ops."""

from typing import Any

from qanat.core import dtypes
from qanat.core.graph import control_dependencies
from qanat.core.testing.case import Case, Misuse, numbers
from qanat.ops.accumulators import ConditionalAccumulator

SUMMED = (dtypes.float32, dtypes.float64)


def _accumulated(x: Any, y: Any, reduction: str = "MEAN") -> Any:
    """(how many gradients there are, what is taken, how many are left): that of an old step is left
    out."""
    accumulator = ConditionalAccumulator(x.dtype, x.shape, reduction_type=reduction)
    with control_dependencies([accumulator.set_global_step(3)]):
        first = accumulator.apply_grad(x, 3)
    with control_dependencies([first]):
        late = accumulator.apply_grad(x, 2)
    with control_dependencies([late]):
        second = accumulator.apply_grad(y, 4)
    with control_dependencies([second]):
        count = accumulator.num_accumulated()
    with control_dependencies([count]):
        taken = accumulator.take_grad(2)
    with control_dependencies([taken]):
        return count, taken, accumulator.num_accumulated()


def _applied(x: Any, shape: Any = None) -> Any:
    accumulator = ConditionalAccumulator(x.dtype, x.shape if shape is None else shape)
    with control_dependencies([accumulator.apply_grad(x)]):
        return accumulator.take_grad(1)


CASES = [
    *(
        Case(_accumulated, (numbers(*shape), numbers(*shape)), {"reduction": reduction},
             oracle=oracle, dtypes=SUMMED, gradient=False,
             covers=["ResourceConditionalAccumulator", "ResourceAccumulatorApplyGradient",
                     "ResourceAccumulatorTakeGradient", "ResourceAccumulatorSetGlobalStep",
                     "ResourceAccumulatorNumAccumulated"])
        for reduction, oracle in (
            ("MEAN", lambda x, y: [2, (x + y) / 2, 0]), ("SUM", lambda x, y: [2, x + y, 0])
        )
        for shape in ((2, 3), (), (0, 3))
    ),
    Case(_applied, (numbers(2),), oracle=lambda x: x, dtypes=SUMMED, gradient=False, misuse=[
        Misuse((numbers(2),), "gradient of shape", attrs={"shape": [5]}),
    ]),
]  # fmt: skip
