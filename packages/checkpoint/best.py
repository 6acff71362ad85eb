"""Which checkpoints of a folder are the best by a metric: the text file "best_checkpoint"."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass

from qanat.checkpoint.atomic_file import replacing
from qanat.checkpoint.bundle_index import index_path
from qanat.core.errors import DataLossError

_FILE = "best_checkpoint"


@dataclass(frozen=True)
class Scored:
    """A checkpoint and how good it is.

    Attributes:
        path: its prefix.
        metric: a number, not NaN.
    """

    path: str
    metric: float


def write_best(folder: str, best: Sequence[Scored]) -> None:
    """Notes, atomically, the best checkpoints of a folder, the best first.

    The file is JSON: a list of {"path", "metric"}; paths are relative to the folder.
    """
    noted = [
        {"path": os.path.relpath(scored.path, folder or "."), "metric": scored.metric}
        for scored in best
    ]
    with replacing(os.path.join(folder, _FILE)) as file:
        file.write(json.dumps(noted, indent=1).encode() + b"\n")


def read_best(folder: str) -> list[Scored]:
    """The best checkpoints of a folder that exist, the best first.

    Raises:
        DataLossError: the file that notes them is corrupt.
    """
    path = os.path.join(folder, _FILE)
    try:
        with open(path, encoding="utf-8") as file:
            noted = json.load(file)
        best = [Scored(os.path.join(folder, e["path"]), float(e["metric"])) for e in noted]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError) as error:
        raise DataLossError(f"[checkpoint] {path} is corrupt: {error}") from error
    return [scored for scored in best if os.path.exists(index_path(scored.path))]


def best_checkpoint(checkpoint_dir: str | os.PathLike[str]) -> str | None:
    """The prefix of a folder's best checkpoint, for `Saver.restore`; None if none was noted.

    Raises:
        DataLossError: the file that notes it is corrupt.
    """
    best = read_best(os.fspath(checkpoint_dir))
    return best[0].path if best else None
