"""Python rules of this repository.

A source `packages/core/graph.py` is imported as `qanat.core.graph`: qanat_py_library puts it, and the
data beside it, at `qanat/core/graph.py` below the runfiles' root, which is on Python's path. A source
elsewhere (`tests/`, `tools/`) keeps its path. Nothing else of this repository is on the path, so a
target imports what its deps name and no more.
"""

load("@rules_python//python:defs.bzl", "py_binary", "py_test")

QanatPyInfo = provider(
    doc = "The files of Python libraries and where an installation has them.",
    fields = {"files": "depset of struct(path = 'qanat/...', file = File)"},
)

# What every program has in common.
_PROGRAM = {
    # The flag of .bazelrc does not reach tools, which are built in another configuration.
    "legacy_create_init": 0,
    "python_version": "PY3",
    "srcs_version": "PY3",
    # The interpreter is a program of the gnu C library: nothing of Python is built for phones.
    "target_compatible_with": ["//tools/platforms:gnu"],
}

def installed_path(file):
    """Where a file of this repository is installed: packages/ is the package `qanat`."""
    path = file.short_path
    return "qanat/" + path[len("packages/"):] if path.startswith("packages/") else path

def qanat_py_info(files, deps):
    """The providers of a Python library that owns `files` and needs `deps`; `files` are placed by
    installed_path, those of other repositories stay where Bazel has them."""
    own = [f for f in files if not f.short_path.startswith("../")]
    foreign = [f for f in files if f.short_path.startswith("../")]
    placed = [struct(path = installed_path(f), file = f) for f in own]
    return struct(
        files = depset(placed, transitive = [d[QanatPyInfo].files for d in deps if QanatPyInfo in d]),
        foreign = foreign,
        symlinks = {p.path: p.file for p in placed},
    )

def qanat_py_providers(ctx, files, deps):
    """What a rule that owns Python files returns."""
    info = qanat_py_info(files, deps)
    runfiles = ctx.runfiles(files = info.foreign, root_symlinks = info.symlinks)
    for dep in deps:
        runfiles = runfiles.merge(dep[DefaultInfo].default_runfiles)
    python = [d[PyInfo] for d in deps if PyInfo in d]
    return [
        DefaultInfo(files = depset(files), runfiles = runfiles),
        QanatPyInfo(files = info.files),
        PyInfo(
            has_py3_only_sources = True,
            imports = depset(transitive = [p.imports for p in python]),
            transitive_sources = depset(transitive = [p.transitive_sources for p in python]),
        ),
    ]

def _library_impl(ctx):
    return qanat_py_providers(ctx, ctx.files.srcs + ctx.files.data, ctx.attr.deps)

qanat_py_library = rule(
    doc = "Python sources (and data, such as shared objects) placed where they are imported from.",
    implementation = _library_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".py", ".pyi"]),
        "data": attr.label_list(allow_files = True),
        "deps": attr.label_list(providers = [PyInfo]),
    },
    provides = [PyInfo, QanatPyInfo],
)

def _main_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".py")
    module = installed_path(ctx.file.src)
    ctx.actions.write(out, ctx.attr.template % (module if ctx.attr.as_path else module[:-len(".py")].replace("/", ".")))
    return [DefaultInfo(files = depset([out]))]

_main = rule(
    doc = "A main program that runs `src` at the place it is imported from.",
    implementation = _main_impl,
    attrs = {
        "src": attr.label(allow_single_file = [".py"], mandatory = True),
        "template": attr.string(mandatory = True),
        "as_path": attr.bool(),
    },
)

# A script's own folder is on its path, and lies outside the runfiles: never import from there.
_MAIN_PROGRAM = """import runpy
import sys

if not sys.flags.safe_path:
    del sys.path[0]
runpy.run_module("%s", run_name="__main__", alter_sys=True)
"""

_MAIN_TEST = """from tools.python import pytest_main

pytest_main.run("%s")
"""

def qanat_py_binary(name, srcs = None, data = [], deps = [], visibility = None, **kwargs):
    """A program: its one source, by default NAME.py, is also the library NAME_lib.

    `data` is the program's alone: who uses the library, as a wheel does, needs none of it."""
    srcs = srcs or [name + ".py"]
    qanat_py_library(name = name + "_lib", srcs = srcs, visibility = visibility, deps = deps)
    _main(name = name + "_main", src = srcs[0], template = _MAIN_PROGRAM)
    py_binary(
        name = name,
        srcs = [":%s_main" % name],
        data = data,
        main = name + "_main.py",
        visibility = visibility,
        deps = [":%s_lib" % name],
        **dict(_PROGRAM, **kwargs)
    )

def qanat_py_test(name, srcs = None, data = [], deps = [], size = "small", **kwargs):
    """A pytest file: the first of srcs, by default NAME.py. pytest and hypothesis are always there.

    Under `bazel test`, --test_filter is pytest's -k and the deadline is the size's."""
    srcs = srcs or [name + ".py"]
    qanat_py_library(name = name + "_lib", testonly = True, srcs = srcs, data = data, deps = deps)
    _main(name = name + "_main", testonly = True, src = srcs[0], template = _MAIN_TEST, as_path = True)
    py_test(
        name = name,
        size = size,
        srcs = [":%s_main" % name],
        main = name + "_main.py",
        deps = [":%s_lib" % name, "//tools/python:pytest_main"],
        **dict(_PROGRAM, **kwargs)
    )

def qanat_py_tests(deps = [], data = [], exclude = [], sizes = {}, tags = {}):
    """A qanat_py_test for each *_test.py of the folder; `sizes` of those that are not small, `tags` of
    those that have any."""
    for source in native.glob(["*_test.py"], exclude = exclude):
        name = source[:-len(".py")]
        qanat_py_test(
            name = name,
            size = sizes.get(name, "small"),
            data = data,
            tags = tags.get(name, []),
            deps = deps,
        )
