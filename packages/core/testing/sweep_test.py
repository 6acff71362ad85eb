"""What the sweep says of an op that something was forgotten for."""

from collections.abc import Iterable
from typing import Annotated

import numpy as np
import pytest

from qanat.core import dtypes
from qanat.core.device_library import KernelKey
from qanat.core.kernel_table import KernelTable
from qanat.core.op_def import In, Shapes, op
from qanat.core.testing import sweep
from qanat.core.testing.case import Case, numbers


@op("SweepTestHalve", outputs="y: T", T=dtypes.FLOATING)
def halve(x: Annotated[In, "T"]) -> Shapes:
    """Half of x."""
    return [x.shape]


CASE = Case(halve, (numbers(2),))


def table(*kernels: KernelKey) -> KernelTable:
    return KernelTable({"CPU": kernels})


def test_what_is_complete_passes() -> None:
    sweep.check_has_case(halve.op_def, [CASE])
    sweep.check_kernels(halve.op_def, table(("SweepTestHalve", {"T": dtypes.float32.number})))


def test_no_case() -> None:
    with pytest.raises(AssertionError, match=r"a case of SweepTestHalve.*CASES of .*_cases"):
        sweep.check_has_case(halve.op_def, [])


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ([], "a kernel of SweepTestHalve.*register one"),
        ([("SweepTestHalv", {})], "a kernel of SweepTestHalve.*register one"),
        (
            [("SweepTestHalve", {"T": dtypes.int32.number})],
            "dtypes that its @op allows, got one for T=int32",
        ),
    ],
)
def test_kernels_that_no_graph_reaches(kernels: Iterable[KernelKey], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        sweep.check_kernels(halve.op_def, table(*kernels))


def test_a_difference_names_both_sides() -> None:
    with pytest.raises(AssertionError, match="ACTUAL is the step's value, DESIRED the oracle's"):
        sweep.assert_close(np.asarray(1.0, np.float32), 2.0)
