"""Where operations stand that use a handle, or pass it on."""

from contextlib import AbstractContextManager, nullcontext

from qanat.core.dtypes import resource
from qanat.core.graph import Output


def beside(value: Output) -> AbstractContextManager[None]:
    """Makes operations within the block stand where a value is if it is a handle, whatever the
    device scope: they can be nowhere else."""
    if value.dtype is not resource:
        return nullcontext()
    return value.graph.colocate_with(value.op, ignore_existing=True)
