"""Pointwise ops in one pass over memory: one node that runs a small program, tile by tile.

A program is text, one instruction after the other:

    t0=Mul(s0,h0);t1=Add(t0,v1);t2=Mul(s2,t1);h0=t1;h1-=t2

`v1` is an element of the value input 1, `s0` the only element of input 0, `h0` an element of the
variable behind handle 0, `t1` an earlier result. Instructions that write stand last: `h0=` replaces
a variable's value, `h1-=` and `h1+=` change it, `out=` gives the node's output.
"""

import re
from collections.abc import Sequence
from functools import reduce
from typing import Annotated

from qanat.core.dtypes import DType
from qanat.core.op_def import In, OpDef, Shapes, lookup, op
from qanat.core.passes.optimise import JOINED_DTYPES, Rewriter, rewrite
from qanat.core.passes.step_graph import Node, Ref
from qanat.core.shapes import TensorShape

T = Annotated[list[In], "N * T"]
Handles = Annotated[list[In], "H * resource"]

# What a program may end with: how an update of a variable is written.
_UPDATES = {"AssignVariableOp": "=", "AssignAddVariableOp": "+=", "AssignSubVariableOp": "-="}
_READ = "ReadVariableOp"
# What kernels have room for: variables, values from elsewhere, instructions that compute, and
# results at a time (so many tiles fit the L1 cache).
MOST_HANDLES = 16
MOST_VALUES = 64
MOST_INSTRUCTIONS = 96
MOST_RESULTS = 12
# The sizes of regions that are tried: the least holds no more results than there may be.
_MOST_NODES = (48, 24, MOST_RESULTS)


@op(
    "_FusedElementwise",
    outputs="outputs: M * T",
    T=JOINED_DTYPES,
    stateful=True,
    differentiable=False,
)
def fused_elementwise(
    handles: Handles, values: T, *, program: str, shape: TensorShape, M: int
) -> Shapes:  # noqa: N803 (the attr's name)
    """Runs `program` for each element.

    Args:
        handles: the variables it reads and updates, all of `shape`.
        values: of `shape`, or of one element.
        program: see the module.
        shape: of the output, fully known.
        M: the number of outputs, 0 or 1.
    """
    return [shape] * M


def is_fusible(op_def: OpDef) -> bool:
    """Whether programs may contain the op: pointwise, one type for all inputs and the output, no
    attributes."""
    args = (*op_def.inputs, *op_def.outputs)
    return (
        op_def.pointwise
        and not op_def.parameters
        and len({arg.type_attr for arg in args}) == 1
        and args[0].type_attr is not None
    )


@rewrite("elementwise")
def fuse_elementwise(step: Rewriter, node: Node) -> None:
    """Joins a node with what it alone uses, and with the updates of variables that use the same."""
    for most_nodes in _MOST_NODES:
        region = _Region.around(step, node, most_nodes)
        if region is None:
            return
        region.grow()
        if len(region.nodes) == 1 or not region.is_closed():
            return
        program = _Program(region)
        if program.most_results() <= MOST_RESULTS:
            step.replace(list(region.nodes), *program.node())
            return


class _Region:
    """Nodes of one shape, dtype and device that become one program.

    Attributes:
        nodes: by name.
        updates: by the handle of the variable that each changes; one a variable.
    """

    def __init__(
        self, step: Rewriter, root: Node, shape: TensorShape, dtype: DType, most_nodes: int
    ) -> None:
        self.step = step
        self.root = root
        self.shape = shape
        self.dtype = dtype
        self.nodes: dict[str, Node] = {}
        self.updates: dict[Ref, Node] = {}
        self._most_nodes = most_nodes
        self._read: set[Ref] = set()
        self._outside: set[Ref] = set()  # the values that others make
        self._awaited: set[str] = set()  # before anything here may be read or computed
        self._instructions = 0
        self._add(root)

    @classmethod
    def around(cls, step: Rewriter, root: Node, most_nodes: int) -> "_Region | None":
        if root.op in _UPDATES:
            value = root.inputs[1]
            producer = step.producer(value)
            shape, dtype = producer.shapes[value.port], producer.dtypes[value.port]
        elif is_fusible(root.op_def):
            shape, dtype = root.shapes[0], root.dtypes[0]
        else:
            return None
        if not shape.is_fully_defined() or dtype not in JOINED_DTYPES:
            return None
        region = cls(step, root, shape, dtype, most_nodes)
        fits = all(map(region._is_operand, _values(root))) and region._has_room([])
        return region if fits else None

    @property
    def result(self) -> Ref:
        """What the root gives, if it gives anything."""
        return Ref(self.root.name, 0)

    def grow(self) -> None:
        """Takes in nodes until none fits; one that does not may do so once others are in."""
        waiting = dict.fromkeys(filter(self._may_fit, _values(self.root)))
        found = True
        while found:
            found = False
            for ref in list(waiting):
                new = [] if ref.node in self.nodes else self._take(self.step.producer(ref))
                if new or ref.node in self.nodes:
                    del waiting[ref]
                    uses = (ref for node in new for ref in _values(node))
                    waiting.update(dict.fromkeys(filter(self._may_fit, uses)))
                    found = found or bool(new)

    def is_closed(self) -> bool:
        """Whether a variable that is replaced is also read here: only then it surely has a value of
        this shape already."""
        return all(
            handle in self._read or _UPDATES[update.op] != "="
            for handle, update in self.updates.items()
        )

    def _add(self, node: Node) -> None:
        self.nodes[node.name] = node
        if node.op in _UPDATES:
            self.updates[node.inputs[0]] = node
        elif node.op == _READ:
            self._read.add(node.inputs[0])
        self._outside = self._outside_with([node])
        self._awaited = self._awaited_with([node])
        self._instructions += _instructions(node)

    def _take(self, node: Node) -> list[Node]:
        """Takes in a node that may fit, and updates that use it, if nobody else does; gives what it
        took."""
        if node.op == _READ and not self._may_read(node):
            return []
        updates: dict[Ref, Node] = {}
        for name in self.step.consumers(node):
            if name not in self.nodes:
                user = self.step.nodes[name]
                if not self._is_new_update(user, node) or user.inputs[0] in updates:
                    return []
                updates[user.inputs[0]] = user
                if len(updates) > MOST_HANDLES:
                    return []
        new = [node, *updates.values()]
        if self.step.is_wanted(node) or not self._has_room(new) or not self._keeps_order(new):
            return []
        for taken in new:
            self._add(taken)
        return new

    def _may_read(self, node: Node) -> bool:
        """Whether a variable that is read is updated here, and its value is not just written to
        another: a program reads all before it writes anything, but that is the writing itself."""
        users = [self.step.nodes[name] for name in self.step.consumers(node)]
        return node.inputs[0] in self.updates and not any(_writes(user, node) for user in users)

    def _keeps_order(self, new: Sequence[Node]) -> bool:
        """Whether nothing is read or computed after something else of the region: a program writes
        at its end."""
        inside = self.nodes.keys() | {node.name for node in new}
        return inside.isdisjoint(self._awaited_with(new))

    def _awaited_with(self, new: Sequence[Node]) -> set[str]:
        return self._awaited.union(*(n.control_inputs for n in new if n.op not in _UPDATES))

    def _has_room(self, new: Sequence[Node]) -> bool:
        """Whether a program of the region and these nodes is within the limits."""
        if len(self.nodes) + len(new) > self._most_nodes:
            return False
        if self._instructions + sum(map(_instructions, new)) > MOST_INSTRUCTIONS:
            return False
        handles = {node.inputs[0] for node in new if node.op == _READ or node.op in _UPDATES}
        if len(handles.union(self._read, self.updates)) > MOST_HANDLES:
            return False
        return len(self._outside_with(new)) <= MOST_VALUES

    def _outside_with(self, new: Sequence[Node]) -> set[Ref]:
        """The values that others make, once these nodes are in."""
        made = {node.name for node in new}
        used = {ref for node in new for ref in _values(node) if ref.node not in self.nodes}
        return {ref for ref in self._outside | used if ref.node not in made}

    def _may_fit(self, ref: Ref) -> bool:
        """Whether what makes a value is of the region's kind, whoever else uses it."""
        node = self.step.producer(ref)
        if len(node.dtypes) != 1 or node.dtypes[0] is not self.dtype:
            return False
        if node.shapes[0] != self.shape or node.device != self.root.device:
            return False
        return node.op == _READ or (
            is_fusible(node.op_def) and all(map(self._is_operand, node.inputs))
        )

    def _is_operand(self, ref: Ref) -> bool:
        shape = self.step.producer(ref).shapes[ref.port]
        return shape == self.shape or _is_single(shape)

    def _is_new_update(self, user: Node, value: Node) -> bool:
        """Whether a user of `value` updates a variable that nothing here updates yet."""
        return (
            _writes(user, value)
            and user.device == self.root.device
            and user.inputs[0] not in self.updates
        )


def _writes(user: Node, value: Node) -> bool:
    """Whether a user of a value updates a variable by it."""
    return user.op in _UPDATES and user.inputs[1].node == value.name


def _values(node: Node) -> tuple[Ref, ...]:
    """The inputs that are computed with."""
    if node.op in _UPDATES:
        return node.inputs[1:]
    return () if node.op == _READ else node.inputs


def _instructions(node: Node) -> int:
    """How many instructions at most compute what a node gives or writes."""
    if node.op == _READ:
        return 0
    return max(len(_values(node)) - 1, 1)


def _is_single(shape: TensorShape) -> bool:
    """Whether a tensor of that shape is a scalar: broadcasting it changes no shape."""
    return shape.rank == 0


class _Program:
    """A region written down: each result right before it is first needed, so that few are held."""

    def __init__(self, region: _Region) -> None:
        self._region = region
        self._handles: dict[Ref, int] = {}
        self._values: dict[Ref, int] = {}
        self._text: list[str] = []
        self._names: dict[str, str] = {}
        self._operand(region.root.inputs[-1] if region.root.op in _UPDATES else region.result)
        for update in region.step.order([update.name for update in region.updates.values()]):
            handle = self._number(self._handles, update.inputs[0])
            self._text.append(f"h{handle}{_UPDATES[update.op]}{self._operand(update.inputs[1])}")

    def most_results(self) -> int:
        """How many results are held at a time."""
        uses = [re.findall(r"t\d+", text.partition("=")[2]) for text in self._text]
        last_use = {name: i for i, used in enumerate(uses) for name in used}
        held: set[str] = set()
        most = 0
        for i, text in enumerate(self._text):
            held.difference_update(name for name in uses[i] if last_use[name] == i)
            result = text.partition("=")[0]
            if result.startswith("t"):
                held.add(result)
            most = max(most, len(held))
        return most

    def node(self) -> tuple[Node, dict[Ref, Ref]]:
        """The fused node, and what stands for the values used outside."""
        root = self._region.root
        has_output = root.op not in _UPDATES
        text = [*self._text, f"out={self._names[root.name]}"] if has_output else self._text
        fused = root.replace(
            op_def=lookup("_FusedElementwise"),
            inputs=(*self._handles, *self._values),
            attrs={
                "H": len(self._handles),
                "N": len(self._values),
                "M": int(has_output),
                "T": self._region.dtype,
                "shape": self._region.shape,
                "program": ";".join(text),
            },
        )
        result = self._region.result
        return fused, {result: result} if has_output else {}

    def _compute(self, node: Node) -> str:
        if node.op == _READ:
            return f"h{self._number(self._handles, node.inputs[0])}"
        operands = map(self._operand, node.inputs)
        if node.op != "AddN":
            return self._call(node.op, *operands)
        return reduce(lambda total, operand: self._call("Add", total, operand), operands)

    def _call(self, op_name: str, *operands: str) -> str:
        """Writes an instruction; the name of its result."""
        name = f"t{len(self._text)}"
        self._text.append(f"{name}={op_name}({','.join(operands)})")
        return name

    def _operand(self, ref: Ref) -> str:
        if ref.node in self._region.nodes:
            if ref.node not in self._names:
                self._names[ref.node] = self._compute(self._region.nodes[ref.node])
            return self._names[ref.node]
        single = _is_single(self._region.step.producer(ref).shapes[ref.port])
        kind = "s" if single and self._region.shape.rank != 0 else "v"
        return f"{kind}{self._number(self._values, ref)}"

    @staticmethod
    def _number(among: dict[Ref, int], ref: Ref) -> int:
        return among.setdefault(ref, len(among))
