"""Quantisation after training: products of int8 numbers where the weights are constants.

Weights become int8 with a scale for each output channel, the activations around them int8 with the
scale and zero point of the range that examples showed; what only moves or chooses values passes
int8 on. All other ops stay in float32, with conversions where the two meet. Source: Jacob et al.,
"Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference"
(2018), section 2; per-channel scales: Krishnamoorthi, "Quantizing deep convolutional networks for
efficient inference" (2018), section 3.1. `qanat.ops.quantized` has the arithmetic.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from qanat.core import dtypes
from qanat.core.op_def import OpBuilder
from qanat.core.passes.step_graph import Node, Ref, StepGraph
from qanat.core.passes.verify import verify
from qanat.mobile_runtime.calibration import Calibration, Range, measure
from qanat.mobile_runtime.freeze import Frozen
from qanat.mobile_runtime.step_edits import constant_node, constant_of, with_nodes
from qanat.ops.quantized import int8_conv2d, int8_dequantize, int8_mat_mul, int8_quantize

Array = np.ndarray[Any, Any]

_CONVOLUTIONS: Final = frozenset({"Conv2D", "_FusedConv2D"})
_PRODUCTS: Final = frozenset({"MatMul", "_FusedMatMul"})
# Ops whose result consists of elements of their first input.
_SELECTING: Final = frozenset({"ExpandDims", "MaxPool", "Reshape", "Squeeze"})
_KEPT_ATTRS: Final = ("strides", "padding", "explicit_paddings", "dilations", "activation")
# Sums have to stay below: the largest activation less its zero point, times the largest weight.
_LARGEST_PRODUCT: Final = 255 * 127
_INT32_LIMIT: Final = 2**31


class Scale(NamedTuple):
    """The int8 number q stands for scale * (q - zero_point)."""

    scale: float
    zero_point: int


class Weights(NamedTuple):
    """What a product needs beside its input.

    Attributes:
        values: int8, with the zero point 0.
        bias: int32 [channels], in units of the scales of input and weights.
        multiplier, shift: int32 [channels]: sums times multiplier / 2^shift are results.
    """

    values: Array
    bias: Array
    multiplier: Array
    shift: Array


def quantise(frozen: Frozen, calibration: Calibration) -> Frozen:
    """The same model with int8 products.

    Raises:
        ValueError: see `measure`.
    """
    step = _Quantiser(frozen.step, measure(frozen, calibration)).step()
    return Frozen(verify(step, "quantise"), frozen.inputs, frozen.outputs)


def activation_scale(low: float, high: float) -> Scale:
    """Of a tensor with values in that range; 0 is always among the numbers that int8 stands for."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = float(np.float32((high - low) / 255))
    if not scale > 0:
        return Scale(1.0, 0)
    return Scale(scale, int(np.clip(np.rint(-128 - low / scale), -128, 127)))


def quantised_weights(
    weights: Array, bias: Array | None, in_scale: float, out_scale: float
) -> Weights | None:
    """Weights [..., channels] as int8; None where int32 cannot hold the sums.

    Args:
        weights: float32.
        bias: float32 [channels], or None.
        in_scale, out_scale: of the product's input and result.
    """
    channels = weights.shape[-1]
    flat = weights.reshape(-1, channels).astype(np.float64)
    largest = np.abs(flat).max(axis=0, initial=0)
    scales = np.where(largest > 0, largest / 127, 1.0)
    real_bias = np.zeros(channels) if bias is None else bias.astype(np.float64)
    sums = np.rint(real_bias / (in_scale * scales))
    if len(flat) * _LARGEST_PRODUCT + np.abs(sums).max(initial=0) >= _INT32_LIMIT:
        return None
    fixed = fixed_point(in_scale * scales / out_scale)
    if fixed is None:
        return None
    values = np.rint(flat / scales).astype(np.int8).reshape(weights.shape)
    return Weights(values, sums.astype(np.int32), *fixed)


def fixed_point(factors: Array) -> tuple[Array, Array] | None:
    """Positive factors as (multiplier, shift), int32 each: multiplier / 2^shift, to 31 bits, and
    with fewer below 2^-31; None where one is 2^30 or more."""
    mantissas, exponents = np.frexp(factors)
    multipliers = np.rint(mantissas * 2.0**31).astype(np.int64)
    rounded_up = multipliers == 2**31
    multipliers = np.where(rounded_up, 2**30, multipliers)
    shifts = 31 - exponents.astype(np.int64) - rounded_up
    if shifts.min(initial=1) < 1:
        return None
    excess = np.clip(shifts - 62, 0, 62)
    return (multipliers >> excess).astype(np.int32), (shifts - excess).astype(np.int32)


class _Quantiser:
    """Makes the nodes of a step anew, each in int8 or in float."""

    def __init__(self, step: StepGraph, ranges: Mapping[Ref, Range]) -> None:
        self._step = step
        self._ranges = ranges
        self._nodes: dict[str, Node] = {}
        # Where float values of the step are to be had as int8; those that are int8 alone.
        self._int8: dict[Ref, tuple[Ref, Scale]] = {}
        self._only_int8: set[Ref] = set()

    def step(self) -> StepGraph:
        for node in self._step:
            if not (self._as_product(node) or self._as_selection(node)):
                inputs = tuple([self._float(ref) for ref in node.inputs])
                self._nodes[node.name] = node.replace(inputs=inputs)
        fetches = tuple([self._float(ref) for ref in self._step.fetches])
        step = StepGraph(self._nodes, self._step.feeds, fetches)
        return with_nodes(step, {})

    def _as_product(self, node: Node) -> bool:
        """Makes a product of int8 numbers of a node, if it is one that can be."""
        if node.op not in _CONVOLUTIONS | _PRODUCTS or node.dtypes[0] is not dtypes.float32:
            return False
        if node.attrs.get("transpose_a"):
            return False
        weights = constant_of(self._step, node.inputs[1])
        bias = constant_of(self._step, node.inputs[2]) if len(node.inputs) == 3 else None
        if weights is None or (bias is None and len(node.inputs) == 3):
            return False
        if node.attrs.get("transpose_b"):
            weights = weights.T
        result = Ref(node.name, 0)
        given, in_scale = self._quantised(node.inputs[0])
        out_scale = activation_scale(*self._ranges[result])
        found = quantised_weights(weights, bias, in_scale.scale, out_scale.scale)
        if found is None:
            return False
        inputs = [given]
        for name, value in found._asdict().items():
            constant = constant_node(f"{node.name}/{name}", np.ascontiguousarray(value), node)
            self._nodes[constant.name] = constant
            inputs.append(Ref(constant.name, 0))
        op_def = (int8_conv2d if node.op in _CONVOLUTIONS else int8_mat_mul).op_def
        attrs = {name: node.attrs[name] for name in _KEPT_ATTRS if name in node.attrs}
        attrs = {**op_def.defaults, **attrs}
        attrs["input_zero_point"] = in_scale.zero_point
        attrs["output_zero_point"] = out_scale.zero_point
        self._add(node.replace(op_def=op_def, inputs=tuple(inputs), attrs=attrs), out_scale)
        return True

    def _as_selection(self, node: Node) -> bool:
        """Passes int8 numbers on, where that is what the node's input is."""
        if node.op not in _SELECTING or node.inputs[0] not in self._only_int8:
            return False
        given, scale = self._int8[node.inputs[0]]
        attrs = {**node.attrs, "T": dtypes.int8}
        self._add(node.replace(inputs=(given, *node.inputs[1:]), attrs=attrs), scale)
        return True

    def _add(self, node: Node, scale: Scale) -> None:
        """A node whose result is int8."""
        self._nodes[node.name] = node.replace(dtypes=(dtypes.int8,))
        result = Ref(node.name, 0)
        self._int8[result] = (result, scale)
        self._only_int8.add(result)

    def _quantised(self, ref: Ref) -> tuple[Ref, Scale]:
        """A float value of the step as int8."""
        if ref not in self._int8:
            scale = activation_scale(*self._ranges[ref])
            self._int8[ref] = (self._converted(ref, int8_quantize, scale), scale)
        return self._int8[ref]

    def _float(self, ref: Ref) -> Ref:
        """A value of the step as what it was."""
        if ref not in self._only_int8:
            return ref
        quantised, scale = self._int8[ref]
        return self._converted(quantised, int8_dequantize, scale)

    def _converted(self, ref: Ref, op: OpBuilder, scale: Scale) -> Ref:
        op_def = op.op_def
        name = f"{ref.node}/{op_def.name}_{ref.port}"
        if name not in self._nodes:
            like = self._nodes[ref.node]
            attrs = scale._asdict()
            self._nodes[name] = like.replace(
                name=name,
                op_def=op_def,
                inputs=(ref,),
                attrs=attrs,
                dtypes=tuple(op_def.output_dtypes(attrs)),
                shapes=(like.shapes[ref.port],),
            )
        return Ref(name, 0)
