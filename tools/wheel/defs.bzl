"""qanat_wheel: an installable wheel of a part of Qanat, or of all of it."""

load("@host_python//:defs.bzl", "EXT_SUFFIX", "PYTHON_TAG")
load("//packages:version.bzl", "VERSION")
load("//tools/python:defs.bzl", "QanatPyInfo")

def _tag(paths, platform):
    """A wheel with an extension is for one interpreter; one with a plain shared object, for one platform."""
    if [p for p in paths if p.endswith(EXT_SUFFIX)]:
        return "%s-%s-%s" % (PYTHON_TAG, PYTHON_TAG, platform)
    if [p for p in paths if p.endswith(".so")]:
        return "py3-none-" + platform
    return "py3-none-any"

def _part(path):
    """The part that owns qanat/PART/...; the face, qanat/__init__.py, is core's."""
    words = path.split("/")
    return words[1] if len(words) > 2 else "core"

def _impl(ctx):
    reached = depset(transitive = [d[QanatPyInfo].files for d in ctx.attr.deps]).to_list()
    parts = {_part(f.path): None for f in reached if f.path.startswith("qanat/")}.keys()
    own = ctx.attr.parts or parts
    files = [f for f in reached if f.path.startswith("qanat/") and _part(f.path) in own]
    needed = ["qanat-%s==%s" % (p.replace("_", "-"), VERSION) for p in parts if p not in own]

    tag = _tag([f.path for f in files], ctx.attr.platform)
    out = ctx.actions.declare_file("%s-%s-%s.whl" % (ctx.attr.distribution.replace("-", "_"), VERSION, tag))
    spec = ctx.actions.declare_file(ctx.label.name + ".json")
    ctx.actions.write(spec, json.encode(struct(
        distribution = ctx.attr.distribution,
        files = [[f.path, f.file.path] for f in files],
        license = ctx.attr.license,
        licenses = [[name, f.path] for f, name in zip(ctx.files.licenses, ctx.attr.licenses.values())],
        requires = sorted(needed) + ctx.attr.requires,
        summary = ctx.attr.summary,
        tag = tag,
        version = VERSION,
    )))
    ctx.actions.run(
        executable = ctx.executable._wheel,
        arguments = [spec.path, out.path],
        inputs = [f.file for f in files] + ctx.files.licenses + [spec],
        mnemonic = "QanatWheel",
        outputs = [out],
        progress_message = "Building %s" % out.basename,
    )
    return [DefaultInfo(files = depset([out]), runfiles = ctx.runfiles([out]))]

_wheel = rule(
    implementation = _impl,
    attrs = {
        "deps": attr.label_list(providers = [QanatPyInfo]),
        "distribution": attr.string(mandatory = True),
        "license": attr.string(mandatory = True),
        "licenses": attr.label_keyed_string_dict(allow_files = True),
        "parts": attr.string_list(),
        "platform": attr.string(mandatory = True),
        "requires": attr.string_list(),
        "summary": attr.string(mandatory = True),
        "_wheel": attr.label(cfg = "exec", default = "//tools/wheel", executable = True),
    },
)

def qanat_wheel(name, distribution, summary, deps, parts = [], requires = [], bundled = {}):
    """The wheel of `parts`: folders of packages/, all that deps reach if empty.

    It holds exactly what deps reach of these parts, and requires the other parts that deps reach.
    `requires` names what else of PyPI it needs; `bundled` is {licence file: its name in the wheel} of
    foreign code that is compiled into it.
    """
    _wheel(
        name = name,
        distribution = distribution,
        license = "Apache-2.0" + (" AND BSD-3-Clause AND MIT" if bundled else ""),
        licenses = dict({"//:LICENSE": "LICENSE"}, **bundled),
        parts = parts,
        # What the host's g++ links needs the host's glibc.
        platform = select({
            "//tools/cc:gcc": "linux_x86_64",
            "//conditions:default": "manylinux_2_28_x86_64",
        }),
        requires = requires,
        summary = summary,
        target_compatible_with = ["//tools/platforms:gnu"],
        visibility = ["//visibility:public"],
        deps = deps,
    )
