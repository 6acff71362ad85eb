"""Tests of cluster specs."""

import pytest

from qanat.distributed_runtime.cluster_spec import ClusterSpec


def test_what_it_says() -> None:
    spec = ClusterSpec({"worker": ["a:1", "b:2"], "ps": {3: "c:3"}})
    assert spec.jobs == ["ps", "worker"]
    assert spec.num_tasks("worker") == 2 and spec.task_indices("ps") == [3]
    assert spec.task_address("ps", 3) == "c:3" and spec.job_tasks("worker") == ["a:1", "b:2"]
    assert spec.as_dict() == {"ps": {3: "c:3"}, "worker": ["a:1", "b:2"]}
    assert spec.tasks() == [("ps", 3, "c:3"), ("worker", 0, "a:1"), ("worker", 1, "b:2")]
    assert spec and not ClusterSpec({})


def test_out_and_in() -> None:
    spec = ClusterSpec({"worker": ["a:1", "[::1]:2"], "ps": {3: "c:3"}})
    assert ClusterSpec(spec.as_cluster_def()) == spec == ClusterSpec(spec)
    assert hash(ClusterSpec(spec.as_dict())) == hash(spec)
    assert spec != ClusterSpec({"worker": ["a:1"]})


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ({"ps": ["nowhere"]}, "'nowhere'"),
        ({"ps": ["a:0"]}, "'a:0'"),
        ({"ps": ["a:1", "a:1"]}, "/job:ps/task:1, got a:1, which is that of /job:ps/task:0"),
        ({"ps": [3]}, "got 3"),
    ],
)
def test_bad_addresses(cluster: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ClusterSpec(cluster)


@pytest.mark.parametrize("cluster", ["ps", 3, {"ps": "a:1"}, {3: ["a:1"]}])
def test_bad_kinds(cluster: object) -> None:
    with pytest.raises(TypeError, match="cluster: expected"):
        ClusterSpec(cluster)


def test_tasks_that_do_not_exist() -> None:
    spec = ClusterSpec({"ps": ["a:1"]})
    with pytest.raises(ValueError, match=r"one of the jobs \['ps'\], got 'worker'"):
        spec.num_tasks("worker")
    with pytest.raises(ValueError, match=r"one of the tasks \[0\] of job 'ps', got 1"):
        spec.task_address("ps", 1)
