"""The gradients of all ops' gradients in float64 against central differences."""

import pytest

from qanat import ops
from qanat.autodiff import compute_gradient, gradients
from qanat.core.testing import sweep
from qanat.core.testing.case import Case

CASES = [
    case for case in sweep.find_cases(ops) if sweep.has_gradient(case) and case.second_order
]


@pytest.mark.parametrize("case", CASES, ids=sweep.name_of)
def test_second_order(case: Case) -> None:
    sweep.check_second_order(case, gradients, compute_gradient)
