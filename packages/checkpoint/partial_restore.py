"""Restoring what fits: from another model's checkpoint, or one whose names have changed."""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from qanat.checkpoint.bundle_reader import BundleReader
from qanat.checkpoint.matching import MatchReport, NameMap, TensorReader, match
from qanat.checkpoint.safetensors import SafetensorsReader
from qanat.checkpoint.state import checkpoint_path
from qanat.core.graph import GraphKeys
from qanat.ops.variables import Variable

if TYPE_CHECKING:
    from qanat.core.session import Session


def restore_matching(
    sess: "Session",
    save_path: str | os.PathLike[str],
    var_list: Iterable[Variable] | None = None,
    name_map: NameMap | None = None,
) -> MatchReport:
    """Gives variables the values of the tensors that fit them, and leaves the others as they are.

    All that is read is read before the first variable changes.

    Args:
        sess: where the variables are to have the values.
        save_path: the prefix of a checkpoint, or the path of a file "*.safetensors".
        var_list: the variables; all of the collection GLOBAL_VARIABLES of the session's graph if
            not given.
        name_map: from a variable's name to that of its tensor, a map (names that are not in it stay
            as they are) or a function.

    Returns:
        What matched, what was missing, what was of another dtype or shape, and what was left over;
        as text, a line each.

    Raises:
        NotFoundError: there is no such checkpoint.
        DataLossError: a file is truncated or corrupt.
    """
    path = checkpoint_path(save_path, "restore_matching")
    if var_list is None:
        var_list = sess.graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
    variables = {variable.op.name: variable for variable in var_list}
    reader = tensor_reader(path)
    report = match(variables, reader, path, name_map)
    values = {name: reader.read(tensor) for name, tensor in report.matched.items()}
    writes = [variables[name].initializer for name in values]
    sess.run(writes, {variables[name].initial_value: value for name, value in values.items()})
    return report


def tensor_reader(path: str) -> TensorReader:
    """The reader of a checkpoint's prefix, or of a file "*.safetensors"."""
    return SafetensorsReader(path) if path.endswith(".safetensors") else BundleReader(path)
