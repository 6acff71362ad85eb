"""Trains an image classifier on Fashion-MNIST and evaluates it on the 10,000 test images.

    ./tools/bazel run -c opt //packages/models:fashion_mnist -- --model=lenet --epochs=5

With --checkpoint_dir, a checkpoint is written after every epoch, and a run with the same flags goes
on from the latest: bit for bit as if it had never been interrupted. The same seed gives the same
weights whatever --threads.
"""

import os
import sys

from absl import app, flags

import qanat as qn
from qanat.models.classifier import Classifier
from qanat.models.dataset import CLASSES, Examples, load
from qanat.models.idx import Array, DataError
from qanat.models.lenet import lenet
from qanat.models.mlp import mlp
from qanat.models.training_loop import DivergedError, History, accuracy, evaluate, train

FLAGS = flags.FLAGS

_MODELS = {"lenet": lenet, "mlp": mlp}

flags.DEFINE_enum("model", "lenet", sorted(_MODELS), "What to train.")
flags.DEFINE_integer("batch_size", 64, "Images a step.", lower_bound=1)
flags.DEFINE_integer("epochs", 5, "Passes over the training images, in all.", lower_bound=0)
flags.DEFINE_integer(
    "steps", None, "Steps of training, in all, instead of --epochs.", lower_bound=0
)
flags.DEFINE_float("learning_rate", 0.001, "In the first epoch.", lower_bound=0)
flags.DEFINE_float(
    "decay", 0.7, "The learning rate is multiplied by this after each epoch.", lower_bound=0
)
flags.DEFINE_enum("optimizer", "adam", ["sgd", "momentum", "adam"], "How to step.")
flags.DEFINE_float("momentum", 0.9, "For --optimizer=momentum.", lower_bound=0, upper_bound=1)
flags.DEFINE_string(
    "data_dir", None, "Folder of the four IDX files; by default the data that Bazel fetched."
)
flags.DEFINE_string("checkpoint_dir", None, "Folder to save checkpoints in and to resume from.")
flags.DEFINE_integer("seed", 1, "Of the weights and of the order of the images.", lower_bound=0)
flags.DEFINE_integer("threads", 0, "Threads to compute with; 0 for one a core.", lower_bound=0)
flags.DEFINE_integer("eval_batch_size", 500, "Images a step of evaluation.", lower_bound=1)
flags.DEFINE_string("curve_png", None, "File for a picture of the learning curve.")
flags.DEFINE_string("confusion_png", None, "File for a picture of the confusion matrix.")


def _optimizer(rate: qn.Tensor) -> "qn.train.Optimizer":
    if FLAGS.optimizer == "sgd":
        return qn.train.GradientDescentOptimizer(rate)
    if FLAGS.optimizer == "momentum":
        return qn.train.MomentumOptimizer(rate, FLAGS.momentum)
    return qn.train.AdamOptimizer(rate)


def _build(steps_per_epoch: int) -> Classifier:
    qn.set_random_seed(FLAGS.seed)

    def learning_rate(step: qn.Variable) -> qn.Tensor:
        return qn.train.exponential_decay(
            FLAGS.learning_rate, step, steps_per_epoch, FLAGS.decay, staircase=True
        )

    return Classifier(_MODELS[FLAGS.model], _optimizer, learning_rate)


def _count_parameters() -> int:
    return sum(variable.shape.num_elements() or 0 for variable in qn.trainable_variables())


def _initialize(session: qn.Session, saver: qn.train.Saver) -> None:
    """Gives all variables their values: those of the latest checkpoint, if there is one."""
    latest = FLAGS.checkpoint_dir and qn.train.latest_checkpoint(FLAGS.checkpoint_dir)
    if not latest:
        session.run(qn.global_variables_initializer())
        return
    saver.restore(session, latest)
    state = qn.train.get_checkpoint_state(FLAGS.checkpoint_dir)
    saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
    print(f"going on from {latest}")


def _run(training: Examples, test: Examples) -> None:
    if len(training) < FLAGS.batch_size:
        raise DataError(f"--batch_size={FLAGS.batch_size}: there are only {len(training)} images")
    steps_per_epoch = len(training) // FLAGS.batch_size
    history = History()
    confusion: Array | None = None
    with qn.Graph().as_default():
        classifier = _build(steps_per_epoch)
        print(f"{FLAGS.model}: {_count_parameters():,} parameters")
        saver = qn.train.Saver()
        with qn.Session(config=qn.SessionConfig(threads=FLAGS.threads or None)) as session:
            _initialize(session, saver)

            def evaluated() -> Array:
                return evaluate(session, classifier, test, FLAGS.eval_batch_size)

            def after_epoch(step: int) -> None:
                nonlocal confusion
                confusion = evaluated()
                history.tests.append((step, accuracy(confusion)))
                print(f"step {step}: test accuracy {accuracy(confusion):.2%}")
                if FLAGS.checkpoint_dir:
                    saver.save(session, os.path.join(FLAGS.checkpoint_dir, FLAGS.model), step)

            train(
                session,
                classifier,
                training,
                until=FLAGS.epochs * steps_per_epoch if FLAGS.steps is None else FLAGS.steps,
                batch_size=FLAGS.batch_size,
                seed=FLAGS.seed,
                after_epoch=after_epoch,
                history=history,
            )
            if confusion is None:  # There was no step left to do.
                confusion = evaluated()
    print(f"test accuracy {accuracy(confusion):.2%} on {len(test):,} images")
    if FLAGS.curve_png:
        from qanat.models.plots import save_learning_curve

        save_learning_curve(
            FLAGS.curve_png, history.steps, history.losses, history.accuracies, history.tests
        )
    if FLAGS.confusion_png:
        from qanat.models.plots import save_confusion_matrix

        save_confusion_matrix(FLAGS.confusion_png, confusion, CLASSES)


def main(argv: list[str]) -> None:
    # Files are meant relative to where `bazel run` was called, not to where it starts the program.
    os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    if len(argv) > 1:
        raise app.UsageError(f"expected flags only, got {' '.join(argv[1:])}")
    try:
        _run(*load(FLAGS.data_dir))
    except (DataError, DivergedError, qn.errors.OpError, OSError) as error:
        sys.exit(f"fashion_mnist: {error}")


if __name__ == "__main__":
    app.run(main)
