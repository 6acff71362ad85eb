"""A chain of 1,000 scalar additions, a node each: what a node costs. Times are an addition's."""

from functools import partial

from tests.performance import own, peer_tensorflow, peer_torch
from tests.performance.interleaved import Entrant, main

LENGTH = 1000

if __name__ == "__main__":
    main(
        __file__,
        {
            "an_addition": {
                "Qanat": Entrant(partial(own.add_chain, LENGTH, False), is_peer=False),
                "Qanat, additions joined": Entrant(
                    partial(own.add_chain, LENGTH, True), is_peer=False
                ),
                "TensorFlow make_callable": Entrant(partial(peer_tensorflow.add_chain, LENGTH)),
                "PyTorch eager": Entrant(partial(peer_torch.add_chain, LENGTH)),
            }
        },
        per_call=LENGTH,
    )
