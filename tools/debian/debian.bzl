"""Files out of a Debian package, each checked by its SHA-256.

Where the package cannot be had (no Debian, no network), everything still builds: in place of the files
is MISSING.txt, which says why and what to do, for the program to show.
"""

_BUILD = """
filegroup(
    name = "data",
    srcs = %s,
    visibility = ["//visibility:public"],
)
"""

def _debian_files_impl(rctx):
    names = sorted(rctx.attr.files.keys())
    wanted = ["%s=%s" % (name, rctx.attr.files[name]) for name in names]
    script = rctx.path(Label("//tools/debian:fetch.sh"))
    result = rctx.execute(["sh", script, rctx.attr.package, rctx.attr.folder] + wanted, timeout = 1200)
    if result.return_code != 0:
        rctx.execute(["rm", "-rf", "apt"] + names)
        reason = result.stderr.strip() or "fetch.sh ended with the status %d" % result.return_code
        text = "%s was not found: %s\n%s\n" % (rctx.attr.what, reason, rctx.attr.advice)
        names = ["MISSING.txt"]
        rctx.file("MISSING.txt", text, executable = False)
    rctx.file("BUILD.bazel", _BUILD % repr(names))

debian_files = repository_rule(
    doc = "The files as the filegroup `@NAME//:data`; in a target's runfiles they are at `NAME/`.",
    implementation = _debian_files_impl,
    attrs = {
        "advice": attr.string(mandatory = True, doc = "what a user without the package can do"),
        "files": attr.string_dict(mandatory = True, doc = "SHA-256 by name"),
        "folder": attr.string(mandatory = True, doc = "where the package puts them"),
        "package": attr.string(mandatory = True),
        "what": attr.string(mandatory = True, doc = "what they are, for messages"),
    },
)
