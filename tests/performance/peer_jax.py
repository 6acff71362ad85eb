"""JAX's ways to do the work, compiled by jit."""

from collections.abc import Callable
from typing import Any

from tests.performance.inputs import (
    CHARACTERS,
    CLASSES,
    EMBEDDING,
    LEARNING_RATE,
    MOMENTUM,
    UNITS,
    batch,
    weights,
    window,
)
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

    return _training_step(batch(size), _with_biases(kernels), model)


def mlp(size: int) -> Work:
    import jax

    def model(parameters: Any, x: Any) -> Any:
        (k1, b1), (k2, b2), (k3, b3) = parameters
        x = jax.nn.relu(x.reshape(-1, 784) @ k1 + b1)
        return jax.nn.relu(x @ k2 + b2) @ k3 + b3

    kernels = [weights(784, 512), weights(512, 256), weights(256, CLASSES)]
    return _training_step(batch(size), _with_biases(kernels), model)


def char_lm(rows: int) -> Work:
    """By scan; the inputs' share of the gates is computed for all times at once."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def model(parameters: Any, characters: Any) -> Any:
        table, (kernel, bias), (dense, dense_bias) = parameters
        gates_of_inputs = table[characters] @ kernel[:EMBEDDING] + bias
        recurrent = kernel[EMBEDDING:]

        def step(state: Any, gates: Any) -> Any:
            c, h = state
            i, j, f, o = jnp.split(gates + h @ recurrent, 4, axis=1)
            c = c * jax.nn.sigmoid(f + 1.0) + jax.nn.sigmoid(i) * jnp.tanh(j)
            h = jnp.tanh(c) * jax.nn.sigmoid(o)
            return (c, h), h

        zero = jnp.zeros((rows, UNITS))
        _, outputs = lax.scan(step, (zero, zero), gates_of_inputs)
        return outputs @ dense + dense_bias

    kernels = [weights(EMBEDDING + UNITS, 4 * UNITS), weights(UNITS, CHARACTERS)]
    table = jnp.asarray(weights(CHARACTERS, EMBEDDING))
    return _training_step(window(rows), [table, *_with_biases(kernels)], model)


def _with_biases(kernels: list[Any]) -> list[Any]:
    import jax.numpy as jnp

    return [(jnp.asarray(k), jnp.zeros(k.shape[-1])) for k in kernels]


def _training_step(
    fed: tuple[Any, Any], parameters: list[Any], model: Callable[[Any, Any], Any]
) -> Work:
    import jax
    import jax.numpy as jnp

    inputs, labels = fed
    velocities = jax.tree.map(jnp.zeros_like, parameters)

    def loss_of(parameters: Any, x: Any, y: Any) -> Any:
        scores = jax.nn.log_softmax(model(parameters, x))
        return -jnp.take_along_axis(scores, y[..., None], axis=-1).mean()

    def update(parameters: Any, velocities: Any, x: Any, y: Any) -> Any:
        loss, grads = jax.value_and_grad(loss_of)(parameters, x, y)
        velocities = jax.tree.map(lambda v, g: MOMENTUM * v + g, velocities, grads)
        parameters = jax.tree.map(lambda p, v: p - LEARNING_RATE * v, parameters, velocities)
        return loss, parameters, velocities

    compiled = jax.jit(update, donate_argnums=(0, 1))
    state = (parameters, velocities)

    def step() -> float:
        nonlocal state
        loss, *state = compiled(*state, inputs, labels)  # type: ignore[assignment]
        return float(loss)

    return step


def tiny() -> Work:
    import jax

    add = jax.jit(lambda x: x + 1.0)
    return lambda: float(add(1.0))
