"""All ops have kernels, without which the sweep would try nothing and say nothing."""

import pytest

from qanat import ops
from qanat.core.kernel_table import kernel_table
from qanat.core.op_def import OpDef
from qanat.core.testing import sweep


@pytest.mark.parametrize("op_def", sweep.defined(ops), ids=lambda op_def: op_def.name)
def test_kernels(op_def: OpDef) -> None:
    sweep.check_kernels(op_def, kernel_table())
