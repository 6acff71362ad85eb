"""The program as a whole, on a small data set: it learns, resumes exactly, and repeats itself."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from absl import flags
from absl.testing import flagsaver

from qanat.models import fashion_mnist, synthetic
from qanat.models.saved_weights import same, weights
from qanat.summary import summary_iterator

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("data")
    synthetic.write(folder, training=320, test=100)
    return str(folder)


def run(*arguments: str) -> None:
    with flagsaver.flagsaver():
        fashion_mnist.main(flags.FLAGS(["fashion_mnist", *arguments]))


SMALL = (
    "--batch_size=32",
    "--eval_batch_size=64",
    "--optimizer=momentum",
    "--learning_rate=0.05",
)


@pytest.mark.parametrize("model", ["lenet", "mlp"])
def test_it_learns(data_dir: str, model: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(f"--data_dir={data_dir}", f"--model={model}", "--epochs=4", *SMALL)
    first, *_, last = capsys.readouterr().out.splitlines()
    parameters = {"lenet": "1,663,370", "mlp": "535,818"}[model]
    assert first == f"{model}: {parameters} parameters"
    assert last.endswith("on 100 images")
    assert float(last.split()[2].rstrip("%")) > 90


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam"])
def test_resuming_is_exact(data_dir: str, tmp_path: Path, optimizer: str) -> None:
    common = (*SMALL, f"--data_dir={data_dir}", "--model=mlp", f"--optimizer={optimizer}")
    run(*common, "--steps=17", f"--checkpoint_dir={tmp_path / 'whole'}")
    run(*common, "--steps=6", f"--checkpoint_dir={tmp_path / 'cut'}")
    run(*common, "--steps=17", f"--checkpoint_dir={tmp_path / 'cut'}")
    whole, cut = weights(tmp_path / "whole"), weights(tmp_path / "cut")
    assert whole["global_step"] == 17
    assert same(whole, cut)


@pytest.mark.parametrize("model", ["lenet", "mlp"])
def test_the_same_seed_gives_the_same_bits(data_dir: str, tmp_path: Path, model: str) -> None:
    def trained(name: str, *arguments: str) -> dict[str, Array]:
        folder = tmp_path / name
        run(
            f"--data_dir={data_dir}",
            f"--model={model}",
            "--steps=5",
            f"--checkpoint_dir={folder}",
            *SMALL,
            *arguments,
        )
        return weights(folder)

    one = trained("one", "--threads=1")
    assert same(one, trained("again", "--threads=1"))
    assert same(one, trained("two", "--threads=2"))
    assert not same(one, trained("other", "--threads=1", "--seed=2"))


def test_pictures(data_dir: str, tmp_path: Path) -> None:
    run(
        f"--data_dir={data_dir}",
        "--model=mlp",
        "--steps=3",
        f"--curve_png={tmp_path / 'curve.png'}",
        f"--confusion_png={tmp_path / 'confusion.png'}",
        *SMALL,
    )
    assert all((tmp_path / name).stat().st_size > 5000 for name in ("curve.png", "confusion.png"))


def test_a_log_for_tensorboard(data_dir: str, tmp_path: Path) -> None:
    run(f"--data_dir={data_dir}", "--model=mlp", "--steps=13", f"--log_dir={tmp_path}", *SMALL)
    (path,) = tmp_path.iterdir()
    steps: dict[str, list[int]] = {}
    for event in summary_iterator(path):
        for value in event.summary.value:
            steps.setdefault(value.tag, []).append(event.step)
    assert steps["train/loss"] == steps["train/accuracy"] == list(range(1, 14))
    assert steps["test/accuracy"] == [10, 13]
    kernels = [tag for tag in steps if tag.endswith("kernel")]
    assert len(kernels) == 3 and all(steps[tag] == [10, 13] for tag in kernels)
    assert any(event.HasField("graph_def") for event in summary_iterator(path))


def test_the_trace_of_a_step(data_dir: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    run(f"--data_dir={data_dir}", "--model=mlp", "--steps=10", f"--trace={path}", *SMALL)
    events = json.loads(path.read_text())["traceEvents"]
    ops = [event["name"] for event in events if event["ph"] == "X"]
    assert sum("MatMul" in op for op in ops) >= 8  # Three layers forwards, and backwards.


def test_evaluation_only(data_dir: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(f"--data_dir={data_dir}", "--epochs=0", "--model=mlp")
    assert "test accuracy" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data_dir=/nowhere"], "/nowhere: expected a file train-images-idx3-ubyte"),
        (["--batch_size=321"], "--batch_size=321: there are only 320 images"),
        (
            ["--optimizer=momentum", "--learning_rate=1e9", "--epochs=1"],
            "the loss is (nan|inf) at step",
        ),
    ],
)
def test_errors_are_one_line(data_dir: str, arguments: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=f"^fashion_mnist: .*{message}"):
        run(f"--data_dir={data_dir}", "--model=mlp", *arguments)


@pytest.mark.parametrize(
    "argument",
    ["--model=resnet", "--batch_size=0", "--optimizer=lbfgs", "--seed=-1", "--momentum=2"],
)
def test_flags_are_checked(argument: str) -> None:
    with pytest.raises(flags.IllegalFlagValueError):
        run(argument)


def test_a_checkpoint_of_another_model(data_dir: str, tmp_path: Path) -> None:
    common = (f"--data_dir={data_dir}", "--steps=1", f"--checkpoint_dir={tmp_path}", *SMALL)
    run(*common, "--model=mlp")
    with pytest.raises(SystemExit, match="'conv1/kernel'.*left over in it: 'fc3/bias'"):
        run(*common, "--model=lenet")
