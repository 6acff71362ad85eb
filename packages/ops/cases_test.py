"""What needs no kernels: every op has a case, cases build, and misuse is found while the graph is
built.
"""

import pytest

from qanat import ops
from qanat.core.errors import OpError
from qanat.core.testing import sweep
from qanat.core.testing.case import Case, Misuse

CASES = sweep.find_cases(ops)
EARLY = [
    (case, misuse) for case, misuse in sweep.misuses(CASES) if not issubclass(misuse.error, OpError)
]


def test_every_op_has_a_case() -> None:
    assert sweep.without_case(ops, CASES) == []


@pytest.mark.parametrize("case", CASES, ids=sweep.name_of)
def test_static_shapes(case: Case) -> None:
    for dtype in case.swept():
        outputs = sweep.build(case, dtype).outputs
        assert not case.exact or all(output.shape.is_fully_defined() for output in outputs)


@pytest.mark.parametrize(("case", "misuse"), EARLY, ids=sweep.name_of)
def test_misuse(case: Case, misuse: Misuse) -> None:
    sweep.check_misuse(case, misuse)
