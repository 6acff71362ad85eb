"""Cases of queues' ops."""

from typing import Any

from qanat.core import dtypes
from qanat.core.errors import (
    CancelledError,
    InvalidArgumentError,
    OutOfRangeError,
)
from qanat.core.graph import control_dependencies
from qanat.core.testing.case import Case, Misuse, numbers
from qanat.ops import queues, state
from qanat.ops.queues import FIFOQueue

VALUES = dtypes.NUMERIC | {dtypes.bool_, dtypes.string}


def _queue(*values: Any) -> FIFOQueue:
    return FIFOQueue(-1, [value.dtype for value in values], [value.shape for value in values])


def _through(x: Any, y: Any) -> Any:
    """(an element that went through the queue, sizes before and after, whether it is open)"""
    queue = _queue(x, y)
    with control_dependencies([queue.enqueue([x, y])]):
        before = queue.size()
    with control_dependencies([before]):
        taken = queue.dequeue()
    with control_dependencies(taken):
        return [*taken, before, queue.size(), queue.is_closed()]


def _batched(batch: Any) -> Any:
    """The elements of a batch: one, two stacked, and the rest once the queue is closed."""
    queue = FIFOQueue(-1, [batch.dtype], [batch.shape[1:]])
    with control_dependencies([queue.enqueue_many(batch)]):
        first = queue.dequeue()
    with control_dependencies([first]):
        two = queue.dequeue_many(2)
    with control_dependencies([two]):
        closed = queue.close()
    with control_dependencies([closed]):
        return first, two, queue.dequeue_up_to(100)


def _taken(x: Any, closed: bool = False, components: int = 1) -> Any:
    """What comes out of a queue with one element, or of one that is closed and empty."""
    queue = _queue(x)
    with control_dependencies([queue.close() if closed else queue.enqueue(x)]):
        return queues.queue_dequeue_v2(queue.queue_ref, component_types=[x.dtype] * components)


def _added(x: Any, closed: bool = False, many: bool = False) -> Any:
    """The size of a queue that something is added to, or of one that is closed."""
    queue = _queue(x)
    add = queues.queue_enqueue_many_v2 if many else queues.queue_enqueue_v2
    with control_dependencies([queue.close()] if closed else []):
        added = add(queue.queue_ref, [x])
    with control_dependencies([added]):
        return queue.size()


def _of(x: Any, handle: Any = None, types: Any = None) -> Any:
    """The size of a queue, unless the handle is another's."""
    queue = queues.fifo_queue_v2(component_types=[x.dtype] if types is None else types)
    return queues.queue_size_v2(queue if handle is None else handle(x))


def _variable(x: Any) -> Any:
    return state.var_handle_op(dtype=x.dtype, shape=x.shape)


CASES = [
    *(
        Case(_through, (numbers(*shape), numbers(2)), dtypes=VALUES, gradient=False,
             oracle=lambda x, y: [x, y, 1, 0, False],
             covers=["FIFOQueueV2", "QueueEnqueueV2", "QueueDequeueV2", "QueueSizeV2",
                     "QueueIsClosedV2"])
        for shape in ((2, 3), (), (0, 3))
    ),
    Case(_batched, (numbers(5, 3),), dtypes=VALUES, gradient=False, exact=False,
         oracle=lambda x: [x[0], x[1:3], x[3:]],
         covers=["QueueEnqueueManyV2", "QueueDequeueManyV2", "QueueDequeueUpToV2",
                 "QueueCloseV2"]),
    Case(_taken, (numbers(2),), oracle=lambda x: [x], gradient=False, exact=False, misuse=[
        Misuse((numbers(2),), "it is closed", OutOfRangeError, attrs={"closed": True}),
        Misuse((numbers(2),), "these component types", InvalidArgumentError,
               attrs={"components": 2}),
    ]),
    Case(_added, (numbers(2),), oracle=lambda x: 1, gradient=False, misuse=[
        Misuse((numbers(2),), "got it closed", CancelledError, attrs={"closed": True}),
        Misuse((numbers(),), "first dimension", attrs={"many": True}),
    ]),
    Case(_of, (numbers(2),), oracle=lambda x: 0, gradient=False, misuse=[
        Misuse((numbers(2),), "a queue's handle", InvalidArgumentError,
               attrs={"handle": _variable}),
        Misuse((numbers(2),), "one type or more", ValueError, attrs={"types": []}),
    ]),
]  # fmt: skip
