"""A loop of 10,000 iterations that adds a scalar: what one costs. Times are an iteration's."""

from functools import partial

from tests.performance import own, peer_tensorflow
from tests.performance.interleaved import Entrant, main

ITERATIONS = 10_000

if __name__ == "__main__":
    main(
        __file__,
        {
            "an_iteration": {
                "Qanat": Entrant(partial(own.counting_loop, ITERATIONS), is_peer=False),
                "TensorFlow make_callable": Entrant(
                    partial(peer_tensorflow.counting_loop, ITERATIONS)
                ),
            }
        },
        per_call=ITERATIONS,
    )
