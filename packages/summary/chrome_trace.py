"""Traces of steps as JSON that chrome://tracing and Perfetto show: a lane a thread."""

import json
from typing import Any

from qanat.core.constants import describe
from qanat.core.step_trace import RunMetadata


def chrome_trace(run_metadata: RunMetadata) -> str:
    """A step's trace in the Trace Event Format of Chrome.

    Each device is a process and each of its threads a lane; a node is an event with the op's name,
    and with the node's name and inputs as arguments. The step begins at time 0.

    Args:
        run_metadata: what `Session.run` filled.

    Returns:
        JSON.

    Raises:
        TypeError: run_metadata is none.
    """
    if not isinstance(run_metadata, RunMetadata):
        raise TypeError(f"[chrome_trace] expected a RunMetadata, got {describe(run_metadata)}")
    devices = run_metadata.step_stats.dev_stats
    started = min((s.all_start_nanos for d in devices for s in d.node_stats), default=0)
    events: list[dict[str, Any]] = []
    for pid, device in enumerate(devices):
        events.append(_name("process_name", device.device, pid))
        for tid, name in sorted(device.thread_names.items()):
            events.append(_name("thread_name", name, pid, tid))
        events += [_event(stats, pid, started) for stats in device.node_stats]
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"})


def _name(kind: str, name: str, pid: int, tid: int = 0) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def _event(stats: Any, pid: int, started: int) -> dict[str, Any]:
    _, _, call = stats.timeline_label.partition(" = ")
    op, _, inputs = call.rstrip(")").partition("(")
    return {
        "ph": "X",
        "name": op,
        "pid": pid,
        "tid": stats.thread_id,
        "ts": (stats.all_start_nanos - started) / 1000,
        "dur": stats.all_end_rel_nanos / 1000,
        "args": {"node": stats.node_name, "inputs": inputs},
    }
