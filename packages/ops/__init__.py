"""Every op's meaning, one family a file: signature, documentation, shape function and gradient.

The names here are TensorFlow 1.x's (`matmul`, `reduce_sum`, ...); `qanat` shows them as its own. Kernels
stand with their device, the engines that differentiate, place and run know no op by name.
"""

from qanat.ops.activations import *
from qanat.ops.arithmetic import *
from qanat.ops.arranging import *
from qanat.ops.broadcasting import *
from qanat.ops.casting import *
from qanat.ops.checks import *
from qanat.ops.comparison import *
from qanat.ops.convolution import *
from qanat.ops.elementwise import *
from qanat.ops.indexing import *
from qanat.ops.joining import *
from qanat.ops.linalg import *
from qanat.ops.pooling import *
from qanat.ops.random import *
from qanat.ops.reductions import *
from qanat.ops.sequences import *
from qanat.ops.shaping import *
from qanat.ops.slicing import *
from qanat.ops.softmax import *
