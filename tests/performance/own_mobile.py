"""Qanat's way to run a model file."""

import tempfile
from pathlib import Path

import numpy as np

from tests.performance.inputs import batch, lenet_weights
from tests.performance.interleaved import Work


def lenet(size: int) -> Work:
    import qanat as qn
    from qanat.mobile_runtime.interpreter import Interpreter
    from qanat.mobile_runtime.model_file import write_model
    from qanat.mobile_runtime.testing import lower

    w = lenet_weights()
    images, _ = batch(size)
    fed = qn.placeholder(qn.float32, images.shape)
    x = fed
    for name in ("conv1", "conv2"):
        x = qn.nn.conv2d(x, qn.constant(w[name]), 1, "SAME")
        x = qn.nn.relu(qn.nn.bias_add(x, w[f"{name}_bias"]))
        x = qn.nn.max_pool(x, 2, 2, "SAME")
    x = qn.reshape(x, [size, -1])
    x = qn.nn.relu(qn.nn.bias_add(qn.matmul(x, qn.constant(w["fc1"])), w["fc1_bias"]))
    logits = qn.nn.bias_add(qn.matmul(x, qn.constant(w["fc2"])), w["fc2_bias"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lenet")
        write_model(path, lower({"images": fed}, {"logits": logits}))
        model = Interpreter(path)
    run = model.run
    feed = {"images": np.ascontiguousarray(images)}
    return lambda: run(feed)
