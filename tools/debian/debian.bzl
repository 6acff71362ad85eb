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
    script = rctx.path(Label("//tools/debian:fetch.sh"))
    names = sorted(rctx.attr.files.keys())
    result = rctx.execute(["sh", script, rctx.attr.package, rctx.attr.folder] + names, timeout = 1200)
    reason = result.stderr.strip() if result.return_code != 0 else ""
    if not reason:
        for name in names:
            digest = rctx.execute(["sha256sum", name]).stdout.split(" ")[0]
            if digest != rctx.attr.files[name]:
                reason = "%s has the SHA-256 %s, expected %s" % (name, digest or "of no file", rctx.attr.files[name])
    if reason:
        rctx.execute(["rm", "-f"] + names)
        rctx.file("MISSING.txt", "%s was not found: %s\n%s\n" % (rctx.attr.what, reason, rctx.attr.advice), executable = False)
        names = ["MISSING.txt"]
    rctx.file("BUILD.bazel", _BUILD % repr(names))

debian_files = repository_rule(
    implementation = _debian_files_impl,
    attrs = {
        "advice": attr.string(mandatory = True, doc = "what a user without Debian can do"),
        "files": attr.string_dict(mandatory = True, doc = "SHA-256 by name"),
        "folder": attr.string(mandatory = True, doc = "where the package puts them"),
        "package": attr.string(mandatory = True),
        "what": attr.string(mandatory = True, doc = "what they are, for messages"),
    },
)
