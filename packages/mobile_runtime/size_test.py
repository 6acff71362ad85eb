"""What programs for phones weigh: the budgets stand here and nowhere else."""

from pathlib import Path

import pytest

# The interpreter with LeNet's kernels, static and stripped.
BUDGETS = {"lenet_aarch64": 120_000, "lenet_armv7": 120_000}


@pytest.mark.parametrize("name", BUDGETS)
def test_a_program_keeps_its_budget(name: str) -> None:
    program = Path(__file__).parent / name
    contents = program.read_bytes()
    assert contents.startswith(b"\x7fELF")
    assert b".symtab" not in contents
    print(f"{name}: {len(contents)} bytes")
    assert len(contents) <= BUDGETS[name]
    # A budget that nothing comes near is none.
    assert len(contents) > 0.8 * BUDGETS[name]
