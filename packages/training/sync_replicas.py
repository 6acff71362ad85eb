"""Synchronous training by several workers, with backup workers."""

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from qanat.core.base_ops import group, no_op
from qanat.core.dtypes import int64
from qanat.core.errors import CancelledError, OpError
from qanat.core.graph import (
    GraphKeys,
    Operation,
    Output,
    colocate_with,
    control_dependencies,
    name_scope,
)
from qanat.ops import ConditionalAccumulator, FIFOQueue, maximum
from qanat.ops.variables import Variable
from qanat.training.optimizer import GradsAndVars, Optimizer

if TYPE_CHECKING:
    from qanat.core.session import Session


class SyncReplicasOptimizer(Optimizer):
    """Gathers the gradients of several workers, and applies their mean once a step.

    Each variable has an accumulator beside it. A worker adds its gradients, marked with the global
    step that they are for, and waits at its queue for the step that comes next. The chief takes the
    mean of the first `replicas_to_aggregate` gradients of each variable, has the wrapped optimizer
    apply them, and puts the new global step into every worker's queue. What comes later for a step
    that is over is dropped, so with more workers than gradients to aggregate the slowest of each
    step are not waited for (backup workers: Abadi et al., "TensorFlow: A system for large-scale
    machine learning", OSDI 2016, section 4.4; Chen et al., "Revisiting Distributed Synchronous
    SGD", 2016). A worker that comes late goes on at the newest step.

    Each worker runs the operation that `apply_gradients` returns; one of them, the chief, also
    keeps `start_chief` running.

    Args:
        opt: what applies the means.
        replicas_to_aggregate: how many gradients make a step.
        total_num_replicas: how many workers there are; as many as gradients if not given.
        replica_index: which of them builds this graph.
    """

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        replica_index: int = 0,
        name: str = "sync_replicas",
    ) -> None:
        """
        Raises:
            ValueError: the numbers do not fit each other.
        """
        super().__init__(name)
        total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        if not 1 <= replicas_to_aggregate <= total:
            raise ValueError(
                f"replicas_to_aggregate: expected 1 to total_num_replicas, {total}, got "
                f"{replicas_to_aggregate}"
            )
        if not 0 <= replica_index < total:
            raise ValueError(
                f"replica_index: expected 0 to total_num_replicas - 1, {total - 1}, got "
                f"{replica_index}"
            )
        self._optimizer = opt
        self._required = replicas_to_aggregate
        self._total = total
        self._index = replica_index
        self._chief_op: Operation | None = None
        self._local_init: Operation | None = None

    def compute_gradients(
        self, loss: Any, var_list: Iterable[Variable] | None = None, grad_loss: Any = None
    ) -> list[tuple[Any, Variable]]:
        """The wrapped optimizer's."""
        return self._optimizer.compute_gradients(loss, var_list, grad_loss)

    def apply_gradients(
        self,
        grads_and_vars: GradsAndVars,
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> Operation:
        """A worker's step: adds its gradients and waits until the next step begins.

        Args:
            global_step: counts the steps that the chief applies.

        Raises:
            ValueError: no variable has a gradient, there is no global step, or a gradient has
                another shape than its variable.
            TypeError: a gradient has another dtype than its variable, or an argument is of another
                kind.
        """
        if global_step is None:
            raise ValueError(f"[{self._name}] expected a global_step, got None")
        self._check_global_step(global_step)
        pairs = self._checked(grads_and_vars)
        with global_step.graph.as_default(), name_scope(name or self._name):
            # Beside this worker's operations, wherever other variables go.
            with control_dependencies(None), colocate_with(no_op(name="anchor")):
                local_step = Variable(
                    int64.as_numpy.type(0),
                    trainable=False,
                    name="local_step",
                    collections=[GraphKeys.LOCAL_VARIABLES],
                )
            self._local_init = local_step.assign(global_step.value(), read_value=False)
            queues = self._make_queues(global_step)
            added, means = self._accumulate(pairs, local_step.value(), global_step)
            update = self._optimizer.apply_gradients(means, global_step)
            self._chief_op = self._release(update, global_step, queues)
            with control_dependencies(added):
                return self._await_step(queues[self._index], local_step)

    @property
    def local_step_init_op(self) -> Operation:
        """What a worker runs before its first step, once the global step has a value."""
        return self._made(self._local_init)

    def start_chief(self, session: "Session") -> "Chief":
        """Applies gradients, in a thread of its own, until the session is closed or fails."""
        return Chief(session, self._made(self._chief_op))

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        return self._optimizer.get_slot_names()

    def variables(self) -> list[Variable]:
        return self._optimizer.variables()

    def _made(self, op: Operation | None) -> Operation:
        if op is None:
            raise ValueError(f"[{self._name}] expected apply_gradients to be called first")
        return op

    def _make_queues(self, global_step: Variable) -> list[FIFOQueue]:
        """One a worker: it is given the numbers of the steps that begin."""
        with colocate_with(global_step.op):
            return [
                FIFOQueue(-1, [int64], [[]], shared_name=f"{self._name}/steps_of_{i}", name="steps")
                for i in range(self._total)
            ]

    def _accumulate(
        self, pairs: list[tuple[Output, Variable]], local_step: Output, global_step: Variable
    ) -> tuple[list[Operation], list[tuple[Output, Variable]]]:
        """The operations that add this worker's gradients, and the means that the chief takes."""
        added, means = [], []
        for grad, variable in pairs:
            with colocate_with(variable.op):
                sums = ConditionalAccumulator(
                    grad.dtype, variable.shape, shared_name=f"{self._name}/{variable.op.name}"
                )
                added.append(sums.apply_grad(grad, local_step))
                # After a restart from a checkpoint the accumulators begin where the model does.
                with control_dependencies([sums.set_global_step(global_step.value())]):
                    means.append((sums.take_grad(self._required), variable))
        return added, means

    def _release(
        self, update: Operation, global_step: Variable, queues: list[FIFOQueue]
    ) -> Operation:
        with control_dependencies([update]), colocate_with(global_step.op):
            step = global_step.value()
            return group(*(queue.enqueue(step) for queue in queues), name="release")

    def _await_step(self, queue: FIFOQueue, local_step: Variable) -> Operation:
        """Waits for a step to begin; where several have, only the newest counts."""
        with colocate_with(queue.queue_ref.op):
            steps = queue.dequeue_many(maximum(queue.size(), 1))
            newest = steps[-1]
        return local_step.assign(newest, read_value=False, name="await_step")


class Chief:
    """The thread that applies gradients.

    Attributes:
        error: what has ended it, other than the session's end; None so far. The session is closed
            then, as nobody would be let go on.
    """

    def __init__(self, session: "Session", op: Operation) -> None:
        self._session = session
        self._op = op
        self.error: OpError | None = None
        self._thread = threading.Thread(target=self._run, name="qanat_chief", daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Waits for its end, which comes with the session's."""
        self._thread.join()

    def _run(self) -> None:
        try:
            step = self._session.prepare(self._op)
            while True:
                step()
        except CancelledError:
            return
        except OpError as error:
            self.error = error
            self._session.close()
