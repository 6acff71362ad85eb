"""Which graph new operations go to: a stack a thread, over one graph of the process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qanat.core.graph import Graph


class _Stack(threading.local):
    def __init__(self) -> None:
        self.graphs: list[Graph] = []


_stack = _Stack()
_lock = threading.Lock()
_of_process: "Graph | None" = None


def get_default_graph() -> "Graph":
    """The innermost graph of a `with graph.as_default():` of this thread, else the process's."""
    graphs = _stack.graphs
    return graphs[-1] if graphs else _of_process or _make_default()


def _make_default() -> "Graph":
    from qanat.core.graph import Graph

    global _of_process
    with _lock:
        if _of_process is None:
            _of_process = Graph()
        return _of_process


def reset_default_graph() -> None:
    """Gives the process a new, empty default graph.

    Raises:
        ValueError: within a `with graph.as_default():`.
    """
    global _of_process
    if _stack.graphs:
        raise ValueError("reset_default_graph: expected no `with graph.as_default():` around it")
    _of_process = None


@contextmanager
def entered(graph: "Graph") -> Iterator["Graph"]:
    """Makes `graph` the default of this thread within the block."""
    graphs = _stack.graphs
    graphs.append(graph)
    try:
        yield graph
    finally:
        graphs.remove(graph)
