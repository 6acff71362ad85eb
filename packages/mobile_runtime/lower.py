"""From a frozen step to a Model: what each node reads and writes, by number."""

from collections.abc import Mapping
from typing import Final

from qanat.core import dtypes
from qanat.core.device_name import DeviceName
from qanat.core.errors import ShapeError, UnimplementedError, located
from qanat.core.kernel_table import KernelTable, kernel_table
from qanat.core.passes.optimise import optimise
from qanat.core.passes.step_graph import Node, Ref, node_error
from qanat.core.passes.verify import verify
from qanat.core.python_kernel import function_of
from qanat.mobile_runtime.freeze import Frozen
from qanat.mobile_runtime.model import Model, ModelNode, ModelValue

_SOURCES: Final = frozenset({"Const", "_Arg"})
_NO_TENSORS: Final = frozenset({dtypes.string, dtypes.resource})


def optimised(frozen: Frozen) -> Frozen:
    """The same model after the rewrites of ops (see `qanat.core.passes.optimise`)."""
    cpu = str(DeviceName(device_type="CPU", device_index=0))
    placed = frozen.step.with_nodes([node.replace(device=cpu) for node in frozen.step])
    step = verify(optimise(placed, kernel_table()), "optimise")
    return Frozen(step, frozen.inputs, frozen.outputs)


def lower(frozen: Frozen) -> Model:
    """The model of a step, before its memory is planned.

    Raises:
        ShapeError: a size is not known before the model runs.
        UnimplementedError: a value is of a dtype that phones have not, or a node has no kernel that
            a phone could run.
    """
    step = frozen.step
    values: list[ModelValue] = []
    number: dict[Ref, int] = {}
    table = kernel_table()
    for node in step:
        for port in range(len(node.dtypes)):
            number[Ref(node.name, port)] = len(values)
            values.append(_value(node, port))
    nodes = []
    for node in step:
        if node.op not in _SOURCES:
            _require_kernel(node, table)
            nodes.append(_node(node, number))
    feeds = [number[Ref(name, 0)] for name in step.feeds]
    fetches = [number[ref] for ref in step.fetches]
    return Model(
        tuple(values),
        tuple(nodes),
        dict(zip(frozen.inputs, feeds, strict=True)),
        dict(zip(frozen.outputs, fetches, strict=True)),
    )


def _value(node: Node, port: int) -> ModelValue:
    dtype, shape = node.dtypes[port], node.shapes[port]
    if dtype in _NO_TENSORS:
        raise node_error(
            UnimplementedError, node, f"expected numbers or bools on a phone, got {dtype}"
        )
    if shape.dims is None or None in shape.dims:
        line = None if node.origin is None else node.origin.user_line
        message = f"expected a shape that is known before the model runs, got {shape}"
        raise ShapeError(located(message, node.op, node.name, line))
    dims = tuple([int(size) for size in shape.dims if size is not None])
    data = node.attrs["value"] if node.op == "Const" else None
    return ModelValue(f"{node.name}:{port}", dtype, dims, data)


def _node(node: Node, number: Mapping[Ref, int]) -> ModelNode:
    attrs = {name: value for name, value in node.attrs.items() if not name.startswith("_")}
    outputs = tuple([number[Ref(node.name, port)] for port in range(len(node.dtypes))])
    inputs = tuple([number[ref] for ref in node.inputs])
    return ModelNode(node.name, node.op, inputs, outputs, attrs)


def _require_kernel(node: Node, table: KernelTable) -> None:
    """Raises where no native kernel runs a node."""
    if not table.has("CPU", node.op, node.attrs):
        raise node_error(
            UnimplementedError,
            node,
            f"expected an op that phones have a kernel for, which are {table.describe(node.op)}",
        )
    if function_of(node.op, node.attrs, node.dtypes) is not None:
        raise node_error(
            UnimplementedError, node, "expected a native kernel, got one that is written in Python"
        )
