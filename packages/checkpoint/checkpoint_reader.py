"""Looking into a checkpoint without a graph: TensorFlow's names for it."""

import os

from qanat.checkpoint.bundle_reader import Array, BundleReader
from qanat.checkpoint.state import checkpoint_path, latest_checkpoint
from qanat.core.dtypes import DType
from qanat.core.errors import NotFoundError


class CheckpointReader:
    """The tensors of a checkpoint.

    Args:
        filepattern: the checkpoint's prefix.

    Raises:
        NotFoundError: there is no such checkpoint.
        DataLossError: its index is corrupt.
    """

    def __init__(self, filepattern: str | os.PathLike[str]) -> None:
        self._reader = BundleReader(checkpoint_path(filepattern, "CheckpointReader"))
        self._names = frozenset(self._reader.names())

    def has_tensor(self, tensor_str: str) -> bool:
        return tensor_str in self._names

    def get_tensor(self, tensor_str: str) -> Array:
        """A tensor's value.

        Raises:
            NotFoundError: there is no such tensor.
            DataLossError: it is corrupt.
        """
        if tensor_str not in self._names:
            raise NotFoundError(f"[CheckpointReader] expected a tensor, found no {tensor_str!r}")
        return self._reader.read(tensor_str)

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        return {name: list(self._reader.shape(name)) for name in self._reader.names()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        return {name: self._reader.dtype(name) for name in self._reader.names()}


def load_checkpoint(ckpt_dir_or_file: str | os.PathLike[str]) -> CheckpointReader:
    """The reader of a checkpoint, or of the latest of a folder; raises as it does."""
    path = checkpoint_path(ckpt_dir_or_file, "load_checkpoint")
    if os.path.isdir(path):
        latest = latest_checkpoint(path)
        if latest is None:
            raise NotFoundError(f"[load_checkpoint] expected a checkpoint in {path}, found none")
        path = latest
    return CheckpointReader(path)


def list_variables(ckpt_dir_or_file: str | os.PathLike[str]) -> list[tuple[str, list[int]]]:
    """The names and shapes of all tensors of a checkpoint; see `load_checkpoint`."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: str | os.PathLike[str], name: str) -> Array:
    """The value of one tensor of a checkpoint; see `load_checkpoint`."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)
