"""Kernels for CPUs: a shared object that core loads on first need."""

from pathlib import Path

LIBRARY = str(Path(__file__).parent / "native" / "libqanat_kernels_cpu.so")
"""The path of the kernel library (`qanat_kernel_abi`, `qanat_register_kernels`)."""
