"""Symbolic derivatives of sums of outputs with respect to other outputs.

The graph is walked backwards from the ys; each operation on the way adds the operations that turn
the gradients of its outputs into gradients of its inputs, and partial derivatives that meet are
summed. Source: Abadi et al., "TensorFlow: Large-Scale Machine Learning on Heterogeneous Distributed
Systems" (2015), section 4.1; Baydin et al., "Automatic Differentiation in Machine Learning: a
Survey" (2018), section 3.2.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from qanat.autodiff.constructs import Construct
from qanat.autodiff.differentiable import is_differentiable, value_dtype
from qanat.autodiff.partials import Partials
from qanat.autodiff.paths import Paths
from qanat.autodiff.rules import input_gradients
from qanat.core.constants import describe
from qanat.core.gradient_pass import named_gradient_pass
from qanat.core.graph import Operation, Output, colocate_with, convert_to_tensor, name_scope
from qanat.ops import ones_like
from qanat.ops.variables import Variable


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    *,
    stop_gradients: Any = None,
    colocate_gradients_with_ops: bool = True,
) -> list[Any]:
    """The derivatives of sum(ys) with respect to each of xs, as new operations in the graph.

    They are total derivatives: if one x is computed from another, the latter's derivative includes
    what passes through the former. The results can be differentiated again. Integer outputs carry
    no derivative. Where an operation has an unbounded derivative, as `1 / x` at 0, it passes on 0
    where exactly 0 arrives, so that `where(x > 0, 1 / x, 0)` has the derivative 0 at 0, not NaN.

    Args:
        ys: an Output or a list of them, floating-point or complex, of any shapes.
        xs: an Output or Variable, or a list of them; for a variable the gradients of all its
            reads are summed.
        grad_ys: weights of the ys' elements in the sum, each with the dtype and shape of its y;
            None for ones.
        stop_gradients: outputs and variables to be taken as constants: nothing passes through
            them, while an x that is among them still gets its own derivative.
        colocate_gradients_with_ops: puts each gradient on the device of the operation it belongs
            to.

    Returns:
        One Output an x, with its dtype and shape; None where no y depends on it.

    Raises:
        LookupError: an operation on the way from an x to a y has no gradient.
        TypeError: a y or an x is not floating-point or complex, or a grad_y has another dtype than
            its y.
        ValueError: the arguments' numbers, shapes or graphs do not agree.
    """
    targets = [convert_to_tensor(y) for y in _as_list(ys)]
    sources = _outputs(xs)
    stops = set(_outputs(() if stop_gradients is None else stop_gradients))
    _check_arguments(targets, sources)
    if not targets:
        return [None] * len(sources)

    def placed_with(op: Operation) -> AbstractContextManager[None]:
        return colocate_with(op) if colocate_gradients_with_ops else nullcontext()

    with (
        targets[0].graph.as_default(),
        name_scope(name) as scope,
        named_gradient_pass(scope.rstrip("/")),
    ):
        paths = Paths(targets, sources, stops)
        return _walk(paths, targets, sources, _seeds(targets, grad_ys), stops, placed_with)


def backpropagate(
    ys: Sequence[Output], xs: Sequence[Output], grad_ys: Sequence[Output]
) -> list[Output | None]:
    """The gradients of some values inside of a construct, as part of a `gradients` that is under
    way.

    Args:
        ys: differentiable or not; those that are not are left out.
        xs: where the walk ends: nothing beyond is looked at.
        grad_ys: one a y.

    Returns:
        One an x; None where no y depends on it.
    """
    seeds = [(y, seed) for y, seed in zip(ys, grad_ys, strict=True) if is_differentiable(y)]
    targets = [y for y, _ in seeds]
    paths = Paths(targets, xs, (), limits=xs)
    return _walk(paths, targets, xs, [seed for _, seed in seeds], (), colocate_with)


def _walk(
    paths: Paths,
    ys: Sequence[Output],
    xs: Sequence[Output],
    seeds: Sequence[Output],
    stops: Collection[Output],
    placed_with: Callable[[Operation], AbstractContextManager[None]],
) -> list[Output | None]:
    """Passes the gradients of the ys back along the paths; gives those of the xs."""
    partials = Partials(placed_with)
    for y, seed in zip(ys, seeds, strict=True):
        partials.add(y, seed)
    for node in paths.nodes:
        grads = [None if y in stops else partials.total(y) for y in node.outputs]
        if all(grad is None for grad in grads):
            continue
        with name_scope(node.name + "_grad"):
            for source, grad in _passed_on(node, grads, placed_with):
                if grad is not None and source in paths.carriers:
                    partials.add(source, grad)
    return [partials.total(x) for x in xs]


def _passed_on(
    node: Operation | Construct,
    grads: Sequence[Output | None],
    placed_with: Callable[[Operation], AbstractContextManager[None]],
) -> Iterable[tuple[Output, Output | None]]:
    if not isinstance(node, Operation):
        return node.input_gradients(grads)
    with placed_with(node):
        return zip(node.inputs, input_gradients(node, grads), strict=True)


def _outputs(values: Any) -> list[Output]:
    """The values as outputs, a variable as its handle, by which all its reads can be reached."""
    return [value.handle if isinstance(value, Variable) else value for value in _as_list(values)]


def _as_list(values: Any) -> list[Any]:
    if isinstance(values, Output | Variable):
        return [values]
    if isinstance(values, Iterable) and not isinstance(values, str):
        return list(values)
    raise TypeError(
        f"[gradients] expected Outputs, Variables or lists of them, got {describe(values)}"
    )


def _check_arguments(ys: Sequence[Output], xs: Sequence[Output]) -> None:
    for role, outputs in (("y", ys), ("x", xs)):
        for output in outputs:
            if not isinstance(output, Output):
                raise TypeError(
                    f"[gradients] expected Outputs or Variables as {role}s, got {describe(output)}"
                )
            if not is_differentiable(output):
                raise TypeError(
                    f"[gradients] expected floating-point or complex {role}s, got "
                    f"{value_dtype(output).name}: {output.name!r}, made at {output.op.user_line}"
                )
            if output.graph is not (ys or xs)[0].graph:
                raise ValueError(
                    f"[gradients] expected outputs of one graph, got {output.name!r} of another"
                )


def _seeds(ys: Sequence[Output], grad_ys: Any) -> list[Output]:
    """The gradients at the ys, with which everything starts."""
    given = [None] * len(ys) if grad_ys is None else _as_list(grad_ys)
    if len(given) != len(ys):
        raise ValueError(f"[gradients] expected {len(ys)} grad_ys, one a y, got {len(given)}")
    return [_seed(y, grad) for y, grad in zip(ys, given, strict=True)]


def _seed(y: Output, given: Any) -> Output:
    if given is None:
        return ones_like(y)
    grad = convert_to_tensor(given, dtype=y.dtype)
    if not grad.shape.is_compatible_with(y.shape):
        raise ValueError(
            f"[gradients] expected a grad_y of shape {y.shape} for {y.name!r}, got {grad.shape}"
        )
    return grad
