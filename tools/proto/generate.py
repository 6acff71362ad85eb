"""Generates Python for .proto files.

usage: generate.py --proto=qanat/core/schema/x.proto ... --out=BIN/packages/core/schema/x_pb2.py ...

Runs from the repository's root, of which only packages/ is searched, as `qanat/`. --out names every
file that is expected, in any folder: protoc lays its output out by import path, Bazel by label.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile

import grpc_tools
from grpc_tools import protoc


def generate(protos: list[str], folder: str) -> None:
    well_known = pathlib.Path(grpc_tools.__file__).parent / "_proto"
    command = ["protoc", "--proto_path=qanat=packages", f"--proto_path={well_known}"]
    command += [f"--{kind}_out={folder}" for kind in ("python", "pyi", "grpc_python")]
    status = protoc.main(command + protos)
    if status:
        sys.exit(status)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--proto", action="append", required=True)
    parser.add_argument("--out", action="append", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        generate(options.proto, folder)
        for out in options.out:
            _, _, below = out.rpartition("packages/")
            shutil.copyfile(pathlib.Path(folder, "qanat", below), out)


if __name__ == "__main__":
    main()
