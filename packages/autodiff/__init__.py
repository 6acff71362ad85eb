"""Derivatives of a graph, by extending the graph."""

from qanat.autodiff.custom_gradient import custom_gradient
from qanat.autodiff.gradients import gradients
from qanat.autodiff.numeric import compute_gradient, compute_gradient_error

__all__ = [
    "compute_gradient",
    "compute_gradient_error",
    "custom_gradient",
    "gradients",
]
