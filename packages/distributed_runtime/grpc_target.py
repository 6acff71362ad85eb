"""Sessions whose steps span the tasks of a cluster.

The master is here, in the session's process: it places a step, takes it apart, registers each
task's part there once, and from then on native code sends each task one small message a step.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from qanat.core import _native
from qanat.core.device_name import DeviceName
from qanat.core.errors import CANCELLED, OpError
from qanat.core.passes.compile import native_step
from qanat.core.passes.partition import Partitions, join
from qanat.core.passes.step_graph import StepGraph, StepGraphs
from qanat.core.passes.step_proto import step_to_def
from qanat.core.run_errors import raise_status
from qanat.core.session_config import SessionConfig
from qanat.core.target import CompiledStep, plan_parts
from qanat.distributed_runtime import control_pb2
from qanat.distributed_runtime.cluster_spec import split_address
from qanat.distributed_runtime.health import HealthMonitor
from qanat.distributed_runtime.remote_task import RemoteTask, find_tasks
from qanat.distributed_runtime.server import local_server

# How long a task may take to register its part of a step. A step that has less time than the least
# would never be registered by a task that needs some.
_REGISTER_S: Final = 60.0
_LEAST_REGISTER_S: Final = 1.0
_RESET_S: Final = 60.0


class GrpcTarget:
    """The cluster of the task at "grpc://host:port"."""

    def __init__(self, target: str, config: SessionConfig) -> None:
        """
        Raises:
            ValueError: that is no address.
            UnavailableError: a task is not there in time; the message says who is awaited.
            FailedPreconditionError: the tasks do not agree on the cluster.
        """
        address = target.removeprefix("grpc://")
        split_address(address)
        self._config = config
        self._session = secrets.randbits(63) | 1
        filters = [DeviceName.from_string(text) for text in config.device_filters]
        tasks = find_tasks(
            address,
            lambda name: _passes(name, filters),
            config.cluster_timeout_in_ms / 1000,
            local_server,
        )
        self._tasks = {task.name: task for task in tasks}
        self._local = next((task for task in tasks if task.local is not None), None)
        self._devices = [device for task in tasks for device in task.devices]
        for task in tasks:
            task.connect(self._session)
        self._health = HealthMonitor(tasks, self._fail)

    def devices(self) -> list[DeviceName]:
        return list(self._devices)

    def compile(self, step: StepGraph, deadline_s: float = 0.0) -> tuple[StepGraphs, CompiledStep]:
        patience_s = max(min(deadline_s or _REGISTER_S, _REGISTER_S), _LEAST_REGISTER_S)
        planned = plan_parts(step, self._devices, self._config)
        parts = self._by_task(planned)
        whole = StepGraphs(list(parts.values()))
        remotes: list[Any] = []
        numbers: dict[str, int] = {}
        first_node, local = 0, None
        for name, part in parts.items():
            task = self._tasks[name]
            if task is self._local:
                local = self._prepare_local(part)
                numbers[name] = -1
            else:
                numbers[name] = len(remotes)
                number = self._register(task, part, patience_s)
                remotes.append((task.connection, number, _fed(part), first_node))
            first_node += len(part)
        fetches = _numbered(planned, numbers)
        native = self._local.local.native if self._local and self._local.local else None
        try:
            return whole, _native.ClusterExecutable(native, local, remotes, fetches)
        except _native.StatusError as error:
            raise_status(error, whole)

    def reset(self, containers: Sequence[str]) -> None:
        request = control_pb2.ResetRequest(container=containers)
        for task in self._tasks.values():
            task.control.call("Reset", request, _RESET_S)

    def close(self) -> None:
        self._health.stop()
        for task in self._tasks.values():
            if task.local is not None:
                task.local.native.drop_session(self._session)
            task.close(CANCELLED, "the session was closed")
            task.control.close()

    def _by_task(self, planned: Partitions) -> Mapping[str, StepGraph]:
        """The part of each task, this process's first."""
        devices: dict[str, dict[str, StepGraph]] = {}
        for device, part in planned.parts.items():
            devices.setdefault(_task_of(device), {})[device] = part
        if self._local is not None and self._local.name in devices:
            devices = {self._local.name: devices.pop(self._local.name), **devices}
        return {
            name: join(Partitions(parts, tuple([f for f in planned.fetches if f[0] in parts])))
            for name, parts in devices.items()
        }

    def _prepare_local(self, part: StepGraph) -> Any:
        assert self._local is not None and self._local.local is not None
        self._local.local.connect_peers(self._peers(self._local, part))
        return (self._session, *native_step(part))

    def _register(self, task: RemoteTask, part: StepGraph, patience_s: float) -> int:
        """The number of a task's part there."""
        request = control_pb2.RegisterPartRequest(
            session=self._session,
            graph=step_to_def(part),
            fetch=[f"{ref.node}:{ref.port}" for ref in part.fetches],
            target=part.targets,
            peer=self._peers(task, part),
        )
        response = task.control.call("RegisterPart", request, patience_s)
        if response.HasField("failure"):
            _refused(response.failure, task, part)
        return int(response.part)

    def _peers(self, task: RemoteTask, part: StepGraph) -> list[Any]:
        """The tasks that a part fetches values from."""
        senders = {_task_of(node.attrs["send_device"]) for node in part if node.op == "_Recv"}
        return [self._tasks[name].as_peer() for name in sorted(senders - {task.name})]

    def _fail(self, error: OpError) -> None:
        """A task is gone: every step of the session ends with the cause."""
        for task in self._tasks.values():
            task.close(error.code, str(error))


def _passes(task: str, filters: list[DeviceName]) -> bool:
    device = DeviceName.from_string(task)
    return not filters or any(device.intersect(allowed) == device for allowed in filters)


def _task_of(device: str) -> str:
    return device.partition("/device:")[0]


def _fed(part: StepGraph) -> list[tuple[int, int]]:
    """(index, type) of the values that a part is fed."""
    args = [part.nodes[name] for name in part.feeds]
    return [(node.attrs["index"], node.dtypes[0].number) for node in args]


def _numbered(planned: Partitions, numbers: Mapping[str, int]) -> list[tuple[int, int]]:
    """For each fetch the number of its task's part, and its place among what that fetches."""
    counts = dict.fromkeys(numbers, 0)
    places = []
    for device, _ in planned.fetches:
        task = _task_of(device)
        places.append((numbers[task], counts[task]))
        counts[task] += 1
    return places


def _refused(failure: Any, task: RemoteTask, part: StepGraph) -> NoReturn:
    error = _native.StatusError(failure.message)
    error.code, error.node = failure.code, failure.node
    error.message = f"{failure.message} (on {task.control.peer})"
    raise_status(error, part)
