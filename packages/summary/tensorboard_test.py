"""TensorBoard itself reads what Qanat writes, and sees what was written."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.util import tensor_util

from qanat import summary
from qanat.core import dtypes
from qanat.core.base_ops import placeholder
from qanat.core.graph import Graph, name_scope
from qanat.core.session import Session
from qanat.ops.linalg import matmul
from qanat.summary.histogram import histogram_of

STEPS = 20
GENERATOR = np.random.default_rng(5)
INPUTS = [GENERATOR.normal(0, 10.0**i, (3, 4)).astype(np.float32) for i in range(-10, 10)]
PIXELS = GENERATOR.integers(0, 256, (2, 8, 9, 3)).astype(np.uint8)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Graph]:
    """A run of `STEPS` steps, and its graph."""
    folder = tmp_path_factory.mktemp("logs")
    with Graph().as_default() as graph, Session() as session:
        x = placeholder(dtypes.float32, [3, 4], name="x")
        with name_scope("layer"):
            product = matmul(x, x, transpose_b=True)
            summary.scalar("first", x[0, 0])
            summary.histogram("product", product)
        summary.image("picture", PIXELS, max_outputs=2)
        summary.text("notes", ["*one*", "two"])
        merged = summary.merge_all()
        with summary.FileWriter(folder, graph) as writer:
            for step, value in enumerate(INPUTS):
                writer.add_summary(session.run(merged, {x: value}), step)
    return folder, graph


@pytest.fixture(scope="module")
def shown(written: tuple[Path, Graph]) -> Any:
    """What TensorBoard has loaded."""
    everything = dict.fromkeys(event_accumulator.DEFAULT_SIZE_GUIDANCE, 0)
    accumulator = event_accumulator.EventAccumulator(str(written[0]), everything)
    accumulator.Reload()
    return accumulator


def test_scalars(shown: Any) -> None:
    given = shown.Scalars("layer/first")
    assert [(e.step, e.value) for e in given] == [(i, float(x[0, 0])) for i, x in enumerate(INPUTS)]
    assert all(e.wall_time > 1e9 for e in given)


def test_histograms(shown: Any) -> None:
    given = shown.Histograms("layer/product")
    assert [e.step for e in given] == list(range(STEPS))
    for event, x in zip(given, INPUTS, strict=True):
        product = x.astype(np.float64) @ x.T
        seen = event.histogram_value
        assert seen.num == 9 and sum(seen.bucket) == 9
        np.testing.assert_allclose(
            [seen.min, seen.max, seen.sum, seen.sum_squares],
            [product.min(), product.max(), product.sum(), np.square(product).sum()],
            rtol=1e-4,
            atol=1e-5 * np.abs(product).max(),
        )
    expected = histogram_of(np.asarray(INPUTS[0], np.float32) @ np.asarray(INPUTS[0], np.float32).T)
    assert list(given[0].histogram_value.bucket_limit) == list(expected.bucket_limit)
    assert list(given[0].histogram_value.bucket) == list(expected.bucket)


def test_the_graph(shown: Any, written: tuple[Path, Graph]) -> None:
    given = shown.Graph()
    assert [node.name for node in given.node] == [op.name for op in written[1].get_operations()]
    assert [node.op for node in given.node] == [op.type for op in written[1].get_operations()]
    (product,) = (node for node in given.node if node.op == "MatMul")
    assert list(product.input) == ["x", "x"] and product.attr["transpose_b"].b


def test_images(shown: Any) -> None:
    for i in range(2):
        image = shown.Images(f"picture/image/{i}")[-1]
        assert (image.step, image.height, image.width) == (STEPS - 1, 8, 9)
        pixels = np.asarray(Image.open(io.BytesIO(image.encoded_image_string)))
        np.testing.assert_array_equal(pixels, PIXELS[i])


def test_text(shown: Any) -> None:
    assert set(shown.PluginTagToContent("text")) == {"notes"}
    tensor = shown.Tensors("notes")[0].tensor_proto
    assert tensor_util.make_ndarray(tensor).tolist() == [b"*one*", b"two"]


def test_the_tags(shown: Any) -> None:
    tags = shown.Tags()
    assert tags["scalars"] == ["layer/first"] and tags["histograms"] == ["layer/product"]
    assert sorted(tags["images"]) == ["picture/image/0", "picture/image/1"]
    assert tags["graph"] is True
