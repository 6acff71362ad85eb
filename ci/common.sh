# Sourced by the stages: goes to the repository's root and says where results of tests go.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A folder of Bazel's event files, one a test run; .ci/run makes it and sums them.
results=${QANAT_CI_RESULTS:-$(mktemp -d)}
mkdir -p "$results"

# test_with NAME OPTION... TARGET...: tests, and leaves the outcome in results/NAME.json.
test_with() {
  local name=$1
  shift
  tools/bazel test --jobs=2 --keep_going --build_event_json_file="$results/$name.json" "$@"
}
