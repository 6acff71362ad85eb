"""CRC-32C, the checksum of checkpoints, events and records."""

from qanat.core import _native


def crc32c(data: bytes | bytearray | memoryview, before: int = 0) -> int:
    """The CRC-32C (Castagnoli; RFC 3720, appendix B.4) of `data`.

    Args:
        data: a C-contiguous buffer.
        before: the CRC-32C of bytes that go before them.

    Returns:
        A number of 32 bits.
    """
    return _native.crc32c(data, before)


def mask(crc: int) -> int:
    """The form in which a checksum is stored beside data that itself holds checksums.

    Without it, the checksum of data and its checksum together would be a constant.
    Source: LevelDB, `util/crc32c.h`.
    """
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
