"""Programs for phones: what they weigh, what is in them, and that they see what this machine sees.

The budgets stand here and nowhere else.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qanat.core import dtypes
from qanat.core.base_ops import constant, placeholder
from qanat.core.graph import Graph
from qanat.mobile_runtime.emulated import emulator, run_model
from qanat.mobile_runtime.interpreter import Interpreter
from qanat.mobile_runtime.model import Model
from qanat.mobile_runtime.model_file import write_model
from qanat.mobile_runtime.selection import selection
from qanat.mobile_runtime.testing import lower
from qanat.ops import matmul, nn, reshape

Array = np.ndarray[Any, Any]

# The interpreter with LeNet's kernels, static and stripped, in bytes.
BUDGETS = {"aarch64": 120_000, "armv7": 140_000}

IMAGES = 48


def program(phone: str) -> Path:
    return Path(__file__).parent / f"lenet_{phone}"


def weights(*shape: int) -> Array:
    values = np.random.default_rng(shape[-1]).standard_normal(shape)
    return np.asarray(values * np.sqrt(2 / np.prod(shape[:-1])), np.float32)


def lenet() -> Model:
    """LeNet as `qanat.models.lenet` has it, with random weights."""
    with Graph().as_default():
        images = x = placeholder(dtypes.float32, [1, 28, 28, 1])
        for channels in ((1, 32), (32, 64)):
            x = nn.conv2d(x, constant(weights(5, 5, *channels)), 1, "SAME")
            x = nn.relu(nn.bias_add(x, weights(1, channels[1])[0]))
            x = nn.max_pool(x, 2, 2, "SAME")
        x = reshape(x, [1, -1])
        x = nn.relu(nn.bias_add(matmul(x, constant(weights(3136, 512))), weights(1, 512)[0]))
        logits = nn.bias_add(matmul(x, constant(weights(512, 10))), weights(1, 10)[0])
        return lower({"images": images}, {"logits": logits})


@pytest.mark.parametrize("phone", BUDGETS)
def test_a_program_keeps_its_budget(phone: str) -> None:
    contents = program(phone).read_bytes()
    print(f"{phone}: {len(contents)} bytes")
    assert contents.startswith(b"\x7fELF")
    assert b".symtab" not in contents
    # A budget that nothing comes near is none.
    assert 0.8 * BUDGETS[phone] < len(contents) <= BUDGETS[phone]


@pytest.mark.parametrize("phone", BUDGETS)
def test_a_program_has_the_kernels_of_its_model(phone: str) -> None:
    ops, types = selection(lenet())
    said = program(phone).with_suffix(".selection").read_text()
    assert said == f"ops {' '.join(ops)}\ndtypes {' '.join(types)}\n"


def needs_emulator(phone: str) -> None:
    if emulator(phone) is None:
        pytest.skip("no emulator: install qemu-user-static")


@pytest.mark.parametrize("phone", BUDGETS)
def test_a_phone_sees_what_this_machine_sees(phone: str, tmp_path: Path) -> None:
    needs_emulator(phone)
    images = np.random.default_rng(1).integers(0, 256, (IMAGES, 28, 28)).astype(np.uint8)
    write_model(tmp_path / "model", lenet())
    with Interpreter(tmp_path / "model") as model:
        logits = [
            model.run({"images": image[None, :, :, None] * np.float32(1 / 255)})["logits"]
            for image in images
        ]
    expected = [int(np.argmax(scores)) for scores in logits]
    labels = np.array(expected, np.uint8)
    labels[:12] = (labels[:12] + 1) % 10
    run = run_model(phone, program(phone), tmp_path / "model", images, labels)
    assert run.status == 0, run.errors
    assert len(set(expected)) > 1
    assert run.classes.tolist() == expected
    assert "accuracy: 75.00 %" in run.output


def test_a_model_of_other_ops_is_refused_by_name(tmp_path: Path) -> None:
    needs_emulator("aarch64")
    with Graph().as_default():
        x = placeholder(dtypes.float32, [1, 4])
        write_model(tmp_path / "model", lower({"x": x}, {"y": nn.softmax(x)}))
    images, labels = np.zeros((2, 4), np.uint8), np.zeros(2, np.uint8)
    run = run_model("aarch64", program("aarch64"), tmp_path / "model", images, labels)
    assert run.status == 1
    assert "[Softmax] expected a kernel" in run.errors
