"""Where variables and operations go in between-graph replication."""

from collections.abc import Callable, Sequence
from typing import Any

from qanat.core.device_name import DeviceName
from qanat.core.operation import Operation
from qanat.distributed_runtime.cluster_spec import ClusterSpec


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Callable[[Operation], int] | None = None,
) -> Callable[[Operation], DeviceName] | None:
    """A function for `qn.device` that spreads variables over the ps tasks, in turn, and puts all
    else on the worker.

        with qn.device(qn.train.replica_device_setter(cluster=cluster, worker_device=mine)):
            ...

    Args:
        ps_tasks: how many tasks the ps job has; not needed with `cluster`.
        ps_device: the job of the parameter servers.
        worker_device: where all that has no state goes.
        merge_devices: whether parts of a device name that inner blocks say win; else an operation
            with such a name is left alone.
        cluster: a ClusterSpec, or what makes one.
        ps_ops: the names of the ops that go to the ps tasks; by default those that own state, which
            are those that make a handle. Whatever takes a handle goes where that was made.
        ps_strategy: picks the task for an operation that goes to the ps tasks.

    Returns:
        The function, or None where there are no ps tasks.
    """
    if cluster is not None:
        spec = ClusterSpec(cluster)
        job = DeviceName.from_string(ps_device).job
        ps_tasks = spec.num_tasks(job) if job in spec.jobs else 0
    if ps_tasks == 0:
        return None
    ps, worker = DeviceName.from_string(ps_device), DeviceName.from_string(worker_device)
    turn = _RoundRobin(ps_tasks) if ps_strategy is None else ps_strategy

    def choose(op: Operation) -> DeviceName:
        current = DeviceName.from_string(op.device)
        if not merge_devices and op.device:
            return current
        for source in op.inputs:
            if source.dtype.kind == "R":
                return DeviceName.from_string(source.op.device)
        owns = _makes_handle(op) if ps_ops is None else op.type in ps_ops
        if not owns:
            return worker
        if current.job is not None and current.task is not None:
            return current
        return ps.merge(DeviceName(task=turn(op)))

    return choose


def _makes_handle(op: Operation) -> bool:
    return any(output.dtype.kind == "R" for output in op.outputs)


class _RoundRobin:
    def __init__(self, tasks: int) -> None:
        self._tasks = tasks
        self._next = 0

    def __call__(self, op: Operation) -> int:
        task = self._next
        self._next = (task + 1) % self._tasks
        return task
