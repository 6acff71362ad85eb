"""What makes the devices of a loop go round together.

A loop that spans devices is a frame of the same name in the part of each. A device that receives
values in it has a control loop there, a variable of the frame that never changes:

    0 -> Enter -> Merge -> Switch -> (predicate is true) NextIteration -> Merge

The predicate is one value an iteration, sent by the device that computes it. What a device
receives in the loop waits for the Merge, so that each iteration receives its own. A control loop
of a loop within a loop enters from that one's Merge.

Control loops are alive in every iteration, also in that of a loop which is dead as a whole, since
it is in a branch that is not taken: what is dead is told by the values that come, the predicate
among them. So whatever is sent is received, and devices run ahead of each other as far as values
and parallel_iterations let them. Source: Yu et al., "Dynamic control flow in large-scale machine
learning" (EuroSys 2018), section 4.4.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import numpy as np

from qanat.core import dtypes
from qanat.core.device_name import DeviceName
from qanat.core.errors import InvalidArgumentError
from qanat.core.passes.flow import Flow, Frame, is_value
from qanat.core.passes.step_graph import Node, Ref, StepGraph, node_error
from qanat.core.shapes import SCALAR
from qanat.core.signature import OpDef, Role, lookup

_ZERO: Final = np.zeros((), np.int32)


class Part(Protocol):
    """What a device runs of a step, while it is made."""

    device: str
    nodes: dict[str, Node]


class ControlLoops:
    """The control loops of a step that is taken apart.

    Attributes:
        flow: of the whole step.
    """

    def __init__(self, graph: StepGraph, flow: Flow) -> None:
        self.flow = flow
        self._graph = graph
        self._ops: dict[Role, OpDef] = {node.op_def.role: node.op_def for node in graph}
        self._predicates: dict[Frame, Node] = {}
        # By device and loop the Merge: what runs in each iteration.
        self._merges: dict[tuple[str, Frame], str] = {}

    def waits(self, part: Part, frame: Frame | None) -> tuple[str, ...]:
        """What a value that a part receives in a frame has to wait for.

        Raises:
            InvalidArgumentError: the loop is none that can span devices.
        """
        return (self._merge(part, frame),) if frame else ()

    def starts(self, part: Part, node: Node) -> tuple[str, ...]:
        """What a node has to wait for that uses nothing but what is there in all iterations."""
        frame = self.flow.place(node.name).frame
        if not frame or is_value(node.op_def) or node.control_inputs:
            return ()
        used = [self._graph.nodes[ref.node] for ref in node.inputs]
        if not all(is_value(other.op_def) or _is_constant_enter(other) for other in used):
            return ()
        if self._predicate(frame).device == part.device:
            return ()
        return self.waits(part, frame)

    def close(self, parts: Mapping[str, Part], receive: Callable[[Part, Ref], Ref]) -> None:
        """Completes all control loops.

        Args:
            parts: by device, with all nodes.
            receive: what stands in a part for a value of the step.
        """
        for (device, frame), merge in list(self._merges.items()):
            part = parts[device]
            predicate = receive(part, Ref(self._predicate(frame).name, 0))
            switch = self._add(
                part, frame, Role.SWITCH, (Ref(merge, 0), predicate), (dtypes.int32,) * 2
            )
            self._add(part, frame, Role.NEXT_ITERATION, (Ref(switch, 1),), (dtypes.int32,))

    def _merge(self, part: Part, frame: Frame) -> str:
        key = (part.device, frame)
        if key not in self._merges:
            self._check(frame)
            around = frame[:-1]
            begins = Ref(self._merge(part, around), 0) if around else _zero(part)
            enter = self._add(part, frame, Role.ENTER, (begins,), (dtypes.int32,))
            goes_on = Ref(self._name(part, frame, Role.NEXT_ITERATION), 0)
            self._merges[key] = self._add(
                part, frame, Role.MERGE, (Ref(enter, 0), goes_on), (dtypes.int32, dtypes.int32)
            )
        return self._merges[key]

    def _add(
        self,
        part: Part,
        frame: Frame,
        role: Role,
        inputs: tuple[Ref, ...],
        results: tuple[dtypes.DType, ...],
    ) -> str:
        user = self.flow.loops[frame]  # the first node that enters it
        attrs: dict[str, Any] = {"T": dtypes.int32}
        if role is Role.MERGE:
            attrs["N"] = len(inputs)
        if role is Role.ENTER:
            attrs = {**user.attrs, **attrs}
            if "is_constant" in attrs:
                attrs["is_constant"] = False
        node = Node(
            name=self._name(part, frame, role),
            op_def=self._ops[role],
            inputs=inputs,
            control_inputs=(),
            attrs=attrs,
            dtypes=results,
            shapes=(SCALAR,) * len(results),
            device=part.device,
            origin=user.origin,
        )
        part.nodes[node.name] = node
        return node.name

    def _name(self, part: Part, frame: Frame, role: Role) -> str:
        number = list(self.flow.loops).index(frame)
        return f"_loop_{number}_{role.value}_on_{device_label(part.device)}"

    def _predicate(self, frame: Frame) -> Node:
        if frame not in self._predicates:
            found = [
                node
                for node in self._graph
                if node.op_def.role is Role.LOOP_COND and self.flow.place(node.name).frame == frame
            ]
            if len(found) != 1:
                raise self._refused(frame, f"one LoopCond, got {len(found)}")
            self._predicates[frame] = found[0]
        return self._predicates[frame]

    def _check(self, frame: Frame) -> None:
        """Refuses what would have a device wait for a value of an iteration that has none."""
        self._predicate(frame)
        for node in self._graph:
            role = node.op_def.role
            once = role is Role.NEXT_ITERATION or (
                role is Role.ENTER and not _is_constant_enter(node)
            )
            if not once or self.flow.place_after(node.name).frame != frame:
                continue
            for user in self._graph.consumers[node.name]:
                if user.op_def.role is not Role.MERGE:
                    what = f"only Merges to use '{node.name}' ({node.op}), got '{user.name}'"
                    raise self._refused(frame, what)

    def _refused(self, frame: Frame, what: str) -> Exception:
        message = f"a loop that spans devices: expected {what}"
        return node_error(InvalidArgumentError, self.flow.loops[frame], message)


def device_label(device: str) -> str:
    """A device as part of a node's name."""
    name = DeviceName.from_string(device)
    return f"{name.job}_{name.task}_{name.device_type}_{name.device_index}"


def _is_constant_enter(node: Node) -> bool:
    return node.op_def.role is Role.ENTER and bool(node.attrs.get("is_constant", False))


def _zero(part: Part) -> Ref:
    zero = Node(
        name="_loop_zero",
        op_def=lookup("Const"),
        inputs=(),
        control_inputs=(),
        attrs={"value": _ZERO, "dtype": dtypes.int32},
        dtypes=(dtypes.int32,),
        shapes=(SCALAR,),
        device=part.device,
    )
    part.nodes.setdefault(zero.name, zero)
    return Ref(zero.name, 0)
