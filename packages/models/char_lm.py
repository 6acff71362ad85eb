"""Trains a recurrent network to foresee the next character of a text, and has it write.

    ./tools/bazel run -c opt //packages/models:char_lm -- --cell=lstm --layers=2 --epochs=5

The text is the Jargon File, or --data_file; its end is kept for validation. With --checkpoint_dir,
a checkpoint is written after every epoch, and a run with the same flags goes on from the latest:
bit for bit as if it had never been interrupted. The same seed gives the same weights whatever
--threads. --epochs=0 only evaluates and writes.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
from absl import app, flags

import qanat as qn
from qanat.models import program
from qanat.models.data_files import DataError
from qanat.models.epochs import run_epochs
from qanat.models.idx import Array
from qanat.models.language_model import Evaluation, Sampler, Training
from qanat.models.perplexity import Foresight, evaluate
from qanat.models.recurrent import CELLS, RecurrentNetwork
from qanat.models.step_runner import StepRunner
from qanat.models.text import Rows, Vocabulary, load_text, split

FLAGS = flags.FLAGS
flags.adopt_module_key_flags(program)

flags.DEFINE_string("data_file", None, "A text in UTF-8; by default the Jargon File.")
flags.DEFINE_float(
    "validation_share", 0.05, "Of the text, at its end, to validate with.",
    lower_bound=0, upper_bound=0.9,
)  # fmt: skip
flags.DEFINE_enum("cell", "lstm", sorted(CELLS), "What remembers.")
flags.DEFINE_integer("layers", 1, "Recurrent layers one above the other.", lower_bound=1)
flags.DEFINE_integer("units", 256, "Of each layer.", lower_bound=1)
flags.DEFINE_integer("embedding", 64, "Numbers that stand for a character.", lower_bound=1)
flags.DEFINE_integer("batch_size", 32, "Rows of text that are read side by side.", lower_bound=1)
flags.DEFINE_integer(
    "sequence_length", 64, "Characters of a row that a step reads.", lower_bound=1
)
flags.DEFINE_integer("epochs", 5, "Passes over the text, in all.", lower_bound=0)
flags.DEFINE_float("learning_rate", 0.003, "In the first epoch.", lower_bound=0)
flags.DEFINE_float(
    "decay", 0.7, "The learning rate is multiplied by this after each epoch.", lower_bound=0
)
flags.DEFINE_float(
    "clip_norm", 1.0, "The largest norm of all gradients together; 0 for any.", lower_bound=0
)
flags.DEFINE_float(
    "dropout", 0.0, "The share of activations that a step drops.", lower_bound=0, upper_bound=0.95
)
flags.DEFINE_integer("sample_length", 400, "Characters to write at the end.", lower_bound=0)
flags.DEFINE_float(
    "temperature", 0.7, "Of what is written: 0 for the likeliest, 1 as foreseen.", lower_bound=0
)
flags.DEFINE_string(
    "prompt",
    None,
    "What to write on from; by default 'The ', or, in a text without these letters, its first one.",
)


def _prompt(text: str) -> str:
    """
    Raises:
        DataError: --prompt is empty.
    """
    if FLAGS.prompt is None:
        return "The " if set("The ") <= set(text) else text[0]
    if not FLAGS.prompt:
        raise DataError("--prompt: expected one character or more, got none")
    return str(FLAGS.prompt)


class _Data:
    """The text, ready to be read."""

    def __init__(self, text: str) -> None:
        self.vocabulary = Vocabulary(text)
        training, validation = split(text, FLAGS.validation_share)
        rows, length = FLAGS.batch_size, FLAGS.sequence_length
        self.training = Rows.of(self.vocabulary.encode(training, "the text"), rows, length)
        if not self.training.whole_windows:
            raise DataError(
                f"--batch_size={rows}, --sequence_length={length}: expected a text of "
                f"{rows * length + 1} characters or more to train on, got {len(training)}"
            )
        numbers = self.vocabulary.encode(validation, "the text")
        self.validation_rows = max(1, min(rows, len(numbers) // length))
        self.validation = Rows.of(numbers, self.validation_rows, length)
        self.prompt = self.vocabulary.encode(_prompt(text), "--prompt")


class _Graph:
    """All that is done with the network, in the default graph."""

    def __init__(self, data: _Data) -> None:
        qn.set_random_seed(FLAGS.seed)
        # A checkpoint tells of what characters it is.
        self._codes = qn.Variable(data.vocabulary.codes, trainable=False, name="characters")
        self._vocabulary = data.vocabulary
        network = RecurrentNetwork(
            len(data.vocabulary), FLAGS.embedding, FLAGS.cell, FLAGS.layers, FLAGS.units
        )
        batches = data.training.whole_windows
        self.training = Training(
            network,
            FLAGS.sequence_length,
            FLAGS.batch_size,
            optimizer=program.make_optimizer,
            learning_rate=lambda step: qn.train.exponential_decay(
                FLAGS.learning_rate, step, batches, FLAGS.decay, staircase=True
            ),
            clip_norm=FLAGS.clip_norm,
            dropout=FLAGS.dropout,
            seed=FLAGS.seed,
        )
        self.evaluation = Evaluation(network, data.validation_rows)
        self.sampler = Sampler(network, FLAGS.sample_length, FLAGS.temperature)

    def check_characters(self, session: qn.Session) -> None:
        """
        Raises:
            DataError: the checkpoint that was restored is of a text with other characters.
        """
        if not np.array_equal(session.run(self._codes), self._vocabulary.codes):
            raise DataError(
                f"{FLAGS.checkpoint_dir}: expected a checkpoint of this text, got one of a text "
                "with other characters"
            )


class _Run:
    """One run of the program: training, and what is shown and kept of it."""

    def __init__(self, data: _Data, graph: _Graph, session: qn.Session) -> None:
        self._data = data
        self._graph = graph
        self._session = session
        self._losses: list[float] = []

    def train(self, checkpoints: program.Checkpoints, log: "qn.summary.FileWriter | None") -> None:
        """Runs the steps that are left to do."""
        training, batches = self._graph.training, self._data.training.whole_windows

        def after_epoch(step: int) -> None:
            shown = self._validated(step, log)
            print(f"step {step}: {shown}", flush=True)
            if log is not None:
                log.add_summary(self._session.run(training.weights_summary), step)
            checkpoints.save(self._session, step)

        done = int(self._session.run(training.global_step))
        until = FLAGS.epochs * batches if FLAGS.steps is None else FLAGS.steps
        if done >= until:
            print(f"step {done}: {self._validated(done, log)}")
        run_epochs(
            StepRunner(
                self._session,
                [training.loss, training.train],
                [training.inputs, training.targets],
                training.step_summary,
                log,
                FLAGS.trace,
            ),
            done,
            until=until,
            batches=batches,
            feeds=self._feeds,
            note=self._note,
            after_epoch=after_epoch,
            size=FLAGS.batch_size * FLAGS.sequence_length,
            unit="characters",
        )

    def write(self) -> str:
        """The prompt, and what the network makes of it."""
        sampler = self._graph.sampler
        characters = self._session.run(sampler.characters, {sampler.prompt: self._data.prompt})
        return self._data.vocabulary.decode(np.concatenate([self._data.prompt, characters]))

    def _feeds(self, epoch: int, first: int) -> Iterator[tuple[Array, Array]]:
        if first == 0:
            self._session.run(self._graph.training.begin)
        return self._data.training.windows(first)

    def _note(self, step: int, fetched: Sequence[Any]) -> str:
        self._losses.append(float(fetched[0]))
        return str(Foresight(float(np.mean(self._losses[-50:]))))

    def _validated(self, step: int, log: "qn.summary.FileWriter | None") -> str:
        """How well the text that was kept for it is foreseen."""
        if not self._data.validation.inputs.size:
            return "no text to validate with"
        foresight = evaluate(self._session, self._graph.evaluation, self._data.validation)
        if log is not None:
            log.add_summary(program.scalar("validation/perplexity", foresight.perplexity), step)
        return f"validation {foresight}"


def _work() -> None:
    data = _Data(load_text(FLAGS.data_file))
    with qn.Graph().as_default(), ExitStack() as stack:
        graph = _Graph(data)
        print(
            f"{FLAGS.cell}: {program.count_parameters():,} parameters, {len(data.vocabulary)} "
            f"different characters, {data.training.inputs.size:,} to train on, "
            f"{data.validation.inputs.size:,} to validate with"
        )
        checkpoints = program.Checkpoints("char_lm")
        config = qn.SessionConfig(threads=FLAGS.threads or None)
        session = stack.enter_context(qn.Session(config=config))
        log = program.open_log()
        if log is not None:
            stack.enter_context(log)
        checkpoints.initialize(session)
        graph.check_characters(session)
        run = _Run(data, graph, session)
        run.train(checkpoints, log)
        if FLAGS.sample_length:
            print(run.write())


def main(argv: list[str]) -> None:
    program.run("char_lm", argv, _work)


if __name__ == "__main__":
    app.run(main)
