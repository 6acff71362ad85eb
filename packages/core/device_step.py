"""Steps with segments, which devices run from Python, and how their failures name the node.

Imported where a step has segments: the import registers the kernel that runs them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qanat.core.device_library import Array, NodeFailure, Segment
from qanat.core.passes.step_graph import StepGraph, StepGraphs
from qanat.core.python_kernel import python_kernel, status_of

if TYPE_CHECKING:
    from qanat.core import _native
    from qanat.core.target import CompiledStep


@python_kernel("_DeviceSegment", expensive=True)
def _(*inputs: Array, _function: Callable[..., Sequence[Array]]) -> Sequence[Array]:
    try:
        return _function(*inputs)
    except NodeFailure as failure:
        assert failure.__cause__ is not None
        status = status_of(failure.__cause__)
        # `_SegmentedStep` reads the position again: a status of a kernel has no field for it.
        status.message = f"{failure.position}:{status.message}"
        raise status from failure.__cause__


def segmented(
    whole: StepGraph, segments: Mapping[str, Segment], executable: "_native.Executable"
) -> "tuple[StepGraphs, CompiledStep]":
    """A step with segments: its nodes and then those of each segment, and what runs it."""
    insides = [StepGraph({node.name: node for node in part.nodes}) for part in segments.values()]
    return StepGraphs((whole, *insides)), _SegmentedStep(whole, segments, executable)


class _SegmentedStep:
    """An executable whose failures count the nodes of the segments, too."""

    def __init__(
        self, whole: StepGraph, segments: Mapping[str, Segment], executable: "_native.Executable"
    ) -> None:
        self._executable = executable
        # For the number of a segment's node, the number of the first node in the segment.
        self._first: dict[int, int] = {}
        numbers = {name: i for i, name in enumerate(whole.nodes)}
        following = len(whole)
        for name, segment in segments.items():
            self._first[numbers[name]] = following
            following += len(segment.nodes)

    def run(
        self,
        feeds: Sequence[Any],
        deadline_s: float = 0.0,
        cancellation: Any = None,
        trace: Any = None,
    ) -> list[Any]:
        """See `CompiledStep.run`."""
        from qanat.core import _native

        given = () if trace is None else (trace,)
        try:
            return self._executable.run(feeds, deadline_s, cancellation, *given)
        except _native.StatusError as error:
            position, colon, message = error.message.partition(":")
            if error.node in self._first and colon and position.isdigit():
                error.node = self._first[error.node] + int(position)
                error.message = message
            raise
