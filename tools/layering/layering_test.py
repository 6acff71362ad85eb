"""The layering of this tree, and that a wrong import and a wrong include are caught."""

import os
import pathlib

import pytest

from tools.layering import layering

# The runfiles hold a link to the real file, beside which is all that nobody declares.
ROOT = pathlib.Path(os.environ["RUNFILES_DIR"], "qanat/BUILD").resolve().parent.parent


def test_this_tree_follows_its_arrows() -> None:
    assert (ROOT / "packages/README.md").exists()
    assert layering.violations(ROOT) == []


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> pathlib.Path:
    """An empty tree with this one's arrows."""
    for file in ("packages/BUILD", "tools/python/defs.bzl"):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text((ROOT / file).read_text())
    return tmp_path


def write(tree: pathlib.Path, path: str, text: str) -> list[str]:
    file = tree / "packages" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return layering.violations(tree)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("ops/math.py", "from qanat.core import graph"),
        ("ops/math.py", "from . import array"),
        ("training/adam.py", "def f():\n    import qanat.checkpoint.saver"),
        ("models/mnist.py", "import qanat as qn"),
        ("kernels_cpu/native/matmul.cc", '#include "packages/core/native/kernel/kernel.h"'),
        ("kernels_cpu/native/matmul_test.cc", '#include "packages/core/native/testing/check.h"'),
        ("core/native/executor/step.cc", '#include "packages/core/native/memory/tensor.h"'),
    ],
)
def test_what_an_arrow_allows_passes(tree: pathlib.Path, path: str, text: str) -> None:
    assert write(tree, path, text) == []


@pytest.mark.parametrize(
    ("path", "text", "group"),
    [
        ("core/graph.py", "from qanat.ops import math", "ops"),
        ("core/graph.py", "def f():\n    from qanat import autodiff", "autodiff"),
        ("core/passes/prune.py", "from ...ops.math import add", "ops"),
        ("ops/math.py", "import qanat as qn", "qanat"),
        ("autodiff/engine.py", "import qanat.training", "training"),
        ("core/x.py", "import qanat.unheard_of", "(no such group)"),
        ("kernels_cpu/native/a.cc", '#include "packages/core/native/executor/b.h"', "core.native"),
        ("core/native/a.cc", '# include "packages/kernels_cpu/native/b.h"', "kernels_cpu.native"),
    ],
)
def test_a_wrong_use_is_caught(tree: pathlib.Path, path: str, text: str, group: str) -> None:
    (message,) = write(tree, path, text)
    assert message.startswith(f"packages/{path}:") and message.endswith("users_of." + group)
