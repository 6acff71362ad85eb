"""All ops, every dtype with a kernel: the values are NumPy's, the shapes the graph's."""

from typing import Any

import pytest

from qanat import ops
from qanat.core.testing import sweep
from qanat.core.testing.case import Case


@pytest.mark.parametrize(("case", "dtype"), sweep.tried(sweep.find_cases(ops)), ids=sweep.name_of)
def test_value(case: Case, dtype: Any) -> None:
    sweep.check_value(case, dtype)
