"""Tests of taking structures of fetches apart and putting them together again."""

from collections import OrderedDict, defaultdict, namedtuple

import pytest

from qanat.core.base_ops import constant, no_op, placeholder
from qanat.core.fetches import (
    Fetches,
    fetch_key,
    graph_element,
    register_session_run_conversion_functions,
)
from qanat.core.graph import Graph

Point = namedtuple("Point", ["x", "y"])


class Standing:
    """Stands for an output, as variables do."""

    def __init__(self, output: object) -> None:
        self.output = output

    def _as_graph_element(self) -> object:
        return self.output


class Pair:
    def __init__(self, first: object, second: object) -> None:
        self.first, self.second = first, second


def test_structures_come_back() -> None:
    with Graph().as_default() as graph:
        a, b = constant(1, name="a"), constant(2, name="b")
        n = no_op(name="n")

        def run(structure: object) -> object:
            fetches = Fetches(graph, structure)
            return fetches.rebuild([output.name for output in fetches.outputs])

        assert run(a) == "a:0" and run([a, b]) == ["a:0", "b:0"] and run((a,)) == ("a:0",)
        assert run([a, a, b]) == ["a:0", "a:0", "b:0"]
        assert run([]) == [] and run({}) == {} and run(n) is None
        assert run({"x": a, "y": [b, n]}) == {"x": "a:0", "y": ["b:0", None]}
        point = run(Point(a, {"z": b}))
        assert isinstance(point, Point) and point == Point("a:0", {"z": "b:0"})
        assert isinstance(run(OrderedDict(x=a)), OrderedDict)
        counted = defaultdict(list, x=a, y=[b])
        result = run(counted)
        assert result == {"x": "a:0", "y": ["b:0"]} and result["z"] == []
        assert counted == {"x": a, "y": [b]}
        assert run(["a:0", "n"]) == ["a:0", None] and run(Standing(b)) == "b:0"
        assert Fetches(graph, [n, a, n]).targets == [n]


def test_composite_fetches() -> None:
    register_session_run_conversion_functions(
        Pair, lambda pair: ([pair.first, pair.second], lambda values: Pair(*values))
    )
    with Graph().as_default() as graph:
        a = constant(1)
        fetches = Fetches(graph, [Pair(a, a)])
        (result,) = fetches.rebuild([5])
        assert isinstance(result, Pair) and (result.first, result.second) == (5, 5)


def test_keys_tell_structures_apart() -> None:
    with Graph().as_default():
        a, b = constant(1), constant(2)
    structures = [a, [a], (a,), Point(a, b), (a, b), {"x": a}, {"y": a}, [[a]], ["a:0"], [a, b]]
    assert len({fetch_key(structure) for structure in structures}) == len(structures)
    assert fetch_key([a, {"x": b}]) == fetch_key([a, {"x": b}])


@pytest.mark.parametrize(
    ("fetch", "error", "expected"),
    [
        (3, TypeError, "fetch 3: expected an Output"),
        (None, TypeError, "fetch None: expected an Output"),
        ("lossy:0", ValueError, "no operation named 'lossy'; did you mean 'loss'"),
        ("loss:1", ValueError, "which has 1"),
        (["loss:"], ValueError, "fetch 'loss:': expected the name of an output"),
        ("gone", ValueError, "fetch 'gone': the graph has no operation named 'gone'"),
    ],
)
def test_refused(fetch: object, error: type[Exception], expected: str) -> None:
    with Graph().as_default() as graph:
        constant(1.0, name="loss")
        with pytest.raises(error, match=expected):
            Fetches(graph, fetch)


def test_a_structure_that_contains_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="expected a structure that ends"):
        fetch_key(endless)


def test_handles_and_other_graphs_elements_are_refused() -> None:
    with Graph().as_default() as graph:
        with pytest.raises(TypeError, match="expected an output with a value, got a handle"):
            Fetches(graph, placeholder("resource"))
    with pytest.raises(ValueError, match="of another graph"):
        Fetches(graph, constant(1))


def test_a_key_that_names_an_operation_is_told_the_output() -> None:
    with Graph().as_default() as graph:
        placeholder("float32", [], name="images")
        no_op(name="image")
        for given in ("images", "image"):
            with pytest.raises(
                TypeError, match=r"got 'images?' of type str; did you mean 'images:0'\?$"
            ):
                graph_element(graph, given, "feed_dict key", allow_operation=False)
