"""What new operations take over from where they are made: one Scopes a graph and thread."""

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from qanat.core.constants import describe
from qanat.core.device_name import DeviceName

if TYPE_CHECKING:
    from qanat.core.graph import Graph
    from qanat.core.operation import Operation, Output

# A constraint on devices, or a function that gives one for each new operation.
DeviceRule = DeviceName | Callable[["Operation"], "DeviceName | str | None"]

_NAME_AT_ROOT: Final = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\-/]*\Z")
_NAME_IN_SCOPE: Final = re.compile(r"[A-Za-z0-9_.\-/]*\Z")


def check_name(name: str, scope: str, what: str) -> None:
    """Raises unless a scope may have something of that name.

    Args:
        scope: the scope's own name, "" at the root.
        what: is named so, for the message.

    Raises:
        TypeError: the name is no string.
        ValueError: it has characters that names may not have.
    """
    if not isinstance(name, str):
        raise TypeError(f"expected a string as {what}, got {describe(name)}")
    if not (_NAME_IN_SCOPE if scope else _NAME_AT_ROOT).match(name):
        raise ValueError(
            f"expected {what} of letters, digits and the characters '._-/', got {name!r}"
        )


class ControlScope:
    """One `control_dependencies`: what new operations wait for.

    An operation that has an input made within the scope waits through it already and gets no edge
    of its own.
    """

    __slots__ = ("_members", "waits_for")

    def __init__(self, waits_for: "tuple[Operation, ...]") -> None:
        self.waits_for = waits_for
        self._members: set[Operation] = set()

    def enter(self, op: "Operation") -> bool:
        """Notes a new operation; whether it needs control edges of its own."""
        members = self._members
        dominated = any(output.op in members for output in op.inputs)
        members.add(op)
        return not dominated


class ControlFlow(Protocol):
    """The branch or loop that operations are made in."""

    @property
    def where(self) -> str:
        """What it is, for messages: "loop 'while', made at train.py:12"."""

    def capture(self, inputs: "Sequence[Output]") -> "Sequence[Output]":
        """What stands here for the inputs of a new operation.

        Raises:
            ValueError: one is of a branch or loop that this is not in.
        """

    def adopt(self, op: "Operation") -> None:
        """Makes a new operation run when this branch or loop does, and then only."""


class Scopes:
    """Immutable values that `with` blocks replace for their duration."""

    __slots__ = ("colocate", "container", "control", "devices", "flow", "name")

    def __init__(self) -> None:
        self.name = ""  # the current name scope, with "/" at its end unless it is the root
        self.container = ""
        self.devices: tuple[DeviceRule, ...] = ()  # the outermost first
        self.control: tuple[ControlScope, ...] = ()
        self.colocate: tuple[Operation, ...] = ()
        self.flow: ControlFlow | None = None

    @property
    def is_plain(self) -> bool:
        return not self.control and not self.devices and not self.colocate

    def apply(self, op: "Operation") -> None:
        """Gives a new operation the device, colocation and control inputs of this place."""
        if self.colocate:
            groups = [group for other in self.colocate for group in _groups_of(other)]
            own = [g for g in op._attrs.get("_class", ()) if g not in groups]
            op._attrs["_class"] = list(dict.fromkeys([*groups, *own]))
            op.device = self.colocate[0].device
        else:
            for rule in reversed(self.devices):
                outer = rule(op) if callable(rule) else rule
                if outer is not None:
                    op.device = str(as_device(outer).merge(as_device(op.device)))
        waits_for = [
            other for scope in self.control if scope.enter(op) for other in scope.waits_for
        ]
        if waits_for:
            known = {output.op for output in op.inputs}
            op._control_inputs = tuple(
                dict.fromkeys([*op._control_inputs, *(o for o in waits_for if o not in known)])
            )


def as_device(spec: DeviceName | str) -> DeviceName:
    """A constraint, however it is written.

    Raises:
        ValueError: it is no device name.
    """
    return spec if isinstance(spec, DeviceName) else DeviceName.from_string(spec)


def _groups_of(op: "Operation") -> list[str]:
    return [f"loc:@{name}" for name in op.colocation_groups()] or [f"loc:@{op.name}"]


class Surroundings(NamedTuple):
    """What a place in a program gives to operations that are made on its behalf elsewhere."""

    flow: ControlFlow | None
    control: tuple[ControlScope, ...]
    colocate: "tuple[Operation, ...]"


class LocalScopes(threading.local):
    """The Scopes of the running thread."""

    def __init__(self) -> None:
        self.scopes = Scopes()


@contextmanager
def changed(scopes: Scopes, **values: Any) -> Iterator[None]:
    """Replaces fields of `scopes` within the block."""
    before = {name: getattr(scopes, name) for name in values}
    for name, value in values.items():
        setattr(scopes, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(scopes, name, value)


class Names:
    """The names in use in a graph. Letter case does not tell two names apart."""

    def __init__(self) -> None:
        self._uses: dict[str, int] = {}

    def mark(self, name: str) -> None:
        """Notes that `name` is in use, if it is not known to be."""
        self._uses.setdefault(name.lower(), 1)

    def unique(self, name: str, mark: bool = True) -> str:
        """`name`, or with the first of _1, _2, ... that makes it new."""
        key = name.lower()
        count = self._uses.get(key)
        if count is None:
            if mark:
                self._uses[key] = 1
            return name
        uses = self._uses
        while (candidate := f"{key}_{count}") in uses:
            count += 1
        if mark:
            uses[key] = count + 1
            uses[candidate] = 1
        return f"{name}_{count}"


def require_same_graph(graph: "Graph", values: "list[Operation | Output]") -> None:
    """Raises ValueError unless all are of `graph`."""
    for value in values:
        if value.graph is not graph:
            raise ValueError(f"expected operations of one graph, got {value!r} of another graph")
