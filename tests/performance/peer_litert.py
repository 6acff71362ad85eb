"""LiteRT's way to run a model: converted by TensorFlow, run by ai-edge-litert with XNNPACK."""

from tests.performance.inputs import batch, lenet_weights
from tests.performance.interleaved import Work


def lenet(size: int) -> Work:
    import tensorflow as tf
    from ai_edge_litert.interpreter import Interpreter

    w = {name: tf.constant(value) for name, value in lenet_weights().items()}
    images, _ = batch(size)

    @tf.function(input_signature=[tf.TensorSpec(images.shape, tf.float32)])  # type: ignore[untyped-decorator]
    def model(x: tf.Tensor) -> tf.Tensor:
        for name in ("conv1", "conv2"):
            x = tf.nn.relu(tf.nn.conv2d(x, w[name], 1, "SAME") + w[f"{name}_bias"])
            x = tf.nn.max_pool2d(x, 2, 2, "SAME")
        x = tf.reshape(x, [size, -1])
        x = tf.nn.relu(tf.matmul(x, w["fc1"]) + w["fc1_bias"])
        return tf.matmul(x, w["fc2"]) + w["fc2_bias"]

    converter = tf.lite.TFLiteConverter.from_concrete_functions([model.get_concrete_function()])
    interpreter = Interpreter(model_content=converter.convert(), num_threads=1)
    interpreter.allocate_tensors()
    fed = interpreter.get_input_details()[0]["index"]
    fetched = interpreter.get_output_details()[0]["index"]

    def work() -> object:
        interpreter.set_tensor(fed, images)
        interpreter.invoke()
        return interpreter.get_tensor(fetched)

    return work
