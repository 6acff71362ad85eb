"""One training step of LeNet (5x5x32, 5x5x64, 512; Momentum), the loss fetched, on 28x28 images."""

from functools import partial

from tests.performance import own, peer_jax, peer_tensorflow, peer_torch
from tests.performance.interleaved import Entrant, main


def entrants(size: int) -> dict[str, Entrant]:
    return {
        "Qanat": Entrant(partial(own.lenet, size), is_peer=False),
        "TensorFlow session": Entrant(partial(peer_tensorflow.lenet, size)),
        "PyTorch": Entrant(partial(peer_torch.lenet, size)),
        "PyTorch channels_last": Entrant(partial(peer_torch.lenet, size, channels_last=True)),
        "JAX jit": Entrant(partial(peer_jax.lenet, size)),
    }


if __name__ == "__main__":
    main(__file__, {f"batch_{size}": entrants(size) for size in (64, 256)}, unit="ms")
