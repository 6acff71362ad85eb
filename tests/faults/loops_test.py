"""A task that dies in the midst of a loop which other tasks have parts of."""

import sys
import threading
import time
from collections.abc import Iterator

import pytest

import qanat as qn
from tests.addresses import free_addresses
from tests.faults.job import AT_ONCE_S, Task

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"

_SERVE = """
import sys
import qanat as qn

job, ps, worker = sys.argv[1:]
server = qn.Server({"ps": [ps], "worker": [worker]}, job, 0)
print("serves", flush=True)
server.join()
"""


@pytest.fixture
def tasks() -> Iterator[dict[str, Task]]:
    """Two processes, by name."""
    ps, worker = free_addresses(2)
    made = {}
    for name, address in ((PS, ps), (WORKER, worker)):
        job = name.split("/")[1].removeprefix("job:")
        command = [sys.executable, "-c", _SERVE, job, ps, worker]
        made[name] = Task(name, address, command)
    yield made
    for task in made.values():
        if task.process.poll() is None:
            task.kill()


@pytest.mark.parametrize("victim", [PS, WORKER])
def test_a_task_is_killed_in_a_loop(tasks: dict[str, Task], victim: str) -> None:
    for task in tasks.values():
        task.wait_for("serves")
    with qn.Graph().as_default():
        with qn.device(PS):
            rounds = qn.Variable(0, name="rounds")

        def body(i: qn.Tensor) -> qn.Tensor:
            with qn.device(PS), qn.control_dependencies([rounds.assign_add(1)]):
                return qn.identity(i)

        with qn.device(WORKER):  # it has the predicate
            endless = qn.while_loop(lambda i: i >= 0, body, [0])
        config = qn.SessionConfig(operation_timeout_in_ms=60_000)
        with qn.Session(f"grpc://{tasks[WORKER].address}", config=config) as session:
            session.run(rounds.initializer)
            counted = session.prepare(rounds.read_value())
            killed: list[float] = []

            def kill() -> None:
                before = counted()
                while counted() < before + 10:  # it goes round
                    time.sleep(0.01)
                killed.append(tasks[victim].kill())

            killer = threading.Thread(target=kill)
            killer.start()
            with pytest.raises(qn.errors.UnavailableError, match=f"{victim} at 127.0.0.1:"):
                session.run(endless)
            told = time.monotonic()
            killer.join()
            assert told - killed[0] < AT_ONCE_S
        survivor = next(task for name, task in tasks.items() if name != victim)
        assert survivor.process.poll() is None
