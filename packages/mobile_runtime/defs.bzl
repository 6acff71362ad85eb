"""qanat_model_program: the interpreter for a phone, with exactly the kernels that one model needs."""

# What makes a program small beside the selection. One thread makes the statics.
_COPTS = [
    "-Os",
    "-fomit-frame-pointer",
    "-fno-asynchronous-unwind-tables",
    "-fno-threadsafe-statics",
]
_LINKOPTS = [
    "-Wl,--icf=all",
    "-Wl,-O2",
]

def _camel(dtype):
    """The enumerator of a dtype (core/native/kernel/dtype.h): "float32" is kFloat32."""
    for short, long in (("bfloat", "BFloat"), ("uint", "UInt")):
        if dtype.startswith(short):
            return "k" + long + dtype[len(short):]
    return "k" + dtype[0].upper() + dtype[1:]

def _define(name, selected):
    return "-D%s(X)=%s" % (name, " ".join(["X(%s)" % word for word in selected]))

def _phone_impl(settings, attr):
    return {
        "//command_line_option:compilation_mode": "opt",
        "//command_line_option:copt": _COPTS + ([
            _define("QANAT_SELECTED_OPS", attr.ops),
            _define("QANAT_SELECTED_DTYPES", [_camel(dtype) for dtype in attr.dtypes]),
        ] if attr.ops else []),
        "//command_line_option:linkopt": _LINKOPTS,
        "//command_line_option:platforms": [str(attr.platform)],
    }

_phone = transition(
    implementation = _phone_impl,
    inputs = [],
    outputs = [
        "//command_line_option:compilation_mode",
        "//command_line_option:copt",
        "//command_line_option:linkopt",
        "//command_line_option:platforms",
    ],
)

def _impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name)
    selection = ctx.actions.declare_file(ctx.label.name + ".selection")
    ctx.actions.symlink(output = out, target_file = ctx.attr.program[0][DefaultInfo].files.to_list()[0])
    ctx.actions.write(selection, "ops %s\ndtypes %s\n" % (" ".join(ctx.attr.ops), " ".join(ctx.attr.dtypes)))
    return [DefaultInfo(files = depset([out, selection]))]

_model_program = rule(
    implementation = _impl,
    attrs = {
        "dtypes": attr.string_list(),
        "ops": attr.string_list(),
        "platform": attr.label(mandatory = True),
        "program": attr.label(cfg = _phone, mandatory = True),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)

def qanat_model_program(
        name,
        platform,
        ops = [],
        dtypes = [],
        program = "//packages/mobile_runtime/native:run_model",
        **kwargs):
    """NAME: `program` for a platform, optimised, static and stripped, whatever else is built; and
    NAME.selection, which says what it was selected by.

    `ops` and `dtypes` are what qanat.mobile_runtime.selection says of the model; without, all kernels are in it. Other models are refused
    by an error that names the op. On x86-64 all instruction sets stay in the program, so this is for phones.
    """
    _model_program(
        name = name,
        dtypes = dtypes,
        ops = ops,
        platform = platform,
        program = program,
        **kwargs
    )
