"""What a wheel says of itself, read from its BUILD file: this needs no Bazel and no compiler."""

import pathlib
import sys
import sysconfig
from typing import Any

from tools.build_files.build_files import Reader

TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))


def build_files(root: pathlib.Path) -> Reader:
    """The BUILD files of this repository, as they are for the running interpreter."""
    return Reader(root, {"@host_python//:defs.bzl": {"EXT_SUFFIX": SUFFIX, "PYTHON_TAG": TAG}})


def source_path(root: pathlib.Path, label: str) -> pathlib.Path:
    """The source file that a label names."""
    folder, _, name = label.removeprefix("//").partition(":")
    return root / folder / name


def read(reader: Reader, label: str) -> dict[str, Any]:
    """The spec, for tools/wheel, of a wheel that holds an extension: all but its files."""
    target = reader.target(label)
    assert target is not None, label
    attributes = target.attributes
    licenses = [
        [name, str(source_path(reader.root, file))] for file, name in attributes["licenses"].items()
    ]
    return {
        "distribution": attributes["distribution"],
        "version": reader.module("//packages:version.bzl")["VERSION"],
        "tag": f"{TAG}-{TAG}-{attributes['platform']}",
        "summary": attributes["summary"],
        "license": attributes["license"],
        "licenses": licenses,
        "requires": target.values("requires"),
    }
