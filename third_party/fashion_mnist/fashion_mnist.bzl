"""fashion_mnist: the data set out of Debian's package dataset-fashion-mnist.

Where the package cannot be had (no Debian, no network), everything still builds: in place of the data
is MISSING.txt, which says why and what to do, for the program to show.
"""

_FILES = {
    "t10k-images-idx3-ubyte.gz": "cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa",
    "t10k-labels-idx1-ubyte.gz": "8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05",
    "train-images-idx3-ubyte.gz": "b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7",
    "train-labels-idx1-ubyte.gz": "0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056",
}

_BUILD = """
filegroup(
    name = "data",
    srcs = glob(["*.gz"]) or ["MISSING.txt"],
    visibility = ["//visibility:public"],
)
"""

_REASON = """Fashion-MNIST was not found: %s
It comes with Debian's package dataset-fashion-mnist. On a machine that cannot install it, put its four
IDX files (%s) into a folder and name that folder by --data_dir.
"""

def _fashion_mnist_impl(rctx):
    script = rctx.path(Label("//third_party/fashion_mnist:fetch.sh"))
    result = rctx.execute(["sh", script], timeout = 1200)
    reason = result.stderr.strip() if result.return_code != 0 else ""
    if not reason:
        for name, sha256 in _FILES.items():
            digest = rctx.execute(["sha256sum", name]).stdout.split(" ")[0]
            if digest != sha256:
                reason = "%s has the SHA-256 %s, expected %s" % (name, digest or "of no file", sha256)
    if reason:
        rctx.execute(["sh", "-c", "rm -f *.gz"])
        rctx.file("MISSING.txt", _REASON % (reason, ", ".join(_FILES.keys())), executable = False)
    rctx.file("BUILD.bazel", _BUILD)

fashion_mnist = repository_rule(implementation = _fashion_mnist_impl)
