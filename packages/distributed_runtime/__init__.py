"""Graphs that run on a cluster: `ClusterSpec`, `Server`, `replica_device_setter`, and sessions with
the target "grpc://host:port"."""

from typing import Any

from qanat.core.session_config import SessionConfig
from qanat.distributed_runtime.cluster_spec import ClusterSpec
from qanat.distributed_runtime.device_setter import replica_device_setter
from qanat.distributed_runtime.server import Server

__all__ = ["ClusterSpec", "Server", "replica_device_setter"]


def _grpc_target(target: str, config: SessionConfig) -> Any:
    from qanat.distributed_runtime.grpc_target import GrpcTarget

    return GrpcTarget(target, config)


# What core's sessions look for, by the scheme of their target.
SESSION_TARGETS = {"grpc": _grpc_target}
