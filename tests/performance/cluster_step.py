"""Steps of workers that fetch from ps tasks: 4 bytes from each, a dense model, rows of a table.

Of Abadi et al., "TensorFlow: A system for large-scale machine learning" (OSDI 2016), section 6.2,
on the loopback of one machine.
"""

from tests.performance.cluster_tasks import Workload, entrant
from tests.performance.interleaved import Entrant, main

WORKLOADS = {
    **{
        f"scalar_ps{ps}_workers{workers}": Workload("scalar", ps, workers)
        for ps in (2, 4, 16)
        for workers in (1, 2, 4)
    },
    "dense_16MB": Workload("dense", 2, 1, 16, steps=5),
    "dense_100MB": Workload("dense", 2, 1, 100, steps=2),
    "sparse_128MB": Workload("sparse", 2, 1, 128),
    "sparse_4GB": Workload("sparse", 2, 1, 4096),
}


def entrants(workload: Workload) -> dict[str, Entrant]:
    return {
        "Qanat": entrant("own_cluster", workload, is_peer=False),
        "TensorFlow": entrant("peer_tensorflow_cluster", workload, is_peer=True),
    }


BENCHES = {name: entrants(workload) for name, workload in WORKLOADS.items()}

if __name__ == "__main__":
    main(__file__, BENCHES, reports_seconds=True)
