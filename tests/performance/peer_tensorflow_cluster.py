"""A task of TensorFlow's for `cluster_step`: its own distributed runtime, over gRPC."""

import sys
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from tests.performance.cluster_tasks import ROWS, Place, Workload, answer, serve


def main() -> None:
    tf.disable_eager_execution()
    place = Place.of(sys.argv[1])
    server = tf.train.Server(tf.train.ClusterSpec(place.cluster), place.job, place.index)
    if place.job == "ps":
        serve()
    filters = ["/job:ps", f"/job:worker/task:{place.index}"]
    variables, target = _build(place.workload, place.index)
    session = tf.Session(server.target, config=tf.ConfigProto(device_filters=filters))
    session.run([variable.initializer for variable in variables])
    answer(session.make_callable(target), place.workload.steps)


def _build(workload: Workload, index: int) -> tuple[list[Any], Any]:
    variables, fetched = [], []
    for i in range(workload.ps):
        with tf.device(f"/job:ps/task:{i}"):
            if workload.kind == "sparse":
                table = tf.zeros([workload.floats() // 256, 256])
                variables.append(tf.Variable(table, name=f"v{i}"))
                generator = np.random.default_rng(i)
                rows = generator.integers(0, workload.floats() // 256, ROWS // workload.ps)
                value = tf.gather(variables[i], rows.astype(np.int32))
            else:
                variables.append(tf.Variable(tf.zeros([workload.floats()]), name=f"v{i}"))
                value = variables[i].value()
        with tf.device(f"/job:worker/task:{index}"):
            fetched.append(tf.identity(value))
    with tf.device(f"/job:worker/task:{index}"):
        target = tf.add_n(fetched).op if workload.kind == "scalar" else tf.group(*fetched)
    return variables, target


if __name__ == "__main__":
    main()
