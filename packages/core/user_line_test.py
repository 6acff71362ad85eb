"""Tests of finding the user's line."""

from qanat.core import user_line


def test_names_the_line_of_the_first_frame_outside() -> None:
    position = user_line.capture(0)
    shown = user_line.describe(position)
    assert shown is not None and shown.endswith("user_line_test.py:7")


def test_frames_of_the_library_are_skipped() -> None:
    scope = {"__name__": "qanat.core.something", "capture": user_line.capture}
    exec("def inner():\n    return capture(0)", scope)
    shown = user_line.describe(scope["inner"]())  # type: ignore[operator]
    assert shown is not None and shown.endswith("user_line_test.py:15")


def test_what_counts_as_inside() -> None:
    inside = ("qanat", "qanat.core.graph", "qanat.ops")
    outside = ("__main__", "qanatx", "qanat.models.mlp", "qanat.core.graph_test")
    assert all(map(user_line._is_internal, inside)) and not any(
        map(user_line._is_internal, outside)
    )


def test_no_position() -> None:
    assert user_line.describe(None) is None
