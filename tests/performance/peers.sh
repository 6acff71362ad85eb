#!/bin/sh
# Installs the systems that Qanat is measured against into tests/performance/.venv (ignored by git).
# No part of Qanat needs them; peers.txt pins their versions.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
"${PYTHON:-python3}" -m venv "$here/.venv"
"$here/.venv/bin/pip" install --quiet --requirement "$here/peers.txt"
"$here/.venv/bin/pip" list --quiet | grep -i -E '^(tensorflow|torch|jax|onnx|ai-edge)'
