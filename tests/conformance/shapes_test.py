"""All ops where less is known of shapes, and all ops written to a GraphDef and read again."""

from typing import Any

import pytest

from qanat import ops
from qanat.core.testing import sweep
from qanat.core.testing.case import Case

TRIED = sweep.tried_once(sweep.find_cases(ops))
UNKNOWN = [
    (case, dtype, known)
    for case, dtype in TRIED
    for known in ("rank", "nothing")
    if sweep.works_knowing(case, known)
]


@pytest.mark.parametrize(("case", "dtype", "known"), UNKNOWN, ids=sweep.name_of)
def test_unknown_shapes(case: Case, dtype: Any, known: Any) -> None:
    sweep.check_unknown_shapes(case, dtype, known)


@pytest.mark.parametrize(("case", "dtype"), TRIED, ids=sweep.name_of)
def test_round_trip(case: Case, dtype: Any) -> None:
    sweep.check_round_trip(case, dtype)
