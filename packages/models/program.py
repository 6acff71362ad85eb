"""What the programs here have in common: flags, how they begin and end, what they write."""

import os
import sys
from collections.abc import Callable

from absl import app, flags

import qanat as qn
from qanat.models.data_files import DataError
from qanat.models.step_runner import DivergedError

FLAGS = flags.FLAGS

flags.DEFINE_integer(
    "steps", None, "Steps of training, in all, instead of --epochs.", lower_bound=0
)
flags.DEFINE_enum("optimizer", "adam", ["sgd", "momentum", "adam"], "How to step.")
flags.DEFINE_float("momentum", 0.9, "For --optimizer=momentum.", lower_bound=0, upper_bound=1)
flags.DEFINE_string("checkpoint_dir", None, "Folder to save checkpoints in and to resume from.")
# absl has a flag of this name for log files, of which no program here writes any.
flags.DEFINE_string("log_dir", None, "Folder for what TensorBoard shows.", allow_override=True)
flags.DEFINE_string(
    "trace", None, "File for the trace of the tenth step, for chrome://tracing or Perfetto."
)
flags.DEFINE_integer(
    "seed", 1, "Of all that is drawn by lot.", lower_bound=0, upper_bound=2**63 - 1
)
flags.DEFINE_integer("threads", 0, "Threads to compute with; 0 for one a core.", lower_bound=0)


def run(name: str, argv: list[str], work: Callable[[], None]) -> None:
    """Does a program's work; what is wrong with data or a step ends it with one line.

    Args:
        name: of the program, for that line.
        argv: what is left of the command line when flags are parsed.
        work: all that the program does.

    Raises:
        UsageError: argv has more than the program's name.
    """
    # Files are meant relative to where `bazel run` was called, not to where it starts the program.
    os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    if len(argv) > 1:
        raise app.UsageError(f"expected flags only, got {' '.join(argv[1:])}")
    try:
        work()
    except (DataError, DivergedError, qn.errors.OpError, OSError, MemoryError) as error:
        sys.exit(f"{name}: {error}")


def make_optimizer(rate: qn.Tensor) -> "qn.train.Optimizer":
    """The one that --optimizer names."""
    if FLAGS.optimizer == "sgd":
        return qn.train.GradientDescentOptimizer(rate)
    if FLAGS.optimizer == "momentum":
        return qn.train.MomentumOptimizer(rate, FLAGS.momentum)
    return qn.train.AdamOptimizer(rate)


def count_parameters() -> int:
    """How many numbers the default graph's trainable variables have."""
    return sum(variable.shape.num_elements() or 0 for variable in qn.trainable_variables())


def open_log() -> "qn.summary.FileWriter | None":
    """What gets the summaries, if --log_dir wants them; the default graph is in it."""
    return qn.summary.FileWriter(FLAGS.log_dir, qn.get_default_graph()) if FLAGS.log_dir else None


def scalar(tag: str, value: float) -> "qn.summary.Summary":
    """A summary that was computed outside of the graph."""
    return qn.summary.Summary(value=[qn.summary.Summary.Value(tag=tag, simple_value=value)])


class Checkpoints:
    """The checkpoints in --checkpoint_dir, if that is given, of all variables of the default graph.

    Args:
        name: of the files.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._saver = qn.train.Saver()

    def initialize(self, session: qn.Session) -> None:
        """Gives all variables their values: those of the latest checkpoint, if there is one."""
        latest = FLAGS.checkpoint_dir and qn.train.latest_checkpoint(FLAGS.checkpoint_dir)
        if not latest:
            session.run(qn.global_variables_initializer())
            return
        self._saver.restore(session, latest)
        state = qn.train.get_checkpoint_state(FLAGS.checkpoint_dir)
        self._saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        print(f"going on from {latest}")

    def save(self, session: qn.Session, step: int) -> None:
        """Writes the checkpoint of a step."""
        if FLAGS.checkpoint_dir:
            self._saver.save(session, os.path.join(FLAGS.checkpoint_dir, self._name), step)
