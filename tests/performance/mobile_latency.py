"""LeNet (5x5x32, 5x5x64, 512) on one image, with the same weights, on one thread."""

from functools import partial

from tests.performance import own_mobile, peer_litert, peer_onnxruntime
from tests.performance.interleaved import Entrant, main

if __name__ == "__main__":
    main(
        __file__,
        {
            f"batch_{size}": {
                "Qanat": Entrant(partial(own_mobile.lenet, size), is_peer=False),
                "LiteRT": Entrant(partial(peer_litert.lenet, size)),
                "ONNX Runtime": Entrant(partial(peer_onnxruntime.lenet, size)),
            }
            for size in (1, 16)
        },
    )
