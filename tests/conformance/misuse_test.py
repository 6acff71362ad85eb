"""All ops used wrongly, so that the step fails: the named error, and a session that goes on."""

import pytest

from qanat import ops
from qanat.core.errors import OpError, ShapeError
from qanat.core.op_def import OpBuilder
from qanat.core.testing import sweep
from qanat.core.testing.case import Case, Misuse

# What fails while the graph is built is tested beside the ops.
IN_THE_STEP = [
    (case, misuse)
    for case, misuse in sweep.misuses(sweep.find_cases(ops))
    if issubclass(misuse.error, OpError)
]


# What the shape function refuses, the kernel must refuse where it was not told the shapes.
LATE = [
    (case, misuse)
    for case, misuse in sweep.misuses(sweep.find_cases(ops))
    if issubclass(misuse.error, ShapeError) and isinstance(case.op, OpBuilder)
]


@pytest.mark.parametrize(("case", "misuse"), IN_THE_STEP, ids=sweep.name_of)
def test_misuse(case: Case, misuse: Misuse) -> None:
    sweep.check_misuse(case, misuse)


@pytest.mark.parametrize(("case", "misuse"), LATE, ids=sweep.name_of)
def test_misuse_that_no_static_shape_shows(case: Case, misuse: Misuse) -> None:
    sweep.check_late_misuse(case, misuse)
