"""Queues that steps meet at: of this session, of others and of other tasks.

What waits at a queue, for elements or for room, holds no thread. A step that waits ends with its
deadline, or when its session is closed.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Annotated, Any

from qanat.core import dtypes
from qanat.core.dtypes import DType, as_dtype
from qanat.core.errors import ShapeError
from qanat.core.graph import Operation, Output, convert_to_tensor, get_default_graph, name_scope
from qanat.core.op_def import Handle, In, Shapes, op
from qanat.core.shapes import SCALAR, UNKNOWN, TensorShape, as_shape
from qanat.ops.shape_functions import require_scalar

__all__ = ["FIFOQueue", "QueueBase"]

QueueHandle = Annotated[In, "resource"]
Components = Annotated[list[In], "Tcomponents"]
Count = Annotated[In, "int32"]
VALUES = dtypes.ALL - {dtypes.resource}


@op("FIFOQueueV2", outputs="handle: resource", stateful=True, differentiable=False)
def fifo_queue_v2(
    *,
    component_types: Sequence[DType],
    shapes: Sequence[TensorShape] = (),
    capacity: int = -1,
    container: str = "",
    shared_name: str = "",
) -> Shapes:
    """A handle to the queue `shared_name` in `container`; the node's name if shared_name is
    empty.
    """
    if not component_types:
        raise ValueError("attr component_types: expected one type or more, got none")
    if shapes and len(shapes) != len(component_types):
        raise ValueError(f"attr shapes: expected {len(component_types)} or none, got {len(shapes)}")
    known = shapes or [UNKNOWN] * len(component_types)
    components = tuple(map(Handle, component_types, known))
    return [Handle(component_types[0], known[0], components)]


def _require_components(handle: In, components: Sequence[In], batch: TensorShape) -> Shapes:
    """The shape function of what adds to a queue."""
    known = handle.handle.components if handle.handle else ()
    for component, element in zip(components, known, strict=False):
        expected = batch.concatenate(element.shape)
        if not component.shape.is_compatible_with(expected):
            raise ShapeError(f"expected a component of shape {expected}, got {component.shape}")
    return []


def _component_shapes(handle: In, types: Sequence[DType], batch: TensorShape) -> Shapes:
    """The shape function of what takes from a queue."""
    known = handle.handle.components if handle.handle else ()
    if len(known) != len(types):
        return [UNKNOWN] * len(types)
    return [batch.concatenate(element.shape) for element in known]


@op("QueueEnqueueV2", outputs="", stateful=True, differentiable=False, Tcomponents=VALUES)
def queue_enqueue_v2(handle: QueueHandle, components: Components) -> Shapes:
    """Adds one element, a tuple, once there is room; a cancelled error if the queue is closed."""
    return _require_components(handle, components, SCALAR)


@op("QueueEnqueueManyV2", outputs="", stateful=True, differentiable=False, Tcomponents=VALUES)
def queue_enqueue_many_v2(handle: QueueHandle, components: Components) -> Shapes:
    """Adds as many elements as the components' first dimension says, one after the other."""
    for component in components:
        if component.shape.rank == 0:
            raise ShapeError("expected components with a first dimension, got a scalar")
    return _require_components(handle, components, TensorShape([None]))


@op("QueueDequeueV2", outputs="components: component_types", stateful=True, differentiable=False)
def queue_dequeue_v2(handle: QueueHandle, *, component_types: Sequence[DType]) -> Shapes:
    """Takes the oldest element; an out-of-range error if there is none and the queue is closed."""
    return _component_shapes(handle, component_types, SCALAR)


@op(
    "QueueDequeueManyV2",
    outputs="components: component_types",
    stateful=True,
    differentiable=False,
)
def queue_dequeue_many_v2(
    handle: QueueHandle, n: Count, *, component_types: Sequence[DType]
) -> Shapes:
    """Takes `n` elements, stacked; an out-of-range error if the queue is closed with fewer."""
    require_scalar(n, "n")
    count = None if n.value is None or n.value.ndim else max(int(n.value), 0)
    return _component_shapes(handle, component_types, TensorShape([count]))


@op(
    "QueueDequeueUpToV2",
    outputs="components: component_types",
    stateful=True,
    differentiable=False,
)
def queue_dequeue_up_to_v2(
    handle: QueueHandle, n: Count, *, component_types: Sequence[DType]
) -> Shapes:
    """Takes `n` elements, stacked, or what there is once the queue is closed."""
    require_scalar(n, "n")
    return _component_shapes(handle, component_types, TensorShape([None]))


@op("QueueCloseV2", outputs="", stateful=True, differentiable=False)
def queue_close_v2(handle: QueueHandle, *, cancel_pending_enqueues: bool = False) -> Shapes:
    """Ends a queue: what is in it can still be taken."""
    return []


@op("QueueIsClosedV2", outputs="is_closed: bool", stateful=True, differentiable=False)
def queue_is_closed_v2(handle: QueueHandle) -> Shapes:
    """Whether the queue was closed, a scalar."""
    return [SCALAR]


@op("QueueSizeV2", outputs="size: int32", stateful=True, differentiable=False)
def queue_size_v2(handle: QueueHandle) -> Shapes:
    """The number of elements now in the queue, a scalar."""
    return [SCALAR]


class QueueBase:
    """What all queues can do.

    Attributes:
        queue_ref: the Output that refers to the queue.
        dtypes: of the components of an element.
        shapes: of these, unknown where the queue was made without.
        names: of the components, or None.
        name: of the queue's operation.
    """

    def __init__(
        self, types: Sequence[Any] | Any, shapes: Any, names: Sequence[str] | str | None
    ) -> None:
        self.dtypes = [as_dtype(each) for each in _listed(types)]
        self.shapes = _shapes(shapes, len(self.dtypes))
        self.names = None if names is None else list(_listed(names))
        if self.names is not None and len(self.names) != len(self.dtypes):
            raise ValueError(f"names: expected {len(self.dtypes)}, got {len(self.names)}")
        self._fixed = shapes is not None
        self.queue_ref: Output

    @property
    def name(self) -> str:
        return self.queue_ref.op.name

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """Adds one element when there is room.

        Args:
            vals: a value, or a list of one a component; a dict by name where components have names.

        Returns:
            The Operation. A step's CancelledError where the queue is closed.

        Raises:
            ShapeError: a value has another shape than the queue's elements.
        """
        with name_scope(name, "enqueue"):
            values = self._components(vals)
            with self._place():
                return queue_enqueue_v2(self.queue_ref, values)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """Adds elements, stacked along the first dimension of each component; as `enqueue`."""
        with name_scope(name, "enqueue_many"):
            values = self._components(vals)
            with self._place():
                return queue_enqueue_many_v2(self.queue_ref, values)

    def dequeue(self, name: str | None = None) -> Any:
        """Takes the oldest element, once there is one.

        Returns:
            Its components: one Output, a list of them, or a dict by name. A step's OutOfRangeError
            where the queue is closed and empty.
        """
        with name_scope(name, "dequeue"), self._place():
            taken = queue_dequeue_v2(self.queue_ref, component_types=self.dtypes)
            return self._given(taken)

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Takes `n` elements, once there are so many, stacked along a new first dimension; as
        `dequeue`. The queue must have been made with shapes.
        """
        return self._dequeue_batch(queue_dequeue_many_v2, n, name, "dequeue_many")

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """As `dequeue_many`, but once the queue is closed fewer will do."""
        return self._dequeue_batch(queue_dequeue_up_to_v2, n, name, "dequeue_up_to")

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Ends the queue: nothing is added any more, what is in it can still be taken.

        Args:
            cancel_pending_enqueues: whether what waits for room is cancelled.
        """
        with self._place():
            return queue_close_v2(
                self.queue_ref,
                cancel_pending_enqueues=cancel_pending_enqueues,
                name=name or f"{self.name.rpartition('/')[2]}_close",
            )

    def is_closed(self, name: str | None = None) -> Output:
        """Whether the queue is closed, a scalar bool."""
        with self._place():
            return queue_is_closed_v2(self.queue_ref, name=name)

    def size(self, name: str | None = None) -> Output:
        """How many elements it holds, an int32 scalar."""
        with self._place():
            return queue_size_v2(self.queue_ref, name=name)

    def _place(self) -> AbstractContextManager[None]:
        """What uses the queue is where it is."""
        return self.queue_ref.graph.device_of(self.queue_ref.op)

    def _dequeue_batch(self, builder: Any, n: Any, name: str | None, default_name: str) -> Any:
        if not self._fixed:
            raise ValueError(f"[{default_name}] expected a queue made with shapes, got one without")
        with name_scope(name, default_name):
            count = convert_to_tensor(n, dtype=dtypes.int32)
            with self._place():
                taken = builder(self.queue_ref, count, component_types=self.dtypes)
            return self._given(taken)

    def _components(self, vals: Any) -> list[Output]:
        if self.names is not None:
            if not isinstance(vals, dict) or set(vals) != set(self.names):
                raise ValueError(f"vals: expected a dict with the keys {self.names}, got {vals!r}")
            vals = [vals[each] for each in self.names]
        elif len(self.dtypes) == 1 and not isinstance(vals, (list, tuple)):
            vals = [vals]
        if len(vals) != len(self.dtypes):
            raise ValueError(f"vals: expected {len(self.dtypes)} components, got {len(vals)}")
        return [
            convert_to_tensor(value, dtype=dtype)
            for value, dtype in zip(vals, self.dtypes, strict=True)
        ]

    def _given(self, outputs: list[Output]) -> Any:
        if self.names is not None:
            return dict(zip(self.names, outputs, strict=True))
        return outputs[0] if len(outputs) == 1 else outputs


class FIFOQueue(QueueBase):
    """A queue of tuples of tensors, first in, first out.

    Args:
        capacity: how many elements it holds before what adds to it waits.
        dtypes: of the components of an element, one or a list.
        shapes: of the components, one or a list; without, they may differ between elements.
        names: of the components: elements are dicts then.
        shared_name: the name under which sessions share it on a task; its node's name by default.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Sequence[str] | str | None = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        super().__init__(dtypes, shapes, names)
        self.queue_ref = fifo_queue_v2(
            component_types=self.dtypes,
            shapes=self.shapes if self._fixed else [],
            capacity=capacity,
            container=get_default_graph().get_container(),
            shared_name=shared_name or "",
            name=name,
        )


def _listed(value: Any) -> Sequence[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _shapes(shapes: Any, count: int) -> list[TensorShape]:
    if shapes is None:
        return [UNKNOWN] * count
    one = isinstance(shapes, TensorShape) or (
        isinstance(shapes, (list, tuple)) and all(isinstance(d, (int, type(None))) for d in shapes)
    )
    if one and count == 1 and shapes != [None]:
        return [as_shape(shapes)]
    found = [as_shape(shape) for shape in _listed(shapes)]
    if len(found) != count:
        raise ValueError(f"shapes: expected {count}, got {len(found)}")
    return found
