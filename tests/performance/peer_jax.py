"""JAX's ways to do the work, compiled by jit."""

from collections.abc import Callable
from typing import Any

from tests.performance.inputs import CLASSES, LEARNING_RATE, MOMENTUM, batch, weights
from tests.performance.interleaved import Work


def lenet(size: int) -> Work:
    import jax
    from jax import lax

    kernels = [
        weights(5, 5, 1, 32), weights(5, 5, 32, 64), weights(3136, 512), weights(512, CLASSES)
    ]  # fmt: skip

    def pool(x: Any) -> Any:
        window = (1, 2, 2, 1)
        return lax.reduce_window(x, -float("inf"), lax.max, window, window, "SAME")

    def model(parameters: Any, x: Any) -> Any:
        (k1, b1), (k2, b2), (k3, b3), (k4, b4) = parameters
        for kernel, bias in ((k1, b1), (k2, b2)):
            layout = ("NHWC", "HWIO", "NHWC")
            x = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=layout)
            x = pool(jax.nn.relu(x + bias))
        return jax.nn.relu(x.reshape(-1, 3136) @ k3 + b3) @ k4 + b4

    return _training_step(size, kernels, model)


def mlp(size: int) -> Work:
    import jax

    def model(parameters: Any, x: Any) -> Any:
        (k1, b1), (k2, b2), (k3, b3) = parameters
        x = jax.nn.relu(x.reshape(-1, 784) @ k1 + b1)
        return jax.nn.relu(x @ k2 + b2) @ k3 + b3

    return _training_step(
        size, [weights(784, 512), weights(512, 256), weights(256, CLASSES)], model
    )


def _training_step(size: int, kernels: list[Any], model: Callable[[Any, Any], Any]) -> Work:
    import jax
    import jax.numpy as jnp

    images, labels = batch(size)
    parameters = [(jnp.asarray(k), jnp.zeros(k.shape[-1])) for k in kernels]
    velocities = jax.tree.map(jnp.zeros_like, parameters)

    def loss_of(parameters: Any, x: Any, y: Any) -> Any:
        scores = jax.nn.log_softmax(model(parameters, x))
        return -jnp.take_along_axis(scores, y[:, None], axis=1).mean()

    def update(parameters: Any, velocities: Any, x: Any, y: Any) -> Any:
        loss, grads = jax.value_and_grad(loss_of)(parameters, x, y)
        velocities = jax.tree.map(lambda v, g: MOMENTUM * v + g, velocities, grads)
        parameters = jax.tree.map(lambda p, v: p - LEARNING_RATE * v, parameters, velocities)
        return loss, parameters, velocities

    compiled = jax.jit(update, donate_argnums=(0, 1))
    state = (parameters, velocities)

    def step() -> float:
        nonlocal state
        loss, *state = compiled(*state, images, labels)  # type: ignore[assignment]
        return float(loss)

    return step


def tiny() -> Work:
    import jax

    add = jax.jit(lambda x: x + 1.0)
    return lambda: float(add(1.0))
