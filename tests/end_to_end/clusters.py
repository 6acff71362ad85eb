"""For tests of clusters whose tasks are all in this process."""

import time
from collections.abc import Sequence

import qanat as qn


def assert_idle(servers: Sequence[qn.Server]) -> None:
    """Nothing of any step is left."""
    until = time.monotonic() + 10
    while any(server.native.steps() for server in servers):
        assert time.monotonic() < until, [server.native.steps() for server in servers]
        time.sleep(0.01)


def config(**changes: object) -> qn.SessionConfig:
    return qn.SessionConfig(cluster_timeout_in_ms=30_000, operation_timeout_in_ms=60_000, **changes)
