"""The core: graphs, what ops are, and sessions that run them."""

from qanat.core import base_ops as base_ops
