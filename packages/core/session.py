"""Sessions run steps of a graph."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from qanat.core.constants import describe
from qanat.core.default_graph import get_default_graph
from qanat.core.device_name import DeviceName
from qanat.core.errors import CANCELLED
from qanat.core.fetches import fetch_key
from qanat.core.graph import Graph
from qanat.core.plan import Plan
from qanat.core.session_config import RunOptions, SessionConfig
from qanat.core.target import Target, make_target

if TYPE_CHECKING:
    from qanat.core.step_trace import RunMetadata

__all__ = [
    "InteractiveSession",
    "RunOptions",
    "Session",
    "SessionConfig",
    "get_default_session",
]


class Session:
    """Runs operations of a graph and evaluates its outputs.

    A session owns the values of variables; any number of threads may use it at once. It is a
    context manager: within the block it is the default session and its graph the default graph, at
    the end it is closed.
    """

    def __init__(
        self,
        target: "str | Target" = "",
        graph: Graph | None = None,
        config: SessionConfig | None = None,
    ) -> None:
        """
        Args:
            target: where steps run: "" for this process, or a Target.
            graph: what to run; None for the default graph.
            config: see SessionConfig.

        Raises:
            ValueError: nothing installed understands the target.
            TypeError: an argument is of another kind.
        """
        from qanat.core import _native

        self._graph = get_default_graph() if graph is None else graph
        if not isinstance(self._graph, Graph):
            raise TypeError(f"graph: expected a Graph, got {describe(graph)}")
        self._config = SessionConfig() if config is None else config
        if not isinstance(self._config, SessionConfig):
            raise TypeError(f"config: expected a SessionConfig, got {describe(config)}")
        if isinstance(target, Graph) or not (isinstance(target, str) or hasattr(target, "compile")):
            raise TypeError(
                "target: expected a string, such as '' for this process (a graph is given by name: "
                f"graph=...), got {describe(target)}"
            )
        self._target = make_target(target, self._config) if isinstance(target, str) else target
        self._cancellation = _native.Cancellation()
        self._plans: OrderedDict[Any, Plan] = OrderedDict()
        self._lock = threading.Lock()
        self._closed = False
        self._deadline_s = self._config.operation_timeout_in_ms / 1000
        self._entered: list[Any] = []

    @property
    def graph(self) -> Graph:
        return self._graph

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: "RunMetadata | None" = None,
    ) -> Any:
        """Runs one step: all that the fetches need, and nothing else.

        Args:
            fetches: an Output, an Operation, the name of one ("MatMul:0", "train"), a variable, or
                a list, tuple, namedtuple or dict of fetches, nested as you like.
            feed_dict: values to use in place of what the graph computes, by Output, by its name, or
                by variable. A NumPy array has to have the dtype of the output; Python values are
                converted where nothing is lost.
            options: of this step.
            run_metadata: gets the step's trace, where the options ask for one.

        Returns:
            The structure of `fetches`, with a NumPy array (a NumPy scalar for rank 0, bytes for a
            scalar string) for each Output and None for each Operation.

        Raises:
            TypeError, ValueError: a fetch or feed is none, is not in the graph, or has another
                dtype or shape than the graph says. Nothing has run then.
            OpError: the step failed; the subclass says how. A placeholder that is needed and not
                fed is an InvalidArgumentError, and nothing has run then.
            RuntimeError: the session is closed.
        """
        keys: tuple[Any, ...] = ()
        values: tuple[Any, ...] = ()
        if feed_dict:
            try:
                keys, values = tuple(feed_dict), tuple(feed_dict.values())
            except AttributeError:
                raise TypeError(
                    f"feed_dict: expected a dict from Outputs to values, got {describe(feed_dict)}"
                ) from None
        if options is None:
            return self._plan(fetches, keys, self._deadline_s).run(keys, values, self._deadline_s)
        deadline_s = self._deadline_of(options)
        plan = self._plan(fetches, keys, deadline_s)
        if run_metadata is None or not options.trace_level:
            return plan.run(keys, values, deadline_s)
        return self._traced(plan, keys, values, deadline_s, run_metadata)

    def prepare(
        self, fetches: Any, feeds: Sequence[Any] = (), options: RunOptions | None = None
    ) -> Callable[..., Any]:
        """A function that runs one kind of step, faster than `run` can.

        Args:
            fetches: as of `run`.
            feeds: the Outputs (or names, or variables) that are fed.
            options: of all these steps.

        Returns:
            A function that takes one value a feed, in order, and returns what `run` would. It runs
            the graph as it was when it was prepared.

        Raises:
            As `run` does.
        """
        keys = tuple(feeds) if isinstance(feeds, (list, tuple)) else (feeds,)
        deadline_s = self._deadline_s if options is None else self._deadline_of(options)
        return self._plan(fetches, keys, deadline_s).callable(keys, deadline_s)

    make_callable = prepare

    def list_devices(self) -> list[DeviceName]:
        """The devices that steps can use, the preferred ones first."""
        return self._target.devices()

    @staticmethod
    def reset(
        target: str,
        containers: Sequence[str] | None = None,
        config: SessionConfig | None = None,
    ) -> None:
        """Has the tasks of a cluster forget variables, queues and other state, for all sessions.

        Sessions and what they run go on; the variables have to be initialized or restored again.

        Args:
            target: of the cluster, such as "grpc://host:port".
            containers: names of `Graph.container`, "" for the default one; None for all.
            config: see SessionConfig.

        Raises:
            TypeError: `containers` is no list of names.
            ValueError: the target is this process, whose sessions share nothing.
            OpError: a task does not answer.
        """
        names = [] if containers is None else list(containers)
        if isinstance(containers, str) or not all(isinstance(name, str) for name in names):
            raise TypeError(f"containers: expected names in a list, got {describe(containers)}")
        if containers is not None and not names:
            return
        made = make_target(target, SessionConfig() if config is None else config)
        try:
            made.reset(names)
        finally:
            made.close()

    def close(self) -> None:
        """Ends the steps that still run, with a CancelledError, and frees what the session holds. A
        second time is a no-op."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._plans.clear()
        self._cancellation.cancel(CANCELLED, "the session was closed")
        self._target.close()

    def as_default(self) -> "Any":
        """A context manager that makes this the default session of the thread, and leaves it
        open."""
        return _entered(self)

    def _deadline_of(self, options: RunOptions) -> float:
        """The time limit of a step: the session's where the options have none."""
        if not isinstance(options, RunOptions):
            raise TypeError(f"options: expected RunOptions, got {describe(options)}")
        return options.timeout_in_ms / 1000 or self._deadline_s

    def _traced(
        self,
        plan: Plan,
        keys: Sequence[Any],
        values: Sequence[Any],
        deadline_s: float,
        run_metadata: "RunMetadata",
    ) -> Any:
        """Runs a step and gives its trace, also where it fails: up to there."""
        from qanat.core import _native
        from qanat.core.step_trace import fill_run_metadata

        trace = _native.StepTrace()
        try:
            return plan.run(keys, values, deadline_s, trace)
        finally:
            fill_run_metadata(run_metadata, plan.step, trace.events())

    def _plan(self, fetches: Any, keys: tuple[Any, ...], deadline_s: float = 0.0) -> Plan:
        try:
            key = (fetch_key(fetches), keys)
            plan = self._plans.get(key)
            if plan is not None and plan.changes == self._graph._changes:
                self._plans.move_to_end(key)
                return plan
        except KeyError:
            pass  # another thread dropped it meanwhile
        except TypeError:
            raise TypeError(
                "fetches: expected Outputs, Operations, names, or lists, tuples and dicts of them, "
                f"got {describe(fetches)}"
            ) from None
        return self._new_plan(key, fetches, keys, deadline_s)

    def _new_plan(self, key: Any, fetches: Any, keys: tuple[Any, ...], deadline_s: float) -> Plan:
        if self._closed:
            raise RuntimeError("expected an open session, got a closed one")
        plan = Plan(self._graph, self._target, fetches, keys, self._cancellation, deadline_s)
        with self._lock:
            self._plans[key] = plan
            while len(self._plans) > self._config.plan_cache_size:
                self._plans.popitem(last=False)
        return plan

    def __enter__(self) -> Self:
        context = self._graph.as_default(), self.as_default()
        for manager in context:
            manager.__enter__()
        self._entered.append(context)
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        for manager in reversed(self._entered.pop()):
            manager.__exit__(kind, value, traceback)
        self.close()


class InteractiveSession(Session):
    """A session that is the default one, with its graph, from its construction until `close`."""

    def __init__(
        self,
        target: "str | Target" = "",
        graph: Graph | None = None,
        config: SessionConfig | None = None,
    ) -> None:
        super().__init__(target, graph, config)
        self._default: list[Any] = [self._graph.as_default(), self.as_default()]
        for context in self._default:
            context.__enter__()

    def close(self) -> None:
        while self._default:
            self._default.pop().__exit__(None, None, None)
        super().close()


class _Stack(threading.local):
    def __init__(self) -> None:
        self.sessions: list[Session] = []


_stack = _Stack()


def get_default_session() -> Session | None:
    """The innermost session that this thread has entered, or None."""
    return _stack.sessions[-1] if _stack.sessions else None


@contextmanager
def _entered(session: Session) -> Iterator[Session]:
    _stack.sessions.append(session)
    try:
        yield session
    finally:
        _stack.sessions.remove(session)
