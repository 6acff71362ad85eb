"""Saver: writes the variables of a session to checkpoints and reads them back."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from qanat.checkpoint.bundle import BundleReader, remove_bundle, write_bundle
from qanat.checkpoint.state import checkpoint_exists, update_checkpoint_state
from qanat.core.base_ops import placeholder
from qanat.core.constants import describe
from qanat.core.errors import InvalidArgumentError, NotFoundError
from qanat.core.graph import GraphKeys, get_default_graph, name_scope
from qanat.ops.variables import Variable

if TYPE_CHECKING:
    from qanat.core.session import Session


class Saver:
    """Saves and restores variables.

    A checkpoint appears whole or not at all, whatever happens meanwhile, and each tensor in it has
    a checksum. The values of one checkpoint are read in one step of the session; steps that run at
    the same time may fall between the reads, so save between steps where that matters.

    Args:
        var_list: the variables, or a map from names in the checkpoint to variables; by default all
            of the collection GLOBAL_VARIABLES of the default graph, each by its own name.
        max_to_keep: how many of the checkpoints that this saver wrote are kept, the latest; None or
            0 for all.
        name: name scope of the operations made here.

    Raises:
        ValueError: there are no variables, or two of one name.
        TypeError: something else than a variable is among them.
    """

    def __init__(
        self,
        var_list: Iterable[Variable] | Mapping[str, Variable] | None = None,
        max_to_keep: int | None = 5,
        name: str = "save",
    ) -> None:
        self._variables = _by_name(var_list)
        self._max_to_keep = max_to_keep or 0
        self._kept: list[str] = []
        # Made here, once, so that the graph may be finalized afterwards.
        with next(iter(self._variables.values())).graph.as_default(), name_scope(name):
            self._reads = {key: v.read_value() for key, v in self._variables.items()}
            self._feeds = {key: placeholder(v.dtype, v.shape) for key, v in self._variables.items()}
            self._assigns = {
                key: v.assign(self._feeds[key], read_value=False)
                for key, v in self._variables.items()
            }

    @property
    def last_checkpoints(self) -> list[str]:
        """Prefixes of the checkpoints that are kept, the oldest first."""
        return list(self._kept)

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Takes over checkpoints of an earlier run, the oldest first; max_to_keep counts them."""
        self._kept = [path for path in checkpoint_paths if checkpoint_exists(path)]

    def save(
        self,
        sess: "Session",
        save_path: str | os.PathLike[str],
        global_step: int | Variable | None = None,
        latest_filename: str | None = None,
        write_state: bool = True,
    ) -> str:
        """Writes a checkpoint, removes those there are too many of, and notes the latest in the
        folder.

        Args:
            sess: where the variables have their values.
            save_path: prefix of the files; its folder is made if need be. It may not end with "/".
            global_step: where given, "-<global_step>" is appended to the prefix.
            latest_filename: see `update_checkpoint_state`.
            write_state: whether to note it.

        Returns:
            The prefix, as `restore` takes it.

        Raises:
            FailedPreconditionError: a variable has no value.
            OSError: a file cannot be written; what was there before is still there.
            ValueError: save_path has no name of a file at its end.
        """
        save_path = os.fspath(save_path)
        if not os.path.basename(save_path):
            raise ValueError(
                f"[Saver] expected a save_path with a name at its end, got {save_path!r}"
            )
        if isinstance(global_step, Variable):
            global_step = int(sess.run(global_step))
        prefix = save_path if global_step is None else f"{save_path}-{global_step}"
        values = sess.run(self._reads)
        folder = os.path.dirname(prefix)
        os.makedirs(folder or ".", exist_ok=True)
        write_bundle(prefix, values)
        self._kept = [path for path in self._kept if path != prefix] + [prefix]
        surplus = self._kept[: -self._max_to_keep] if self._max_to_keep else []
        self._kept = self._kept[len(surplus) :]
        if write_state:
            update_checkpoint_state(folder, prefix, self._kept, latest_filename)
        for path in surplus:
            remove_bundle(path)
        return prefix

    def restore(self, sess: "Session", save_path: str | os.PathLike[str]) -> None:
        """Gives the variables the values of a checkpoint: all of them, or, if it raises, none.

        Args:
            sess: where the variables are to have the values; they need not be initialized.
            save_path: a prefix that `save` returned. Tensors in it that are no variables here are
                ignored.

        Raises:
            NotFoundError: there is no such checkpoint, or variables are missing in it; the message
                names them, and the tensors that are left over, for one may be the other renamed.
            InvalidArgumentError: a tensor has another shape or dtype than its variable.
            DataLossError: a file is truncated or corrupt; the message names it and the tensor.
        """
        save_path = os.fspath(save_path)
        reader = BundleReader(save_path)
        self._check_names(reader, save_path)
        for key, variable in self._variables.items():
            _check_type(reader, save_path, key, variable)
        values = {self._feeds[key]: reader.read(key) for key in self._variables}
        sess.run(list(self._assigns.values()), values)

    def _check_names(self, reader: BundleReader, path: str) -> None:
        missing = [key for key in self._variables if key not in reader.names()]
        if missing:
            left_over = [key for key in reader.names() if key not in self._variables]
            raise NotFoundError(
                f"[Restore] expected {_listed(missing)} in the checkpoint {path}, found none of "
                f"them; left over in it: {_listed(left_over) or 'nothing'}"
            )


def _by_name(
    var_list: Iterable[Variable] | Mapping[str, Variable] | None,
) -> dict[str, Variable]:
    if var_list is None:
        var_list = get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)
    variables = list(var_list.values() if isinstance(var_list, Mapping) else var_list)
    for variable in variables:
        if not isinstance(variable, Variable):
            raise TypeError(f"[Saver] expected variables to save, got {describe(variable)}")
    if isinstance(var_list, Mapping):
        named = list(var_list.items())
    else:
        named = [(variable.op.name, variable) for variable in variables]
    if not named:
        raise ValueError("[Saver] expected variables to save, got none")
    by_name = dict(named)
    if len(by_name) != len(named):
        raise ValueError(f"[Saver] expected names that differ, got {[key for key, _ in named]}")
    return by_name


def _check_type(reader: BundleReader, path: str, key: str, variable: Variable) -> None:
    shape, dtype = reader.shape(key), reader.dtype(key)
    if dtype is not variable.dtype or not variable.shape.is_compatible_with(shape):
        raise InvalidArgumentError(
            f"[Restore] expected {variable.dtype.name} {variable.shape} for the variable {key!r}, "
            f"got {dtype.name} {list(shape)} in the checkpoint {path}",
            op=variable.op,
        )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:10])
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"
