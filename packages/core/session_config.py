"""What sessions and single steps can be told."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """How a session runs steps.

    Attributes:
        threads: that compute at once, the callers' own included; None for the CPUs this process may
            use.
        allow_soft_placement: whether a device constraint that cannot be met is dropped.
        optimise: whether steps are rewritten before they run (see `qanat.core.passes.optimise`).
        plan_cache_size: how many kinds of steps (fetches and feeds) are kept compiled.
        operation_timeout_in_ms: the time limit of steps that have none of their own; 0 for none.
        device_count: how many devices of a type to offer ({"CPU": 2}); one CPU where it is not
            said. Devices of one type share the machine: they tell parts of a graph apart.
        device_filters: which tasks of a cluster the session uses ("/job:ps", "/job:worker/task:1"),
            waits for and watches; none for all.
        cluster_timeout_in_ms: how long to wait for the tasks of a cluster to be there.
    """

    threads: int | None = None
    allow_soft_placement: bool = False
    optimise: bool = True
    plan_cache_size: int = 256
    operation_timeout_in_ms: int = 0
    device_count: Mapping[str, int] = field(default_factory=dict)
    device_filters: Sequence[str] = ()
    cluster_timeout_in_ms: int = 300_000

    def __post_init__(self) -> None:
        for kind, count in self.device_count.items():
            if kind != "CPU" or count < 1:
                raise ValueError(
                    f'device_count: expected a number of "CPU" devices, 1 or more, got {kind!r}: '
                    f"{count}"
                )
        if self.cluster_timeout_in_ms < 1:
            raise ValueError(
                f"cluster_timeout_in_ms: expected 1 or more, got {self.cluster_timeout_in_ms}"
            )
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"threads: expected 1 or more, or None, got {self.threads}")
        if self.plan_cache_size < 1:
            raise ValueError(f"plan_cache_size: expected 1 or more, got {self.plan_cache_size}")
        if self.operation_timeout_in_ms < 0:
            raise ValueError(
                "operation_timeout_in_ms: expected 0 (none) or more, got "
                f"{self.operation_timeout_in_ms}"
            )

    @property
    def cpu_count(self) -> int:
        """How many CPU devices there are."""
        return self.device_count.get("CPU", 1)

    @property
    def thread_count(self) -> int:
        """`threads`, with the default filled in."""
        return self.threads or len(os.sched_getaffinity(0))


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How one step is run.

    Attributes:
        timeout_in_ms: after which the step ends with a DeadlineExceededError; 0 for the session's
            own time limit, if it has one.
        trace_level: FULL_TRACE (as SOFTWARE_TRACE and HARDWARE_TRACE) for the times of every node,
            which Session.run puts into its `run_metadata`.
    """

    NO_TRACE: ClassVar[int] = 0
    SOFTWARE_TRACE: ClassVar[int] = 1
    HARDWARE_TRACE: ClassVar[int] = 2
    FULL_TRACE: ClassVar[int] = 3

    timeout_in_ms: int = 0
    trace_level: int = NO_TRACE

    def __post_init__(self) -> None:
        if not self.NO_TRACE <= self.trace_level <= self.FULL_TRACE:
            raise ValueError(f"trace_level: expected 0 (none) to 3 (full), got {self.trace_level}")
        if self.timeout_in_ms < 0:
            raise ValueError(f"timeout_in_ms: expected 0 (none) or more, got {self.timeout_in_ms}")
