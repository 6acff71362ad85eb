"""Between-graph replication: one process a task, each worker with a graph of its own.

The workers' graphs have the same variables, which are the ps tasks'. The first worker is the chief:
it gives the variables their values, evaluates, and saves.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import qanat as qn

_RETRY_S: Final = 0.1
_NOTICE_S: Final = 10.0


@dataclass(frozen=True)
class Replica:
    """This process's place in a cluster.

    Attributes:
        cluster: all tasks; None for a process alone.
        job: "ps" or "worker".
        index: which task of the job.
        sync: whether workers step together.
        backups: how many workers' gradients a step does not wait for.
    """

    cluster: "qn.ClusterSpec | None" = None
    job: str = "worker"
    index: int = 0
    sync: bool = False
    backups: int = 0

    @property
    def workers(self) -> int:
        return 1 if self.cluster is None else self.cluster.num_tasks("worker")

    @property
    def batches_a_step(self) -> int:
        """How many batches a global step is made of."""
        return self.workers - self.backups if self.sync else 1

    @property
    def is_chief(self) -> bool:
        return self.job == "worker" and self.index == 0

    @property
    def target(self) -> str:
        """What sessions run steps through."""
        if self.cluster is None:
            return ""
        return f"grpc://{self.cluster.task_address(self.job, self.index)}"

    def device(self) -> Any:
        """What to build the graph under."""
        if self.cluster is None:
            return qn.device("")
        return qn.device(
            qn.replica_device_setter(
                cluster=self.cluster, worker_device=f"/job:worker/task:{self.index}"
            )
        )

    def wrapped(self, optimizer: "qn.train.Optimizer") -> "qn.train.Optimizer":
        """The optimizer, for several workers that step together if they are to."""
        if not self.sync:
            return optimizer
        return qn.train.SyncReplicasOptimizer(
            optimizer, self.workers - self.backups, self.workers, self.index
        )

    def config(self, threads: int | None) -> qn.SessionConfig:
        """An asynchronous worker does not depend on the others, and is not told of their end."""
        filters = () if self.cluster is None or self.sync else self.own_filters()
        return qn.SessionConfig(threads=threads, device_filters=filters)

    def own_filters(self) -> tuple[str, str]:
        """The tasks that a session here needs in any case."""
        return "/job:ps", f"/job:{self.job}/task:{self.index}"

    def serve(self, threads: int | None) -> "qn.Server":
        """The server of this task of a cluster."""
        config = qn.SessionConfig(threads=threads)
        return qn.Server(self.cluster, self.job, self.index, config)


def await_variables(session: qn.Session, missing: qn.Tensor) -> None:
    """Returns once the chief has given all variables their values.

    Args:
        missing: the names of the variables that have none.
    """
    notice = time.monotonic() + _NOTICE_S
    while len(names := session.run(missing)):
        if time.monotonic() >= notice:
            notice = time.monotonic() + _NOTICE_S
            print(
                f"waiting for the chief, /job:worker/task:0, to initialize {len(names)} variables"
            )
        time.sleep(_RETRY_S)


def prepare_session(
    replica: Replica,
    session: qn.Session,
    missing: qn.Tensor,
    initialize: Callable[[], None],
) -> None:
    """Sees to it that all variables have values.

    A chief that finds them with values, because only workers were restarted, leaves these alone.

    Args:
        missing: the names of the variables without a value.
        initialize: gives them all their values.
    """
    if not replica.is_chief:
        await_variables(session, missing)
    elif len(session.run(missing)):
        initialize()


class Farewell:
    """Has workers that step together end together: a session takes it for a fault when a task that
    it depends on is gone.

    The chief lets all leave once all are done. From then on workers may be gone, so what is still
    to be said is said in a session that depends on none of them. Is made in the graph, before the
    session.
    """

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._others = replica.workers - 1
        with qn.device("/job:ps/task:0"):
            done = qn.FIFOQueue(-1, qn.int32, [[]], shared_name="replicas_done", name="done")
            leave = qn.FIFOQueue(-1, qn.int32, [[]], shared_name="replicas_leave", name="leave")
            self._say_done = done.enqueue(replica.index)
            self._all_done = done.dequeue_many(self._others)
            self._let_leave = leave.enqueue_many(qn.zeros([self._others], qn.int32))
            self._leave = leave.dequeue()
            self._left_to_leave = leave.size()

    def wait(self, session: qn.Session) -> None:
        """Returns once all workers have called it.

        Args:
            session: depends on all workers.

        Raises:
            OpError: one is gone and has not.
        """
        if not (self._replica.sync and self._others):
            return
        config = qn.SessionConfig(device_filters=self._replica.own_filters())
        with qn.Session(self._replica.target, session.graph, config) as own:
            if self._replica.is_chief:
                session.run(self._all_done)
                own.run(self._let_leave)
            else:
                session.run(self._say_done)
                self._await_leave(session, own)

    def _await_leave(self, session: qn.Session, own: qn.Session) -> None:
        while True:
            fault = _fault(session, self._left_to_leave)
            if own.run(self._left_to_leave) > 0:
                own.run(self._leave)
                return
            if fault is not None:  # and nobody might leave yet
                raise fault
            time.sleep(_RETRY_S)


def _fault(session: qn.Session, probe: qn.Tensor) -> "qn.errors.OpError | None":
    """What has befallen a session, if anything has."""
    try:
        session.run(probe)
    except qn.errors.OpError as error:
        return error
    return None
