"""Every op's meaning, one family a file: signature, documentation, shape function and gradient.

The names here are TensorFlow 1.x's (`matmul`, `reduce_sum`, ...); `qanat` shows them as its own.
Kernels stand with their device; the engines that differentiate, place and run know no op by name.
"""

# ruff: noqa: F403 -- each family's __all__ says what is public

from qanat.ops import control_flow as control_flow
from qanat.ops import fused_elementwise as fused_elementwise
from qanat.ops import fused_epilogue as fused_epilogue
from qanat.ops import initializers as initializers
from qanat.ops import layers as layers
from qanat.ops import nn as nn
from qanat.ops import operators as operators
from qanat.ops import quantized as quantized
from qanat.ops import stacks as stacks
from qanat.ops import tensor_arrays as tensor_arrays
from qanat.ops.accumulators import *
from qanat.ops.arithmetic import *
from qanat.ops.arranging import *
from qanat.ops.broadcasting import *
from qanat.ops.casting import *
from qanat.ops.checks import *
from qanat.ops.comparison import *
from qanat.ops.elementwise import *
from qanat.ops.indexing import *
from qanat.ops.initializers import *
from qanat.ops.joining import *
from qanat.ops.linalg import *
from qanat.ops.queues import *
from qanat.ops.random import *
from qanat.ops.reductions import *
from qanat.ops.sequences import *
from qanat.ops.shaping import *
from qanat.ops.slicing import *
from qanat.ops.variable_scope import *
from qanat.ops.variables import *
