"""Runs a segment of a step: node after node, launching; the host waits once, for the outputs."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from qanat.core import dtypes
from qanat.core.device_library import Array, NodeFailure, Segment
from qanat.core.dtypes import DType
from qanat.core.errors import InternalError, OpError
from qanat.core.passes.step_graph import Node, Ref, node_error
from qanat.core.shapes import TensorShape
from qanat.kernels_cuda.device import DeviceArray, Dims, Gpu, sizes_of
from qanat.kernels_cuda.kernel import CudaKernel, Run, kernel_of
from qanat.kernels_cuda.run_shapes import output_shapes
from qanat.kernels_cuda.variables import Variables

Slot = int


class _Step(NamedTuple):
    """A node as it is run.

    Attributes:
        attrs: what its kernel is called with.
        inputs: the slots of their values.
        input_dtypes: of the inputs.
        places: where the kernel wants each.
        shapes: of the outputs, where they are the same in every step.
        first: the slot of its first output.
        last_uses: the slots that nobody reads afterwards.
    """

    position: int
    node: Node
    kernel: CudaKernel
    attrs: Mapping[str, Any]
    inputs: tuple[Slot, ...]
    input_dtypes: tuple[DType, ...]
    places: tuple[str, ...]
    shapes: Sequence[Dims] | None
    first: Slot
    last_uses: tuple[Slot, ...]


class CompiledSegment:
    """A segment, ready to run: called with the arrays of its inputs, it gives those of its
    outputs."""

    def __init__(
        self, gpu: Gpu, variables: Variables, segment: Segment, producers: Sequence[Node]
    ) -> None:
        """
        Args:
            producers: the nodes that make the inputs.

        Raises:
            OpError: a node that depends on nothing cannot be run.
        """
        self._gpu = gpu
        self._inputs = [
            (node.name, node.shapes[ref.port])
            for node, ref in zip(producers, segment.inputs, strict=True)
        ]
        slots: dict[Ref, Slot] = {ref: i for i, ref in enumerate(segment.inputs)}
        kinds = [
            (node.dtypes[ref.port], node.shapes[ref.port])
            for node, ref in zip(producers, segment.inputs, strict=True)
        ]
        for node in segment.nodes:
            for port, kind in enumerate(zip(node.dtypes, node.shapes, strict=True)):
                slots[Ref(node.name, port)] = len(kinds)
                kinds.append(kind)
        self._outputs = [slots[ref] for ref in segment.outputs]
        steps = _steps(segment.nodes, slots, kinds, self._outputs, variables)
        # Of every step: what nodes give that depend on nothing. Their copies on the device stay.
        self._values: list[Any] = [None] * len(kinds)
        self._constant: Final = {step.first for step in steps if _is_constant(step.node)}
        for step in steps:
            if step.first in self._constant:
                self._prepare(step)
        self._steps = [step for step in steps if step.first not in self._constant]

    def __call__(self, *arrays: Any) -> list[Array]:
        """
        Raises:
            NodeFailure: a node failed.
        """
        with self._gpu.driver.active():
            values = self._values.copy()
            for i, (array, (name, shape)) in enumerate(zip(arrays, self._inputs, strict=True)):
                values[i] = np.asarray(array)
                if not shape.is_compatible_with(values[i].shape):
                    got = list(values[i].shape)
                    raise InternalError(f"expected {shape} of '{name}', got {got}")
            for step in self._steps:
                try:
                    self._run(step, values)
                except Exception as error:
                    raise NodeFailure(step.position) from error
            return self._on_host([values[slot] for slot in self._outputs])

    def _prepare(self, step: _Step) -> None:
        try:
            self._run(step, self._values)
        except OpError as error:
            raise node_error(type(error), step.node, error.message) from None

    def _run(self, step: _Step, values: list[Any]) -> None:
        inputs = [
            self._at(slot, place, values)
            for slot, place in zip(step.inputs, step.places, strict=True)
        ]
        shapes = step.shapes
        if shapes is None:
            shapes = output_shapes(step.node, inputs, step.input_dtypes) or ()
        made = step.kernel.function(Run(self._gpu, step.node, shapes), *inputs, **step.attrs)
        if len(step.node.dtypes) == 1:
            values[step.first] = made
        elif step.node.dtypes:
            values[step.first : step.first + len(step.node.dtypes)] = made
        for slot in step.last_uses:
            values[slot] = None

    def _at(self, slot: Slot, place: str, values: list[Any]) -> Any:
        """The value of a slot, where a kernel wants it."""
        value = values[slot]
        if place == "device" and isinstance(value, np.ndarray):
            value = values[slot] = self._gpu.upload(value)
            if slot in self._constant:
                self._values[slot] = value
        elif place == "host" and isinstance(value, DeviceArray):
            return self._gpu.download([value])[0]
        return value

    def _on_host(self, values: Sequence[Any]) -> list[Array]:
        arrays = [value for value in values if isinstance(value, DeviceArray)]
        copies = iter(self._gpu.download(arrays))
        return [
            next(copies) if isinstance(value, DeviceArray) else np.array(value) for value in values
        ]


def _steps(
    nodes: Sequence[Node],
    slots: Mapping[Ref, Slot],
    kinds: Sequence[tuple[DType, TensorShape]],
    kept: Sequence[Slot],
    variables: Variables,
) -> list[_Step]:
    last_user: dict[Slot, int] = {}
    for position, node in enumerate(nodes):
        last_user.update((slots[ref], position) for ref in node.inputs)
    steps = []
    for position, node in enumerate(nodes):
        kernel = kernel_of(node)
        inputs = tuple([slots[ref] for ref in node.inputs])
        first = slots[Ref(node.name, 0)] if node.dtypes else -1 - position
        done = {slot for slot in inputs if last_user[slot] == position} - {*kept}
        steps.append(
            _Step(
                position,
                node,
                kernel,
                _attrs(kernel, node, variables),
                inputs,
                tuple([kinds[slot][0] for slot in inputs]),
                tuple([kernel.place(i) for i in range(len(inputs))]),
                _static_shapes(node, [kinds[slot][1] for slot in inputs]),
                first,
                tuple(done),
            )
        )
    return steps


def _attrs(kernel: CudaKernel, node: Node, variables: Variables) -> dict[str, Any]:
    """What a kernel asks for by name: attributes, and the session's variables."""
    return {name: variables if name == "variables" else node.attrs[name] for name in kernel.attrs}


def _static_shapes(node: Node, inputs: Sequence[TensorShape]) -> list[Dims] | None:
    """The shapes of the outputs, if all was known where the op checked its inputs."""
    if all(shape.is_fully_defined() for shape in (*inputs, *node.shapes)):
        return [*map(sizes_of, node.shapes)]
    return None


def _is_constant(node: Node) -> bool:
    """Whether it gives the same in every step."""
    return not node.inputs and not (node.op_def.stateful and dtypes.resource not in node.dtypes)
