"""One step of training a language model of characters: an LSTM of 256 units over windows of 64.

Embedding of 64, one layer, 128 classes, Momentum; the loss is fetched.
"""

from functools import partial

from tests.performance import own, peer_jax, peer_tensorflow, peer_torch
from tests.performance.interleaved import Entrant, main

if __name__ == "__main__":
    main(
        __file__,
        {
            f"rows_{rows}": {
                "Qanat": Entrant(partial(own.char_lm, rows), is_peer=False),
                "TensorFlow dynamic_rnn": Entrant(partial(peer_tensorflow.char_lm, rows)),
                "PyTorch nn.LSTM": Entrant(partial(peer_torch.char_lm, rows)),
                "JAX scan": Entrant(partial(peer_jax.char_lm, rows)),
            }
            for rows in (16, 64)
        },
        unit="ms",
    )
