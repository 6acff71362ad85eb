"""The tasks of a cluster as one session sees them."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from qanat.core import _native
from qanat.core.device_name import DeviceName
from qanat.core.errors import (
    AbortedError,
    DeadlineExceededError,
    FailedPreconditionError,
    OpError,
    UnavailableError,
)
from qanat.distributed_runtime import control_pb2
from qanat.distributed_runtime.cluster_spec import ClusterSpec, task_name
from qanat.distributed_runtime.control_channel import ControlChannel
from qanat.distributed_runtime.server import Server, connect

_ANSWER_S: Final = 5.0  # a task that is there answers much sooner
_RETRY_S: Final = 0.1
_NOTICE_S: Final = 10.0


@dataclass
class RemoteTask:
    """A task that a session uses.

    Attributes:
        name: such as "/job:ps/task:0".
        local: the server of this process that the session's target is; None for all others.
        incarnation: the life of it that the session uses.
        connection: for steps; None where it is of this process.
    """

    name: str
    address: str
    control: ControlChannel
    local: Server | None
    status: Any
    connection: "_native.Connection | None" = None

    @property
    def incarnation(self) -> int:
        return int(self.status.incarnation)

    @property
    def devices(self) -> list[DeviceName]:
        return [DeviceName.from_string(device) for device in self.status.device]

    def connect(self, session: int) -> None:
        """Opens the connection that the session lives as long as."""
        if self.local is None:
            port = self.status.step_port
            self.connection = connect(self.name, self.address, port, self.incarnation, session)

    def as_peer(self) -> Any:
        """How other tasks are told where to fetch its values."""
        return control_pb2.Peer(
            task=self.name,
            address=self.address,
            step_port=self.status.step_port,
            incarnation=self.incarnation,
        )

    def check(self) -> None:
        """Asks whether it still is there.

        Raises:
            UnavailableError, DeadlineExceededError: it does not answer.
            AbortedError: it has been restarted.
        """
        if self.local is not None:
            return
        status = self.control.get_status(_ANSWER_S)
        if status.incarnation != self.incarnation:
            raise AbortedError(
                f"expected {self.control.peer} as it was, got one that was restarted since: its "
                "variables are gone; make a new session and restore a checkpoint"
            )

    def close(self, code: int, message: str) -> None:
        if self.connection is not None:
            self.connection.close(code, message)


class Awaited:
    """Waits for tasks to be there, and tells people for whom.

    Raises:
        UnavailableError: (from `status`) a task was not there in time.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._deadline = time.monotonic() + timeout_s
        self._notice = time.monotonic() + _NOTICE_S

    def status(self, control: ControlChannel, others: Sequence[str] = ()) -> Any:
        """The status of a task, once it answers.

        Args:
            others: who is awaited after it, for the notice.

        Raises:
            UnavailableError: it has not answered in time.
        """
        while True:
            left = self._deadline - time.monotonic()
            try:
                return control.get_status(max(min(left, _ANSWER_S), 0.1))
            except (UnavailableError, DeadlineExceededError) as error:
                if time.monotonic() >= self._deadline:
                    raise self._late(control, others, error) from None
            if time.monotonic() >= self._notice:
                self._notice = time.monotonic() + _NOTICE_S
                print(f"qanat: waiting for {', '.join([control.peer, *others])}", file=sys.stderr)
            time.sleep(_RETRY_S)

    def _late(self, control: ControlChannel, others: Sequence[str], error: OpError) -> OpError:
        more = f"; {', '.join(others)} would be asked next" if others else ""
        return UnavailableError(
            f"expected {control.peer} to be there within {self._timeout_s:g} s, got no answer "
            f"({error}){more}"
        )


def find_tasks(
    address: str,
    wanted: Callable[[str], bool],
    timeout_s: float,
    local: Callable[[str], Server | None],
) -> list[RemoteTask]:
    """The tasks of the cluster that the task at an address is of, that task first.

    Args:
        wanted: whether a session uses the task of that name.
        local: the server of this process at an address, if there is one.

    Raises:
        UnavailableError: one is not there in time.
        FailedPreconditionError: one is another task than the cluster says, or knows another
            cluster.
    """
    awaited = Awaited(timeout_s)
    first = ControlChannel("", address)
    status = awaited.status(first)
    cluster = ClusterSpec(status.cluster)
    home = task_name(status.job, status.task)
    places = {task_name(job, index): place for job, index, place in cluster.tasks()}
    names = [home, *(name for name in places if name != home and wanted(name))]
    channels = {name: ControlChannel(name, places[name]) for name in names}
    first.close()
    found = []
    for i, name in enumerate(names):
        control = channels[name]
        status = awaited.status(control, [channels[other].peer for other in names[i + 1 :]])
        _check_identity(name, cluster, control, status)
        # A step has one part that is run straight; what else is here is reached as from elsewhere.
        here = local(places[name]) if name == home else None
        found.append(RemoteTask(name, places[name], control, here, status))
    return found


def _check_identity(name: str, cluster: ClusterSpec, control: ControlChannel, status: Any) -> None:
    is_named = task_name(status.job, status.task)
    if is_named != name:
        raise FailedPreconditionError(
            f"expected {control.peer}, got {is_named} there: was it started with another index?"
        )
    theirs = ClusterSpec(status.cluster)
    if theirs != cluster:
        raise FailedPreconditionError(
            f"expected all tasks to know the same cluster, got {cluster.as_dict()} here and "
            f"{theirs.as_dict()} at {control.peer}"
        )
