"""C++ rules of this repository: Bazel's own, with the house's flags.

C++20, every warning an error, hidden symbols, and neither exceptions nor RTTI unless asked for. Includes
are written from the repository's root: #include "packages/core/native/kernel/parallel.h".
"""

load("@host_python//:defs.bzl", "EXT_SUFFIX")
load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")

def _copts(exceptions):
    # What g++ warns of changes with its version: there a warning stays one.
    strict = select({
        "//tools/cc:gcc": [],
        "//conditions:default": ["-Werror"],
    })
    lean = [] if exceptions else ["-fno-exceptions", "-fno-rtti"]
    return ["-Wall", "-Wextra", "-fvisibility=hidden"] + lean + strict

def qanat_cc_library(name, copts = [], exceptions = False, **kwargs):
    """A cc_library. `exceptions` is for code that nanobind or Python calls."""

    # No shared object of its own: nobody links it, and hidden symbols would not be found in it.
    kwargs.setdefault("linkstatic", True)
    cc_library(name = name, copts = _copts(exceptions) + copts, **kwargs)

def qanat_cc_binary(name, copts = [], exceptions = False, **kwargs):
    """A program, such as a NAME_bench."""
    cc_binary(name = name, copts = _copts(exceptions) + copts, **kwargs)

def qanat_cc_test(name, srcs = None, copts = [], deps = [], exceptions = False, size = "small", **kwargs):
    """A test of packages/core/native/testing/check.h, by default of NAME.cc; it runs under qemu for ARM."""
    cc_test(
        name = name,
        size = size,
        srcs = srcs or [name + ".cc"],
        copts = _copts(exceptions) + copts,
        deps = deps + ["//packages/core/native/testing:check"],
        **kwargs
    )

# The instruction sets that vector code is compiled for, by processor, with their flags.
_X86_64 = {
    "baseline": [],
    "avx2": ["-mavx2", "-mfma"],
    "avx512": ["-mavx512f", "-mavx512vl", "-mavx512bw", "-mavx512dq", "-mfma"],
}
_ARM = {"neon": []}

def _simd_copies(name, sets, cpus, copts, visibility, kwargs):
    for isa, flags in sets.items():
        qanat_cc_library(
            name = "%s_%s" % (name, isa),
            copts = flags + copts,
            local_defines = ["QANAT_SIMD_NS=" + isa],
            target_compatible_with = cpus,
            visibility = ["//visibility:private"],
            **kwargs
        )
    return [":%s_%s" % (name, isa) for isa in sets]

def qanat_simd_library(name, srcs, hdrs = [], deps = [], copts = [], visibility = None, **kwargs):
    """The same sources compiled once for each instruction set of the target's processor.

    Each copy has QANAT_SIMD_NS defined as its set: baseline (SSE2), avx2 or avx512 on x86-64, neon on ARM.
    All that a copy defines must stand in a namespace of that name, and must not come from inline functions
    or templates outside it: the linker keeps one copy of those, perhaps the one for a newer processor.
    """
    kwargs = dict(kwargs, srcs = srcs, hdrs = hdrs, deps = deps)
    x86_64 = ["@platforms//cpu:x86_64"]
    arm = select({
        "@platforms//cpu:x86_64": ["//tools/platforms:incompatible"],
        "//conditions:default": [],
    })
    on_x86_64 = _simd_copies(name, _X86_64, x86_64, copts, visibility, kwargs)
    on_arm = _simd_copies(name, _ARM, arm, copts, visibility, kwargs)
    cc_library(
        name = name,
        testonly = kwargs.get("testonly", False),
        hdrs = hdrs,
        visibility = visibility,
        deps = deps + select({
            "@platforms//cpu:x86_64": on_x86_64,
            "//conditions:default": on_arm,
        }),
    )

def qanat_shared_library(name, exports, deps, visibility = None, **kwargs):
    """NAME (`libfoo.so`): a shared object that holds what the C functions `exports` need of deps.

    Not for phones: their programs are static.
    """
    cc_binary(
        name = name,
        target_compatible_with = ["//tools/platforms:gnu"],
        linkopts = ["-Wl,-u," + symbol for symbol in exports],
        linkshared = True,
        visibility = visibility,
        deps = deps,
        **kwargs
    )

def qanat_extension(name, deps, visibility = None):
    """NAME: the CPython extension NAME<EXT_SUFFIX>, out of a library that defines PyInit_NAME."""
    qanat_shared_library(
        name = name + EXT_SUFFIX,
        deps = deps,
        exports = ["PyInit_" + name],
        visibility = ["//visibility:private"],
    )
    native.filegroup(name = name, srcs = [name + EXT_SUFFIX], visibility = visibility)

def qanat_cc_tests(deps, exclude = [], sizes = {}):
    """A qanat_cc_test for each *_test.cc of the folder; `sizes` of those that are not small."""
    for source in native.glob(["*_test.cc"], exclude = exclude):
        name = source[:-len(".cc")]
        qanat_cc_test(name = name, size = sizes.get(name, "small"), deps = deps)
