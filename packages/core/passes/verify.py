"""What holds of a StepGraph between any two passes."""

from collections.abc import Mapping

from qanat.core.dtypes import DType
from qanat.core.errors import InternalError, located
from qanat.core.passes.flow import Flow, check_results, closes_loop, has_control_flow
from qanat.core.passes.step_graph import Node, Ref, StepGraph


def verify(graph: StepGraph, after: str) -> StepGraph:
    """The same graph, checked.

    Checks that nodes stand after all they use (but for what closes a loop), that every input exists
    and has the dtype that the op asks for, that names, feeds, fetches and targets agree, and that
    each node's inputs are of one loop, and fetches and targets of none.

    Args:
        after: the pass to blame.

    Raises:
        InternalError: something does not hold; the message names pass and node.
        InvalidArgumentError: the user's nodes mix loops, or a fetch or target is in one.
    """
    seen: dict[str, Node] = {}
    behind: list[tuple[Node, Ref]] = []
    for name, node in graph.nodes.items():
        if name != node.name:
            raise _broken(after, node, f"expected the name it is filed under, {name!r}")
        for ref in node.inputs:
            producer = graph.nodes.get(ref.node)
            if producer is not None and closes_loop(node.op_def, producer.op_def):
                behind.append((node, ref))
            else:
                _check_ref(seen, ref, node, after)
        for other in node.control_inputs:
            if other not in seen:
                raise _broken(after, node, f"expected the control input {other!r} to stand before")
        _check_types(graph.nodes, node, after)
        seen[name] = node
    for node, ref in behind:
        _check_ref(seen, ref, node, after)
    for ref in graph.fetches:
        if ref.node not in seen or ref.port >= len(seen[ref.node].dtypes):
            raise InternalError(
                f"pass {after}: expected the fetch {ref} to exist", node_name=ref.node
            )
    for name in (*graph.feeds, *graph.targets):
        if name not in seen:
            raise InternalError(
                f"pass {after}: expected the node {name!r} to exist", node_name=name
            )
    if has_control_flow(graph):
        check_results(graph, Flow(graph))
    return graph


def _check_ref(seen: dict[str, Node], ref: Ref, node: Node, after: str) -> None:
    if ref.node not in seen:
        raise _broken(after, node, f"expected the input {ref} to stand before")
    if ref.port >= len(seen[ref.node].dtypes):
        raise _broken(after, node, f"expected the input {ref} to exist")


def _check_types(nodes: Mapping[str, Node], node: Node, after: str) -> None:
    wanted = [dtype for arg in node.op_def.inputs for dtype in arg.dtypes(node.attrs)]
    given = [nodes[ref.node].dtypes[ref.port] for ref in node.inputs]
    if wanted != given:
        raise _broken(after, node, f"expected inputs of {_names(wanted)}, got {_names(given)}")
    results = node.op_def.output_dtypes(node.attrs)
    if results != list(node.dtypes) or len(results) != len(node.shapes):
        raise _broken(
            after, node, f"expected outputs of {_names(results)}, got {_names(list(node.dtypes))}"
        )


def _names(dtypes: list[DType]) -> str:
    return f"({', '.join(dtype.name for dtype in dtypes)})"


def _broken(after: str, node: Node, what: str) -> InternalError:
    line = None if node.origin is None else node.origin.user_line
    return InternalError(
        located(f"pass {after}: {what}", node.op, node.name, line),
        op=node.origin,
        node_name=node.name,
    )
