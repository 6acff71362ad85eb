"""The checkpoint ops. Their kernels are in `kernels.py`, and read and write files of the task they
are placed on."""

from collections.abc import Sequence
from typing import Annotated

from qanat.core import dtypes
from qanat.core.dtypes import DType
from qanat.core.errors import ShapeError
from qanat.core.op_def import In, Shapes, op
from qanat.core.shapes import UNKNOWN, TensorShape
from qanat.ops.shape_functions import require_scalar

String = Annotated[In, "string"]

_STORED = dtypes.ALL - {dtypes.resource}


def _require_one_each(names: In, specs: In, count: int) -> None:
    for vector, name in ((names, "tensor_names"), (specs, "shape_and_slices")):
        length = vector.shape.with_rank(1)[0]
        if length not in (None, count):
            raise ShapeError(f"expected {count} {name}, one a tensor, got {length}")


@op("SaveV2", outputs="", stateful=True, differentiable=False, dtypes=_STORED)
def save_v2(
    prefix: String,
    tensor_names: String,
    shape_and_slices: String,
    tensors: Annotated[list[In], "dtypes"],
) -> Shapes:
    """Writes tensors to a checkpoint, which appears whole or not at all.

    Args:
        prefix: of the files, a scalar.
        tensor_names: in the checkpoint, a vector.
        shape_and_slices: a vector: for a slice of a tensor "<its sizes> <extents>", such as "6 4
            0,3:-" for the first three rows of a 6 x 4 matrix; else "".
        tensors: the values.
    """
    require_scalar(prefix, "prefix")
    _require_one_each(tensor_names, shape_and_slices, len(tensors))
    return []


@op("RestoreV2", outputs="tensors: dtypes", stateful=True, differentiable=False)
def restore_v2(
    prefix: String, tensor_names: String, shape_and_slices: String, *, dtypes: Sequence[DType]
) -> Shapes:
    """Reads tensors from a checkpoint.

    Args:
        prefix: of the files, a scalar.
        tensor_names: in the checkpoint, a vector.
        shape_and_slices: a vector: "" for all of a tensor, else what to read of it, see SaveV2; the
            tensor must have that shape.
        dtypes: the types they must have.
    """
    require_scalar(prefix, "prefix")
    _require_one_each(tensor_names, shape_and_slices, len(dtypes))
    return [UNKNOWN] * len(dtypes)


@op("MergeV2Checkpoints", outputs="", stateful=True, differentiable=False)
def merge_v2_checkpoints(
    checkpoint_prefixes: String,
    destination_prefix: String,
    *,
    delete_old_dirs: bool = True,
    allow_missing_files: bool = False,
) -> Shapes:
    """Makes one checkpoint of several, which are then no more. No data is copied.

    Args:
        checkpoint_prefixes: a vector.
        destination_prefix: a scalar.
        delete_old_dirs: whether the folders of the parts go, too, if that leaves them empty.
        allow_missing_files: whether parts that do not exist are left out.
    """
    checkpoint_prefixes.shape.with_rank(1)
    require_scalar(destination_prefix, "destination_prefix")
    return []


@op("ShardedFilename", outputs="filename: string", differentiable=False)
def sharded_filename(
    basename: String, shard: Annotated[In, "int32"], num_shards: Annotated[In, "int32"]
) -> Shapes:
    """The name "<basename>-<shard>-of-<num_shards>", numbers with five digits; all are scalars."""
    for x, name in ((basename, "basename"), (shard, "shard"), (num_shards, "num_shards")):
        require_scalar(x, name)
    return [TensorShape([])]
