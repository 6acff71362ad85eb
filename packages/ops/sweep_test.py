"""Runs the cases of all families of ops."""

from typing import Any

import pytest

from qanat import ops
from qanat.core.testing import sweep
from qanat.core.testing.case import Case, Misuse

CASES = sweep.find_cases(ops)
TRIED = [(case, dtype) for case in CASES for dtype in sweep.dtypes_with_kernels(case)]
FIRST = [(case, sweep.dtypes_with_kernels(case)[0])
         for case in CASES if sweep.dtypes_with_kernels(case)]


def _id(value: Any) -> str:
    if isinstance(value, Case):
        return value.name
    return value.message if isinstance(value, Misuse) else str(value)


def test_every_op_has_a_case() -> None:
    assert sweep.without_case(ops, CASES) == []


@pytest.mark.parametrize(("case", "dtype"), TRIED, ids=_id)
def test_value(case: Case, dtype: Any) -> None:
    sweep.check_value(case, dtype)


@pytest.mark.parametrize(
    ("case", "dtype", "known"),
    [(case, dtype, known) for case, dtype in FIRST for known in ("rank", "nothing")
     if sweep.works_knowing(case, known)],
    ids=_id,
)
def test_unknown_shapes(case: Case, dtype: Any, known: Any) -> None:
    sweep.check_unknown_shapes(case, dtype, known)


@pytest.mark.parametrize(("case", "dtype"), FIRST, ids=_id)
def test_round_trip(case: Case, dtype: Any) -> None:
    sweep.check_round_trip(case, dtype)


@pytest.mark.parametrize(("case", "misuse"), list(sweep.misuses(CASES)), ids=_id)
def test_misuse(case: Case, misuse: Misuse) -> None:
    sweep.check_misuse(case, misuse)
