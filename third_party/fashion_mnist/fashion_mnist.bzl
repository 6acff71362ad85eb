"""fashion_mnist: the data set out of Debian's package dataset-fashion-mnist."""

load("//tools/debian:debian.bzl", "debian_files")

_FILES = {
    "t10k-images-idx3-ubyte.gz": "cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa",
    "t10k-labels-idx1-ubyte.gz": "8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05",
    "train-images-idx3-ubyte.gz": "b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7",
    "train-labels-idx1-ubyte.gz": "0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056",
}

def fashion_mnist(name):
    debian_files(
        name = name,
        advice = ("It comes with Debian's package dataset-fashion-mnist. On a machine that cannot install it, " +
                  "put its four IDX files (%s) into a folder and name that folder by --data_dir.") %
                 ", ".join(_FILES.keys()),
        files = _FILES,
        folder = "/usr/share/datasets/fashion-mnist",
        package = "dataset-fashion-mnist",
        what = "Fashion-MNIST",
    )
