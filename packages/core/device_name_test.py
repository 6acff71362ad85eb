"""Tests of device names."""

import pytest

from qanat.core.device_name import DeviceName

parse = DeviceName.from_string


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/job:worker/task:17/device:GPU:3", "/job:worker/task:17/device:GPU:3"),
        ("/job:localhost/replica:0/task:0/cpu:0", "/job:localhost/replica:0/task:0/device:CPU:0"),
        ("/gpu:1", "/device:GPU:1"),
        ("gpu:1", "/device:GPU:1"),
        ("/job:ps", "/job:ps"),
        ("/device:gpu", "/device:GPU:*"),
        ("/task:*/device:*:2", "/device:*:2"),
        ("", ""),
    ],
)
def test_round_trip(text: str, shown: str) -> None:
    assert str(parse(text)) == shown and parse(shown) == parse(text)


@pytest.mark.parametrize(
    "text", ["/job:", "/jobs:a", "/task:x", "/cpu:0/gpu:0", "/cpu:0x", "//", "/cpu:-1"]
)
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected .*device name.*got"):
        parse(text)


def test_inner_parts_win() -> None:
    outer = parse("/job:ps/task:1/cpu:0")
    assert outer.merge(parse("/task:2")) == parse("/job:ps/task:2/cpu:0")
    assert outer.merge(parse("")) == outer


def test_constraints() -> None:
    whole = parse("/job:worker/task:1/device:GPU:0")
    assert parse("/job:worker").allows(whole) and not parse("/cpu:0").allows(whole)
    assert parse("/job:a").intersect(parse("/task:1")) == parse("/job:a/task:1")
    assert parse("/job:a").intersect(parse("/job:b")) is None
