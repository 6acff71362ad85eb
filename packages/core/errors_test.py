"""Tests of error classes."""

from qanat.core import errors
from qanat.core.base_ops import constant
from qanat.core.graph import Graph


def test_each_code_has_one_class() -> None:
    classes = errors.OpError.__subclasses__()
    assert sorted(cls.code for cls in classes) == list(range(1, 17))
    for cls in classes:
        assert errors.exception_type_from_error_code(cls.code) is cls
        assert cls("text").error_code == cls.code
    assert errors.exception_type_from_error_code(99) is errors.UnknownError


def test_errors_know_their_operation() -> None:
    with Graph().as_default():
        op = constant(1, name="c").op
    error = errors.NotFoundError("gone", op=op)
    assert (error.op, error.node_name, error.message, str(error)) == (op, "c", "gone", "gone")
    assert error.user_line is not None and "errors_test.py:" in error.user_line


def test_located() -> None:
    assert errors.located("expected x", "MatMul", "a/b", "f.py:3") == (
        "[MatMul] expected x (node 'a/b', made at f.py:3)"
    )
    assert errors.located("expected x", "MatMul") == "[MatMul] expected x"
