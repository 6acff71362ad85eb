"""What a traced step says of itself: a RunMetadata that names each node's times and thread."""

from collections.abc import Iterable
from typing import Any

from qanat.core.passes.step_graph import Node
from qanat.core.schema.step_stats_pb2 import DeviceStepStats, RunMetadata

__all__ = ["RunMetadata"]


def fill_run_metadata(
    metadata: RunMetadata, step: Iterable[Node], events: Iterable[tuple[int, int, int, int]]
) -> None:
    """Replaces what is in a RunMetadata by the trace of a step.

    Args:
        metadata: what Session.run was given.
        step: what was compiled.
        events: (index of the node, thread, begin, end), in nanoseconds since 1970.
    """
    metadata.Clear()
    nodes = list(step)
    devices: dict[str, DeviceStepStats] = {}
    for index, thread, begin, end in sorted(events, key=lambda event: event[2]):
        node = nodes[index]
        if node.device not in devices:
            devices[node.device] = metadata.step_stats.dev_stats.add(device=node.device)
        stats: Any = devices[node.device]
        stats.thread_names[thread] = f"thread {thread}"
        micros = end // 1000 - begin // 1000
        stats.node_stats.add(
            node_name=node.name,
            timeline_label=f"{node.name} = {node.op}({', '.join(map(str, node.inputs))})",
            thread_id=thread,
            all_start_micros=begin // 1000,
            op_end_rel_micros=micros,
            all_end_rel_micros=micros,
            all_start_nanos=begin,
            op_end_rel_nanos=end - begin,
            all_end_rel_nanos=end - begin,
        )
