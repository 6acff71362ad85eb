"""All ops' gradients in float64 against central differences."""

import pytest

from qanat import ops
from qanat.autodiff import compute_gradient
from qanat.core.testing import sweep
from qanat.core.testing.case import Case

CASES = [case for case in sweep.find_cases(ops) if sweep.has_gradient(case)]
DYNAMIC = [case for case in CASES if sweep.works_knowing(case, "rank")]


@pytest.mark.parametrize("case", CASES, ids=sweep.name_of)
def test_gradient(case: Case) -> None:
    sweep.check_gradient(case, compute_gradient)


@pytest.mark.parametrize("case", DYNAMIC, ids=sweep.name_of)
def test_gradient_with_unknown_sizes(case: Case) -> None:
    sweep.check_gradient(case, compute_gradient, known="rank")
