"""One training step of a perceptron (784, 512, 256, 10; Momentum), the loss fetched."""

from functools import partial

from tests.performance import own, peer_jax, peer_tensorflow, peer_torch
from tests.performance.interleaved import Entrant, main


def entrants(size: int) -> dict[str, Entrant]:
    return {
        "Qanat": Entrant(partial(own.mlp, size), is_peer=False),
        "TensorFlow session": Entrant(partial(peer_tensorflow.mlp, size)),
        "PyTorch": Entrant(partial(peer_torch.mlp, size)),
        "JAX jit": Entrant(partial(peer_jax.mlp, size)),
    }


if __name__ == "__main__":
    main(__file__, {f"batch_{size}": entrants(size) for size in (64, 256)}, unit="ms")
