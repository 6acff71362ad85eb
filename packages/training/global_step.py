"""The variable that counts the steps of training, one a graph."""

from typing import TYPE_CHECKING

from qanat.core.dtypes import int64
from qanat.core.graph import Graph, GraphKeys, get_default_graph, name_scope
from qanat.ops.variables import Variable

if TYPE_CHECKING:
    from qanat.core.session import Session


def get_global_step(graph: Graph | None = None) -> Variable | None:
    """The global step of a graph, by default the default graph; None if none was created."""
    steps = (graph or get_default_graph()).get_collection(GraphKeys.GLOBAL_STEP)
    return steps[0] if steps else None


def create_global_step(graph: Graph | None = None) -> Variable:
    """Creates the global step, an int64 scalar named "global_step" that starts at 0.

    Raises:
        ValueError: the graph has one already.
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError(
            "[create_global_step] expected a graph without a global step, got one with"
        )
    with graph.as_default(), name_scope(None):
        return Variable(
            int64.as_numpy.type(0),
            trainable=False,
            name="global_step",
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


def get_or_create_global_step(graph: Graph | None = None) -> Variable:
    """The global step of a graph, created if there is none."""
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def global_step(sess: "Session", global_step_tensor: Variable) -> int:
    """The value of a global step in a session."""
    return int(sess.run(global_step_tensor))
