"""What needs no kernels: every op has a case, cases build, and misuse is found while the graph is
built.
"""

import pytest

from qanat import ops
from qanat.core.errors import OpError
from qanat.core.op_def import OpDef
from qanat.core.testing import sweep
from qanat.core.testing.case import Case, Misuse

CASES = sweep.find_cases(ops)
EARLY = [
    (case, misuse) for case, misuse in sweep.misuses(CASES) if not issubclass(misuse.error, OpError)
]


# A test an op, so that a filter by its name finds them.
@pytest.mark.parametrize("op_def", sweep.defined(ops), ids=lambda op_def: op_def.name)
def test_every_op_has_a_case(op_def: OpDef) -> None:
    sweep.check_has_case(op_def, CASES)


@pytest.mark.parametrize("case", CASES, ids=sweep.name_of)
def test_static_shapes(case: Case) -> None:
    for dtype in case.swept():
        outputs = sweep.build(case, dtype).outputs
        assert not case.exact or all(output.shape.is_fully_defined() for output in outputs)


@pytest.mark.parametrize(("case", "misuse"), EARLY, ids=sweep.name_of)
def test_misuse(case: Case, misuse: Misuse) -> None:
    sweep.check_misuse(case, misuse)
