"""Checks that fail the step, or the building of the graph where the answer is known then."""

from typing import Annotated

from qanat.core import dtypes
from qanat.core.op_def import In, Shapes, op
from qanat.ops.shape_functions import require_scalar

__all__: list[str] = []


@op("Assert", outputs="", stateful=True, differentiable=False, T=dtypes.ALL)
def assert_op(
    condition: Annotated[In, "bool"], data: Annotated[list[In], "T"], *, summarize: int = 3
) -> Shapes:
    """An invalid-argument error of the step, which shows `data`, unless `condition`, a scalar, is true."""
    require_scalar(condition, "condition")
    return []
