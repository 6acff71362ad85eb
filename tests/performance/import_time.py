"""How long `import` takes, without the interpreter's own start; a fresh process each time."""

import subprocess
import sys

from tests.performance.interleaved import Entrant, Work, main


def importing(module: str) -> Work:
    """Starts an interpreter that imports a module and says how long that took, and waits for it."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"

    def work() -> float:
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True
        )
        return float(done.stdout)

    return work


if __name__ == "__main__":
    main(
        __file__,
        {
            "import": {
                "Qanat": Entrant(lambda: importing("qanat"), is_peer=False),
                "NumPy": Entrant(
                    lambda: importing("numpy"), is_peer=False
                ),
                "TensorFlow": Entrant(lambda: importing("tensorflow")),
                "PyTorch": Entrant(lambda: importing("torch")),
                "JAX": Entrant(lambda: importing("jax")),
            }
        },
        unit="ms",
        reports_seconds=True,
    )
