"""Where a session's steps run."""

from collections.abc import Sequence
from typing import Any, Protocol

from qanat.core.device_name import DeviceName
from qanat.core.kernel_table import kernel_table
from qanat.core.passes.compile import compile_step
from qanat.core.passes.flow import has_control_flow
from qanat.core.passes.optimise import optimise
from qanat.core.passes.place import place
from qanat.core.passes.step_graph import StepGraph
from qanat.core.passes.trim_values import trim_values
from qanat.core.passes.verify import verify
from qanat.core.run_errors import raise_status
from qanat.core.session_config import SessionConfig


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

    def compile(self, step: StepGraph) -> tuple[StepGraph, CompiledStep]:
        """Places and compiles a pruned step.

        Returns:
            The step whose nodes a StatusError of the second counts, and what runs it.

        Raises:
            OpError: it cannot be placed, or a kernel refuses its node.
        """

    def close(self) -> None:
        """Gives back what the steps of this session hold."""


class LocalTarget:
    """This process: its CPUs as one device."""

    def __init__(self, config: SessionConfig) -> None:
        from qanat.core import _native

        self._config = config
        self._devices = [DeviceName("localhost", 0, 0, "CPU", 0)]
        self._runtime = _native.Runtime(config.thread_count, _native.Resources())

    def devices(self) -> list[DeviceName]:
        return list(self._devices)

    def compile(self, step: StepGraph) -> tuple[StepGraph, CompiledStep]:
        from qanat.core import _native

        step = verify(step, "prune")
        if has_control_flow(step):
            step = verify(trim_values(step), "trim_values")
        placed = verify(
            place(
                step,
                self._devices,
                kernel_table(),
                self._config.allow_soft_placement,
            ),
            "place",
        )
        if self._config.optimise:
            placed = verify(optimise(placed, kernel_table()), "optimise")
        try:
            return placed, compile_step(placed, self._runtime)
        except _native.StatusError as error:
            raise_status(error, placed)

    def close(self) -> None:
        """The runtime goes with the last executable that uses it: nothing is to be done here."""

    def memory(self) -> dict[str, int]:
        """Bytes: in_use, peak, reserved; and fresh_pages, how often the system was asked for
        more."""
        return self._runtime.memory()


def make_target(target: str, config: SessionConfig) -> Target:
    """The target a session's `target` argument names.

    Raises:
        ValueError: nothing installed understands it.
    """
    if target:
        raise ValueError(f"expected target '' (this process), got {target!r}")
    return LocalTarget(config)
