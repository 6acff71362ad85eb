"""All test images on phones' processors, under qemu: the same classes in float, nearly the same
accuracy in int8. It takes half an hour, so it is run by name."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qanat as qn
from qanat.mobile_runtime.emulated import PHONES, Run, emulator, run_model
from qanat.mobile_runtime.export import Calibration
from qanat.models.dataset import Examples, load
from tests.mobile.trained import BATCH, Trained

EPOCH = 937  # steps
KINDS = ("float", "int8")
TIMEOUT_S = 3000


@dataclass(frozen=True)
class Exported:
    """Model files by kind, the test images and what a session says of them."""

    files: dict[str, Path]
    test: Examples
    expected: Any


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exported]:
    folder = tmp_path_factory.mktemp("models")
    training, test = load(None)
    with qn.Graph().as_default():
        qn.set_random_seed(1)
        trained = Trained("lenet", training, EPOCH)
        files = {kind: folder / kind for kind in KINDS}
        trained.export(files["float"], None)
        trained.export(files["int8"], Calibration({"images": training.images[:BATCH]}))
        yield Exported(files, test, trained.classify(test))
        trained.session.close()


def _classify(phone: str, exported: Exported, kind: str) -> Any:
    """The classes of all images, which the processors of this machine share."""
    program = Path(__file__).parent / f"run_model_{phone}"
    parts = np.array_split(np.arange(len(exported.test)), os.cpu_count() or 1)

    def run(part: int) -> Run:
        model = exported.files[kind].with_name(f"{kind}.{phone}.{part}")
        model.write_bytes(exported.files[kind].read_bytes())
        images = exported.test.images[parts[part]]
        labels = exported.test.labels[parts[part]].astype(np.uint8)
        return run_model(phone, program, model, images, labels, TIMEOUT_S)

    with ThreadPoolExecutor(len(parts)) as pool:
        runs = list(pool.map(run, range(len(parts))))
    assert [done.status for done in runs] == [0] * len(runs), [done.errors for done in runs]
    return np.concatenate([done.classes for done in runs])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("phone", PHONES)
def test_all_images(
    phone: str, kind: str, exported: Exported, capsys: pytest.CaptureFixture[str]
) -> None:
    if emulator(phone) is None:
        pytest.skip("no emulator: install qemu-user-static")
    classes = _classify(phone, exported, kind)
    labels, expected = exported.test.labels, exported.expected
    assert classes.shape == labels.shape
    same = float(np.mean(classes == expected))
    accuracy, desktop = float(np.mean(classes == labels)), float(np.mean(expected == labels))
    with capsys.disabled():
        print(
            f"\n{phone} {kind}: {len(labels):,} images, {same:.2%} in the desktop's class, "
            f"accuracy {accuracy:.2%} (desktop, float: {desktop:.2%})"
        )
    assert desktop > 0.85
    if kind == "float":
        assert same >= 0.9995
    assert abs(accuracy - desktop) <= 0.005
