"""Devices that run from Python: what a package `qanat.kernels_*` brings beside, or in place of,
native kernels.

Such a package names a DeviceLibrary as DEVICES. Placement sees its devices beside the CPUs; what is
placed on one is cut into segments (`passes.device_segments`), and a step calls each as one function
from host values to host values. In between, values stay where the device has them.
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any, Protocol

import numpy as np

import qanat
from qanat.core.passes.step_graph import Node, Ref

Array = np.ndarray[Any, Any]
# (op, the dtype it takes for each of some type attrs, as a number)
KernelKey = tuple[str, Mapping[str, int]]


@dataclass(frozen=True)
class Segment:
    """Nodes of one device that run together, without loops or branches.

    Attributes:
        name: of the segment, unique in its step.
        nodes: each after all of the segment that it uses.
        inputs: what comes from outside the segment.
        outputs: what is used outside it.
        waits: the nodes outside that have to end before it begins.
    """

    name: str
    nodes: tuple[Node, ...]
    inputs: tuple[Ref, ...]
    outputs: tuple[Ref, ...]
    waits: tuple[str, ...]


class NodeFailure(Exception):
    """A node of a segment failed; the exception itself is the cause.

    Attributes:
        position: of the node in the segment.
    """

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class Device(Protocol):
    """One device, for one session: its variables are the session's."""

    def compile(self, segment: Segment, inputs: Sequence[Node]) -> Callable[..., Sequence[Array]]:
        """What runs a segment: called with the arrays of its inputs, it gives those of its outputs.

        Any number of threads may call it at once. It raises a NodeFailure.

        Args:
            inputs: the node that makes each input.

        Raises:
            OpError: a node cannot be run.
        """

    def close(self) -> None:
        """Forgets the session's variables, whoever still holds what `compile` gave."""


class DeviceLibrary(Protocol):
    """The devices of one type that a package knows to run."""

    device_type: str

    def absence(self) -> str | None:
        """Why there is no such device, in one line; None if there is one."""

    def kernels(self) -> Sequence[KernelKey]:
        """The kernels that exist."""

    def open(self) -> Sequence[Device]:
        """The devices of this process, for a new session."""


@lru_cache(maxsize=1)
def kernel_packages() -> Sequence[ModuleType]:
    """All installed packages `qanat.kernels_*`."""
    return [
        importlib.import_module(f"qanat.{module.name}")
        for module in pkgutil.iter_modules(qanat.__path__)
        if module.ispkg and module.name.startswith("kernels_")
    ]


def device_libraries() -> list[DeviceLibrary]:
    """Those of all installed packages, whether or not they have a device."""
    named = (getattr(package, "DEVICES", None) for package in kernel_packages())
    return [library for library in named if library is not None]


def absent_devices() -> dict[str, str]:
    """By device type, why an installed package has no device of it."""
    absences = ((library.device_type, library.absence()) for library in device_libraries())
    return {kind: why for kind, why in absences if why is not None}
