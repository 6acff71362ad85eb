"""zig_toolchain: a cc_toolchain whose compiler is `zig clang` and whose linker is `zig ld.lld`."""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "ACTION_NAMES")
load(
    "@bazel_tools//tools/cpp:cc_toolchain_config_lib.bzl",
    "feature",
    "flag_group",
    "flag_set",
    "tool_path",
    "with_feature_set",
)
load("@rules_cc//cc:defs.bzl", "cc_toolchain")

_CPP = [
    ACTION_NAMES.cpp_compile,
    ACTION_NAMES.cpp_header_parsing,
    ACTION_NAMES.linkstamp_compile,
]
_COMPILE = _CPP + [
    ACTION_NAMES.assemble,
    ACTION_NAMES.c_compile,
    ACTION_NAMES.preprocess_assemble,
]
_EXECUTABLE = [ACTION_NAMES.cpp_link_executable]
_SHARED = [ACTION_NAMES.cpp_link_dynamic_library, ACTION_NAMES.cpp_link_nodeps_dynamic_library]
_LINK = _EXECUTABLE + _SHARED

# The runtime's symbols stay inside each shared object. Not ALL: that hides our own exports too.
_HIDDEN_LIBRARIES = "libc++.a:libc++abi.a:libunwind.a:libcompiler_rt.a:libc_nonshared.a"

def _flags(actions, flags, mode = None):
    """The flags of some actions, in one compilation mode or in all."""
    modes = [with_feature_set(features = [mode])] if mode else []
    return flag_set(actions = actions, flag_groups = [flag_group(flags = flags)], with_features = modes)

def _dependency_file():
    # -MMD, not Bazel's -MD: the toolchain's own headers are one folder among the inputs, not files.
    return feature(
        name = "dependency_file",
        enabled = True,
        flag_sets = [flag_set(
            actions = _COMPILE,
            flag_groups = [flag_group(
                expand_if_available = "dependency_file",
                flags = ["-MMD", "-MF", "%{dependency_file}"],
            )],
        )],
    )

def _compile_flags(target_flags):
    return feature(
        name = "default_compile_flags",
        enabled = True,
        flag_sets = [
            _flags(_COMPILE, target_flags + [
                "-no-canonical-prefixes",
                "-ffile-compilation-dir=.",
                "-fdata-sections",
                "-ffunction-sections",
                "-fno-omit-frame-pointer",
                "-Wno-builtin-macro-redefined",
                "-D__DATE__=\"redacted\"",
                "-D__TIMESTAMP__=\"redacted\"",
                "-D__TIME__=\"redacted\"",
            ]),
            _flags(_COMPILE, ["-O3", "-DNDEBUG", "-g0"], mode = "opt"),
            _flags(_COMPILE, ["-O1", "-g0"], mode = "fastbuild"),
            _flags(_COMPILE, ["-O0", "-g"], mode = "dbg"),
            _flags(_CPP, ["-std=c++20"]),
        ],
    )

def _link_flags(ctx, static):
    a = ctx.attr
    executable = ["-Wl," + f if f.startswith("--") else f for f in a.link_flags]
    return feature(
        name = "default_link_flags",
        enabled = True,
        flag_sets = [
            _flags(_LINK, [
                "--no-default-config",
                "-target",
                a.compile_flags[a.compile_flags.index("-target") + 1],
                "-nostdlib",
                "--ld-path=%s/ld.lld" % a.root,
                "-L%s/lib" % a.root,
                "-Wl,--gc-sections",
                "-Wl,--build-id=none",
                "-Wl,-z,relro,-z,now",
                "-Wl,--as-needed",
                "-Wl,--exclude-libs=" + _HIDDEN_LIBRARIES,
            ]),
            _flags(_EXECUTABLE, ([] if static else ["-no-pie"]) + executable),
            _flags(_EXECUTABLE, ["%s/%s" % (a.root, f) for f in a.crt]),
            _flags(_LINK, ["%s/%s" % (a.root, f) for f in a.libs]),
            _flags(_LINK, ["-Wl,-s"], mode = "opt"),
        ],
    )

def _config_impl(ctx):
    static = "-static" in ctx.attr.link_flags
    return cc_common.create_cc_toolchain_config_info(
        ctx = ctx,
        abi_libc_version = "local",
        abi_version = "libc++",
        compiler = "clang",
        cxx_builtin_include_directories = [ctx.attr.zig + "/lib"],
        features = [feature(name = mode) for mode in ("opt", "fastbuild", "dbg")] + [
            feature(name = "supports_pic", enabled = True),
            feature(name = "supports_dynamic_linker", enabled = not static),
            _dependency_file(),
            _compile_flags(ctx.attr.compile_flags),
            _link_flags(ctx, static),
        ],
        host_system_name = "x86_64-linux",
        target_cpu = ctx.attr.cpu,
        target_libc = "musl" if "musl" in ctx.attr.target else "glibc",
        target_system_name = ctx.attr.target,
        tool_paths = [
            tool_path(name = "ar", path = "ar"),
            tool_path(name = "cpp", path = "cc"),
            tool_path(name = "gcc", path = "cc"),
            tool_path(name = "ld", path = "ld.lld"),
        ] + [
            # zig has none of these; programs are stripped as they are linked.
            tool_path(name = name, path = "/bin/false")
            for name in ("gcov", "nm", "objcopy", "objdump", "strip")
        ],
        toolchain_identifier = "zig-" + ctx.attr.target,
    )

_config = rule(
    implementation = _config_impl,
    attrs = {
        "compile_flags": attr.string_list(),
        "cpu": attr.string(),
        "crt": attr.string_list(),
        "libs": attr.string_list(),
        "link_flags": attr.string_list(),
        "root": attr.string(doc = "Where actions see the sysroot's repository."),
        "target": attr.string(),
        "zig": attr.string(doc = "Where actions see zig's folder."),
    },
    provides = [CcToolchainConfigInfo],
)

def zig_toolchain(**kwargs):
    """The targets of a sysroot's repository; what differs between targets is in kwargs."""
    native.filegroup(
        name = "files",
        srcs = ["ar", "cc", "ld.lld", "@ziglang//:tree"] + native.glob(["lib/**"]),
    )
    native.filegroup(name = "no_files")
    _config(name = "config", **kwargs)
    cc_toolchain(
        name = "cc_toolchain",
        all_files = ":files",
        ar_files = ":files",
        as_files = ":files",
        compiler_files = ":files",
        dwp_files = ":no_files",
        linker_files = ":files",
        objcopy_files = ":no_files",
        strip_files = ":no_files",
        supports_param_files = 1,
        toolchain_config = ":config",
        visibility = ["//visibility:public"],
    )
