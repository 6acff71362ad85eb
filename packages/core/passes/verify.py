"""What holds of a StepGraph between any two passes."""

from qanat.core.dtypes import DType
from qanat.core.errors import InternalError, located
from qanat.core.passes.step_graph import Node, Ref, StepGraph


def verify(graph: StepGraph, after: str) -> StepGraph:
    """The same graph, checked.

    Checks that nodes stand after all they use, that every input exists and has the dtype that the
    op asks for, and that names, feeds, fetches and targets agree.

    Args:
        after: the pass to blame.

    Raises:
        InternalError: something does not hold; the message names pass and node.
    """
    seen: dict[str, Node] = {}
    for name, node in graph.nodes.items():
        if name != node.name:
            raise _broken(after, node, f"expected the name it is filed under, {name!r}")
        for ref in node.inputs:
            _check_ref(seen, ref, node, after)
        for other in node.control_inputs:
            if other not in seen:
                raise _broken(after, node, f"expected the control input {other!r} to stand before")
        _check_types(seen, node, after)
        seen[name] = node
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
    return graph


def _check_ref(seen: dict[str, Node], ref: Ref, node: Node, after: str) -> None:
    if ref.node not in seen:
        raise _broken(after, node, f"expected the input {ref} to stand before")
    if ref.port >= len(seen[ref.node].dtypes):
        raise _broken(after, node, f"expected the input {ref} to exist")


def _check_types(seen: dict[str, Node], node: Node, after: str) -> None:
    wanted = [dtype for arg in node.op_def.inputs for dtype in arg.dtypes(node.attrs)]
    given = [seen[ref.node].dtypes[ref.port] for ref in node.inputs]
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
