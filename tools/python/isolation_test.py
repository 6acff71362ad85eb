"""A target imports what it declares, and nothing else of this repository or this machine."""

import importlib.util
import sys

import pytest


@pytest.mark.parametrize("module", ["numpy", "scipy", "pip", "setuptools", "qanat", "tools.wheel"])
def test_what_is_not_declared_is_not_found(module: str) -> None:
    parent = module.split(".")[0]
    if parent != module:
        assert importlib.util.find_spec(parent), "else the child is no question"
    assert importlib.util.find_spec(module) is None


def test_the_path_holds_no_folder_of_this_machine() -> None:
    foreign = [p for p in sys.path if p and ".runfiles" not in p]
    assert all(p.startswith(sys.base_prefix) for p in foreign), foreign
    assert not [p for p in sys.path if p.endswith(("site-packages", "dist-packages"))]
