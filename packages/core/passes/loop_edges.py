"""Where the nodes on the edge of a loop run, once all others have their devices.

They only pass values on: a NextIteration runs where its Merge is, an Exit where its value is, and
an Enter on each device that uses what it brings in. So no value crosses between devices in an
iteration in which it is not there.
"""

from qanat.core.passes.control_loop import device_label
from qanat.core.passes.flow import closes_loop
from qanat.core.passes.step_graph import Node, Ref, StepGraph
from qanat.core.signature import Role


def follow_values(graph: StepGraph) -> StepGraph:
    """The same step with those nodes moved, and with as many Enters as are needed.

    Args:
        graph: placed.
    """
    devices = {node.name: node.device for node in graph}
    for node in graph:
        for ref in node.inputs:
            if closes_loop(node.op_def, graph.nodes[ref.node].op_def):
                devices[ref.node] = node.device
    for node in graph:
        if node.op_def.role is Role.EXIT:
            devices[node.name] = devices[node.inputs[0].node]
    return _with_enters(graph, devices)


def _with_enters(graph: StepGraph, devices: dict[str, str]) -> StepGraph:
    # By node its devices; an Enter may lead to an Enter, which stands behind it.
    runs_on: dict[str, tuple[str, ...]] = {}
    for node in reversed(list(graph)):
        own = devices[node.name]
        if node.op_def.role is Role.ENTER:
            users = [on for user in graph.consumers[node.name] for on in runs_on[user.name]]
            runs_on[node.name] = tuple(dict.fromkeys(users)) or (own,)
        else:
            runs_on[node.name] = (own,)

    def name_on(name: str, device: str) -> str:
        copies = runs_on[name]
        if device not in copies or device == copies[0]:
            return name
        return f"{name}_on_{device_label(device)}"

    nodes: list[Node] = []
    for node in graph:
        for device in runs_on[node.name]:
            inputs = [Ref(name_on(ref.node, device), ref.port) for ref in node.inputs]
            controls = [name_on(name, device) for name in node.control_inputs]
            nodes.append(
                node.replace(
                    name=name_on(node.name, device),
                    device=device,
                    inputs=tuple(inputs),
                    control_inputs=tuple(controls),
                )
            )
    return graph.with_nodes(nodes)
