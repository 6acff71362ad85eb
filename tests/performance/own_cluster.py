"""A task of Qanat's for `cluster_step`."""

import sys

import numpy as np

import qanat as qn
from tests.performance.cluster_tasks import ROWS, Place, Workload, answer, serve


def main() -> None:
    place = Place.of(sys.argv[1])
    server = qn.Server(place.cluster, place.job, place.index)
    if place.job == "ps":
        serve()
    filters = ["/job:ps", f"/job:worker/task:{place.index}"]
    session = qn.Session(server.target, config=qn.SessionConfig(device_filters=filters))
    variables, target = _build(place.workload, place.index)
    session.run([variable.initializer for variable in variables])
    answer(session.prepare(target), place.workload.steps)


def _build(workload: Workload, index: int) -> tuple[list[qn.Variable], qn.Operation]:
    variables, fetched = [], []
    for i in range(workload.ps):
        with qn.device(f"/job:ps/task:{i}"):
            if workload.kind == "sparse":
                table = qn.zeros([workload.floats() // 256, 256])
                variables.append(qn.Variable(table, name=f"v{i}"))
                generator = np.random.default_rng(i)
                rows = generator.integers(0, workload.floats() // 256, ROWS // workload.ps)
                value = qn.gather(variables[i], rows.astype(np.int32))
            else:
                variables.append(qn.Variable(qn.zeros([workload.floats()]), name=f"v{i}"))
                value = variables[i].value()
        with qn.device(f"/job:worker/task:{index}"):
            fetched.append(qn.identity(value))
    with qn.device(f"/job:worker/task:{index}"):
        target = qn.add_n(fetched).op if workload.kind == "scalar" else qn.group(*fetched)
    return variables, target


if __name__ == "__main__":
    main()
