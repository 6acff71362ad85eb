"""Models out of graphs without variables, for tests of this package: no pass, each value apart."""

from collections.abc import Mapping

import numpy as np

from qanat.core.device_name import DeviceName
from qanat.core.graph import Output
from qanat.core.passes.prune import prune
from qanat.core.passes.step_graph import Ref
from qanat.core.session_config import SessionConfig
from qanat.core.target import plan_parts
from qanat.mobile_runtime.model import Model, ModelNode, ModelValue
from qanat.mobile_runtime.model_format import ALIGNMENT

_CPU = DeviceName("localhost", 0, 0, "CPU", 0)


def lower(
    inputs: Mapping[str, Output], outputs: Mapping[str, Output], optimise: bool = True
) -> Model:
    """The model of a graph whose shapes are known and that holds no variables.

    Args:
        inputs: placeholders by public name.
        outputs: by public name.
        optimise: as sessions do.
    """
    step = prune(list(inputs.values()), list(outputs.values()), ())
    planned = plan_parts(step, [_CPU], SessionConfig(optimise=optimise))
    (graph,) = planned.parts.values()
    values: list[ModelValue] = []
    nodes: list[ModelNode] = []
    index: dict[Ref, int] = {}
    end = 0
    for node in graph:
        if node.op == "Identity":
            index[Ref(node.name, 0)] = index[node.inputs[0]]
            continue
        constant = np.asarray(node.attrs["value"]) if node.op == "Const" else None
        for port, (dtype, shape) in enumerate(zip(node.dtypes, node.shapes, strict=True)):
            index[Ref(node.name, port)] = len(values)
            dims = tuple(int(dim) for dim in shape.known_dims() if dim is not None)
            offset = end if constant is None else None
            values.append(ModelValue(f"{node.name}:{port}", dtype, dims, constant, offset))
            if constant is None:
                end += -(-max(1, dtype.size * int(np.prod(dims))) // ALIGNMENT) * ALIGNMENT
        if node.op not in ("Const", "_Arg"):
            made = tuple(index[Ref(node.name, port)] for port in range(len(node.dtypes)))
            read = tuple(index[ref] for ref in node.inputs)
            nodes.append(ModelNode(node.name, node.op, read, made, node.attrs))
    return Model(
        tuple(values),
        tuple(nodes),
        {name: index[Ref(arg, 0)] for name, arg in zip(inputs, graph.feeds, strict=True)},
        {name: index[ref] for name, ref in zip(outputs, graph.fetches, strict=True)},
        end,
    )
