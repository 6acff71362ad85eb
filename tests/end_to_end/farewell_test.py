"""Workers that step together end together, whoever of them is gone first."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import qanat as qn
from qanat.models.replica import Farewell, Replica
from tests.addresses import free_addresses

DEADLINE_S = 60


class Worker:
    """A worker that is done, in a thread of its own.

    Attributes:
        error: what its wait for the others ended with, other than well.
    """

    def __init__(self, cluster: qn.ClusterSpec, index: int) -> None:
        self._replica = Replica(cluster, "worker", index, sync=True)
        self._server = self._replica.serve(1)
        self.error: BaseException | None = None

    def connect(self) -> None:
        with qn.Graph().as_default():
            self._farewell = Farewell(self._replica)
            self.session = qn.Session(self._replica.target, config=self._replica.config(1))

    def start(self, session: Any = None) -> None:
        self._thread = threading.Thread(target=self._wait, args=[session or self.session])
        self._thread.start()

    def _wait(self, session: Any) -> None:
        try:
            self._farewell.wait(session)
        except BaseException as error:
            self.error = error

    def end(self) -> None:
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive()

    def stop(self) -> None:
        self.session.close()
        self._server.stop()


class Broken:
    """A worker's session that ends with a fault, when that has come, once the worker is done."""

    def __init__(self, session: qn.Session, until: Callable[[], None]) -> None:
        self._session, self._until = session, until
        self._is_done = False

    @property
    def graph(self) -> qn.Graph:
        return self._session.graph

    def run(self, fetches: Any) -> Any:
        if not self._is_done:
            self._is_done = True
            return self._session.run(fetches)
        self._until()
        raise qn.errors.UnavailableError("a worker is gone")


@pytest.fixture
def workers() -> Iterator[list[Worker]]:
    ps, *others = free_addresses(4)
    cluster = qn.ClusterSpec({"ps": [ps], "worker": others})
    server = qn.Server(cluster, "ps", 0)
    made = [Worker(cluster, index) for index in range(3)]
    for worker in made:
        worker.connect()
    yield made
    for worker in made:
        worker.stop()
    server.stop()


def test_all_leave(workers: list[Worker]) -> None:
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.end()
    assert [worker.error for worker in workers] == [None] * 3


def test_who_has_not_left_yet_is_not_troubled_by_those_who_have(workers: list[Worker]) -> None:
    chief, first, last = workers

    def others_are_gone() -> None:
        for worker in (chief, first):
            worker.end()
            worker.stop()

    chief.start()
    first.start()
    last.start(Broken(last.session, others_are_gone))
    last.end()
    assert [worker.error for worker in workers] == [None] * 3


def test_a_fault_before_all_are_done_is_told(workers: list[Worker]) -> None:
    _, first, _ = workers
    first.start(Broken(first.session, until=lambda: None))
    first.end()
    assert isinstance(first.error, qn.errors.UnavailableError)
