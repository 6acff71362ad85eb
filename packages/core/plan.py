"""A kind of step, ready to run: its feeds checked, its executable compiled."""

from collections.abc import Callable, Sequence
from itertools import chain
from operator import call
from typing import TYPE_CHECKING, Any

from qanat.core.feeds import Feed
from qanat.core.fetches import Fetches, feed_function, graph_element
from qanat.core.graph import Graph
from qanat.core.operation import Output
from qanat.core.passes.prune import prune
from qanat.core.run_errors import raise_status
from qanat.core.target import Target

if TYPE_CHECKING:
    from qanat.core import _native


class Plan:
    """What Session.run does for one (fetches, feeds).

    Attributes:
        changes: the graph's count of changes when it was made; it is stale once that has moved.
        step: the placed StepGraph, for messages and for printing.
    """

    __slots__ = ("_cancellation", "_expansions", "_feeds", "_rebuild", "_run", "changes", "step")

    def __init__(
        self,
        graph: Graph,
        target: Target,
        fetches: Any,
        feed_keys: Sequence[Any],
        cancellation: "_native.Cancellation",
        deadline_s: float,
    ) -> None:
        """
        Args:
            deadline_s: of the first step, which waits for this.

        Raises:
            TypeError, ValueError: a fetch or feed key is none, or not in the graph.
            OpError: a needed placeholder is not fed, or the step cannot be placed or compiled.
        """
        self.changes = graph._changes
        taken = Fetches(graph, fetches)
        self._expansions = _expansions(feed_keys)
        parts = [
            part
            for key, expand in zip(feed_keys, self._expansions, strict=True)
            for part in ([key] if expand is None else [pair[0] for pair in expand(key, None)])
        ]
        outputs = [graph_element(graph, part, "feed_dict key", False) for part in parts]
        _check_distinct(outputs)
        fed = [output for output in outputs if isinstance(output, Output)]
        self._feeds = tuple([Feed(output).convert for output in fed])
        if not any(self._expansions):
            self._expansions = ()
        self.step, compiled = target.compile(prune(fed, taken.outputs, taken.targets), deadline_s)
        self._rebuild = taken.rebuild
        self._run = compiled.run
        self._cancellation = cancellation

    def run(
        self,
        keys: Sequence[Any],
        values: Sequence[Any],
        deadline_s: float,
        trace: "_native.StepTrace | None" = None,
    ) -> Any:
        """Runs a step.

        Args:
            keys: the feed keys, in the order of the constructor's.
            values: one a key.
            trace: gets the times of the step's kernels.
        """
        if self._expansions:
            values = [value for _, value in chain.from_iterable(self._expanded(keys, values))]
        feeds = [*map(call, self._feeds, values)]
        try:
            if trace is None:
                results = self._run(feeds, deadline_s, self._cancellation)
            else:
                results = self._run(feeds, deadline_s, self._cancellation, trace)
        except Exception as error:
            self._fail(error)
        return self._rebuild(results)

    def callable(self, keys: Sequence[Any], deadline_s: float) -> Callable[..., Any]:
        """A function of the feeds' values alone."""
        run, rebuild, converts = self._run, self._rebuild, self._feeds
        cancellation, fail, count = self._cancellation, self._fail, len(keys)

        def run_step(*values: Any) -> Any:
            if len(values) != count:
                raise TypeError(f"expected {count} values, one a feed, got {len(values)}")
            feeds = [*map(call, converts, values)]
            try:
                results = run(feeds, deadline_s, cancellation)
            except Exception as error:
                fail(error)
            return rebuild(results)

        if self._expansions:
            return lambda *values: self.run(keys, values, deadline_s)
        return run_step

    def _expanded(self, keys: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        return [
            [(key, value)] if expand is None else expand(key, value)
            for key, value, expand in zip(keys, values, self._expansions, strict=True)
        ]

    def _fail(self, error: Exception) -> Any:
        from qanat.core import _native

        if not isinstance(error, _native.StatusError):
            raise error
        raise_status(error, self.step)


def _expansions(feed_keys: Sequence[Any]) -> Sequence[Any]:
    return [feed_function(type(key)) for key in feed_keys]


def _check_distinct(outputs: Sequence[Any]) -> None:
    seen = set()
    for output in outputs:
        if output in seen:
            raise ValueError(f"feed_dict: expected one value for '{output.name}', got two")
        seen.add(output)
