"""`cond`: one of two branches runs; `case`: one of several."""

from collections.abc import Callable, Mapping
from typing import Any

from qanat.control_flow import nest
from qanat.control_flow.cond_context import BranchContext, Branches
from qanat.control_flow.cond_gradient import CondConstruct
from qanat.control_flow.leaves import Leaves
from qanat.core.base_ops import identity, no_op
from qanat.core.constants import describe
from qanat.core.dtypes import bool_
from qanat.core.graph import (
    Operation,
    Output,
    control_dependencies,
    convert_to_tensor,
    get_default_graph,
    name_scope,
)


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """The results of `true_fn()` where `pred` is true, else those of `false_fn()`.

        y = qn.cond(x > 0, lambda: qn.log(x), lambda: x - 1)

    Both functions are called once, to build both branches; a step runs the operations of one. What
    they use from outside is computed in any case. Source: Yu et al., "Dynamic control flow in
    large-scale machine learning" (EuroSys 2018), section 4.2.

    Args:
        pred: a scalar bool Output.
        true_fn, false_fn: functions without arguments. Both give a value, an Operation, None, a
            TensorArray, or the same structure of lists, tuples and dicts of these, with the same
            dtypes.
        strict: whether a list of one value comes back as a list.
        name: of the scope; "cond" if not given.
        fn1, fn2: former names of the functions.

    Returns:
        The structure, with an Output in each place; for an Operation a bool that is there once it
        has run; for None the Operation after which the branch has run.

    Raises:
        TypeError, ValueError: pred is no scalar bool, or the branches' results do not agree.
    """
    true_fn = fn1 if true_fn is None else true_fn
    false_fn = fn2 if false_fn is None else false_fn
    for function in (true_fn, false_fn):
        if not callable(function):
            raise TypeError(
                "[cond] expected true_fn and false_fn to be functions without arguments, such as "
                f"`lambda: x`, got {describe(function)}"
            )
    assert callable(true_fn) and callable(false_fn)
    if isinstance(pred, bool):
        raise TypeError("[cond] pred: expected an Output, got a Python bool: use Python's `if`")
    with name_scope(name, "cond") as scope:
        chooses = convert_to_tensor(pred)
        if chooses.dtype is not bool_ or chooses.shape.rank not in (None, 0):
            raise TypeError(f"[cond] pred: expected a scalar bool, got {chooses!r}")
        branches = Branches(get_default_graph(), scope, chooses)
        then = _Branch(branches.true, true_fn)
        otherwise = _Branch(branches.false, false_fn)
        _check_agree(then, otherwise)
        merged = branches.merge(otherwise.values, then.values)
        construct = CondConstruct(branches, otherwise.values, then.values, merged)
        for output in merged:
            output.op.construct = construct
        return then.result(merged, strict)


class _Branch:
    """What one of the functions gave."""

    def __init__(self, context: BranchContext, function: Callable[[], Any]) -> None:
        self.context = context
        with context.graph.within(context), context.named():
            self.given = function()
            self._nothing = self.given is None
            structure = no_op() if self._nothing else self.given
            self.structure = nest.map_structure(self._as_value, structure)
            self.leaves = Leaves(self.structure, "cond")
            self.values = [context.deliver(value) for value in self.leaves.outputs]

    def _as_value(self, leaf: Any) -> Any:
        """An Operation as a bool that is there once it has run."""
        if not isinstance(leaf, Operation):
            return leaf
        with control_dependencies([leaf]):
            return identity(self.context.pivot().outputs[0])

    def result(self, merged: list[Output], strict: bool) -> Any:
        if self._nothing:
            return merged[0].op
        packed = self.leaves.pack(self.structure, merged)
        single = isinstance(packed, (list, tuple)) and len(packed) == 1
        return packed[0] if single and not strict and not hasattr(packed, "_fields") else packed


def _check_agree(then: _Branch, otherwise: _Branch) -> None:
    where = then.context.where
    if not nest.same_structure(then.structure, otherwise.structure):
        raise ValueError(
            f"[cond] {where}: expected both functions to give the same structure, got "
            f"{describe(then.given)} if true and {describe(otherwise.given)} if false"
        )
    for a, b in zip(then.values, otherwise.values, strict=True):
        if a.dtype is not b.dtype:
            raise TypeError(
                f"[cond] {where}: expected both functions to give the same dtypes, got {a!r} if "
                f"true (made at {a.op.user_line}) and {b!r} if false (made at {b.op.user_line})"
            )


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """The results of the first function whose predicate is true.

    Args:
        pred_fn_pairs: pairs of a scalar bool and a function, in a list, or in a dict by predicate.
        default: the function to take where none is true; the last of the pairs if not given.
        exclusive: has no effect: the first counts even where several are true.
        strict: as of `cond`.
        name: of the scope.

    Returns:
        As `cond`.

    Raises:
        TypeError, ValueError: there are no pairs, or as `cond`.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, Mapping) else pred_fn_pairs)
    if not pairs or any(not isinstance(p, tuple) or len(p) != 2 for p in pairs):
        raise TypeError(
            f"[case] expected pairs of a predicate and a function, got {describe(pred_fn_pairs)}"
        )
    if default is None:
        default = pairs.pop()[1]

    def choose(rest: list[Any]) -> Any:
        if not rest:
            return default()
        (pred, function), *others = rest
        return cond(pred, function, lambda: choose(others), strict=strict)

    with name_scope(name):
        return choose(pairs)
