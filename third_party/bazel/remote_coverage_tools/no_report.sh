#!/bin/sh
echo "coverage reports need the real remote_coverage_tools (third_party/bazel/README.md)" >&2
exit 1
