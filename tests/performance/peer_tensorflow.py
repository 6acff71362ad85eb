"""TensorFlow's ways to do the work: a graph of TensorFlow 1 in a session."""

from typing import Any

from tests.performance.inputs import (
    CHARACTERS,
    CLASSES,
    EMBEDDING,
    LEARNING_RATE,
    MOMENTUM,
    UNITS,
    batch,
    weights,
    window,
)
from tests.performance.interleaved import Work


def lenet(size: int) -> Work:
    return _training_step(size, _lenet)


def mlp(size: int) -> Work:
    return _training_step(size, _mlp)


def _training_step(size: int, model: Any) -> Work:
    tf = _tensorflow()
    images, labels = batch(size)
    fed_images = tf.placeholder(tf.float32, images.shape)
    fed_labels = tf.placeholder(tf.int32, labels.shape)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=fed_labels, logits=model(tf, fed_images)
    )
    return _trained(tf, losses, [fed_images, fed_labels], (images, labels))


def _trained(tf: Any, losses: Any, feeds: list[Any], fed: tuple[Any, Any]) -> Work:
    loss = tf.reduce_mean(losses)
    train = tf.train.MomentumOptimizer(LEARNING_RATE, MOMENTUM).minimize(loss)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    run = session.make_callable([loss, train], feeds)
    return lambda: run(*fed)


def _lenet(tf: Any, x: Any) -> Any:
    for channels_in, channels in ((1, 32), (32, 64)):
        kernel = tf.Variable(weights(5, 5, channels_in, channels))
        x = tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME")
        x = tf.nn.relu(tf.nn.bias_add(x, tf.Variable(tf.zeros([channels]))))
        x = tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    x = tf.nn.relu(_dense(tf, tf.reshape(x, [-1, 3136]), 512))
    return _dense(tf, x, CLASSES)


def _mlp(tf: Any, x: Any) -> Any:
    x = tf.nn.relu(_dense(tf, tf.reshape(x, [-1, 784]), 512))
    x = tf.nn.relu(_dense(tf, x, 256))
    return _dense(tf, x, CLASSES)


def _dense(tf: Any, x: Any, units: int) -> Any:
    kernel = tf.Variable(weights(int(x.shape[1]), units))
    return tf.nn.bias_add(tf.matmul(x, kernel), tf.Variable(tf.zeros([units])))


def char_lm(rows: int) -> Work:
    """By dynamic_rnn, in a loop of TensorFlow 1's ops."""
    tf = _tensorflow()
    tf.disable_control_flow_v2()
    inputs, targets = window(rows)
    fed_inputs = tf.placeholder(tf.int32, inputs.shape)
    fed_targets = tf.placeholder(tf.int32, targets.shape)
    x = tf.nn.embedding_lookup(tf.Variable(weights(CHARACTERS, EMBEDDING)), fed_inputs)
    x, _ = tf.nn.dynamic_rnn(_LSTMCell(tf), x, dtype=tf.float32, time_major=True)
    logits = _dense(tf, tf.reshape(x, [-1, UNITS]), CHARACTERS)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.reshape(fed_targets, [-1]), logits=logits
    )
    return _trained(tf, losses, [fed_inputs, fed_targets], (inputs, targets))


class _LSTMCell:
    """TensorFlow's own LSTMCell, which it has no more where Keras 3 is."""

    output_size = UNITS
    state_size = (UNITS, UNITS)

    def __init__(self, tf: Any) -> None:
        self._tf = tf
        self._kernel = tf.Variable(weights(EMBEDDING + UNITS, 4 * UNITS))
        self._bias = tf.Variable(tf.zeros([4 * UNITS]))

    def zero_state(self, rows: Any, dtype: Any) -> Any:
        return self._tf.zeros([rows, UNITS], dtype), self._tf.zeros([rows, UNITS], dtype)

    def __call__(self, x: Any, state: Any, scope: Any = None) -> Any:
        tf, (c, h) = self._tf, state
        gates = tf.nn.bias_add(tf.matmul(tf.concat([x, h], 1), self._kernel), self._bias)
        i, j, f, o = tf.split(gates, 4, axis=1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        return h, (c, h)


def tiny_run() -> Work:
    session, total, fed = _tiny()
    return lambda: session.run(total, {fed: 1.0})


def tiny_callable() -> Work:
    session, total, fed = _tiny()
    run = session.make_callable(total, [fed])
    return lambda: run(1.0)


def _tiny() -> tuple[Any, Any, Any]:
    tf = _tensorflow()
    fed = tf.placeholder(tf.float32, [])
    return tf.Session(), fed + 1.0, fed


def add_chain(length: int) -> Work:
    """Graph rewriting is off: it would turn the chain into one AddN."""
    tf = _tensorflow()
    fed = x = tf.placeholder(tf.float32, [])
    for _ in range(length):
        x = tf.add(x, fed)
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    run = tf.Session(config=config).make_callable(x, [fed])
    return lambda: run(1.0)


def counting_loop(iterations: int) -> Work:
    """Built of the same ops as Qanat's: control flow of version 2 would call functions."""
    tf = _tensorflow()
    tf.disable_control_flow_v2()
    fed = tf.placeholder(tf.float32, [])
    _, total = tf.while_loop(
        lambda i, total: i < iterations, lambda i, total: (i + 1, total + fed), [0, 0.0]
    )
    run = tf.Session().make_callable(total, [fed])
    return lambda: run(1.0)


def construction(layers: int) -> Work:
    tf = _tensorflow()

    def build() -> None:
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [None, 64])
            kernels = [tf.get_variable(f"w{i}", [64, 64]) for i in range(layers)]
            for kernel in kernels:
                x = tf.nn.relu(tf.matmul(x, kernel) + 1.0)
            tf.gradients(tf.reduce_sum(x), kernels)

    return build


def save(mebibytes: int) -> Work:
    from tests.performance.checkpoint_files import folder, timed

    session, saver = _saver(mebibytes)
    prefix = str(folder() / "model")
    return timed(lambda: saver.save(session, prefix, write_meta_graph=False))


def restore(mebibytes: int) -> Work:
    from tests.performance.checkpoint_files import folder, timed_cold

    session, saver = _saver(mebibytes)
    files = folder()
    path = saver.save(session, str(files / "model"), write_meta_graph=False)
    return timed_cold(files, "model.*", lambda: saver.restore(session, path))


def _saver(mebibytes: int) -> tuple[Any, Any]:
    from tests.performance.checkpoint_files import tensors

    tf = _tensorflow()
    values = tensors(mebibytes)
    variables = [tf.Variable(tf.zeros(value.shape)) for value in values]
    session = tf.Session()
    for variable, value in zip(variables, values, strict=True):
        variable.load(value, session)
    return session, tf.train.Saver()


def _tensorflow() -> Any:
    import tensorflow

    tensorflow.compat.v1.disable_eager_execution()
    return tensorflow.compat.v1
