"""One training step of LeNet on a GPU (Momentum, the loss fetched), on 28x28 images."""

from functools import partial

from tests.performance import own_cuda, peer_torch
from tests.performance.interleaved import Entrant, main


def entrants(size: int) -> dict[str, Entrant]:
    return {
        "Qanat": Entrant(partial(own_cuda.lenet, size), is_peer=False),
        "PyTorch": Entrant(partial(peer_torch.lenet, size, device="cuda")),
        "PyTorch channels_last": Entrant(
            partial(peer_torch.lenet, size, channels_last=True, device="cuda")
        ),
    }


if __name__ == "__main__":
    main(__file__, {f"batch_{size}": entrants(size) for size in (64, 256, 1024)}, unit="ms")
