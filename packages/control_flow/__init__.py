"""Branches and loops in the graph: `cond`, `while_loop`, and what is built on them."""

from qanat.control_flow.cond import case, cond
from qanat.control_flow.functional import foldl, foldr, map_fn, scan
from qanat.control_flow.tensor_array import TensorArray
from qanat.control_flow.while_loop import while_loop

__all__ = [
    "TensorArray",
    "case",
    "cond",
    "foldl",
    "foldr",
    "map_fn",
    "scan",
    "while_loop",
]
