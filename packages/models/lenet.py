"""A convolutional network of LeNet's kind, with today's sizes.

Source: LeCun et al., "Gradient-Based Learning Applied to Document Recognition" (1998), section 2:
two convolutions, each followed by pooling, then fully connected layers.
"""

import qanat as qn


def lenet(images: qn.Tensor, classes: int) -> qn.Tensor:
    """5x5x32, pool, 5x5x64, pool, 512, classes: 1,663,370 parameters for 28x28x1 and ten classes.

    Args:
        images: float32 [n, height, width, channels].
        classes: how many.

    Returns:
        Logits, float32 [n, classes].
    """
    x = _convolution(images, 32, "conv1")
    x = _convolution(x, 64, "conv2")
    x = qn.layers.flatten(x)
    x = qn.layers.dense(x, 512, activation=qn.nn.relu, name="fc1")
    return qn.layers.dense(x, classes, name="fc2")


def _convolution(x: qn.Tensor, channels: int, name: str) -> qn.Tensor:
    x = qn.layers.conv2d(x, channels, 5, padding="same", activation=qn.nn.relu, name=name)
    return qn.layers.max_pooling2d(x, 2, 2)
