"""Programs are refused where they do not fit a kernel's parameters, and core writes none such."""

import re

import pytest

from qanat.kernels_cuda import sources
from qanat.kernels_cuda.kernels import fused


def test_too_many_instructions() -> None:
    lines = [f"t{i}=Exp(v0)" for i in range(fused.MAX_INSTRUCTIONS + 1)]
    with pytest.raises(ValueError, match="expected a program of at most 128 instructions, got 129"):
        fused._translate(";".join([*lines, "out=t0"]))


def test_too_many_arrays() -> None:
    lines = [f"t{i}=Add(v{i},v{i + 1})" for i in range(fused.MAX_ARRAYS)]
    with pytest.raises(ValueError, match="at most 80 arrays each, got 81 and 1"):
        fused._translate(";".join([*lines, "out=t0"]))


def test_the_limits_are_those_of_the_kernels() -> None:
    text = sources.source_of("fused_elementwise")
    limits = dict(re.findall(r"constexpr int (\w+) = (\d+);", text))
    assert limits == {
        "kMaxInstructions": str(fused.MAX_INSTRUCTIONS),
        "kMaxArrays": str(fused.MAX_ARRAYS),
    }
