"""Tests of where between-graph replication puts things."""

import qanat as qn
from qanat.distributed_runtime.device_setter import replica_device_setter

CLUSTER = {"ps": ["a:1", "b:2"], "worker": ["c:3"]}
WORKER = "/job:worker/task:0"


def test_variables_go_round_and_all_else_to_the_worker() -> None:
    with qn.Graph().as_default():
        with qn.device(replica_device_setter(cluster=CLUSTER, worker_device=WORKER)):
            variables = [qn.Variable(1.0, name=f"v{i}") for i in range(3)]
            total = variables[0] + variables[1]
            update = variables[1].assign_add(1.0, read_value=False)
        assert [v.device for v in variables] == [f"/job:ps/task:{i}" for i in (0, 1, 0)]
        assert total.op.device == WORKER
        assert update.device == "/job:ps/task:1"
        assert variables[1].initializer.device == "/job:ps/task:1"


def test_inner_devices_win_part_by_part() -> None:
    with qn.Graph().as_default():
        with qn.device(replica_device_setter(cluster=CLUSTER)):
            with qn.device("/cpu:1"):
                v, x = qn.Variable(1.0), qn.identity(2.0)
            with qn.device("/job:ps/task:1"):
                fixed = qn.Variable(1.0)
        assert v.device == "/job:ps/task:0/device:CPU:1"
        assert x.op.device == "/job:worker/device:CPU:1"
        assert fixed.device == "/job:ps/task:1"


def test_a_strategy_picks_the_task() -> None:
    with qn.Graph().as_default():
        with qn.device(replica_device_setter(ps_tasks=9, ps_strategy=lambda op: 7)):
            assert qn.Variable(1.0).device == "/job:ps/task:7"


def test_without_ps_tasks_there_is_nothing_to_set() -> None:
    assert replica_device_setter(cluster={"worker": ["a:1"]}) is None
    assert replica_device_setter(ps_tasks=0) is None
