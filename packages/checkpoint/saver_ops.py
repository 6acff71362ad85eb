"""The operations a Saver adds to a graph, once, so that the graph may be finalized afterwards."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from qanat.checkpoint import kernels as _kernels  # noqa: F401  (registers them)
from qanat.checkpoint import ops
from qanat.checkpoint.slices import format_slice, whole_slice
from qanat.core.base_ops import group, placeholder, placeholder_with_default
from qanat.core.dtypes import string
from qanat.core.graph import Graph, Operation, Output, name_scope
from qanat.ops.joining import stack
from qanat.ops.shaping import reshape
from qanat.ops.variables import Variable

Named = Sequence[tuple[str, Variable]]


class SaverOps:
    """Saving and restoring, as operations.

    Attributes:
        prefix: to be fed: the checkpoint's prefix.
        parts: to be fed when saving where it is not None: the prefix of the parts, one a device.
        save: writes a checkpoint.
        restore: gives all variables the values of a checkpoint. No variable changes before all
            values have been read.
    """

    def __init__(
        self,
        variables: Mapping[str, Variable],
        name: str,
        sharded: bool,
        reshaped: bool,
    ) -> None:
        """
        Args:
            variables: by name in the checkpoint.
            name: of the name scope.
            sharded: whether each device writes and reads the variables it has.
            reshaped: whether a value may have another shape than its variable.
        """
        graph = next(iter(variables.values())).graph
        named = sorted(variables.items(), key=lambda item: item[0].encode())
        groups = _by_device(named) if sharded else {"": named}
        with graph.as_default(), graph.control_dependencies(None), name_scope(name):
            self.prefix: Output = placeholder_with_default("model", [], name="Const")
            self.parts: Output | None = placeholder(string, [], name="parts") if sharded else None
            if self.parts is None:
                self.save: Operation = _save(self.prefix, named)
            else:
                self.save = _save_parts(graph, self.prefix, self.parts, groups)
            self.restore: Operation = _restore(graph, self.prefix, groups, reshaped)


def _by_device(named: Named) -> dict[str, Named]:
    def device(item: tuple[str, Variable]) -> str:
        return item[1].device

    ordered = sorted(named, key=device)
    return {key: list(members) for key, members in itertools.groupby(ordered, device)}


def _names(named: Named) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    return np.array([key.encode() for key, _ in named], object)


def _save(prefix: Output, named: Named) -> Operation:
    slices = np.array([b""] * len(named), object)
    values = [variable.read_value() for _, variable in named]
    operation: Operation = ops.save_v2(prefix, _names(named), slices, values)
    return operation


def _save_parts(
    graph: Graph, prefix: Output, parts: Output, groups: Mapping[str, Named]
) -> Operation:
    """Each device writes its variables to a part; then the parts become the checkpoint."""
    names, saves = [], []
    for shard, (device, named) in enumerate(groups.items()):
        with graph.device(device or None):
            names.append(ops.sharded_filename(parts, shard, len(groups)))
            saves.append(_save(names[-1], named))
    with graph.control_dependencies(saves):
        merge: Operation = ops.merge_v2_checkpoints(stack(names), prefix)
    return merge


def _restore(
    graph: Graph, prefix: Output, groups: Mapping[str, Named], reshaped: bool
) -> Operation:
    values: list[tuple[Variable, Output]] = []
    for device, named in groups.items():
        with graph.device(device or None):
            restored = ops.restore_v2(
                prefix,
                _names(named),
                np.array([_slice(variable, reshaped) for _, variable in named], object),
                dtypes=[variable.dtype for _, variable in named],
            )
        values += zip((variable for _, variable in named), restored, strict=True)
    with graph.control_dependencies({value.op: None for _, value in values}):
        return group(
            *(
                variable.assign(_shaped(variable, value, reshaped), read_value=False)
                for variable, value in values
            ),
            name="restore_all",
        )


def _slice(variable: Variable, reshaped: bool) -> bytes:
    """All of the tensor, which then must have the variable's shape; or whatever there is."""
    dims = variable.shape.dims
    if reshaped or not dims or None in dims:
        return b""
    return format_slice(whole_slice([dim or 0 for dim in dims])).encode()


def _shaped(variable: Variable, value: Output, reshaped: bool) -> Output:
    if reshaped and variable.shape.is_fully_defined():
        return reshape(value, variable.shape.as_list())
    return value
