"""For tests of clusters whose tasks are all in this process."""

import socket
import time
from collections.abc import Sequence

import qanat as qn


def free_addresses(count: int) -> list[str]:
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    addresses = [f"127.0.0.1:{listener.getsockname()[1]}" for listener in listeners]
    for listener in listeners:
        listener.close()
    return addresses


def assert_idle(servers: Sequence[qn.Server]) -> None:
    """Nothing of any step is left."""
    until = time.monotonic() + 10
    while any(server.native.steps() for server in servers):
        assert time.monotonic() < until, [server.native.steps() for server in servers]
        time.sleep(0.01)


def config(**changes: object) -> qn.SessionConfig:
    return qn.SessionConfig(cluster_timeout_in_ms=30_000, operation_timeout_in_ms=60_000, **changes)
