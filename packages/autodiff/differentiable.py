"""What a derivative may be taken of: floating-point and complex values, and variables that hold
them.
"""

from qanat.core.dtypes import COMPLEX, FLOATING, DType
from qanat.core.graph import Output
from qanat.core.shapes import TensorShape


def value_dtype(output: Output) -> DType:
    """The dtype of the value that `output` is or, where it is a variable's handle, refers to."""
    return output.dtype if output.handle_data is None else output.handle_data[0]


def value_shape(output: Output) -> TensorShape:
    """The static shape of the value that `output` is or, where it is a variable's handle, refers
    to.
    """
    return output.shape if output.handle_data is None else output.handle_data[1]


def is_differentiable(output: Output) -> bool:
    """Whether there are values near `output`'s, so that a derivative has a meaning."""
    return value_dtype(output) in FLOATING | COMPLEX
