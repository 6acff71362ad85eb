"""What a run has saved, for tests that compare runs bit by bit."""

from pathlib import Path
from typing import Any

import numpy as np

from qanat.checkpoint import latest_checkpoint
from qanat.checkpoint.bundle_reader import BundleReader

Array = np.ndarray[Any, Any]


def weights(checkpoint_dir: Path) -> dict[str, Array]:
    """All tensors of the latest checkpoint of a folder, by name."""
    path = latest_checkpoint(str(checkpoint_dir))
    assert path is not None
    reader = BundleReader(path)
    return {name: reader.read(name) for name in reader.names()}


def same(a: dict[str, Array], b: dict[str, Array]) -> bool:
    """Whether two checkpoints of the same names have the same bits."""
    assert a.keys() == b.keys()
    return all(a[name].tobytes() == b[name].tobytes() for name in a)
