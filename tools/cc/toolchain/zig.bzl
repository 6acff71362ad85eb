"""C++ toolchains out of the ziglang wheel: clang, lld, libc++, and glibc's stubs or musl."""

load("//tools/pypi:download.bzl", "python_on_path")

# name: (zig's target, Bazel's cpu, cpu constraint, libc constraint, flags of the processor)
_TARGETS = {
    "zig_x86_64": ("x86_64-linux-gnu.2.28", "k8", "x86_64", "gnu", []),
    "zig_aarch64": ("aarch64-linux-musl", "aarch64", "aarch64", "musl", []),
    "zig_armv7": ("arm-linux-musleabihf", "armeabi-v7a", "arm", "musl", ["-mfpu=neon-vfpv4"]),
}

# Where actions see the wheel.
_ZIG = "external/ziglang/ziglang"

_TOOLS = {"ar": "ar", "cc": "clang", "ld.lld": "ld.lld"}

_BUILD = """
load("@qanat_workspace//tools/cc/toolchain:config.bzl", "zig_toolchain")
load(":flags.bzl", "COMPILE", "CRT", "LIBS", "LINK")

zig_toolchain(
    compile_flags = COMPILE + {processor_flags},
    cpu = "{cpu}",
    crt = CRT,
    libs = LIBS,
    link_flags = LINK,
    root = "external/{name}",
    target = "{target}",
    zig = "{zig}",
)
"""

def _cache_folder(rctx):
    environ = rctx.os.environ
    home = environ.get("XDG_CACHE_HOME") or environ.get("HOME", str(rctx.path("."))) + "/.cache"
    return home + "/qanat/sysroots"

def _sysroot_impl(rctx):
    result = rctx.execute(
        [
            python_on_path(rctx),
            rctx.path(Label("//tools/cc/toolchain:sysroot.py")),
            "--zig=%s" % rctx.path(Label("@ziglang//:ziglang/zig")),
            "--label=" + _ZIG,
            "--target=" + rctx.attr.target,
            "--stamp=" + rctx.read(Label("@ziglang//:stamp.txt")),
            "--store=" + _cache_folder(rctx),
            ".",
        ],
        environment = {
            "ZIG_GLOBAL_CACHE_DIR": str(rctx.path("zig-cache")),
            "ZIG_LOCAL_CACHE_DIR": str(rctx.path("zig-cache-local")),
        },
        timeout = 1800,
    )
    if result.return_code != 0:
        fail(result.stdout + result.stderr)
    for leftover in ("zig-cache", "zig-cache-local", "runtime", "probe.cc", "probe.exe"):
        rctx.delete(leftover)
    for name, command in _TOOLS.items():
        rctx.file(name, "#!/bin/sh\nexec %s/zig %s \"$@\"\n" % (_ZIG, command), executable = True)
    rctx.file("BUILD.bazel", _BUILD.format(
        cpu = rctx.attr.cpu,
        name = rctx.name,
        processor_flags = repr(rctx.attr.processor_flags),
        target = rctx.attr.target,
        zig = _ZIG,
    ))

_zig_sysroot = repository_rule(
    implementation = _sysroot_impl,
    attrs = {
        "cpu": attr.string(mandatory = True),
        "processor_flags": attr.string_list(),
        "target": attr.string(mandatory = True),
    },
)

def zig_sysroots():
    """One repository a target; each is made when something is first compiled for it."""
    for name, (target, cpu, _, _, processor_flags) in _TARGETS.items():
        _zig_sysroot(name = name, cpu = cpu, processor_flags = processor_flags, target = target)

def declare_toolchains():
    """The toolchain() targets. They stand in this workspace, not in the sysroots' repositories:
    registering a toolchain loads its package, which would build every sysroot."""
    for name, (_, _, cpu, libc, _) in _TARGETS.items():
        native.toolchain(
            name = name,
            exec_compatible_with = ["@platforms//os:linux", "@platforms//cpu:x86_64"],
            target_compatible_with = [
                "@platforms//os:linux",
                "@platforms//cpu:" + cpu,
                "//tools/platforms:" + libc,
            ],
            toolchain = "@%s//:cc_toolchain" % name,
            toolchain_type = "@bazel_tools//tools/cpp:toolchain_type",
        )
