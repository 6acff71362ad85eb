"""The numbers that all systems work on."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

LEARNING_RATE = 0.01
MOMENTUM = 0.9
CLASSES = 10
# Of the recurrent network, for windows of 64 characters.
CHARACTERS, EMBEDDING, UNITS, TIME = 128, 64, 256, 64


def batch(size: int) -> tuple[Array, Array]:
    """Images float32 [size, 28, 28, 1] and labels int32 [size], the same each time."""
    random = np.random.default_rng(0)
    images = random.random((size, 28, 28, 1), np.float32)
    return images, random.integers(0, CLASSES, size).astype(np.int32)


def window(rows: int) -> tuple[Array, Array]:
    """Characters and those that follow, int32 [TIME, rows], the same each time."""
    random = np.random.default_rng(0)
    read = random.integers(0, CHARACTERS, (TIME + 1, rows)).astype(np.int32)
    return read[:-1], read[1:]


def weights(*shape: int) -> Array:
    """A float32 kernel; the last dimension is the outputs."""
    fan_in = int(np.prod(shape[:-1]))
    normal = np.random.default_rng(1).standard_normal(shape, np.float32)
    return np.asarray(normal * np.float32(np.sqrt(2 / fan_in)))


def lenet_weights() -> dict[str, Array]:
    """Kernels, HWIO and [inputs, outputs], and biases of LeNet, by layer."""
    shapes = {"conv1": (5, 5, 1, 32), "conv2": (5, 5, 32, 64), "fc1": (3136, 512), "fc2": (512, 10)}
    kernels = {name: weights(*shape) for name, shape in shapes.items()}
    biases = {f"{name}_bias": weights(1, shape[-1])[0] for name, shape in shapes.items()}
    return kernels | biases
