"""A task of a cluster: owns variables and queues, and runs its parts of steps."""

import contextlib
import errno
import secrets
import socket
import threading
import weakref
from collections.abc import Iterable, Set
from typing import Any, Final

from qanat.core import _native
from qanat.core.device_name import DeviceName
from qanat.core.errors import (
    UNAVAILABLE,
    AlreadyExistsError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnavailableError,
    exception_type_from_error_code,
)
from qanat.core.kernel_table import kernel_table
from qanat.core.passes.step_proto import native_nodes, native_ports
from qanat.core.session_config import SessionConfig
from qanat.distributed_runtime import control_pb2
from qanat.distributed_runtime.cluster_spec import ClusterSpec, split_address, task_name
from qanat.distributed_runtime.control_channel import serve

_CONNECT_TIMEOUT_S: Final = 5.0


class Server:
    """One task of a cluster, in this process.

        server = qn.train.Server({"ps": [...], "worker": [...]}, "worker", 0)
        with qn.Session(server.target) as session:
            ...

    Sessions of this and other processes run graphs on all tasks of the cluster through any of them.
    What they make there (variables, queues) is the task's, shared by all sessions, and lives as
    long as the server.
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str,
        task_index: int = 0,
        config: SessionConfig | None = None,
        start: bool = True,
    ) -> None:
        """
        Args:
            server_or_cluster_def: the cluster: a ClusterSpec or what makes one.
            job_name: the job that this task is of.
            task_index: which of its tasks.
            config: its `threads` and `device_count` are those of the task.
            start: whether to serve at once, rather than from `start()` on.

        Raises:
            ValueError: the cluster has no such task.
            AlreadyExistsError: somebody serves at the task's address already.
            UnavailableError: its address is not one of this machine.
            ResourceExhaustedError: the machine has no port left for the values that arrive.
        """
        self._cluster = ClusterSpec(server_or_cluster_def)
        self._address = self._cluster.task_address(job_name, task_index)
        self._job, self._index = job_name, task_index
        self._name = task_name(job_name, task_index)
        self._config = SessionConfig() if config is None else config
        self._incarnation = secrets.randbits(63) | 1
        self._peers: dict[str, tuple[int, Any]] = {}
        self._peers_lock = threading.Lock()
        self._stopped = threading.Event()
        self._grpc: Any = None
        kernel_table()
        self.native = _native.Task(self._name, self._incarnation, self._config.thread_count)
        if start:
            self.start()

    @property
    def target(self) -> str:
        """What to give a Session to run steps through this task."""
        return f"grpc://{self._address}"

    @property
    def server_def(self) -> ClusterSpec:
        """The cluster it is of."""
        return self._cluster

    @property
    def name(self) -> str:
        """Such as "/job:worker/task:0"."""
        return self._name

    def devices(self) -> list[DeviceName]:
        return [
            DeviceName(self._job, None, self._index, "CPU", index)
            for index in range(self._config.cpu_count)
        ]

    def start(self) -> None:
        """Begins to serve; a second time is a no-op. For errors see the constructor."""
        if self._grpc is not None:
            return
        host, port = split_address(self._address)
        try:
            with socket.create_server((host, port), family=_family(host)):
                pass  # that it is free: gRPC's own message would not say what is wrong
        except OSError as error:
            raise self._cannot_listen(error) from None
        listener = _listener(host, {split_address(at)[1] for *_, at in self._cluster.tasks()})
        self._port = listener.getsockname()[1]
        self.native.listen(listener.detach())
        self._grpc = serve(_Service(self), self._address)
        _servers[self._address] = self

    def join(self) -> None:
        """Waits until the server is stopped."""
        self._stopped.wait()

    def stop(self) -> None:
        """Ends the steps that run here and frees what the task holds; a second time is a no-op."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        if _servers.get(self._address) is self:
            del _servers[self._address]
        if self._grpc is not None:
            self._grpc.stop(grace=0)
        self.native.close(UNAVAILABLE, f"{self._name} at {self._address} was stopped")

    def status(self) -> Any:
        """What others are told of this task."""
        return control_pb2.StatusResponse(
            job=self._job,
            task=self._index,
            incarnation=self._incarnation,
            step_port=self._port,
            device=[str(device) for device in self.devices()],
            cluster=self._cluster.as_cluster_def(),
        )

    def connect_peers(self, peers: Iterable[Any]) -> None:
        """Makes sure that values can be fetched from other tasks.

        Raises:
            UnavailableError: one does not answer.
            AbortedError: one has been restarted since the caller heard of it.
        """
        for peer in peers:
            with self._peers_lock:
                incarnation, connection = self._peers.get(peer.task, (0, None))
                if incarnation == peer.incarnation and connection.is_open():
                    continue
                made = connect(peer.task, peer.address, peer.step_port, peer.incarnation, 0)
                self.native.set_peer(peer.task, made)
                self._peers[peer.task] = peer.incarnation, made

    def _cannot_listen(self, error: OSError) -> OpError:
        if error.errno == errno.EADDRINUSE:
            return AlreadyExistsError(
                f"expected {self._address} to be free for {self._name}, got one in use: is another "
                "process that task, or does another cluster use the port?"
            )
        return UnavailableError(
            f"expected to listen at {self._address} as {self._name}, got: {error.strerror or error}"
        )


# The servers of this process, by address: their sessions need no network to reach them.
_servers: "weakref.WeakValueDictionary[str, Server]" = weakref.WeakValueDictionary()


def local_server(address: str) -> Server | None:
    """The server of this process that serves at an address, if one does."""
    return _servers.get(address)


def connect(
    task: str, address: str, port: int, incarnation: int, session: int
) -> "_native.Connection":
    """A connection to a task, for steps.

    Args:
        address: of the task, which errors name.
        port: where it takes part in steps.
        incarnation: the life of it that is meant.
        session: what it keeps for the session goes with the connection; 0 for none.

    Raises:
        UnavailableError: nobody answers there.
        AbortedError: the task has another incarnation.
    """
    peer = f"{task} at {address}"
    try:
        host, _ = split_address(address)
        made = socket.create_connection((host, port), timeout=_CONNECT_TIMEOUT_S)
    except OSError as error:
        raise UnavailableError(f"expected a connection to {peer}, got: {error}") from None
    made.settimeout(None)
    try:
        return _native.Connection(made.detach(), peer, incarnation, session, _CONNECT_TIMEOUT_S)
    except _native.StatusError as error:
        raise exception_type_from_error_code(error.code)(error.message) from None


def _listener(host: str, taken: Set[int]) -> socket.socket:
    """Listens at a port that the system picks, but none that a task which comes later is to have.

    Raises:
        ResourceExhaustedError: there is no port.
    """
    with contextlib.ExitStack() as refused:  # open until the end, so none is picked twice
        while True:
            try:
                made = socket.create_server((host, 0), family=_family(host))
            except OSError as error:
                raise ResourceExhaustedError(
                    f"expected a port of {host} for values that arrive, got none: {error}"
                ) from None
            if made.getsockname()[1] not in taken:
                return made
            refused.enter_context(made)


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


class _Service:
    """The control service of a task."""

    def __init__(self, server: Server) -> None:
        self._server = weakref.ref(server)

    @property
    def _task(self) -> Server:
        server = self._server()
        if server is None or server._stopped.is_set():
            raise UnavailableError("expected a task that runs, got one that was stopped")
        return server

    def get_status(self, request: Any) -> Any:
        return self._task.status()

    def register_part(self, request: Any) -> Any:
        task = self._task
        task.connect_peers(request.peer)
        response = control_pb2.RegisterPartResponse()
        try:
            response.part = task.native.add_executable(
                request.session,
                native_nodes(request.graph),
                native_ports(request.graph, request.fetch),
                [node for node, _ in native_ports(request.graph, request.target)],
            )
        except _native.StatusError as error:
            response.failure.code = error.code
            response.failure.message = error.message
            response.failure.node = error.node
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidArgumentError(f"expected a part of a step, got: {error}") from None
        return response

    def close_session(self, request: Any) -> Any:
        self._task.native.drop_session(request.session)
        return control_pb2.CloseSessionResponse()

    def reset(self, request: Any) -> Any:
        if not request.container:
            self._task.native.clear_all()
        for container in request.container:
            self._task.native.clear(container)
        return control_pb2.ResetResponse()
