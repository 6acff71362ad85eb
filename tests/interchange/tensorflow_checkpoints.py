"""Exchanges checkpoints with TensorFlow, both ways, and says what was compared.

./tools/bazel run -c opt //tests/interchange:tensorflow_checkpoints
"""

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import qanat as qn
from qanat.checkpoint import ops
from tests.interchange.values import TABLE, TABLE_SLICES, require_same, tensors
from tests.performance.interleaved import peers_python


def tensorflow_side(*arguments: str) -> None:
    """Runs TensorFlow's half; raises CalledProcessError where it fails."""
    root = str(Path(__file__).resolve().parents[2])
    environment = dict(os.environ, PYTHONPATH=root, TF_CPP_MIN_LOG_LEVEL="3")
    command = [str(peers_python()), "-m", "tests.interchange.tensorflow_side", *arguments]
    subprocess.run(command, env=environment, check=True, timeout=600)


def write(prefix: str) -> None:
    """Writes all tensors by SaveV2, the table in slices."""
    values = tensors()
    names = [*values, *["table"] * len(TABLE_SLICES)]
    specs = [""] * len(values) + list(TABLE_SLICES)
    blocks = [*values.values(), *np.split(TABLE, len(TABLE_SLICES))]
    with qn.Graph().as_default(), qn.Session() as session:
        session.run(ops.save_v2(prefix, _strings(names), _strings(specs), blocks))


def merge(prefix: str, folder: Path) -> None:
    """Writes them to two checkpoints and merges those."""
    values = tensors()
    parts = [str(folder / "parts" / name) for name in "ab"]
    with qn.Graph().as_default(), qn.Session() as session:
        for i, part in enumerate(parts):
            names = list(values)[i::2]
            given = [*(values[name] for name in names), *([TABLE] if i else [])]
            names += ["table"] if i else []
            specs = _strings([""] * len(names))
            session.run(ops.save_v2(part, _strings(names), specs, given))
        session.run(ops.merge_v2_checkpoints(_strings(parts), prefix))


def _strings(values: list[str]) -> "np.ndarray[tuple[int], np.dtype[np.object_]]":
    return np.array([value.encode() for value in values], object)


def read(prefix: str) -> None:
    reader = qn.train.load_checkpoint(prefix)
    expected = tensors() | {"table": TABLE}
    assert set(reader.get_variable_to_shape_map()) == set(expected)
    for name, value in expected.items():
        require_same(name, reader.get_tensor(name), value)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(str(folder / "ours"))
        tensorflow_side("read", str(folder / "ours"))
        print("TensorFlow reads what SaveV2 of Qanat wrote")
        merge(str(folder / "merged"), folder)
        tensorflow_side("read", str(folder / "merged"))
        print("TensorFlow reads what MergeV2Checkpoints of Qanat wrote")
        for sharded in (False, True):
            prefix = str(folder / f"theirs_{sharded}")
            tensorflow_side("write", prefix, str(sharded))
            read(prefix)
            print(f"Qanat reads what TensorFlow wrote, sharded={sharded}")
    print(f"{len(tensors()) + 1} tensors each, every bit")


if __name__ == "__main__":
    main()
