"""Gradients where there are none."""

import numpy as np

from qanat.autodiff.differentiable import value_dtype, value_shape
from qanat.core.base_ops import constant
from qanat.core.graph import Output
from qanat.ops import zeros_like
from qanat.ops.state import read_variable_op


def zeros_for(output: Output) -> Output:
    """Zeros of the dtype and shape of a value or, for a handle, of what it refers to."""
    dims = value_shape(output).dims
    if dims is not None and None not in dims:
        return constant(np.zeros((), value_dtype(output).as_numpy), shape=dims)
    if output.handle_data is not None:
        return zeros_like(read_variable_op(output, dtype=output.handle_data.dtype))
    return zeros_like(output)
