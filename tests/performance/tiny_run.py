"""One scalar addition, fed and fetched: what a call costs that does next to nothing."""

from tests.performance import own, peer_jax, peer_tensorflow, peer_torch
from tests.performance.interleaved import Entrant, main

if __name__ == "__main__":
    main(
        __file__,
        {
            "scalar_add": {
                "Qanat prepared": Entrant(own.tiny_callable, is_peer=False),
                "Qanat Session.run": Entrant(own.tiny_run, is_peer=False),
                "TensorFlow make_callable": Entrant(peer_tensorflow.tiny_callable),
                "TensorFlow Session.run": Entrant(peer_tensorflow.tiny_run),
                "PyTorch eager": Entrant(peer_torch.tiny),
                "JAX jit": Entrant(peer_jax.tiny),
            }
        },
    )
