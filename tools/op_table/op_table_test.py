"""OPS.md is what the registries say."""

import os
import pathlib

from tools.op_table import op_table


def test_ops_md_is_up_to_date() -> None:
    written = pathlib.Path(os.environ["RUNFILES_DIR"], "OPS.md").read_text()
    assert written == op_table.table(), "run ./tools/bazel run //tools/op_table"
