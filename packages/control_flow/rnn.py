"""`dynamic_rnn`: a recurrent network as a loop over time."""

from typing import Any

from qanat.control_flow import nest
from qanat.control_flow.rnn_cell import RNNCell
from qanat.control_flow.tensor_array import TensorArray
from qanat.control_flow.while_loop import while_loop
from qanat.core.constants import describe
from qanat.core.dtypes import int32
from qanat.core.errors import ShapeError
from qanat.core.graph import Output, convert_to_tensor
from qanat.core.shapes import TensorShape
from qanat.ops import cast, shaping, transpose, where, zeros_like
from qanat.ops.variable_scope import variable_scope


def dynamic_rnn(
    cell: RNNCell,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: str | None = None,
) -> tuple[Output, Any]:
    """Runs a recurrent cell over sequences.

    The time steps are the iterations of a loop, so their number may differ from step to step, and
    the graph is as small for long sequences as for short ones.

    Args:
        cell: what computes (output, new state) from (input, state). inputs: floating-point, [batch,
        time, features], or [time, batch, features] if time_major. sequence_length: an int vector
        [batch]; beyond a sequence's end outputs are zero and its state
            stays as it is. None for full lengths.
        initial_state: a structure like cell.state_size; zeros if not given.
        dtype: of the initial state, where that is not given; that of inputs by default.
        parallel_iterations: how many time steps may be under way at once; 32 if not given.
        swap_memory: has no effect on CPUs.
        time_major: the order of the dimensions of inputs and outputs.
        scope: the variable scope; "rnn" if not given.

    Returns:
        (outputs [batch, time, cell.output_size], or with time first if time_major; the final state)

    Raises:
        TypeError, ShapeError: inputs have not rank 3, or the features' number is not known.
    """
    if not isinstance(cell, RNNCell):
        raise TypeError(f"[dynamic_rnn] cell: expected an RNNCell, got {describe(cell)}")
    with variable_scope(scope, "rnn"):
        x = convert_to_tensor(inputs)
        _require_rank(x, 3, "inputs")
        if not time_major:
            x = transpose(x, [1, 0, 2])
        steps, batch = shaping.shape(x)[0], shaping.shape(x)[1]
        if initial_state is None:
            size: Any = batch if x.shape[1] is None else x.shape[1]
            initial_state = cell.zero_state(size, x.dtype if dtype is None else dtype)
        state = nest.map_structure(convert_to_tensor, initial_state)
        outputs, final = _loop(
            cell, x, steps, _lengths(sequence_length), state, parallel_iterations or 32
        )
        return (outputs if time_major else transpose(outputs, [1, 0, 2])), final


def _require_rank(x: Output, rank: int, what: str) -> None:
    if x.shape.rank not in (rank, None):
        raise ShapeError(f"[dynamic_rnn] {what}: expected rank {rank}, got {x!r}")


def _lengths(given: Any) -> Output | None:
    if given is None:
        return None
    lengths = convert_to_tensor(given)
    _require_rank(lengths, 1, "sequence_length")
    return lengths if lengths.dtype is int32 else cast(lengths, int32)


def _loop(
    cell: RNNCell,
    x: Output,
    steps: Output,
    lengths: Output | None,
    state: Any,
    parallel_iterations: int,
) -> tuple[Output, Any]:
    sequence = TensorArray(x.dtype, steps, tensor_array_name="inputs").unstack(x)
    results = TensorArray(x.dtype, steps, tensor_array_name="outputs")
    features = x.shape[1:]

    def body(time: Output, state: Any, results: TensorArray) -> Any:
        element = sequence.read(time)
        element.set_shape(features)
        output, new_state = cell(element, state)
        if lengths is not None:
            alive = time < lengths
            output = where(alive, output, zeros_like(output))
            new_state = nest.map_structure(
                lambda new, old: where(alive, new, old), new_state, state
            )
        return time + 1, new_state, results.write(time, output)

    _, final, results = while_loop(
        lambda time, *_: time < steps,
        body,
        (0, state, results),
        parallel_iterations=parallel_iterations,
    )
    outputs = results.stack()
    outputs.set_shape(TensorShape([x.shape[0], x.shape[1], cell.output_size]))
    return outputs, final
