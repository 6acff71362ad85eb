"""Writes the model file of a trained Fashion-MNIST classifier, for phones.

    ./tools/bazel run -c opt //packages/mobile_runtime:export_fashion_mnist -- \\
        --checkpoint_dir=lenet --output=lenet.qmodel --quantise

The file has the input `images`, uint8 [batch_size, 28, 28], and the outputs `logits`, float32, and
`classes`, int32.
"""

import os
import sys
from math import prod

from absl import app, flags

import qanat as qn
from qanat.mobile_runtime.export import Calibration, export_model
from qanat.mobile_runtime.interpreter import Interpreter, probe
from qanat.mobile_runtime.memory_plan import lower_bound
from qanat.mobile_runtime.model import Model
from qanat.models.classifier import images_placeholder, logits_of
from qanat.models.data_files import DataError
from qanat.models.dataset import Examples, load
from qanat.models.networks import NETWORKS

FLAGS = flags.FLAGS

flags.DEFINE_enum("model", "lenet", sorted(NETWORKS), "What was trained.")
flags.DEFINE_string("checkpoint_dir", None, "Folder whose latest checkpoint is exported.")
flags.DEFINE_string("output", None, "The model file to write.")
flags.DEFINE_bool("quantise", False, "Whether products are of int8 numbers.")
flags.DEFINE_integer("batch_size", 1, "Images a run of the model.", lower_bound=1)
flags.DEFINE_integer(
    "calibration_images", 500, "Training images to choose int8 scales by.", lower_bound=1
)
flags.DEFINE_float(
    "percentile", 100, "Of the values within an int8 tensor's range.", 50, upper_bound=100
)
flags.DEFINE_bool("evaluate", False, "Whether to classify the test images, on this machine.")
flags.DEFINE_string(
    "data_dir", None, "Folder of the four IDX files; by default the data that Bazel fetched."
)


def _calibration() -> Calibration | None:
    if not FLAGS.quantise:
        return None
    training, _ = load(FLAGS.data_dir)
    return Calibration({"images": training.images[: FLAGS.calibration_images]}, FLAGS.percentile)


def _describe(model: Model) -> str:
    constants = sum(value.data.nbytes for value in model.values if value.data is not None)
    feeds = [model.values[i] for i in model.inputs.values()]
    given = sum(prod(value.shape) * value.dtype.size for value in feeds)
    return (
        f"{len(model.nodes)} nodes ({', '.join(dict.fromkeys(node.op for node in model.nodes))}), "
        f"{constants:,} bytes of constants, an arena of {model.arena_bytes:,} bytes (no plan takes "
        f"fewer than {lower_bound(model, probe(model)):,}) with {given:,} bytes of input"
    )


def _run() -> None:
    with qn.Graph().as_default():
        images = images_placeholder()
        logits = logits_of(NETWORKS[FLAGS.model], images)
        classes = qn.argmax(logits, 1, output_type=qn.int32)
        reader = qn.train.load_checkpoint(FLAGS.checkpoint_dir)
        inputs, outputs = {"images": images}, {"logits": logits, "classes": classes}
        calibration = _calibration()
        model = export_model(
            FLAGS.output,
            reader,
            inputs,
            outputs,
            batch_size=FLAGS.batch_size,
            quantise=calibration,
            sharing=probe,
        )
        print(f"{FLAGS.output}: {os.path.getsize(FLAGS.output):,} bytes: {_describe(model)}")
        if FLAGS.evaluate:
            _, test = load(FLAGS.data_dir)
            _evaluate(test)


def _evaluate(test: Examples) -> None:
    """Runs the file as a phone does; the last images, if they fill no batch, are left out."""
    right = seen = 0
    with Interpreter(FLAGS.output) as model:
        for batch in test.batches(FLAGS.batch_size):
            if len(batch) == FLAGS.batch_size:
                classes = model.run({"images": batch.images})["classes"]
                right += int((classes == batch.labels).sum())
                seen += len(batch)
    print(f"test accuracy {right / max(seen, 1):.2%} on {seen:,} images")


def main(argv: list[str]) -> None:
    # Files are meant relative to where `bazel run` was called, not to where it starts the program.
    os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    if len(argv) > 1:
        raise app.UsageError(f"expected flags only, got {' '.join(argv[1:])}")
    for name in ("checkpoint_dir", "output"):
        if FLAGS[name].value is None:
            raise app.UsageError(f"--{name}: expected a value")
    try:
        _run()
    except (DataError, qn.errors.OpError, qn.ShapeError, ValueError, OSError) as error:
        sys.exit(f"export_fashion_mnist: {error}")


if __name__ == "__main__":
    app.run(main)
