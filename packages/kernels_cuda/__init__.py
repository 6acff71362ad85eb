"""Kernels for NVIDIA's GPUs, in CUDA C: a device that core finds on first need."""

from qanat.kernels_cuda.library import CudaLibrary

DEVICES = CudaLibrary()
"""The GPUs of this machine, as `qanat.core.device_library` asks for them."""
