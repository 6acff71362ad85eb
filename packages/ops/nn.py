"""What neural networks are made of: `qn.nn`."""

# ruff: noqa: F403 -- each family's __all__ says what is public

from qanat.core import face as _face
from qanat.ops.activations import *
from qanat.ops.convolution import *
from qanat.ops.elementwise import log_sigmoid as log_sigmoid
from qanat.ops.elementwise import sigmoid as sigmoid
from qanat.ops.elementwise import tanh as tanh
from qanat.ops.indexing import in_top_k as in_top_k
from qanat.ops.indexing import top_k as top_k
from qanat.ops.normalization import *
from qanat.ops.pooling import *
from qanat.ops.softmax import *


def __getattr__(name: str) -> object:
    """What other parts add: `dynamic_rnn` and its like."""
    return _face.find_in("nn", name)
