"""The Python rules: Bazel 4's native ones under the names of rules_python."""

py_binary = native.py_binary
py_library = native.py_library
py_runtime = native.py_runtime
py_test = native.py_test
