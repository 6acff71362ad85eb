"""Trains an image classifier on Fashion-MNIST and evaluates it on the 10,000 test images.

    ./tools/bazel run -c opt //packages/models:fashion_mnist -- --model=lenet --epochs=5

With --checkpoint_dir, a checkpoint is written after every epoch, and a run with the same flags goes
on from the latest: bit for bit as if it had never been interrupted. The same seed gives the same
weights whatever --threads.

With --job_name it is one task of a cluster, and tools/launch starts all of them:

    tools/launch --ps=1 --workers=2 //packages/models:fashion_mnist -- --sync=true
"""

from contextlib import ExitStack

from absl import app, flags

import qanat as qn
from qanat.models import program
from qanat.models.classifier import Classifier
from qanat.models.data_files import DataError
from qanat.models.dataset import CLASSES, Examples, load
from qanat.models.idx import Array
from qanat.models.networks import NETWORKS
from qanat.models.replica import Farewell, Replica, prepare_session
from qanat.models.replica_loop import train_replica
from qanat.models.training_loop import History, accuracy, evaluate, train

FLAGS = flags.FLAGS
flags.adopt_module_key_flags(program)

flags.DEFINE_enum("model", "lenet", sorted(NETWORKS), "What to train.")
flags.DEFINE_integer("batch_size", 64, "Images a step.", lower_bound=1)
flags.DEFINE_integer("epochs", 5, "Passes over the training images, in all.", lower_bound=0)
flags.DEFINE_float("learning_rate", 0.001, "In the first epoch.", lower_bound=0)
flags.DEFINE_float(
    "decay", 0.7, "The learning rate is multiplied by this after each epoch.", lower_bound=0
)
flags.DEFINE_string(
    "data_dir", None, "Folder of the four IDX files; by default the data that Bazel fetched."
)
flags.DEFINE_integer("eval_batch_size", 500, "Images a step of evaluation.", lower_bound=1)
flags.DEFINE_string("curve_png", None, "File for a picture of the learning curve.")
flags.DEFINE_string("confusion_png", None, "File for a picture of the confusion matrix.")
flags.DEFINE_enum("job_name", None, ["ps", "worker"], "The job that this process is a task of.")
flags.DEFINE_integer("task_index", 0, "Which task of the job.", lower_bound=0)
flags.DEFINE_list("ps_hosts", [], "The addresses of the tasks that hold the variables.")
flags.DEFINE_list("worker_hosts", [], "The addresses of the tasks that train.")
flags.DEFINE_bool("sync", False, "Whether the workers step together.")
flags.DEFINE_integer(
    "backup_workers", 0, "With --sync, how many workers a step does not wait for.", lower_bound=0
)
flags.DEFINE_integer(
    "save_steps", 0, "Steps of a cluster between checkpoints; 0 for one an epoch.", lower_bound=0
)


def _replica() -> Replica:
    """This process's place in the cluster that the flags describe.

    Raises:
        UsageError: they describe none.
    """
    if FLAGS.job_name is None:
        return Replica()
    if not (FLAGS.ps_hosts and FLAGS.worker_hosts):
        raise app.UsageError("--job_name: expected --ps_hosts and --worker_hosts with it")
    if FLAGS.backup_workers and not FLAGS.sync:
        raise app.UsageError("--backup_workers: expected --sync with it")
    if FLAGS.backup_workers >= len(FLAGS.worker_hosts):
        raise app.UsageError("--backup_workers: expected fewer than there are workers")
    try:
        cluster = qn.ClusterSpec({"ps": FLAGS.ps_hosts, "worker": FLAGS.worker_hosts})
        cluster.task_address(FLAGS.job_name, FLAGS.task_index)
    except ValueError as error:
        raise app.UsageError(str(error)) from None
    return Replica(cluster, FLAGS.job_name, FLAGS.task_index, FLAGS.sync, FLAGS.backup_workers)


def _build(steps_per_epoch: int, replica: Replica) -> Classifier:
    qn.set_random_seed(FLAGS.seed)

    def learning_rate(step: qn.Variable) -> qn.Tensor:
        return qn.train.exponential_decay(
            FLAGS.learning_rate, step, steps_per_epoch, FLAGS.decay, staircase=True
        )

    def optimizer(rate: qn.Tensor) -> "qn.train.Optimizer":
        return replica.wrapped(program.make_optimizer(rate))

    with replica.device():
        return Classifier(NETWORKS[FLAGS.model], optimizer, learning_rate)


def _run(training: Examples, test: Examples) -> None:
    if len(training) < FLAGS.batch_size:
        raise DataError(f"--batch_size={FLAGS.batch_size}: there are only {len(training)} images")
    steps_per_epoch = len(training) // FLAGS.batch_size
    history = History()
    confusion: Array | None = None
    with qn.Graph().as_default():
        classifier = _build(steps_per_epoch, Replica())
        print(f"{FLAGS.model}: {program.count_parameters():,} parameters")
        checkpoints = program.Checkpoints(FLAGS.model)
        config = qn.SessionConfig(threads=FLAGS.threads or None)
        with ExitStack() as stack:
            session = stack.enter_context(qn.Session(config=config))
            log = program.open_log()
            if log is not None:
                stack.enter_context(log)
            checkpoints.initialize(session)

            def evaluated() -> Array:
                return evaluate(session, classifier, test, FLAGS.eval_batch_size)

            def after_epoch(step: int) -> None:
                nonlocal confusion
                confusion = evaluated()
                history.tests.append((step, accuracy(confusion)))
                print(f"step {step}: test accuracy {accuracy(confusion):.2%}")
                if log is not None:
                    log.add_summary(session.run(classifier.weights_summary), step)
                    log.add_summary(program.scalar("test/accuracy", accuracy(confusion)), step)
                checkpoints.save(session, step)

            train(
                session,
                classifier,
                training,
                until=FLAGS.epochs * steps_per_epoch if FLAGS.steps is None else FLAGS.steps,
                batch_size=FLAGS.batch_size,
                seed=FLAGS.seed,
                after_epoch=after_epoch,
                history=history,
                log=log,
                trace=FLAGS.trace,
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


def _run_replica(replica: Replica, training: Examples, test: Examples) -> None:
    """A worker's part in the training."""
    steps_per_epoch = max(len(training) // FLAGS.batch_size // replica.batches_a_step, 1)
    history = History()
    with qn.Graph().as_default():
        classifier = _build(steps_per_epoch, replica)
        checkpoints = program.Checkpoints(FLAGS.model)
        missing = qn.report_uninitialized_variables(qn.global_variables())
        farewell = Farewell(replica)
        config = replica.config(FLAGS.threads or None)
        with qn.Session(replica.target, config=config) as session:
            prepare_session(replica, session, missing, lambda: checkpoints.initialize(session))
            chief = _start_sync(replica, session, classifier.optimizer)

            def save(step: int) -> None:
                matrix = evaluate(session, classifier, test, FLAGS.eval_batch_size)
                print(f"step {step}: test accuracy {accuracy(matrix):.2%}", flush=True)
                checkpoints.save(session, step)

            try:
                train_replica(
                    session,
                    classifier,
                    training,
                    replica,
                    until=FLAGS.epochs * steps_per_epoch if FLAGS.steps is None else FLAGS.steps,
                    batch_size=FLAGS.batch_size,
                    seed=FLAGS.seed,
                    save_every=FLAGS.save_steps or steps_per_epoch,
                    save=save,
                    history=history,
                )
                farewell.wait(session)
            except qn.errors.CancelledError as error:
                raise (chief and chief.error) or error from None
    print(f"worker {replica.index}: {len(history.steps)} steps of its own")


def _start_sync(
    replica: Replica, session: qn.Session, optimizer: "qn.train.Optimizer"
) -> "qn.train.Chief | None":
    """Where workers step together: readies this one, and starts the chief's part."""
    if not isinstance(optimizer, qn.train.SyncReplicasOptimizer):
        return None
    session.run(optimizer.local_step_init_op)
    return optimizer.start_chief(session) if replica.is_chief else None


def _serve(replica: Replica) -> None:
    """One task of a cluster: serves for good, or trains."""
    server = replica.serve(FLAGS.threads or None)
    print(f"serving as {server.name} at {server.target}", flush=True)
    if replica.job == "ps":
        server.join()
    _run_replica(replica, *load(FLAGS.data_dir))
    server.stop()


def _main() -> None:
    replica = _replica()
    if replica.cluster is None:
        _run(*load(FLAGS.data_dir))
    else:
        _serve(replica)


def main(argv: list[str]) -> None:
    program.run("fashion_mnist", argv, _main)


if __name__ == "__main__":
    app.run(main)
