"""From a trained graph to a model file for phones: `export_model` is the whole way."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from qanat.core.graph import Output
from qanat.core.passes.verify import verify
from qanat.mobile_runtime.calibration import Calibration
from qanat.mobile_runtime.fold_scales import fold_scales
from qanat.mobile_runtime.freeze import Frozen, Variables, freeze
from qanat.mobile_runtime.lower import lower, optimised
from qanat.mobile_runtime.memory_plan import Sharing, plan_arena
from qanat.mobile_runtime.model import Model
from qanat.mobile_runtime.model_file import write_model
from qanat.mobile_runtime.quantise import quantise as quantised

__all__ = ["Calibration", "export_model", "inference_step"]


def export_model(
    path: str | os.PathLike[str],
    variables: Variables,
    inputs: Mapping[str, Output],
    outputs: Mapping[str, Output],
    *,
    batch_size: int = 1,
    fixed: Mapping[Output, Any] | None = None,
    quantise: Calibration | None = None,
    sharing: Callable[[Model], Sharing] | None = None,
) -> Model:
    """Writes a model file that gives `outputs` for `inputs`.

    Args:
        path: of the file, which is replaced.
        variables: who has their values: a session, or the reader of a checkpoint
            (`qn.train.load_checkpoint`).
        inputs: what is given to each run, by public names: placeholders, or other outputs, where
            the graph is cut.
        outputs: what each run gives, by public names.
        batch_size: stands for the first dimension of inputs where it is not known.
        fixed: values of other placeholders, the same in each run.
        quantise: examples to choose int8 scales by; None for a float model.
        sharing: which values of a model may share their bytes, as `interpreter.probe` finds out;
            without it none do.

    Returns:
        What was written.

    Raises:
        ShapeError, InvalidArgumentError, FailedPreconditionError, UnimplementedError: the graph
            cannot run on a phone; the message names op, node and the user's line. See `freeze` and
            `lower`.
        TypeError: inputs or outputs are no map from names to Outputs.
        OSError: the file cannot be written.
    """
    step = inference_step(
        variables, inputs, outputs, batch_size=batch_size, fixed=fixed, quantise=quantise
    )
    model = lower(step)
    model = plan_arena(model, () if sharing is None else sharing(model))
    write_model(path, model)
    return model


def inference_step(
    variables: Variables,
    inputs: Mapping[str, Output],
    outputs: Mapping[str, Output],
    *,
    batch_size: int = 1,
    fixed: Mapping[Output, Any] | None = None,
    quantise: Calibration | None = None,
) -> Frozen:
    """The step that a model file holds, frozen, folded, fused and, if asked for, quantised; it runs
    on this machine, too. See `export_model`."""
    frozen = freeze(variables, inputs, outputs, batch_size=batch_size, fixed=fixed)
    folded = verify(fold_scales(frozen.step), "fold_scales")
    frozen = optimised(Frozen(folded, frozen.inputs, frozen.outputs))
    return frozen if quantise is None else quantised(frozen, quantise)
