"""What all optimizers share: gradients for variables, slots, and one operation that does a step."""

from collections.abc import Iterable
from typing import Any

from qanat.autodiff import gradients
from qanat.core.base_ops import group
from qanat.core.constants import describe
from qanat.core.dtypes import COMPLEX, FLOATING
from qanat.core.errors import ShapeError
from qanat.core.graph import (
    GraphKeys,
    Operation,
    Output,
    colocate_with,
    control_dependencies,
    convert_to_tensor,
    name_scope,
)
from qanat.ops import cast, zeros
from qanat.ops.variables import Variable

GradsAndVars = Iterable[tuple[Any, Variable]]


class Optimizer:
    """Base of the optimizers: a subclass says how one variable is changed by its gradient.

    Everything it does is made of ordinary operations, so that what it builds can be inspected,
    changed between `compute_gradients` and `apply_gradients`, saved and placed like the rest of a
    graph. Updates of one variable by steps that run at the same time are never lost.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._slots: dict[str, dict[Variable, Variable]] = {}

    def minimize(
        self,
        loss: Any,
        global_step: Variable | None = None,
        var_list: Iterable[Variable] | None = None,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Operation:
        """`compute_gradients` and `apply_gradients` in one: see there for arguments and errors.

        Raises:
            ValueError: the loss depends on none of the variables.
        """
        pairs = self.compute_gradients(loss, var_list, grad_loss)
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Iterable[Variable] | None = None,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Variable]]:
        """The derivatives of `loss` with respect to variables.

        Args:
            loss: floating-point; where it is not a scalar, its elements are summed.
            var_list: by default the collection TRAINABLE_VARIABLES of the loss's graph.
            grad_loss: weights of the loss's elements, of its shape.

        Returns:
            (gradient, variable) for each; None for a variable on which the loss does not depend.

        Raises:
            ValueError: there are no variables.
            TypeError: a variable holds integers, say.
            LookupError: an operation between loss and variable has no gradient.
        """
        loss = convert_to_tensor(loss)
        if var_list is None:
            var_list = loss.graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
        variables = list(var_list)
        if not variables:
            raise ValueError(
                f"[{self._name}] expected variables to optimize, got none: pass var_list, or make "
                "some with trainable=True"
            )
        for variable in variables:
            if isinstance(variable, Variable) and variable.dtype not in FLOATING | COMPLEX:
                raise TypeError(
                    f"[{self._name}] expected floating-point variables to optimize, got "
                    f"{variable!r}, made at {variable.op.user_line}: make it with trainable=False, "
                    "or leave it out of var_list"
                )
        return list(zip(gradients(loss, variables, grad_loss), variables, strict=True))

    def apply_gradients(
        self,
        grads_and_vars: GradsAndVars,
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> Operation:
        """The operation that changes each variable by its gradient and then counts the step.

        A variable's `constraint` is applied to its new value.

        Args:
            grads_and_vars: gradients with the dtype and shape of their variable; pairs with None
                are left out.
            global_step: an integer variable to be incremented after all updates are done.

        Raises:
            ValueError: no variable has a gradient, or a gradient has another shape than its
                variable.
            TypeError: a gradient has another dtype than its variable, or an argument is of another
                kind.
        """
        pairs = self._checked(grads_and_vars)
        self._check_global_step(global_step)
        with pairs[0][1].graph.as_default():
            for _, variable in pairs:
                self._create_slots(variable)
            with name_scope(name or self._name) as scope:
                self._prepare()
                updates = [self._update(grad, variable) for grad, variable in pairs]
                with control_dependencies(updates):
                    updates += self._finish()
                if global_step is None:
                    return group(*updates, name=scope)
                with control_dependencies(updates), colocate_with(global_step.op):
                    return global_step.assign_add(1, read_value=False, name=scope)

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """The variable that this optimizer keeps beside `var` under a name, or None."""
        return self._slots.get(name, {}).get(var)

    def get_slot_names(self) -> list[str]:
        """The names that `get_slot` knows."""
        return sorted(self._slots)

    def variables(self) -> list[Variable]:
        """All variables that this optimizer made."""
        return [slot for slots in self._slots.values() for slot in slots.values()]

    def _checked(self, grads_and_vars: GradsAndVars) -> list[tuple[Output, Variable]]:
        """The pairs that have a gradient, which fits its variable."""
        given = list(grads_and_vars)
        for pair in given:
            if not (isinstance(pair, tuple | list) and len(pair) == 2) or not isinstance(
                pair[1], Variable
            ):
                raise TypeError(
                    f"[{self._name}] expected pairs (gradient, Variable), got {describe(pair)}"
                )
        pairs = [(self._fitting(grad, v), v) for grad, v in given if grad is not None]
        if not pairs:
            names = ", ".join(variable.op.name for _, variable in given)
            raise ValueError(
                f"[{self._name}] expected a gradient for at least one variable, got none: the loss "
                f"does not depend on {names or 'any'}"
            )
        return pairs

    def _fitting(self, grad: Any, variable: Variable) -> Output:
        with variable.graph.as_default():
            output = convert_to_tensor(grad, preferred_dtype=variable.dtype)
        same_dtype = output.dtype is variable.dtype
        if not same_dtype or not output.shape.is_compatible_with(variable.shape):
            raise (ShapeError if same_dtype else TypeError)(
                f"[{self._name}] expected a gradient of dtype {variable.dtype.name} and shape "
                f"{variable.shape} for variable {variable.op.name!r}, got {output!r}"
            )
        return output

    def _check_global_step(self, global_step: Any) -> None:
        if global_step is not None and not isinstance(global_step, Variable):
            raise TypeError(
                f"[{self._name}] expected an integer Variable as global_step, or None, got "
                f"{describe(global_step)}"
            )

    def _update(self, grad: Output, variable: Variable) -> Operation:
        with colocate_with(variable.op), name_scope("update_" + variable.op.name):
            update = self._apply(grad, variable)
            if variable.constraint is None:
                return update
            with control_dependencies([update]):
                return variable.assign(variable.constraint(variable.value()), read_value=False)

    def _zeros_slot(self, variable: Variable, key: str, name: str) -> Variable:
        """The slot `key` of a variable, made on first use as zeros called `<variable>/<name>`."""
        slots = self._slots.setdefault(key, {})
        if variable not in slots:
            with control_dependencies(None), name_scope(variable.op.name + "/"):
                with colocate_with(variable.op):
                    initial = zeros(variable.shape, variable.dtype)
                    slots[variable] = Variable(initial, trainable=False, name=name)
        return slots[variable]

    # What a subclass defines.

    def _create_slots(self, variable: Variable) -> None:
        """Makes what is kept beside a variable."""

    def _prepare(self) -> None:
        """Builds what all updates of a step share, such as the learning rate."""

    def _apply(self, grad: Output, variable: Variable) -> Operation:
        """The update of one variable."""
        raise NotImplementedError

    def _finish(self) -> list[Operation]:
        """Operations that run when all variables have been updated."""
        return []


def as_hyperparameter(value: Any, like: Output) -> Output:
    """A learning rate or the like with the dtype of the gradient it is multiplied with."""
    if isinstance(value, Output | Variable):
        return cast(value, like.dtype)
    return convert_to_tensor(value, dtype=like.dtype)
