"""The library can be loaded alone, and speaks the ABI of this tree's headers."""

import ctypes

from qanat.kernels_cpu import LIBRARY


def test_library_loads_and_names_its_abi() -> None:
    library = ctypes.CDLL(LIBRARY)
    assert library.qanat_kernel_abi() >= 1
    assert library.qanat_register_kernels
