"""From a Graph to a StepGraph: what the fetches need, cut off where values are fed."""

from collections.abc import Sequence
from typing import Final

from qanat.core.errors import InvalidArgumentError, located
from qanat.core.operation import Operation, Output
from qanat.core.ordering import postorder
from qanat.core.passes.flow import closes_loop
from qanat.core.passes.step_graph import Node, Ref, StepGraph, ref_of
from qanat.core.shapes import UNKNOWN
from qanat.core.signature import Role, lookup, static_value

_PLACEHOLDERS: Final = frozenset({"Placeholder", "PlaceholderWithDefault"})


def prune(
    feeds: Sequence[Output], fetches: Sequence[Output], targets: Sequence[Operation]
) -> StepGraph:
    """The transitive closure of the fetches and targets, control inputs too.

    Args:
        feeds: outputs whose values a step is given; what is needed for nothing else is left out.
        fetches: outputs whose values a step gives; may be feeds themselves.
        targets: operations that a step runs.

    Raises:
        InvalidArgumentError: a placeholder is needed that is not fed.
    """
    args = {output: _arg(i, output) for i, output in enumerate(feeds)}
    targets = [op for op in targets if not _is_given(args, op)]
    roots = [*(output.op for output in fetches if output not in args), *targets]

    def needs(op: Operation) -> list[Operation]:
        """What has to stand before; what closes a loop is needed, too, but stands behind."""
        before, behind = _needs(args, op)
        roots.extend(behind)
        return before

    order = postorder(roots, needs)
    replaced = [args[output].name for output in feeds if _is_known(output)]
    nodes = [*args.values(), *(_node(args, op) for op in order)]
    nodes = _without_stale_shapes(nodes, replaced)
    return StepGraph(
        {node.name: node for node in nodes},
        feeds=tuple([node.name for node in args.values()]),
        fetches=tuple([_ref(args, output) for output in fetches]),
        targets=tuple([op.name for op in targets]),
    )


def _is_known(output: Output) -> bool:
    """Whether shape functions may have seen its value."""
    return static_value(output) is not None


def _without_stale_shapes(nodes: list[Node], replaced: list[str]) -> list[Node]:
    """The nodes, each after all it uses, without shapes that may come of values which feeds
    replace."""
    if not replaced:
        return nodes
    stale = set(replaced)
    kept = []
    for node in nodes:
        if any(ref.node in stale for ref in node.inputs):
            stale.add(node.name)
            node = node.replace(shapes=(UNKNOWN,) * len(node.shapes))
        kept.append(node)
    return kept


def _is_given(args: dict[Output, Node], op: Operation) -> bool:
    """Whether feeds give all that an operation would."""
    return bool(op.outputs) and all(output in args for output in op.outputs)


def _node(args: dict[Output, Node], op: Operation) -> Node:
    """An operation as it runs in this step.

    Raises:
        InvalidArgumentError: it is a placeholder.
    """
    op_def, attrs = op.op_def, op._attrs
    if op_def.name == "Placeholder":
        raise _not_fed(op)
    if op_def.name == "PlaceholderWithDefault":  # that is not fed
        op_def, attrs = lookup("Identity"), {"T": attrs["dtype"]}
    return Node(
        name=op.name,
        op_def=op_def,
        inputs=tuple([_ref(args, output) for output in op.inputs]),
        control_inputs=tuple([other.name for other in _waits(args, op)]),
        attrs=attrs,
        dtypes=tuple([output.dtype for output in op.outputs]),
        shapes=tuple([output._shape for output in op.outputs]),
        device=op.device,
        origin=op,
    )


def _arg(index: int, output: Output) -> Node:
    return Node(
        name=f"_arg_{output.op.name}_{output.index}",
        op_def=lookup("_Arg"),
        inputs=(),
        control_inputs=(),
        attrs={"index": index, "T": output.dtype, "shape": output._shape},
        dtypes=(output.dtype,),
        shapes=(output._shape,),
        device=output.op.device,
        origin=output.op,
    )


def _ref(args: dict[Output, Node], output: Output) -> Ref:
    arg = args.get(output)
    return ref_of(output) if arg is None else Ref(arg.name, 0)


def _needs(fed: dict[Output, Node], op: Operation) -> tuple[list[Operation], list[Operation]]:
    """What an operation uses or waits for, and what it uses by back edges."""
    used = [output.op for output in op.inputs if output not in fed]
    if op.op_def.role is not Role.MERGE:
        return [*used, *_waits(fed, op)], []
    behind = [other for other in used if closes_loop(op.op_def, other.op_def)]
    before = [other for other in used if other not in behind]
    return [*before, *_waits(fed, op)], behind


def _waits(fed: dict[Output, Node], op: Operation) -> list[Operation]:
    """What an operation waits for: not for a placeholder that is fed."""
    return [
        other
        for other in op._control_inputs
        if not (other.type in _PLACEHOLDERS and _is_given(fed, other))
    ]


def _not_fed(op: Operation) -> InvalidArgumentError:
    output = op.outputs[0]
    message = (
        f"expected a value of {output.dtype}{output.shape} in feed_dict for '{output.name}', "
        "which the fetches need, got none"
    )
    return InvalidArgumentError(located(message, op.type, op.name, op.user_line), op=op)
