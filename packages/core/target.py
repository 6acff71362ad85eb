"""Where a session's steps run."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

import qanat
from qanat.core import dtypes
from qanat.core.device_library import absent_devices, device_libraries
from qanat.core.device_name import DeviceName
from qanat.core.face import how_to_install
from qanat.core.kernel_table import kernel_table
from qanat.core.passes.compile import compile_step
from qanat.core.passes.device_segments import with_segments
from qanat.core.passes.flow import has_control_flow
from qanat.core.passes.optimise import optimise
from qanat.core.passes.partition import Partitions, join, partition
from qanat.core.passes.place import place
from qanat.core.passes.step_graph import StepGraph, StepGraphs
from qanat.core.passes.trim_values import trim_values
from qanat.core.passes.verify import verify
from qanat.core.run_errors import raise_status
from qanat.core.session_config import SessionConfig
from qanat.core.signature import Role


class CompiledStep(Protocol):
    """A step that can be run any number of times, by any number of threads at once."""

    def run(
        self,
        feeds: Sequence[Any],
        deadline_s: float = 0.0,
        cancellation: Any = None,
        trace: Any = None,
    ) -> list[Any]:
        """The values of the fetches.

        Args:
            feeds: in the order of the step's feeds, checked and of the declared dtypes.
            deadline_s: how long the step may take; 0 for as long as it likes.
            cancellation: a `_native.Cancellation`, or None.
            trace: a `_native.StepTrace` that gets the times of the step's kernels, or None; not
                given where there is none.

        Raises:
            StatusError: the step failed.
        """


class Target(Protocol):
    """The machines that a session uses."""

    def devices(self) -> list[DeviceName]:
        """All devices, the preferred ones first."""

    def compile(
        self, step: StepGraph, deadline_s: float = 0.0
    ) -> tuple[StepGraph | StepGraphs, CompiledStep]:
        """Places and compiles a pruned step.

        Args:
            deadline_s: how long it may take to run; who waits for other machines here waits about
                as long. 0 for no limit.

        Returns:
            The step, or its parts, whose nodes a StatusError of the second counts; and what runs
            it.

        Raises:
            OpError: it cannot be placed, or a kernel refuses its node.
        """

    def reset(self, containers: Sequence[str]) -> None:
        """Forgets the variables and queues of containers, or of all if none is named, wherever the
        devices are.

        Raises:
            ValueError: nothing of this target outlives its session.
            OpError: a task does not answer.
        """

    def close(self) -> None:
        """Gives back what the steps of this session hold."""


def plan_parts(
    step: StepGraph,
    devices: Sequence[DeviceName],
    config: SessionConfig,
    absent: Mapping[str, str] = MappingProxyType({}),
    homes: Mapping[str, str] = MappingProxyType({}),
) -> Partitions:
    """Places a pruned step, takes it apart by device and optimises the parts.

    Args:
        absent, homes: as of `place`.

    Raises:
        OpError: it cannot be placed.
    """
    table = kernel_table()
    step = verify(step, "prune")
    if has_control_flow(step):
        step = verify(trim_values(step), "trim_values")
    placed = place(step, devices, table, config.allow_soft_placement, absent, homes)
    made = partition(verify(placed, "place"))
    parts = {device: verify(part, "partition") for device, part in made.parts.items()}
    if config.optimise:
        parts = {d: verify(optimise(part, table), "optimise") for d, part in parts.items()}
    return Partitions(parts, made.fetches)


class LocalTarget:
    """This process: its CPUs, as one device unless the session asks for more, and whatever devices
    installed packages bring; these stand first."""

    def __init__(self, config: SessionConfig) -> None:
        from qanat.core import _native

        self._config = config
        self._absent = absent_devices()
        self._opened = {
            str(DeviceName("localhost", 0, 0, library.device_type, index)): device
            for library in device_libraries()
            if library.device_type not in self._absent
            for index, device in enumerate(library.open())
        }
        self._devices = [*map(DeviceName.from_string, self._opened)] + [
            DeviceName("localhost", 0, 0, "CPU", index) for index in range(config.cpu_count)
        ]
        # Where there is more than one kind of device: the device of each resource, by its handle.
        self._homes: dict[str, str] = {}
        self._runtime = _native.Runtime(config.thread_count, _native.Resources())

    def devices(self) -> list[DeviceName]:
        return list(self._devices)

    def compile(
        self, step: StepGraph, deadline_s: float = 0.0
    ) -> tuple[StepGraph | StepGraphs, CompiledStep]:
        from qanat.core import _native

        devices = self._preferred(step)
        planned = plan_parts(step, devices, self._config, self._absent, self._homes)
        compilers = {name: device.compile for name, device in self._opened.items()}
        cut, segments = with_segments(planned, compilers)
        whole = join(cut)
        if segments:
            from qanat.core.device_step import segmented

            verify(whole, "with_segments")
        try:
            executable = compile_step(whole, self._runtime)
        except _native.StatusError as error:
            raise_status(error, whole)
        self._remember(planned)
        return segmented(whole, segments, executable) if segments else (whole, executable)

    def _preferred(self, step: StepGraph) -> list[DeviceName]:
        """All devices, in the order that suits a step. Those that run from Python take no branches
        and loops, so a graph that has any stays on the CPUs, but for what the user asks otherwise.
        """
        if not self._opened:
            return self._devices
        graph = next((node.origin.graph for node in step if node.origin is not None), None)
        if graph is None or all(op.op_def.role is Role.NONE for op in graph.get_operations()):
            return self._devices
        return sorted(self._devices, key=lambda device: str(device) in self._opened)

    def _remember(self, planned: Partitions) -> None:
        if self._opened:
            for device, part in planned.parts.items():
                handles = [n.name for n in part if dtypes.resource in n.dtypes and not n.inputs]
                self._homes.update(dict.fromkeys(handles, device))

    def reset(self, containers: Sequence[str]) -> None:
        raise ValueError("target: expected that of a cluster, got '': sessions here share nothing")

    def close(self) -> None:
        """Variables on devices that run from Python go at once. The runtime goes with the last
        executable that uses it."""
        for device in self._opened.values():
            device.close()

    def memory(self) -> dict[str, int]:
        """Bytes: in_use, peak, reserved; and fresh_pages, how often the system was asked for
        more."""
        return self._runtime.memory()


# Makes the target that a text such as "grpc://host:port" names.
TargetFactory = Callable[[str, SessionConfig], Target]


def make_target(target: str, config: SessionConfig) -> Target:
    """The target a session's `target` argument names.

    Raises:
        ValueError: nothing installed understands it.
    """
    if not target:
        return LocalTarget(config)
    factories = installed_targets()
    scheme = target.partition("://")[0]
    if scheme not in factories:
        known = ", ".join(f"'{name}://...'" for name in sorted(factories)) or (
            f"none other: for 'grpc://...', {how_to_install('distributed_runtime')}"
        )
        raise ValueError(f"expected target '' (this process) or {known}; got {target!r}")
    return factories[scheme](target, config)


def installed_targets() -> Mapping[str, TargetFactory]:
    """By scheme, the targets of all installed parts `qanat.*_runtime`: each names its own as
    SESSION_TARGETS."""
    found: dict[str, TargetFactory] = {}
    for module in pkgutil.iter_modules(qanat.__path__):
        if module.ispkg and module.name.endswith("_runtime"):
            part = importlib.import_module(f"qanat.{module.name}")
            found.update(getattr(part, "SESSION_TARGETS", {}))
    return found
