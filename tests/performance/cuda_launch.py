"""A chain of 1,000 additions on a GPU, a launch each: a launch's share. Without a GPU, what the
host does for it: Python that runs the chain, against the executor that calls Python for each node.
"""

from functools import partial

from tests.performance import own_cuda, peer_torch
from tests.performance.interleaved import Entrant, main

LENGTH = 1000

if __name__ == "__main__":
    main(
        __file__,
        {
            "host_only": {
                "Qanat, a call a segment": Entrant(
                    partial(own_cuda.chain_by_segment, LENGTH), is_peer=False
                ),
                "Qanat, a call a node": Entrant(
                    partial(own_cuda.chain_by_node, LENGTH), is_peer=False
                ),
            },
            "gpu": {
                "Qanat": Entrant(partial(own_cuda.chain, LENGTH), is_peer=False),
                "PyTorch eager": Entrant(partial(peer_torch.add_chain, LENGTH, "cuda")),
            },
        },
        per_call=LENGTH,
    )
