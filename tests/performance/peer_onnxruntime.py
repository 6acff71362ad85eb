"""ONNX Runtime's way to run a model: NCHW, as its kernels have it."""

import numpy as np

from tests.performance.inputs import batch, lenet_weights
from tests.performance.interleaved import Work


def lenet(size: int) -> Work:
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    w = lenet_weights()
    images = np.ascontiguousarray(batch(size)[0].transpose(0, 3, 1, 2))
    # The first dense layer reads maps in the order of NHWC.
    maps = w["fc1"].reshape(7, 7, 64, -1).transpose(2, 0, 1, 3).reshape(w["fc1"].shape)
    constants = {
        **{name: w[name] for name in ("conv1_bias", "conv2_bias", "fc1_bias", "fc2_bias", "fc2")},
        **{name: w[name].transpose(3, 2, 0, 1) for name in ("conv1", "conv2")},
        "fc1": maps,
    }
    nodes = []
    x = "images"
    for name in ("conv1", "conv2"):
        nodes += [
            helper.make_node("Conv", [x, name, f"{name}_bias"], [f"{name}_c"], pads=[2, 2, 2, 2]),
            helper.make_node("Relu", [f"{name}_c"], [f"{name}_r"]),
            helper.make_node(
                "MaxPool", [f"{name}_r"], [f"{name}_p"], kernel_shape=[2, 2], strides=[2, 2]
            ),
        ]
        x = f"{name}_p"
    nodes += [
        helper.make_node("Flatten", [x], ["flat"]),
        helper.make_node("Gemm", ["flat", "fc1", "fc1_bias"], ["fc1_g"]),
        helper.make_node("Relu", ["fc1_g"], ["fc1_r"]),
        helper.make_node("Gemm", ["fc1_r", "fc2", "fc2_bias"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "lenet",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, images.shape)],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [size, 10])],
        [
            numpy_helper.from_array(np.ascontiguousarray(value), name)
            for name, value in constants.items()
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return lambda: session.run(None, {"images": images})
