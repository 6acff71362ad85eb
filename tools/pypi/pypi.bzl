"""Repositories made from locked PyPI wheels."""

load(":download.bzl", "normalize", "parse_lock", "pip_download", "python_on_path", "unpack")

_LIBRARY = """
py_library(
    name = "{name}",
    # The wheel's tree is one input, one symlink in a sandbox, where its files would be thousands.
    # Bazel does not look into a folder to see that it changed: the stamp stands for what is in it.
    data = ["site/{name}", "stamp/{name}.txt"],
    imports = ["site/{name}"],
    srcs_version = "PY3",
    deps = {deps},
)
"""

_HEADERS = """
cc_library(
    name = "{name}_headers",
    hdrs = glob(["site/{name}/{folder}/**/*.h"]),
    # Headers found through `includes` are not among an action's recorded inputs: this compiles their
    # users again when the version changes.
    defines = ["QANAT_{tag}_VERSION={version}"],
    includes = ["site/{name}/{folder}"],
)
"""

def _compile(rctx, python):
    """Byte code for all that is imported: a sandbox cannot keep any, and each test would compile anew."""
    command = [python, "-m", "compileall", "-q", "-x", "/tests/", "--invalidation-mode", "unchecked-hash", "site"]
    rctx.execute(command, timeout = 3600)  # a file that is for another Python does not compile

def _pypi_libraries_impl(rctx):
    python = rctx.os.environ.get("QANAT_PYTHON") or python_on_path(rctx)
    lock = parse_lock(rctx.read(rctx.attr.lock))
    wheels = pip_download(rctx, python, lock.values(), "wheels")
    build = [
        "load(\"@rules_cc//cc:defs.bzl\", \"cc_library\")",
        "load(\"@rules_python//python:defs.bzl\", \"py_library\")",
        "package(default_visibility = [\"//visibility:public\"])",
    ]
    for name, line in sorted(lock.items()):
        requires = unpack(rctx, python, wheels[name], "site/" + name)
        rctx.file("stamp/%s.txt" % name, line + "\n", executable = False)
        build.append(_LIBRARY.format(name = name, deps = repr([":" + r for r in requires if r in lock])))
    for name, folder in sorted(rctx.attr.headers.items()):
        version = lock[name].split("==")[1].split(" ")[0]
        build.append(_HEADERS.format(name = name, folder = folder, tag = name.upper(), version = version))
    rctx.delete("wheels")
    _compile(rctx, python)
    rctx.file("BUILD.bazel", "\n".join(build))

pypi_libraries = repository_rule(
    doc = """Every locked distribution as a py_library `@NAME//:distribution`, with what it requires.

    `headers`: the folder of C headers of some, which become a cc_library `@NAME//:distribution_headers`.""",
    implementation = _pypi_libraries_impl,
    attrs = {
        "headers": attr.string_dict(),
        "lock": attr.label(allow_single_file = True, mandatory = True),
    },
    # The interpreter whose wheels are taken: the one that runs them.
    environ = ["QANAT_PYTHON"],
)

def _pypi_archive_impl(rctx):
    python = python_on_path(rctx)
    name = normalize(rctx.attr.distribution)
    line = parse_lock(rctx.read(rctx.attr.lock))[name]
    wheels = pip_download(rctx, python, [line], "wheels")
    unpack(rctx, python, wheels[name], ".")
    rctx.delete("wheels")
    rctx.file("stamp.txt", line + "\n", executable = False)
    rctx.file("version.bzl", "VERSION = \"%s\"\n" % line.split("==")[1].split(" ")[0])
    rctx.symlink(rctx.attr.build_file, "BUILD.bazel")

pypi_archive = repository_rule(
    doc = """The files of one locked wheel that is the same for every interpreter, with a BUILD file of ours.

    Beside the files: `stamp.txt`, the lock line, and `version.bzl` with VERSION.""",
    implementation = _pypi_archive_impl,
    attrs = {
        "build_file": attr.label(allow_single_file = True, mandatory = True),
        "distribution": attr.string(mandatory = True),
        "lock": attr.label(allow_single_file = True, mandatory = True),
    },
)
