"""What users ask a step for: nested structures of Outputs, Operations, names and their like."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from difflib import get_close_matches
from operator import itemgetter
from typing import Any, Final

from qanat.core.graph import Graph
from qanat.core.operation import Operation, Output

# Takes the values of all fetched outputs; gives what takes the structure's place.
Rebuild = Callable[[Sequence[Any]], Any]
# Gives (the parts to fetch, a function from their values to the value of the whole).
FetchFunction = Callable[[Any], tuple[Sequence[Any], Callable[[list[Any]], Any]]]
# Gives pairs of (what is fed, its value) for one feed of the type.
FeedFunction = Callable[[Any, Any], Sequence[tuple[Any, Any]]]

_fetch_functions: Final[dict[type, FetchFunction]] = {}
_feed_functions: Final[dict[type, FeedFunction]] = {}


def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: FetchFunction | None = None,
    feed_function: FeedFunction | None = None,
) -> None:
    """Makes composite values, such as sparse tensors, usable as fetches and feeds.

    Args:
        tensor_type: the class; subclasses are meant too.
        fetch_function: from a value to (parts, function from the parts' values to the result).
        feed_function: from (a value, what is fed for it) to pairs of (part, value).
    """
    if fetch_function is not None:
        _fetch_functions[tensor_type] = fetch_function
    if feed_function is not None:
        _feed_functions[tensor_type] = feed_function


def feed_function(kind: type) -> FeedFunction | None:
    """The function registered for feeding values of a type, or None."""
    return next((_feed_functions[base] for base in kind.__mro__ if base in _feed_functions), None)


def fetch_key(fetches: Any) -> Hashable:
    """Equal for fetches that make the same step and the same structure.

    Raises:
        ValueError: the structure contains itself.
    """
    try:
        return _fetch_key(fetches)
    except RecursionError:
        raise ValueError("fetches: expected a structure that ends, got too deep a one") from None


def _fetch_key(fetches: Any) -> Hashable:
    kind = type(fetches)
    if kind is Output:
        return fetches
    if isinstance(fetches, (list, tuple)):
        return kind, tuple([_fetch_key(part) for part in fetches])
    if isinstance(fetches, dict):
        return kind, tuple(fetches), tuple([_fetch_key(part) for part in fetches.values()])
    return fetches


class Fetches:
    """A structure of fetches, taken apart.

    Attributes:
        outputs: whose values are needed, each once.
        targets: operations that run for their effects, each once; their place in the structure is
            None.
    """

    def __init__(self, graph: Graph, structure: Any) -> None:
        """
        Raises:
            TypeError: something in the structure can be neither fetched nor run.
            ValueError: a name is not in the graph, or an element is of another graph.
        """
        self._graph = graph
        self._numbers: dict[Output, int] = {}
        self._targets: dict[Operation, None] = {}
        self.rebuild: Rebuild = self._take_apart(structure)
        self.outputs = list(self._numbers)
        self.targets = list(self._targets)
        if type(structure) is list and structure == self.outputs:
            self.rebuild = list  # distinct outputs: their values are the result

    def _take_apart(self, part: Any) -> Rebuild:
        if isinstance(part, dict):
            inner = {key: self._take_apart(value) for key, value in part.items()}
            if type(part) is dict:
                return lambda values: {key: build(values) for key, build in inner.items()}
            return lambda values: _like(part, {key: inner[key](values) for key in inner})
        if isinstance(part, (list, tuple)):
            parts = [self._take_apart(value) for value in part]
            make: Any = type(part)._make if hasattr(part, "_make") else type(part)
            return lambda values: make([build(values) for build in parts])
        for base in type(part).__mro__:
            if base in _fetch_functions:
                elements, contract = _fetch_functions[base](part)
                builds = [self._take_apart(element) for element in elements]
                return lambda values: contract([build(values) for build in builds])
        return self._leaf(part)

    def _leaf(self, part: Any) -> Rebuild:
        element = graph_element(self._graph, part, "fetch")
        if isinstance(element, Operation):
            self._targets[element] = None
            return _nothing
        if element.dtype.kind == "R":
            raise TypeError(f"fetch {part!r}: expected an output with a value, got a handle")
        return itemgetter(self._numbers.setdefault(element, len(self._numbers)))


def _like(part: Any, values: Mapping[Any, Any]) -> Any:
    """A mapping of the kind of `part` (such as a defaultdict) with other values."""
    result = copy(part)
    result.update(values)
    return result


def _nothing(values: Sequence[Any]) -> None:
    """What stands for an Operation."""


def graph_element(
    graph: Graph, value: Any, role: str, allow_operation: bool = True
) -> Operation | Output:
    """The element of the graph that a fetch or feed key is or names.

    Raises:
        TypeError: it is no such thing.
        ValueError: it names nothing in the graph, or is of another graph.
    """
    try:
        return graph.as_graph_element(value, allow_operation=allow_operation)
    except KeyError as error:
        raise ValueError(f"{role} {value!r}: {error.args[0]}") from None
    except (TypeError, ValueError) as error:
        raise type(error)(f"{role} {value!r}: {error}{_hint(graph, value)}") from None


def _hint(graph: Graph, value: Any) -> str:
    """The outputs whose names are near one that has not the form of an output's."""
    if not isinstance(value, str):
        return ""
    names = [op.name for op in graph.get_operations() if op.outputs]
    near = [repr(f"{name}:0") for name in get_close_matches(value, names, n=3)]
    return f"; did you mean {' or '.join(near)}?" if near else ""
