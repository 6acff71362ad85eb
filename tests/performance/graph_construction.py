"""Building a graph of 100 layers (matmul, add, relu, and a variable each) and its gradients, in
Python.
"""

from functools import partial

from tests.performance import own, peer_tensorflow
from tests.performance.interleaved import Entrant, main

LAYERS = 100

if __name__ == "__main__":
    main(
        __file__,
        {
            "layer": {
                "Qanat": Entrant(partial(own.construction, LAYERS), is_peer=False),
                "TensorFlow 1 API": Entrant(partial(peer_tensorflow.construction, LAYERS)),
            }
        },
        per_call=LAYERS,
    )
