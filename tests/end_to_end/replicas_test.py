"""Between-graph replication, with all tasks in this process: what several workers compute together
is what one would have computed from all their examples."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import qanat as qn
from tests.addresses import free_addresses

RATE = 0.1


class Worker:
    """A worker with a graph of its own: fits w * x to y.

    Attributes:
        step: given (x, y), runs one step.
    """

    def __init__(
        self,
        cluster: qn.ClusterSpec,
        index: int,
        wrap: Callable[[Any, int], Any],
    ) -> None:
        config = qn.SessionConfig(threads=1, operation_timeout_in_ms=60_000)
        self.server = qn.Server(cluster, "worker", index, config)
        self.graph = qn.Graph()
        own = f"/job:worker/task:{index}"
        setter = qn.replica_device_setter(cluster=cluster, worker_device=own)
        with self.graph.as_default(), qn.device(setter):
            self.x, self.y = qn.placeholder(qn.float32, []), qn.placeholder(qn.float32, [])
            self.w = qn.Variable(0.0, name="w")
            self.global_step = qn.train.create_global_step()
            loss = qn.square(self.w * self.x - self.y)
            self.optimizer = wrap(qn.train.GradientDescentOptimizer(RATE), index)
            self.train = self.optimizer.minimize(loss, self.global_step)
            self.init = qn.global_variables_initializer()
        self.session = qn.Session(self.server.target, self.graph, config)

    def step(self, x: float, y: float) -> None:
        self.session.run(self.train, {self.x: x, self.y: y})

    def close(self) -> None:
        self.session.close()
        self.server.stop()


Make = Callable[..., list[Worker]]


@pytest.fixture
def make() -> Iterator[Make]:
    ends: list[Callable[[], None]] = []

    def workers(count: int, wrap: Callable[[Any, int], Any] = lambda opt, index: opt) -> Any:
        addresses = free_addresses(2 + count)
        cluster = qn.ClusterSpec({"ps": addresses[:2], "worker": addresses[2:]})
        servers = [qn.Server(cluster, "ps", i, qn.SessionConfig(threads=1)) for i in range(2)]
        ends.extend(server.stop for server in servers)
        made: list[Worker] = [None] * count  # type: ignore[list-item]

        def start(index: int) -> None:
            made[index] = Worker(cluster, index, wrap)

        together([lambda index=i: start(index) for i in range(count)])
        ends.extend(worker.close for worker in made)
        made[0].session.run(made[0].init)
        return made

    yield workers
    for end in reversed(ends):
        end()


def together(calls: list[Callable[[], None]]) -> None:
    """Calls all at once, and waits for them."""
    failures: list[BaseException] = []

    def run(call: Callable[[], None]) -> None:
        try:
            call()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=[call]) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    assert not failures, failures


def gradient(w: float, x: float, y: float) -> float:
    return 2 * x * (w * x - y)


def test_asynchronous_workers_share_their_variables(make: Make) -> None:
    one, two = make(2)
    w = 0.0
    for worker, x in ((one, 1.0), (two, 2.0), (one, 0.5)):
        worker.step(x, 1.0)
        w -= RATE * gradient(w, x, 1.0)
    for worker in (one, two):
        assert worker.session.run(worker.w) == pytest.approx(w, rel=1e-6)
        assert worker.session.run(worker.global_step) == 3


def synchronous(required: int, total: int) -> Callable[[Any, int], Any]:
    return lambda opt, index: qn.train.SyncReplicasOptimizer(opt, required, total, index)


def start(workers: list[Worker]) -> None:
    for worker in workers:
        worker.session.run(worker.optimizer.local_step_init_op)
    workers[0].optimizer.start_chief(workers[0].session)


def test_synchronous_workers_apply_the_mean(make: Make) -> None:
    workers = make(2, synchronous(2, 2))
    start(workers)
    w = 0.0
    for i in range(5):
        xs = [1.0 + i / 10, 0.5]
        pairs = zip(workers, xs, strict=True)
        together([lambda worker=a, x=b: worker.step(x, 1.0) for a, b in pairs])
        w -= RATE * float(np.mean([gradient(w, x, 1.0) for x in xs]))
    assert workers[1].session.run(workers[1].w) == pytest.approx(w, rel=1e-5)
    assert workers[1].session.run(workers[1].global_step) == 5


def test_a_backup_worker_is_not_waited_for_and_its_late_gradient_is_dropped(make: Make) -> None:
    workers = make(3, synchronous(2, 3))
    start(workers)
    first, second, late = workers
    w = 0.0
    for x in (1.0, 0.5):
        together([lambda x=x, one=one: one.step(x, 1.0) for one in (first, second)])
        w -= RATE * gradient(w, x, 1.0)
    late.step(1000.0, 1.0)  # for the first step, which is over: would throw w far away
    assert late.session.run(late.w) == pytest.approx(w, rel=1e-5)
    together([lambda: first.step(1.0, 1.0), lambda: late.step(1.0, 1.0)])  # of the newest step
    w -= RATE * gradient(w, 1.0, 1.0)
    assert first.session.run(first.w) == pytest.approx(w, rel=1e-5)
    assert first.session.run(first.global_step) == 3


def test_replicas_that_do_not_add_up_are_refused() -> None:
    opt = qn.train.GradientDescentOptimizer(RATE)
    with pytest.raises(ValueError, match="replicas_to_aggregate: expected 1 to"):
        qn.train.SyncReplicasOptimizer(opt, 3, 2)
    with pytest.raises(ValueError, match="replica_index: expected 0 to"):
        qn.train.SyncReplicasOptimizer(opt, 1, 2, 2)
    with pytest.raises(ValueError, match="apply_gradients to be called first"):
        _ = qn.train.SyncReplicasOptimizer(opt, 1).local_step_init_op
    with qn.Graph().as_default():
        loss = qn.square(qn.Variable(1.0))
        with pytest.raises(ValueError, match="expected a global_step, got None"):
            qn.train.SyncReplicasOptimizer(opt, 1).minimize(loss)
