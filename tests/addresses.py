"""Addresses for tasks of clusters on this machine."""

import socket

# Bound for as long as this process lives. Nobody listens at them, so a task can.
_kept: list[socket.socket] = []


def free_addresses(count: int) -> list[str]:
    """Addresses that the system gives to nobody: not to who listens at any port, nor to a client.

    A client who calls a port again and again until a task is there could otherwise be given that
    very port as its own, and be connected with itself.
    """
    kept = [_keep() for _ in range(count)]
    _kept.extend(kept)
    return ["{}:{}".format(*each.getsockname()) for each in kept]


def _keep() -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", 0))
    return made
