"""Summary operations give the messages that TensorFlow's give."""

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from qanat import summary
from qanat.core import dtypes
from qanat.core.base_ops import placeholder
from qanat.core.errors import InvalidArgumentError, ShapeError
from qanat.core.graph import Graph, GraphKeys, get_collection, name_scope
from qanat.core.proto_values import make_ndarray
from qanat.core.session import Session
from qanat.ops.variables import Variable, global_variables_initializer


@pytest.fixture(autouse=True)
def session() -> Any:
    with Graph().as_default(), Session() as session:
        yield session


def values(session: Any, operation: Any, feeds: Any = None) -> Any:
    return summary.Summary.FromString(session.run(operation, feeds)).value


@pytest.mark.parametrize("dtype", sorted(dtypes.REAL, key=str))
def test_a_scalar_of_every_dtype(session: Any, dtype: Any) -> None:
    (value,) = values(session, summary.scalar("loss", np.ones((), dtype.as_numpy)))
    assert (value.tag, value.simple_value) == ("loss", 1.0)


def test_a_variable(session: Any) -> None:
    rate = summary.scalar("rate", Variable(0.5))
    session.run(global_variables_initializer())
    assert values(session, rate)[0].simple_value == 0.5


def test_tags_and_names() -> None:
    with name_scope("layer"):
        first = summary.scalar("loss", 1.0)
        again = summary.scalar("loss", 1.0)
        family = summary.scalar("loss", 1.0, family="all")
    with Session() as session:
        tags = [values(session, s)[0].tag for s in (first, again, family)]
    assert tags == ["layer/loss", "layer/loss_1", "all/layer/all/loss"]
    assert first.op.name == "layer/loss" and first.op.type == "ScalarSummary"


def test_characters_that_names_may_not_have(session: Any) -> None:
    assert values(session, summary.scalar("loss (train) %", 1.0))[0].tag == "loss__train___"


def test_a_histogram(session: Any) -> None:
    x = placeholder(dtypes.float32)
    fed = np.array([[1, -1], [0, 3]], np.float32)
    (value,) = values(session, summary.histogram("h", x), {x: fed})
    assert value.tag == "h" and value.histo.num == 4 and value.histo.max == 3


def test_a_histogram_of_what_is_not_finite(session: Any) -> None:
    x = placeholder(dtypes.float32)
    with pytest.raises(InvalidArgumentError, match=r"\[HistogramSummary\] expected finite.*'h'"):
        session.run(summary.histogram("h", x), {x: np.array([1, np.nan], np.float32)})


def test_images(session: Any) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (4, 5, 6, 3)).astype(np.uint8)
    given = values(session, summary.image("input", pixels, max_outputs=2))
    assert [value.tag for value in given] == ["input/image/0", "input/image/1"]
    for i, value in enumerate(given):
        assert (value.image.height, value.image.width, value.image.colorspace) == (5, 6, 3)
        shown = np.asarray(Image.open(io.BytesIO(value.image.encoded_image_string)))
        np.testing.assert_array_equal(shown, pixels[i])
    (one,) = values(session, summary.image("one", pixels[..., :1], max_outputs=1))
    assert one.tag == "one/image" and one.image.colorspace == 1
    assert not values(session, summary.image("none", pixels[:0]))


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64])
def test_an_image_of_reals(session: Any, dtype: Any) -> None:
    numbers = np.array([0, 1, 2, np.nan]).reshape(1, 2, 2, 1).astype(dtype.as_numpy)
    (value,) = values(session, summary.image("x", numbers, max_outputs=1))
    shown = np.asarray(Image.open(io.BytesIO(value.image.encoded_image_string)))
    assert shown.ravel().tolist() == [0, 127, 255, 255]


def test_text(session: Any) -> None:
    (value,) = values(session, summary.text("notes", [["a", "b"], ["c", "d"]]))
    assert value.tag == "notes" and value.metadata.plugin_data.plugin_name == "text"
    assert make_ndarray(value.tensor).tolist() == [[b"a", b"b"], [b"c", b"d"]]
    (value,) = values(session, summary.text("one", "*hello*"))
    assert make_ndarray(value.tensor).tolist() == b"*hello*"


def test_merging(session: Any) -> None:
    a, b = summary.scalar("a", 1.0), summary.histogram("b", [1.0])
    assert get_collection(GraphKeys.SUMMARIES) == [a, b]
    merged = summary.merge_all()
    assert [value.tag for value in values(session, merged)] == ["a", "b"]
    assert summary.merge_all("nothing") is None
    assert [value.tag for value in values(session, summary.merge([b], ["mine"]))] == ["b"]
    assert len(get_collection("mine")) == 1 and len(get_collection(GraphKeys.SUMMARIES)) == 2


def test_two_of_one_tag(session: Any) -> None:
    a = summary.scalar("a", 1.0)
    with pytest.raises(InvalidArgumentError, match=r"\[MergeSummary\] expected tags that differ"):
        session.run(summary.merge([a, a]))


def test_what_is_no_summary(session: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="expected a serialized Summary, got b'nothing"):
        session.run(summary.merge([b"nothing"]))


def test_misuse() -> None:
    with pytest.raises(ShapeError, match=r"\[ScalarSummary\] expected a value a tag, got \[2\]"):
        summary.scalar("a", [1.0, 2.0])
    with pytest.raises(ShapeError, match="expected images of 1, 3 or 4 channels"):
        summary.image("a", np.zeros((1, 2, 2, 2), np.uint8))
    with pytest.raises(ValueError, match="max_images: expected 1 or more"):
        summary.image("a", np.zeros((1, 2, 2, 1), np.uint8), max_outputs=0)
    with pytest.raises(TypeError, match="expected strings"):
        summary.text("a", [1.0])
    with pytest.raises(TypeError, match="expected one of"):
        summary.image("a", np.zeros((1, 2, 2, 1), np.int32))


def test_what_only_the_step_knows_is_wrong(session: Any) -> None:
    x = placeholder(dtypes.float32)
    with pytest.raises(InvalidArgumentError, match="expected a value a tag"):
        session.run(summary.scalar("a", x), {x: np.zeros(2, np.float32)})
    images = placeholder(dtypes.uint8, [None, None, None, None])
    with pytest.raises(InvalidArgumentError, match="expected uint8 pixels"):
        session.run(summary.image("a", images), {images: np.zeros((1, 2, 2, 2), np.uint8)})
    with pytest.raises(InvalidArgumentError, match="expected a bad_color of 5 channels, got 4"):
        session.run(summary.image("a", images), {images: np.zeros((1, 2, 2, 5), np.uint8)})
