"""The trace of a step has its nodes, where and when they ran."""

import json
import time
from typing import Any

import numpy as np
import pytest

from qanat.core import dtypes
from qanat.core.base_ops import placeholder
from qanat.core.errors import InvalidArgumentError
from qanat.core.graph import Graph
from qanat.core.session import Session
from qanat.core.session_config import RunOptions, SessionConfig
from qanat.core.step_trace import RunMetadata
from qanat.ops.indexing import gather
from qanat.ops.linalg import matmul
from qanat.summary import chrome_trace

TRACED = RunOptions(trace_level=RunOptions.FULL_TRACE)


def events_of(metadata: Any, phase: str = "X") -> list[dict[str, Any]]:
    return [e for e in json.loads(chrome_trace(metadata))["traceEvents"] if e["ph"] == phase]


def test_nodes_times_and_lanes() -> None:
    metadata = RunMetadata()
    config = SessionConfig(threads=3, optimise=False)
    with Graph().as_default(), Session(config=config) as session:
        x = placeholder(dtypes.float32, [300, 300], name="x")
        y = matmul(matmul(x, x, name="a"), matmul(x, x, name="b"), name="c")
        before = time.time_ns()
        session.run(y, {x: np.ones((300, 300), np.float32)}, TRACED, metadata)
        elapsed = time.time_ns() - before
    events = {e["args"]["node"]: e for e in events_of(metadata)}
    assert set(events) == {"a", "b", "c"} and {e["name"] for e in events.values()} == {"MatMul"}
    assert events["c"]["args"]["inputs"] == "a, b"
    for name in "ab":
        assert events[name]["ts"] >= 0 and events[name]["dur"] > 0
        assert events[name]["ts"] + events[name]["dur"] <= events["c"]["ts"]
    assert (events["c"]["ts"] + events["c"]["dur"]) * 1000 <= elapsed
    (device,) = metadata.step_stats.dev_stats
    assert device.device.endswith("CPU:0")
    assert abs(device.node_stats[0].all_start_nanos - before) < 60e9
    lanes = {e["tid"] for e in events.values()}
    named = {e["tid"] for e in events_of(metadata, "M") if e["name"] == "thread_name"}
    assert lanes == named


def test_only_where_it_is_asked_for() -> None:
    metadata = RunMetadata()
    with Graph().as_default(), Session() as session:
        x = placeholder(dtypes.float32, [2, 2])
        y = matmul(x, x)
        fed = {x: np.ones((2, 2), np.float32)}
        session.run(y, fed, RunOptions(), metadata)
        assert not metadata.step_stats.dev_stats
        session.run(y, fed, TRACED)
        session.run(y, fed, TRACED, metadata)
        session.run(y, fed, TRACED, metadata)
        assert len(events_of(metadata)) == 1


def test_a_step_that_fails_is_traced_up_to_there() -> None:
    metadata = RunMetadata()
    with Graph().as_default(), Session(config=SessionConfig(threads=1)) as session:
        i = placeholder(dtypes.int32, [1])
        bad = gather(np.ones(3, np.float32), i, name="bad")
        after = matmul([bad], [bad], transpose_b=True, name="after")
        with pytest.raises(InvalidArgumentError):
            session.run(after, {i: np.array([7], np.int32)}, TRACED, metadata)
    names = [e["args"]["node"] for e in events_of(metadata)]
    assert "bad" in names and "after" not in names


def test_what_is_no_trace() -> None:
    with pytest.raises(TypeError, match=r"\[chrome_trace\] expected a RunMetadata, got None"):
        chrome_trace(None)  # type: ignore[arg-type]


def test_no_step() -> None:
    assert json.loads(chrome_trace(RunMetadata()))["traceEvents"] == []


@pytest.mark.parametrize("level", [-1, 4])
def test_misuse(level: int) -> None:
    with pytest.raises(ValueError, match="trace_level: expected 0"):
        RunOptions(trace_level=level)
