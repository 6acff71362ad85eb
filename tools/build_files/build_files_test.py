"""BUILD files as they are written here, read without Bazel."""

import pathlib

from tools.build_files import build_files

BUILD = """
load("//tools/cc:defs.bzl", "qanat_cc_library", "qanat_cc_tests")

DEPS = ["//packages/core/native/kernel", "@nanobind"]

qanat_cc_library(
    name = "micro",
    srcs = glob(["**/*.cc"], exclude = ["*_test.cc"]),
    deps = DEPS + [":here"] + select({
        "@platforms//cpu:x86_64": [":x86"],
        "//conditions:default": [":arm"],
    }),
)
qanat_cc_tests(deps = [":micro"])
"""


def make(root: pathlib.Path) -> None:
    empty = ("a.cc", "a_test.cc", "sub/b.cc", "own/BUILD", "own/c.cc")
    for name, text in {"BUILD": BUILD, **dict.fromkeys(empty, "")}.items():
        path = root / "x" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_rules_globs_and_selects_are_understood(tmp_path: pathlib.Path) -> None:
    make(tmp_path)
    library, tests = build_files.read(tmp_path, "x")
    assert (library.rule, library.name) == ("qanat_cc_library", "micro")
    assert library.values("srcs") == ["a.cc", "sub/b.cc"]
    assert library.labels("deps") == [
        "//packages/core/native/kernel:kernel",
        "@nanobind",
        "//x:here",
        "//x:x86",
    ]
    assert tests.rule == "qanat_cc_tests"


def test_globs_match_as_bazels() -> None:
    for path, pattern, expected in [
        ("a.py", "*.py", True),
        ("b/a.py", "*.py", False),
        ("b/a.py", "**/*.py", True),
        ("a.py", "**/*.py", True),
        ("b/c/a.py", "b/**", True),
        ("b/a_test.py", "**/*_test.py", True),
    ]:
        assert build_files.matches(pathlib.PurePath(path), pattern) == expected, (path, pattern)
