"""The rule by which one operation passes gradients on from its outputs to its inputs."""

from collections.abc import Callable, Sequence

from qanat.autodiff.differentiable import value_dtype, value_shape
from qanat.core.graph import Operation, Output
from qanat.core.op_def import Role

# (op, one gradient an output or None where none arrived) -> one gradient an input or None.
GradientFunction = Callable[..., Sequence[Output | None]]


def passes_gradient(op: Operation) -> bool:
    """False for an operation whose outputs are constant as far as derivatives are concerned."""
    return op.gradient_override is not None or op.op_def.differentiable


def input_gradients(op: Operation, grads: Sequence[Output | None]) -> list[Output | None]:
    """Builds the gradients for the inputs of `op` from those for its outputs.

    Raises:
        LookupError: nothing says how to differentiate an operation of this type.
        TypeError, ValueError: the rule returned something that cannot be a gradient of the inputs.
    """
    rule = _rule(op)
    try:
        returned = rule(op, *grads)
        if isinstance(returned, Output):
            raise TypeError("expected a list with an entry an input, got an Output alone")
        results = list(returned)
    except Exception as error:
        error.add_note(f"This was in the gradient of node {op.name!r}, made at {op.user_line}.")
        raise
    if len(results) != len(op.inputs):
        raise ValueError(
            f"{_of(op)} expected one entry for each of the {len(op.inputs)} inputs, "
            f"got {len(results)}"
        )
    for index, (source, grad) in enumerate(zip(op.inputs, results, strict=True)):
        if grad is not None:
            _check(op, index, source, grad)
    return results


def _rule(op: Operation) -> GradientFunction:
    rule = op.gradient_override or op.op_def.gradient
    if rule is None:
        raise LookupError(
            f"[{op.type}] expected an operation that can be differentiated, got one without a "
            f"gradient: node {op.name!r}, made at {op.user_line}. {_advice(op)}"
        )
    return rule


def _advice(op: Operation) -> str:
    if op.op_def.role is not Role.NONE:
        return (
            "It is of a branch or loop that nothing in this graph knows as one, as a GraphDef does "
            "not tell: take gradients in the graph that qn.cond or qn.while_loop built it in"
        )
    return (
        "Keep it off the path with stop_gradient or stop_gradients=, or give it a gradient with "
        "custom_gradient"
    )


def _check(op: Operation, index: int, source: Output, grad: Output) -> None:
    """Input `index` of `op`, which is `source`, may have the gradient `grad`."""
    if not isinstance(grad, Output):
        raise TypeError(
            f"{_of(op)} expected an Output or None for input {index}, got {type(grad).__name__}"
        )
    if grad.dtype != value_dtype(source):
        raise TypeError(
            f"{_of(op)} expected dtype {value_dtype(source).name} for input {index}, "
            f"got {grad.dtype.name}"
        )
    if not grad.shape.is_compatible_with(value_shape(source)):
        raise ValueError(
            f"{_of(op)} expected shape {value_shape(source)} for input {index}, got {grad.shape}"
        )
    grad.set_shape(value_shape(source))


def _of(op: Operation) -> str:
    return f"[{op.type}] gradient of node {op.name!r}, made at {op.user_line}:"
