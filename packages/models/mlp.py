"""A multi-layer perceptron."""

import qanat as qn


def mlp(images: qn.Tensor, classes: int) -> qn.Tensor:
    """512, 256, classes: 535,818 parameters for 28x28 images and ten classes.

    Args:
        images: float32 [n, height, width, channels].
        classes: how many.

    Returns:
        Logits, float32 [n, classes].
    """
    x = qn.layers.flatten(images)
    x = qn.layers.dense(x, 512, activation=qn.nn.relu, name="fc1")
    x = qn.layers.dense(x, 256, activation=qn.nn.relu, name="fc2")
    return qn.layers.dense(x, classes, name="fc3")
