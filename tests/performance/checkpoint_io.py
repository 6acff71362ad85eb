"""Saving and restoring 128 MiB of variables, beside a plain file on the same disk.

All but TensorFlow have the data on the disk when a save ends. Before a read the system is told to
forget the file. TMPDIR says on which disk.
"""

from functools import partial

from tests.performance import own, peer_tensorflow, plain_files
from tests.performance.interleaved import Entrant, main

MEBIBYTES = 128

if __name__ == "__main__":
    main(
        __file__,
        {
            "save": {
                "plain write and fsync": Entrant(
                    partial(plain_files.write, MEBIBYTES), is_peer=False
                ),
                "Qanat Saver.save": Entrant(partial(own.save, MEBIBYTES), is_peer=False),
                "TensorFlow Saver.save": Entrant(partial(peer_tensorflow.save, MEBIBYTES)),
            },
            "restore": {
                "plain read": Entrant(partial(plain_files.read, MEBIBYTES), is_peer=False),
                "Qanat Saver.restore": Entrant(partial(own.restore, MEBIBYTES), is_peer=False),
                "TensorFlow Saver.restore": Entrant(partial(peer_tensorflow.restore, MEBIBYTES)),
            },
        },
        per_call=MEBIBYTES,
        unit="MiB/s",
        reports_seconds=True,
    )
