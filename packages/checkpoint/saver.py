"""Saver: writes the variables of a session to checkpoints and reads them back."""

import math
import os
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qanat.checkpoint.best import read_best, write_best
from qanat.checkpoint.bundle_index import index_path
from qanat.checkpoint.bundle_reader import BundleReader
from qanat.checkpoint.bundle_writer import remove_bundle
from qanat.checkpoint.matching import listed, match
from qanat.checkpoint.retention import Retention
from qanat.checkpoint.saver_ops import SaverOps
from qanat.checkpoint.state import checkpoint_exists, checkpoint_path, update_checkpoint_state
from qanat.core.constants import describe
from qanat.core.errors import InvalidArgumentError, NotFoundError
from qanat.core.graph import GraphKeys, get_default_graph
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
        reshape: whether a tensor of a checkpoint may have another shape than its variable, of as
            many elements.
        sharded: whether each device writes the variables it has to a file of its own, all at once,
            instead of sending them to one. All must reach the same file system.
        max_to_keep: how many of the checkpoints that this saver wrote are kept, the latest; None or
            0 for all.
        keep_checkpoint_every_n_hours: of those that would be removed, one is kept for good every so
            many hours.
        name: name scope of the operations made here.
        best_to_keep: how many of the best checkpoints, by the metric given to `save`, are kept
            however old they are.
        lower_is_better: whether the best have the lowest metrics.

    Raises:
        ValueError: there are no variables, or two of one name.
        TypeError: something else than a variable is among them.
    """

    def __init__(
        self,
        var_list: Iterable[Variable] | Mapping[str, Variable] | None = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str = "save",
        *,
        best_to_keep: int = 0,
        lower_is_better: bool = False,
    ) -> None:
        self._variables = _by_name(var_list)
        self._reshape = reshape
        self._ops = SaverOps(self._variables, name, sharded, reshape)
        self._retention = Retention(
            max_to_keep or 0,
            keep_checkpoint_every_n_hours * 3600,
            best_to_keep,
            lower_is_better,
            started=time.time(),
        )

    @property
    def last_checkpoints(self) -> list[str]:
        """Prefixes of the latest checkpoints that are kept, the oldest first."""
        return list(self._retention.latest)

    @property
    def best_checkpoints(self) -> list[str]:
        """Prefixes of the best checkpoints that are kept, the best first."""
        return [scored.path for scored in self._retention.best]

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Takes over checkpoints of an earlier run, the oldest first: max_to_keep counts them, and
        those noted as the best in their folder are so here."""
        paths = [path for path in checkpoint_paths if checkpoint_exists(path)]
        written = {path: os.path.getmtime(index_path(path)) for path in paths}
        folders = dict.fromkeys(os.path.dirname(path) for path in paths)
        best = [scored for folder in folders for scored in read_best(folder)]
        self._retention.recover(written, best)

    def save(
        self,
        sess: "Session",
        save_path: str | os.PathLike[str],
        global_step: int | Variable | None = None,
        latest_filename: str | None = None,
        write_state: bool = True,
        *,
        metric: float | None = None,
    ) -> str:
        """Writes a checkpoint, notes it as the latest of its folder, and removes those there are
        too many of.

        Args:
            sess: where the variables have their values.
            save_path: prefix of the files; its folder is made if need be. It may not end with "/".
            global_step: where given, "-<global_step>" is appended to the prefix.
            latest_filename: see `update_checkpoint_state`.
            write_state: whether to note it.
            metric: how good the values are, for `best_to_keep`.

        Returns:
            The prefix, as `restore` takes it.

        Raises:
            FailedPreconditionError: a variable has no value.
            OpError: a file cannot be written, the subclass says why; what was there before is still
                there.
            ValueError: save_path has no name of a file at its end, or the metric is NaN.
            TypeError: an argument is no session or no path.
        """
        _require_session(sess)
        save_path = checkpoint_path(save_path, "Saver")
        if not os.path.basename(save_path):
            raise ValueError(
                f"[Saver] expected a save_path with a name at its end, got {save_path!r}"
            )
        if metric is not None and math.isnan(metric):
            raise ValueError("[Saver] expected a metric that is a number, got NaN")
        if isinstance(global_step, Variable):
            global_step = int(sess.run(global_step))
        prefix = save_path if global_step is None else f"{save_path}-{global_step}"
        sess.run(self._ops.save, self._save_feeds(prefix))
        surplus = self._retention.add(prefix, time.time(), metric)
        folder = os.path.dirname(prefix)
        if metric is not None:
            write_best(folder, self._retention.best)
        if write_state:
            update_checkpoint_state(folder, prefix, self._retention.latest, latest_filename)
        for path in surplus:
            remove_bundle(path)
        return prefix

    def _save_feeds(self, prefix: str) -> dict[Any, Any]:
        feeds: dict[Any, Any] = {self._ops.prefix: os.fsencode(prefix)}
        if self._ops.parts is not None:
            # A folder of its own, so that no save meets the remains of another.
            feeds[self._ops.parts] = os.fsencode(f"{prefix}_temp_{uuid.uuid4().hex}/part")
        return feeds

    def restore(self, sess: "Session", save_path: str | os.PathLike[str]) -> None:
        """Gives the variables the values of a checkpoint: all of them, or, if it raises, none.

        Args:
            sess: where the variables are to have the values; they need not be initialized.
            save_path: a prefix that `save` returned. Tensors in it that are no variables here are
                ignored. `restore_matching` takes what there is.

        Raises:
            NotFoundError: there is no such checkpoint, or variables are missing in it; the message
                names them, and the tensors that are left over, for one may be the other renamed.
            InvalidArgumentError: a tensor has another shape or dtype than its variable.
            DataLossError: a file is truncated or corrupt; the message names it and the tensor.
            TypeError: an argument is no session or no path.
        """
        _require_session(sess)
        save_path = checkpoint_path(save_path, "Saver")
        # What a task elsewhere sees may not be seen here: then its own checks have to do.
        if checkpoint_exists(save_path):
            self._check(save_path)
        sess.run(self._ops.restore, {self._ops.prefix: os.fsencode(save_path)})

    def _check(self, path: str) -> None:
        """Says all that is wrong at once, where the operations would name the first."""
        report = match(self._variables, BundleReader(path), path, reshape=self._reshape)
        if report.missing:
            raise NotFoundError(
                f"[Restore] expected {listed(report.missing)} in the checkpoint {path}, found none "
                f"of them; left over in it: {listed(report.left_over) or 'nothing'}"
            )
        for misfit in report.misfits:
            raise InvalidArgumentError(
                f"[Restore] expected {misfit.expected} for the variable {misfit.variable!r}, got "
                f"{misfit.found} in the checkpoint {path}",
                op=self._variables[misfit.variable].op,
            )


def _require_session(given: Any) -> None:
    if not hasattr(given, "run"):
        raise TypeError(f"[Saver] expected a session first, got {describe(given)}")


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
