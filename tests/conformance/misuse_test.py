"""All ops used wrongly, so that the step fails: the named error, and a session that goes on."""

import pytest

from qanat import ops
from qanat.core.errors import OpError
from qanat.core.testing import sweep
from qanat.core.testing.case import Case, Misuse

# What fails while the graph is built is tested beside the ops.
IN_THE_STEP = [
    (case, misuse)
    for case, misuse in sweep.misuses(sweep.find_cases(ops))
    if issubclass(misuse.error, OpError)
]


@pytest.mark.parametrize(("case", "misuse"), IN_THE_STEP, ids=sweep.name_of)
def test_misuse(case: Case, misuse: Misuse) -> None:
    sweep.check_misuse(case, misuse)
