"""host_python: the machine's CPython, seen through an empty virtual environment.

The environment has no packages of its own and hides the machine's, so a target imports what its deps
name and nothing else. QANAT_PYTHON names the interpreter; the default is the PATH's python3.
"""

load("//tools/pypi:download.bzl", "python_on_path")

_SUPPORTED = ["3.11", "3.12", "3.13"]

_QUERY = """
import os, sys, sysconfig
variables = sysconfig.get_config_vars()
print(os.path.realpath(sys.executable))
print("%d.%d" % sys.version_info[:2])
print(sysconfig.get_paths()["include"])
print(variables["EXT_SUFFIX"])
print(variables.get("MULTIARCH") or "none")
"""

_BUILD = """
load("@bazel_tools//tools/python:toolchain.bzl", "py_runtime_pair")
load("@rules_cc//cc:defs.bzl", "cc_library")
load("@rules_python//python:defs.bzl", "py_runtime")

package(default_visibility = ["//visibility:public"])

py_runtime(
    name = "runtime",
    files = ["venv/pyvenv.cfg"],
    interpreter = "venv/bin/python3",
    python_version = "PY3",
    stub_shebang = "#!{python} -IS",
)

py_runtime_pair(
    name = "runtime_pair",
    py3_runtime = ":runtime",
)

toolchain(
    name = "toolchain",
    toolchain = ":runtime_pair",
    toolchain_type = "@bazel_tools//tools/python:toolchain_type",
)

cc_library(
    name = "headers",
    hdrs = glob(["include/**/*.h", "multiarch/**/*.h"]),
    # Headers found through `includes` are not among an action's recorded inputs: this compiles their
    # users again when the interpreter's version changes.
    defines = ["QANAT_PYTHON_TAG={tag}"],
    includes = ["include", "multiarch"],
)
"""

def _run(rctx, command):
    result = rctx.execute(command)
    if result.return_code != 0:
        fail("%s failed:\n%s%s" % (command[0], result.stdout, result.stderr))
    return result.stdout.strip().split("\n")

def _headers(rctx, version, include, multiarch):
    include = rctx.path(include)
    if not include.get_child("Python.h").exists:
        fail("no Python.h in %s: install the interpreter's headers (Debian: python3-dev)" % include)
    rctx.symlink(include, "include")

    # Debian's pyconfig.h includes <MULTIARCH/pythonX.Y/pyconfig.h>, which only its own gcc finds.
    rctx.file("multiarch/none.h", "")
    config = include.dirname.get_child(multiarch).get_child("python" + version)
    if config.exists:
        rctx.symlink(config, "multiarch/%s/python%s" % (multiarch, version))

def _host_python_impl(rctx):
    python = rctx.os.environ.get("QANAT_PYTHON") or python_on_path(rctx)
    real, version, include, suffix, multiarch = _run(rctx, [python, "-I", "-c", _QUERY])
    if version not in _SUPPORTED:
        fail("CPython %s wanted, %s is %s (QANAT_PYTHON=... names another)" % (" or ".join(_SUPPORTED), python, version))

    _run(rctx, [real, "-m", "venv", "--without-pip", "--symlinks", "venv"])

    # Its last line names this output tree, and would make every cache miss.
    config = [line for line in rctx.read("venv/pyvenv.cfg").split("\n") if not line.startswith("command")]
    rctx.file("venv/pyvenv.cfg", "\n".join(config), executable = False)

    _headers(rctx, version, include, multiarch)
    tag = "cp" + version.replace(".", "")
    rctx.file("defs.bzl", "EXT_SUFFIX = \"%s\"\nPYTHON_TAG = \"%s\"\n" % (suffix, tag))
    rctx.file("BUILD.bazel", _BUILD.format(python = real, tag = tag))

host_python = repository_rule(
    implementation = _host_python_impl,
    environ = ["QANAT_PYTHON"],
    local = True,
)
