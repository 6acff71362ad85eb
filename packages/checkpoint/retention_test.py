"""Which checkpoints stay."""

from qanat.checkpoint.best import Scored
from qanat.checkpoint.retention import Retention

HOUR = 3600.0


def test_the_latest() -> None:
    retention = Retention(max_to_keep=2)
    assert [retention.add(name, 0) for name in "abcd"] == [[], [], ["a"], ["b"]]
    assert retention.latest == ["c", "d"]


def test_all() -> None:
    retention = Retention(max_to_keep=0)
    assert not any(retention.add(str(i), 0) for i in range(20))
    assert len(retention.latest) == 20


def test_one_of_a_name_takes_the_place_of_the_earlier() -> None:
    retention = Retention(max_to_keep=2)
    assert [retention.add(name, 0) for name in "abab"] == [[], [], [], []]
    assert retention.latest == ["a", "b"]


def test_one_every_hour_is_kept_for_good() -> None:
    retention = Retention(max_to_keep=1, every_seconds=HOUR)
    removed = [retention.add(str(i), i * HOUR / 4) for i in range(14)]
    gone = {name for names in removed for name in names}
    assert {str(i) for i in range(14)} - gone == {"5", "9", "13"}


def test_the_best() -> None:
    retention = Retention(max_to_keep=1, best_to_keep=2)
    metrics = {"a": 0.5, "b": 0.9, "c": 0.7, "d": 0.1, "e": 0.95}
    removed = [retention.add(name, 0, metric) for name, metric in metrics.items()]
    assert removed == [[], [], ["a"], [], ["c", "d"]] or removed == [[], [], ["a"], [], ["d", "c"]]
    assert retention.best == [Scored("e", 0.95), Scored("b", 0.9)]


def test_the_best_are_the_lowest() -> None:
    retention = Retention(max_to_keep=1, best_to_keep=1, lower_is_better=True)
    for name, loss in (("a", 3.0), ("b", 1.0), ("c", 2.0)):
        retention.add(name, 0, loss)
    assert retention.best == [Scored("b", 1.0)] and retention.latest == ["c"]


def test_of_equals_the_older() -> None:
    retention = Retention(max_to_keep=1, best_to_keep=1)
    for name in "abc":
        retention.add(name, 0, 1.0)
    assert retention.best == [Scored("a", 1.0)]


def test_an_earlier_run_goes_on() -> None:
    retention = Retention(max_to_keep=2, best_to_keep=1)
    retention.recover({"a": 1.0, "b": 2.0}, [Scored("a", 0.9)])
    assert retention.add("c", 3) == []  # "a" is the best.
    assert retention.add("d", 4, 0.95) == ["b", "a"]
