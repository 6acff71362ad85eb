"""Tests of clusters whose tasks are all in this process; sessions reach them as clients of this
process do, and over the network as those of others do."""

import errno
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import qanat as qn
from qanat.distributed_runtime import grpc_target
from tests.addresses import free_addresses
from tests.end_to_end.clusters import assert_idle, config

PS0, PS1, WORKER = "/job:ps/task:0", "/job:ps/task:1", "/job:worker/task:0"
SOON = qn.RunOptions(timeout_in_ms=60_000)

Serve = Callable[[str, int], qn.Server]


@pytest.fixture
def cluster() -> qn.ClusterSpec:
    ps0, ps1, worker = free_addresses(3)
    return qn.ClusterSpec({"ps": [ps0, ps1], "worker": [worker]})


@pytest.fixture
def serve(cluster: qn.ClusterSpec) -> Iterator[Serve]:
    made: list[qn.Server] = []

    def start(job: str, index: int = 0) -> qn.Server:
        made.append(qn.Server(cluster, job, index, qn.SessionConfig(threads=2)))
        return made[-1]

    yield start
    for server in made:
        server.stop()


@pytest.fixture
def servers(serve: Serve) -> list[qn.Server]:
    return [serve("ps", 0), serve("ps", 1), serve("worker", 0)]


@pytest.fixture(params=["in this process", "over the network"])
def target(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, servers: list[qn.Server]
) -> Iterator[str]:
    """The worker's target; in the end nothing of any step is left."""
    if request.param == "over the network":
        monkeypatch.setattr(grpc_target, "local_server", lambda address: None)
    yield servers[2].target
    assert_idle(servers)


@pytest.fixture(autouse=True)
def graph() -> Iterator[qn.Graph]:
    with qn.Graph().as_default() as made:
        yield made


def test_a_step_spans_tasks(target: str) -> None:
    with qn.device(PS0):
        x = qn.placeholder(qn.float32, [None])
        a = x * 2.0
    with qn.device(PS1):
        b = a + 1.0
    with qn.device(WORKER):
        c = a * b
    with qn.Session(target, config=config()) as session:
        run = session.prepare([c, a, b, x], [x])
        for size in (0, 1, 3, 5000, 1_000_000):
            value = np.arange(size, dtype=np.float32)
            wanted = [2 * value * (2 * value + 1), 2 * value, 2 * value + 1, value]
            for got, want in zip(run(value), wanted, strict=True):
                np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    "value",
    [
        np.array([[b"a", b""], [b"\0b", b"long" * 100_000]], object),
        np.array(3, np.int64),
        np.array([], np.bool_).reshape(0, 3),
        np.array([1 + 2j], np.complex64),
        np.ones((3, 1), np.float16),
    ],
    ids=lambda value: str(value.dtype),
)
def test_values_of_all_kinds_travel(target: str, value: np.ndarray) -> None:
    with qn.device(PS0):
        x = qn.placeholder(qn.as_dtype(value.dtype), value.shape)
        there = qn.identity(x)
    with qn.device(PS1):
        back = qn.identity(there)
    with qn.Session(target, config=config()) as session:
        got = np.asarray(session.run(back, {x: value}))
        np.testing.assert_array_equal(got, value)
        assert got.shape == value.shape


def test_control_edges_cross(target: str) -> None:
    with qn.device(PS0):
        v = qn.Variable(1.0)
        write = v.assign_add(1.0, read_value=False)
    with qn.device(PS1), qn.control_dependencies([write]):
        middle = qn.no_op()
    with qn.device(PS0), qn.control_dependencies([middle]):
        after = v.read_value()
    with qn.Session(target, config=config()) as session:
        session.run(v.initializer)
        assert [session.run(after) for _ in range(3)] == [2.0, 3.0, 4.0]


def test_variables_belong_to_the_task(target: str) -> None:
    with qn.device(PS0):
        v = qn.Variable([1.0, 2.0])
        update = v.assign_add([1.0, 1.0], read_value=False)
    with qn.Session(target, config=config()) as session:
        session.run(v.initializer)
        session.run(update)
    with qn.Session(target, config=config()) as one, qn.Session(target, config=config()) as two:
        one.run(update)
        assert two.run(v).tolist() == [3.0, 4.0]


def test_many_threads_run_steps_at_once(target: str) -> None:
    with qn.device(PS0):
        v = qn.Variable(0.0)
    with qn.device(WORKER):
        update = v.assign_add(qn.identity(1.0), read_value=False)
    failures: list[BaseException] = []
    with qn.Session(target, config=config()) as session:
        session.run(v.initializer)
        run = session.prepare(update)

        def work() -> None:
            try:
                for _ in range(100):
                    run()
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert session.run(v) == 400.0


def test_a_failure_names_op_line_and_task(target: str) -> None:
    with qn.device(PS0):
        v = qn.Variable(1.0, name="unset")
    with qn.device(WORKER):
        y = v + 1.0
    with qn.Session(target, config=config()) as session:
        with pytest.raises(qn.errors.FailedPreconditionError) as caught:
            session.run(y)
        message = str(caught.value)
        assert 'variable "unset"' in message and "cluster_test.py" in message
        assert f"{PS0} at 127.0.0.1:" in message
        session.run(v.initializer)
        assert session.run(y) == 2.0


def test_a_kernel_that_refuses_is_found_when_the_step_is_made(target: str) -> None:
    with qn.device(PS0):
        q = qn.FIFOQueue(1, qn.float32, name="q")
        other = qn.FIFOQueue(1, qn.int32, shared_name="q", name="other")
    with qn.Session(target, config=config()) as session:
        session.run(q.size())
        with pytest.raises(qn.errors.InvalidArgumentError, match="component types"):
            session.run(other.size())


def test_a_queue_joins_sessions(target: str) -> None:
    with qn.device(PS0):
        queue = qn.FIFOQueue(1, qn.float32, [[]])
    with qn.device(WORKER):
        x = qn.placeholder(qn.float32, [])
        put, taken = queue.enqueue(x * 1.0), queue.dequeue() + 0.0
    with qn.Session(target, config=config()) as one, qn.Session(target, config=config()) as two:
        results: list[float] = []
        taker = threading.Thread(target=lambda: results.extend(one.run(taken) for _ in range(5)))
        taker.start()
        for i in range(5):
            two.run(put, {x: float(i)})
        taker.join(30)
        assert results == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_deadline_says_what_is_awaited(target: str) -> None:
    with qn.device(PS0):
        queue = qn.FIFOQueue(1, qn.float32, [[]])
    with qn.device(WORKER):
        y = queue.dequeue() + 1.0
    with qn.Session(target, config=config()) as session:
        start = time.monotonic()
        with pytest.raises(qn.errors.DeadlineExceededError, match=PS0):
            session.run(y, options=qn.RunOptions(timeout_in_ms=200))
        assert time.monotonic() - start < 5


def test_a_deadline_holds_while_a_task_does_not_register_the_step(
    target: str, servers: list[qn.Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    with qn.device(PS0):
        x = qn.identity(1.0)
    goes_on = threading.Event()
    connect_peers = servers[0].connect_peers

    def hang(peers: object) -> None:
        goes_on.wait(60)
        connect_peers(peers)  # type: ignore[arg-type]

    with qn.Session(target, config=config()) as session:
        monkeypatch.setattr(servers[0], "connect_peers", hang)
        start = time.monotonic()
        with pytest.raises(qn.errors.DeadlineExceededError, match=f"{PS0} at .* within 1 s"):
            session.run(x, options=qn.RunOptions(timeout_in_ms=500))
        assert time.monotonic() - start < 20
        goes_on.set()
        assert session.run(x) == 1.0


def test_closing_ends_steps_that_wait(target: str, servers: list[qn.Server]) -> None:
    with qn.device(PS0):
        queue = qn.FIFOQueue(1, qn.float32, [[]])
    with qn.device(WORKER):
        y = queue.dequeue() + 1.0
    session = qn.Session(target, config=config())
    caught: list[BaseException] = []

    def wait() -> None:
        try:
            session.run(y)
        except BaseException as error:
            caught.append(error)

    waiter = threading.Thread(target=wait)
    waiter.start()
    until = time.monotonic() + 30
    while not servers[0].native.steps():
        assert time.monotonic() < until
        time.sleep(0.01)
    session.close()
    waiter.join(10)
    assert [type(error) for error in caught] == [qn.errors.CancelledError]


def test_a_task_that_ends_fails_steps_and_a_new_life_is_noticed(
    cluster: qn.ClusterSpec, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grpc_target, "local_server", lambda address: None)
    ps, _, worker = serve("ps", 0), serve("ps", 1), serve("worker", 0)
    with qn.device(PS0):
        v = qn.Variable(1.0)
        queue = qn.FIFOQueue(1, qn.float32, [[]])
    with qn.device(WORKER):
        y, blocked = v + 1.0, queue.dequeue() + 1.0
    session = qn.Session(worker.target, config=config())
    session.run(v.initializer)
    assert session.run(y) == 2.0
    threading.Timer(0.3, ps.stop).start()
    with pytest.raises(qn.errors.UnavailableError, match=f"{PS0} at 127.0.0.1:"):
        session.run(blocked)
    serve("ps", 0)
    with pytest.raises(qn.errors.OpError, match=f"{PS0} at 127.0.0.1:"):
        session.run(y)
    session.close()
    with qn.Session(worker.target, config=config()) as again:
        with pytest.raises(qn.errors.FailedPreconditionError, match="initializer"):
            again.run(y)
        again.run(v.initializer)
        assert again.run(y) == 2.0


def test_a_task_that_is_late_is_named(serve: Serve, cluster: qn.ClusterSpec) -> None:
    worker = serve("worker", 0)
    address = cluster.task_address("ps", 0)
    with pytest.raises(qn.errors.UnavailableError, match=f"{PS0} at {address} to be there") as got:
        qn.Session(worker.target, config=qn.SessionConfig(cluster_timeout_in_ms=300))
    assert PS1 in str(got.value)


def test_values_do_not_arrive_where_a_later_task_is_to_serve() -> None:
    # Half of the ports that the system gives to who asks for any.
    first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    (address,) = free_addresses(1)
    others = [f"127.0.0.1:{port}" for port in range(first, last) if port & 2]
    others = [other for other in others if other != address]
    for _ in range(10):
        server = qn.Server({"ps": others, "worker": [address]}, "worker", 0)
        port = server.status().step_port
        server.stop()
        assert f"127.0.0.1:{port}" not in others


def test_a_machine_without_a_port_left_is_an_error(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = socket.create_server

    def exhausted(address: tuple[str, int], **options: object) -> socket.socket:
        if address[1] == 0:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        return create(address, **options)

    monkeypatch.setattr(socket, "create_server", exhausted)
    with pytest.raises(qn.errors.ResourceExhaustedError, match=r"a port of 127\.0\.0\.1"):
        serve("ps", 0)


def test_a_late_task_is_waited_for(serve: Serve) -> None:
    worker = serve("worker", 0)
    threading.Timer(0.5, lambda: [serve("ps", 0), serve("ps", 1)]).start()
    with qn.device(PS1):
        x = qn.identity(1.0)
    with qn.Session(worker.target, config=config()) as session:
        assert session.run(x) == 1.0


def test_filters_leave_tasks_out(serve: Serve) -> None:
    worker = serve("worker", 0)
    serve("ps", 1)
    chosen = config(device_filters=[PS1, "/job:worker"])
    with qn.Session(worker.target, config=chosen) as session:
        names = [str(device) for device in session.list_devices()]
        assert names == [f"{WORKER}/device:CPU:0", f"{PS1}/device:CPU:0"]


def test_an_address_in_use_is_an_error(serve: Serve) -> None:
    serve("ps", 0)
    with pytest.raises(qn.errors.AlreadyExistsError, match=f"free for {PS0}, got one in use"):
        serve("ps", 0)


def test_an_address_of_elsewhere_is_an_error() -> None:
    with pytest.raises(qn.errors.UnavailableError, match="listen at 192.0.2.1:2222"):
        qn.Server({"ps": ["192.0.2.1:2222"]}, "ps", 0)


def test_a_task_that_is_another_is_an_error(cluster: qn.ClusterSpec, serve: Serve) -> None:
    ps, worker = cluster.job_tasks("ps"), serve("worker", 0)
    swapped = qn.Server({"ps": ps[::-1], "worker": cluster.job_tasks("worker")}, "ps", 0)
    try:
        with pytest.raises(qn.errors.OpError, match=f"{PS1} at .*, got {PS0} there|same cluster"):
            qn.Session(worker.target, config=config(device_filters=[PS1, "/job:worker"]))
    finally:
        swapped.stop()


def test_a_task_of_another_cluster_is_an_error(cluster: qn.ClusterSpec, serve: Serve) -> None:
    worker = serve("worker", 0)
    jobs = cluster.as_dict()
    other = qn.Server({**jobs, "worker": free_addresses(1)}, "ps", 0)
    try:
        with pytest.raises(qn.errors.FailedPreconditionError, match="know the same cluster"):
            qn.Session(worker.target, config=config(device_filters=[PS0, "/job:worker"]))
    finally:
        other.stop()


@pytest.mark.parametrize("containers", [None, [""], ["kept apart"]])
def test_what_tasks_hold_is_forgotten_by_container(
    target: str, containers: list[str] | None
) -> None:
    variables = {}
    for device, container in ((PS0, ""), (PS1, "kept apart")):
        with qn.device(device), qn.container(container):
            variables[container] = qn.Variable(1.0)
    with qn.Session(target, config=config()) as session:
        session.run(qn.global_variables_initializer())
        qn.Session.reset(target, containers, config())
        for container, variable in variables.items():
            if containers is None or container in containers:
                with pytest.raises(qn.errors.FailedPreconditionError, match="to be initialised"):
                    session.run(variable)
            else:
                assert session.run(variable) == 1.0


def test_containers_are_a_list_of_names() -> None:
    with pytest.raises(TypeError, match="containers: expected names in a list, got 'kept'"):
        qn.Session.reset("grpc://127.0.0.1:1", "kept")  # type: ignore[arg-type]


def test_a_reset_of_this_process_is_an_error() -> None:
    with pytest.raises(ValueError, match="of a cluster, got ''"):
        qn.Session.reset("")


def test_bad_targets() -> None:
    with pytest.raises(ValueError, match="grpc://"):
        qn.Session("carrier-pigeon://coop")
    with pytest.raises(ValueError, match="'nowhere'"):
        qn.Session("grpc://nowhere")


def test_devices_of_one_task_tell_parts_apart() -> None:
    with qn.device("/cpu:0"):
        x = qn.placeholder(qn.float32, [])
        a = x + 1.0
    with qn.device("/cpu:1"):
        b = a * 2.0
    with qn.device("/cpu:0"):
        c = a + b
    with qn.Session(config=qn.SessionConfig(device_count={"CPU": 2})) as session:
        assert session.run(c, {x: 1.0}, options=SOON) == 6.0
        assert [str(d) for d in session.list_devices()] == [
            "/job:localhost/replica:0/task:0/device:CPU:0",
            "/job:localhost/replica:0/task:0/device:CPU:1",
        ]
