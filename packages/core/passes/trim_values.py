"""Constants in branches and loops, in the form in which they cost least.

TensorFlow makes a constant within a branch or loop wait for its pivot, so that it is dead where the
branch is not taken. A node that uses the constant beside a value of the same place is dead then,
too, so nothing need wait. A Merge takes values as they come, and a constant does not come: it gets
a node that sends it.
"""

from qanat.core.passes.flow import Flow, Place, forward_inputs, is_value
from qanat.core.passes.step_graph import Node, Ref, StepGraph
from qanat.core.signature import Role, lookup


def trim_values(graph: StepGraph) -> StepGraph:
    """The same step with fewer control edges at constants, and with no constant or fed value at a
    Merge.
    """
    sent = _with_senders(graph)
    flow = Flow(sent)
    nodes = [
        node.replace(control_inputs=())
        if node.control_inputs and is_value(node.op_def) and _needs_no_wait(sent, flow, node)
        else node
        for node in sent
    ]
    return sent.with_nodes(nodes)


def _with_senders(graph: StepGraph) -> StepGraph:
    nodes: list[Node] = []
    for node in graph:
        if node.op_def.role is Role.MERGE:
            refs = []
            for i, ref in enumerate(node.inputs):
                producer = graph.nodes[ref.node]
                if is_value(producer.op_def):
                    nodes.append(_sender(node, i, ref, producer))
                    ref = Ref(nodes[-1].name, 0)
                refs.append(ref)
            node = node.replace(inputs=tuple(refs))
        nodes.append(node)
    return graph.with_nodes(nodes)


def _sender(merge: Node, i: int, ref: Ref, value: Node) -> Node:
    return merge.replace(
        name=f"{merge.name}/_value_{i}",
        op_def=lookup("Identity"),
        inputs=(ref,),
        control_inputs=value.control_inputs,
        attrs={"T": value.dtypes[ref.port]},
        dtypes=(value.dtypes[ref.port],),
        shapes=(value.shapes[ref.port],),
    )


def _needs_no_wait(graph: StepGraph, flow: Flow, value: Node) -> bool:
    if value.name in graph.targets or any(ref.node == value.name for ref in graph.fetches):
        return False
    if not all(_only_passes_on(graph.nodes[name]) for name in value.control_inputs):
        return False
    place = flow.place(value.name)
    return all(
        value.name not in user.control_inputs and _comes_from(graph, flow, user, place)
        for user in graph.consumers[value.name]
    )


def _only_passes_on(node: Node) -> bool:
    """Whether nobody can tell when the node ran."""
    return node.op_def.role is not Role.NONE or node.op == "Identity"


def _comes_from(graph: StepGraph, flow: Flow, user: Node, place: Place) -> bool:
    """Whether a node has another input that is alive there only."""
    others = [
        flow.place_of(ref)
        for ref in forward_inputs(graph.nodes, user)
        if not is_value(graph.nodes[ref.node].op_def)
    ]
    return any(other.frame == place.frame and other.taken >= place.taken for other in others)
