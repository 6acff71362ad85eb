"""Cases of variables' ops."""

from typing import Any

from qanat.core import dtypes
from qanat.core.errors import FailedPreconditionError
from qanat.core.graph import control_dependencies
from qanat.core.testing.case import Case, Misuse, numbers
from qanat.ops import state


def _handle(value: Any) -> Any:
    return state.var_handle_op(shared_name="v", dtype=value.dtype, shape=value.shape)


def _assigned(value: Any) -> Any:
    """(whether it had a value before, its value)"""
    handle = _handle(value)
    before = state.var_is_initialized_op(handle)
    with control_dependencies([before]), control_dependencies([state.assign_variable_op(handle,
                                                                                        value)]):
        return before, state.read_variable_op(handle, dtype=value.dtype)


def _updated(update: Any) -> Any:
    def updated(value: Any, delta: Any) -> Any:
        """(the value before the update, the value after it): the first must not change."""
        handle = _handle(value)
        with control_dependencies([state.assign_variable_op(handle, value)]):
            before = state.read_variable_op(handle, dtype=value.dtype)
        with control_dependencies([before]), control_dependencies([update(handle, delta)]):
            return before, state.read_variable_op(handle, dtype=value.dtype)

    return updated


def _used(use: Any) -> Any:
    def used(value: Any, initialized: bool = True, shape: Any = None) -> Any:
        """The use of a variable of another shape, or of one that may have no value."""
        handle = state.var_handle_op(
            shared_name="v", dtype=value.dtype, shape=value.shape if shape is None else shape
        )
        with control_dependencies([state.assign_variable_op(handle, value)] if initialized else []):
            return use(handle, value)

    return used


def _or_else(value: Any) -> Any:
    """(the value that stands in for one that is missing, the value once there is one)"""
    handle = _handle(value)
    missing = state.read_variable_or_else_op(handle, value)
    with control_dependencies([missing]):
        assign = state.assign_variable_op(handle, value + value)
    with control_dependencies([assign]):
        return missing, state.read_variable_or_else_op(handle, value)


VALUES = dtypes.NUMERIC | {dtypes.bool_}
UPDATES = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)

CASES = [
    *(
        Case(_assigned, (numbers(*shape),), oracle=lambda x: [False, x], dtypes=VALUES,
             gradient=False,
             covers=["VarHandleOp", "AssignVariableOp", "ReadVariableOp", "VarIsInitializedOp"])
        for shape in ((2, 3), (), (0, 3))
    ),
    *(
        Case(_updated(update), (numbers(*shape), numbers(*shape)), oracle=oracle, dtypes=UPDATES,
             gradient=False, covers=[update.op_def.name])
        for update, oracle in (
            (state.assign_add_variable_op, lambda x, d: [x, x + d]),
            (state.assign_sub_variable_op, lambda x, d: [x, x - d]),
        )
        for shape in ((2, 3), (), (0, 3))
    ),
    Case(_or_else, (numbers(2, 3),), oracle=lambda x: [x, x + x], gradient=False,
         covers=["ReadVariableOrElseOp"]),
    *(
        Case(_used(use), (numbers(2),), gradient=False, misuse=[
            Misuse((numbers(2),), "v", FailedPreconditionError, attrs={"initialized": False}),
            Misuse((numbers(2),), "variable's shape", attrs={"shape": [5]}),
        ])
        for use in (
            state.assign_add_variable_op,
            state.assign_sub_variable_op,
            lambda handle, value: state.read_variable_op(handle, dtype=value.dtype),
        )
    ),
    Case(_used(lambda handle, value: state.read_variable_op(handle, dtype=dtypes.int8)),
         (numbers(2),),
         dtypes=[dtypes.int8], gradient=False,
         misuse=[Misuse((numbers(2),), "the variable's dtype", TypeError, dtype=dtypes.float32)]),
]  # fmt: skip
