"""Writes OPS.md: all ops, as the registries of ops, kernels and cases know them.

usage: ./tools/bazel run //tools/op_table
"""

import os
import pathlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from qanat import ops
from qanat.core import _native, dtypes
from qanat.core.attrs import REQUIRED
from qanat.core.kernel_table import kernel_table
from qanat.core.op_def import OpDef, registered
from qanat.core.testing import sweep

HEAD = """# Ops

All ops, made by `./tools/bazel run //tools/op_table`; a test keeps it up to date. An op's meaning,
with its documentation and gradient, stands in `packages/ops`; the names are TensorFlow's. "On CPU"
are the dtypes with a kernel, by type attribute; "cases" counts what the sweep tries the op with.

| op | inputs | attributes | outputs | on CPU | gradient | cases |
|---|---|---|---|---|---|---|
"""

GROUPS = {"floats": dtypes.FLOATING, "signed": dtypes.SIGNED, "unsigned": dtypes.UNSIGNED}


def table() -> str:
    """The whole text of OPS.md."""
    counts = Counter(name for case in sweep.find_cases(ops) for name in case.ops())
    kernels = _kernels()
    shown = [op_def for op_def in registered() if not op_def.name.startswith("_")]
    return HEAD + "".join(_row(op_def, kernels, counts) for op_def in shown)


def _kernels() -> Mapping[str, Mapping[str, set[int]]]:
    """By op: by type attribute, the numbers of the dtypes that any kernel takes."""
    kernel_table()
    found: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for op, types, _ in _native.kernels():
        found[op].update({})
        for attr, number in types.items():
            found[op][attr].add(number)
    return found


def _row(
    op_def: OpDef, kernels: Mapping[str, Mapping[str, set[int]]], counts: Mapping[str, int]
) -> str:
    cells = [
        f"`{op_def.name}`",
        ", ".join(map(str, op_def.inputs)),
        ", ".join(_attributes(op_def)),
        ", ".join(map(str, op_def.outputs)),
        _types(kernels[op_def.name]) if op_def.name in kernels else "none",
        "yes" if op_def.gradient else "no",
        str(counts[op_def.name]),
    ]
    return f"| {' | '.join(cells)} |\n"


def _attributes(op_def: OpDef) -> Iterable[str]:
    for attr in op_def.attrs.values():
        if not attr.inferred:
            shown = f"{attr.default:g}" if isinstance(attr.default, float) else attr.default
            default = "" if attr.default is REQUIRED else f"={shown}"
            yield f"{attr.name}: {attr.kind}{default}"


def _types(by_attr: Mapping[str, set[int]]) -> str:
    return "; ".join(f"{attr}: {_names(numbers)}" for attr, numbers in by_attr.items()) or "any"


def _names(numbers: set[int]) -> str:
    """Groups of dtypes that are there as a whole, then the rest by name."""
    left = {dtypes.as_dtype(number) for number in numbers}
    words = []
    for name, group in GROUPS.items():
        if group <= left:
            words.append(name)
            left -= group
    return " ".join([*words, *(d.name for d in sorted(left, key=lambda d: d.number))])


if __name__ == "__main__":
    root = pathlib.Path(os.environ["BUILD_WORKSPACE_DIRECTORY"])
    (root / "OPS.md").write_text(table())
