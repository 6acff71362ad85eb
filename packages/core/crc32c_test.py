"""Checksums of the standard's examples, of any buffer."""

import numpy as np

from qanat.core.crc32c import crc32c, mask


def test_the_example_of_rfc_3720() -> None:
    assert crc32c(bytes(range(32))) == 0x46DD794E
    assert crc32c(np.arange(32, dtype=np.uint8).data) == 0x46DD794E
    assert crc32c(bytes(range(5, 32)), crc32c(bytearray(range(5)))) == 0x46DD794E


def test_the_mask() -> None:
    assert mask(0) == 0xA282EAD8
    assert mask(0x80000000) == (0x10000 + 0xA282EAD8)
    assert mask(1) == (1 << 17) + 0xA282EAD8
