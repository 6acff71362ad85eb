"""A trained classifier becomes a model file: the same classes in float, nearly so in int8."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qanat as qn
from qanat.core.session_config import SessionConfig
from qanat.core.target import LocalTarget
from qanat.mobile_runtime.export import Calibration
from qanat.mobile_runtime.interpreter import Interpreter
from qanat.mobile_runtime.model_file import read_model
from qanat.models.dataset import Examples, load
from qanat.models.networks import NETWORKS
from tests.mobile.trained import BATCH, Trained

STEPS = 150
ON_INTERPRETER = 300  # images

# Bytes of the arena for one image, by network: in float and in int8.
ARENAS = {"lenet": (125_440, 31_360), "mlp": (5_184, 3_968)}


@pytest.fixture(scope="module")
def data() -> tuple[Examples, Examples]:
    return load(None)


def _classes(frozen: Any, test: Examples) -> Any:
    run = LocalTarget(SessionConfig()).compile(frozen.step)[1].run
    return np.concatenate([run([batch.images], 300.0)[0] for batch in test.batches(BATCH)])


@pytest.mark.parametrize("network", sorted(NETWORKS))
def test_classes_in_float_and_in_int8(
    network: str, data: tuple[Examples, Examples], tmp_path: Path
) -> None:
    training, test = data
    with qn.Graph().as_default():
        qn.set_random_seed(1)
        trained = Trained(network, training, STEPS)
        expected = trained.classify(test)
        floats = _classes(trained.step(None), test)
        assert np.mean(floats == expected) >= 0.9995
        calibration = Calibration({"images": training.images[:BATCH]})
        int8s = _classes(trained.step(calibration), test)
        accuracies = [float(np.mean(classes == test.labels)) for classes in (floats, int8s)]
        print(f"{network}: float {accuracies[0]:.2%}, int8 {accuracies[1]:.2%}")
        assert accuracies[0] > 0.75
        assert abs(accuracies[1] - accuracies[0]) <= 0.005
        path = tmp_path / "model"
        for quantise, classes, arena in zip(
            (None, calibration), (floats, int8s), ARENAS[network], strict=True
        ):
            written = trained.export(path, quantise)
            found = read_model(path)
            assert [node.op for node in found.nodes] == [node.op for node in written.nodes]
            assert found.arena_bytes == written.arena_bytes == pytest.approx(arena, rel=0.03)
            with Interpreter(path) as model:
                seen = [
                    model.run({"images": image[np.newaxis]})["classes"][0]
                    for image in test.images[:ON_INTERPRETER]
                ]
            assert np.array_equal(seen, classes[:ON_INTERPRETER])


def test_the_program_says_what_is_missing() -> None:
    command = [sys.executable, "-m", "qanat.models.export_fashion_mnist"]
    for flags, message in [
        (["--output=x"], "--checkpoint_dir: expected"),
        (["--checkpoint_dir=/nowhere/at/all", "--output=x"], "expected a checkpoint"),
    ]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        found = subprocess.run(
            [*command, *flags], capture_output=True, text=True, timeout=100, env=environment
        )
        assert found.returncode == 1
        assert message in found.stderr + found.stdout
