"""TensorFlow's half, run in the peers' interpreter: `write PREFIX SHARDED`, or `read PREFIX`."""

import sys
from typing import Any

import numpy as np
import tensorflow

from tests.interchange.values import TABLE, require_same, tensors

tf = tensorflow.compat.v1
tf.disable_eager_execution()


def write(prefix: str, sharded: bool) -> None:
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Session(config=config) as session:
        fed = {}
        for i, (name, value) in enumerate(tensors().items()):
            with tf.device(f"/cpu:{i % 2}"):
                dtype = tf.string if value.dtype == object else value.dtype
                fed[tf.placeholder(dtype, value.shape)] = value
                tf.get_variable(name, initializer=list(fed)[-1], use_resource=True)
        tf.get_variable(
            "table",
            TABLE.shape,
            initializer=_block_of_table,
            partitioner=tf.fixed_size_partitioner(3),
        )
        session.run(tf.global_variables_initializer(), fed)
        tf.train.Saver(sharded=sharded).save(session, prefix, write_meta_graph=False)


def _block_of_table(shape: Any, dtype: Any, partition_info: Any) -> Any:
    start = partition_info.var_offset[0]
    return tf.constant(TABLE[start : start + shape[0]])


def read(prefix: str) -> None:
    reader = tensorflow.train.load_checkpoint(prefix)
    expected = tensors() | {"table": TABLE}
    assert set(reader.get_variable_to_shape_map()) == set(expected)
    for name, value in expected.items():
        require_same(name, reader.get_tensor(name), np.asarray(value))


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], sys.argv[3] == "True")
    else:
        read(sys.argv[2])
