"""Integers of variable length: seven bits a byte, the lowest first; the high bit says that more
follow.
"""


def encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def decode_varint(data: bytes, at: int) -> tuple[int, int]:
    """The integer that starts at byte `at`, and where it ends.

    Raises:
        ValueError: the data ends before it does.
    """
    value = shift = 0
    while at < len(data):
        byte = data[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return value, at
        shift += 7
    raise ValueError("an integer is cut off")
