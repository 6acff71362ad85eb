"""BUILD files as they are written here, read without Bazel."""

import pathlib

import pytest

from tools.build_files import build_files

RULES = """
load("@host//:defs.bzl", "SUFFIX")
load("@rules_cc//cc:defs.bzl", "cc_binary", _library = "cc_library")

def _impl(ctx):
    fail("rules are not run")

wheel = rule(implementation = _impl, attrs = {"deps": attr.label_list()})

def house_library(name, copts = [], **kwargs):
    _library(name = name, copts = ["-Wall"] + copts, **kwargs)

def extension(name, deps):
    cc_binary(name = name + SUFFIX, srcs = native.glob(["*.cc"]), deps = deps)
"""

BUILD = """
load("//rules:defs.bzl", "extension", "house_library", "wheel")

package(default_visibility = ["//visibility:public"])

DEPS = ["//core/kernel", "@nanobind"]

house_library(
    name = "micro",
    srcs = glob(["**/*.cc"], exclude = ["*_test.cc"]),
    copts = ["-O3"],
    deps = DEPS + [":here"] + select({
        "@platforms//cpu:x86_64": [":x86"],
        "//conditions:default": [":arm"],
    }),
)
extension(name = "_native", deps = [":micro"])
wheel(name = "wheel", deps = [":micro"])
"""


@pytest.fixture
def reader(tmp_path: pathlib.Path) -> build_files.Reader:
    empty = ("x/a.cc", "x/a_test.cc", "x/sub/b.cc", "x/own/BUILD", "x/own/c.cc")
    texts = {"x/BUILD": BUILD, "rules/defs.bzl": RULES, **dict.fromkeys(empty, "")}
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return build_files.Reader(tmp_path, {"@host//:defs.bzl": {"SUFFIX": ".so"}})


def test_macros_are_expanded(reader: build_files.Reader) -> None:
    library, extension, wheel = reader.targets("x")
    assert (library.rule, library.label) == ("cc_library", "//x:micro")
    assert library.values("copts") == ["-Wall", "-O3"]
    assert (extension.rule, extension.name) == ("cc_binary", "_native.so")
    assert extension.values("srcs") == ["a.cc", "a_test.cc"]
    assert (wheel.rule, wheel.labels("deps")) == ("wheel", ["//x:micro"])


def test_globs_selects_and_labels_are_understood(reader: build_files.Reader) -> None:
    library = reader.target("//x:micro")
    assert library is not None
    assert library.values("srcs") == ["a.cc", "sub/b.cc"]
    expected = ["//core/kernel:kernel", "@nanobind//:nanobind", "//x:here", "//x:x86"]
    assert library.labels("deps") == expected
    assert reader.target("//x:a.cc") is None


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [
        ("a.py", "*.py", True),
        ("b/a.py", "*.py", False),
        ("b/a.py", "**/*.py", True),
        ("a.py", "**/*.py", True),
        ("b/c/a.py", "b/**", True),
        ("b/a_test.py", "**/*_test.py", True),
    ],
)
def test_globs_match_as_bazels(path: str, pattern: str, expected: bool) -> None:
    assert build_files.matches(pathlib.PurePath(path), pattern) == expected
