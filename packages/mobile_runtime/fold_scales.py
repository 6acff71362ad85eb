"""Scales and shifts of channels, folded into the weights and bias of the product before them.

Batch normalisation in a graph for inference is a factor and a shift a channel: convolving with
filters that are multiplied by the factor gives the same, up to rounding. Source: Jacob et al.,
"Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference"
(2018), section 3.2.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from qanat.core import dtypes
from qanat.core.op_def import lookup
from qanat.core.passes.step_graph import Node, Ref, StepGraph
from qanat.mobile_runtime.step_edits import constant_node, constant_of, with_nodes

Array = np.ndarray[Any, Any]

_PRODUCTS: Final = frozenset({"Conv2D", "MatMul"})
_FOLDABLE: Final = frozenset({dtypes.float32, dtypes.float64})


def fold_scales(graph: StepGraph) -> StepGraph:
    """The same step with as few multiplications and additions of constants after products as can
    be: at most one BiasAdd each."""
    folded: StepGraph | None = graph
    while folded is not None:
        graph = folded
        folded = _fold_one(graph)
    return graph


class _Affine(NamedTuple):
    """value * scale + shift of a channel."""

    value: Ref
    scale: Array | None
    shift: Array | None


def _fold_one(graph: StepGraph) -> StepGraph | None:
    for node in graph:
        affine = _affine_of(graph, node)
        changed = None if affine is None else _folded(graph, node, affine)
        if changed is not None:
            return with_nodes(graph, changed)
    return None


def _affine_of(graph: StepGraph, node: Node) -> _Affine | None:
    """What a node does, if it multiplies with a constant or adds one."""
    if node.op not in ("Add", "BiasAdd", "Mul", "RealDiv", "Sub"):
        return None
    if node.dtypes[0] not in _FOLDABLE:
        return None
    first, second = (constant_of(graph, ref) for ref in node.inputs)
    if (first is None) == (second is None):
        return None
    if second is None:
        if node.op not in ("Add", "Mul"):
            return None
        value, constant = node.inputs[1], first
    else:
        value, constant = node.inputs[0], second
    assert constant is not None
    wide = constant.astype(np.float64)
    if node.op == "Mul":
        return _Affine(value, wide, None)
    if node.op == "RealDiv":
        return None if (wide == 0).any() else _Affine(value, 1 / wide, None)
    return _Affine(value, None, -wide if node.op == "Sub" else wide)


def _folded(graph: StepGraph, node: Node, affine: _Affine) -> dict[str, Node] | None:
    """The nodes that change where a node is folded into what it uses."""
    base = graph.nodes[affine.value.node]
    if node.shapes != base.shapes or not _is_private(graph, base):
        return None
    product, bias = base, None
    if base.op == "BiasAdd":
        product, bias = graph.nodes[base.inputs[0].node], constant_of(graph, base.inputs[1])
        if bias is None or not _is_private(graph, product):
            return None
    weights = constant_of(graph, product.inputs[1]) if product.op in _PRODUCTS else None
    if weights is None:
        return None
    channels = product.shapes[0][-1]
    scale, shift = (_per_channel(value, channels) for value in (affine.scale, affine.shift))
    if affine.scale is not None and scale is not None:
        return _scaled(node, base, product, weights, bias, scale)
    if affine.shift is not None and shift is not None and not (bias is None and _is_bias(node)):
        return _shifted(node, product, bias, shift)
    return None


def _is_bias(node: Node) -> bool:
    return node.op == "BiasAdd"


def _is_private(graph: StepGraph, node: Node) -> bool:
    """Whether one node alone uses a node's value."""
    fetched = any(ref.node == node.name for ref in graph.fetches)
    return len(graph.consumers[node.name]) == 1 and not fetched


def _per_channel(value: Array | None, channels: int | None) -> Array | None:
    """A constant as a vector of one element a channel; None where it is no such."""
    if value is None or channels is None:
        return None
    if value.size == 1:
        return np.full(channels, value.ravel()[0])
    return value.ravel() if value.size == channels == value.shape[-1] else None


def _scaled(
    node: Node, base: Node, product: Node, weights: Array, bias: Array | None, scale: Array
) -> dict[str, Node]:
    by_column = product.op == "MatMul" and product.attrs["transpose_b"]
    factors = scale[:, None] if by_column else scale
    new_weights = constant_node(
        f"{node.name}/weights", (weights * factors).astype(weights.dtype), product
    )
    scaled = product.replace(inputs=(product.inputs[0], Ref(new_weights.name, 0)))
    changed = {new_weights.name: new_weights}
    if bias is None:
        changed[node.name] = scaled.replace(name=node.name)
        return changed
    new_bias = constant_node(f"{node.name}/bias", (bias * scale).astype(bias.dtype), base)
    changed[product.name] = scaled
    changed[new_bias.name] = new_bias
    changed[node.name] = base.replace(
        name=node.name, inputs=(Ref(product.name, 0), Ref(new_bias.name, 0))
    )
    return changed


def _shifted(node: Node, product: Node, bias: Array | None, shift: Array) -> dict[str, Node]:
    total = shift if bias is None else bias + shift
    dtype = product.dtypes[0]
    new_bias = constant_node(f"{node.name}/bias", total.astype(dtype.as_numpy), node)
    attrs = {"T": dtype, "data_format": "NHWC"}
    bias_add = node.replace(
        op_def=lookup("BiasAdd"),
        inputs=(Ref(product.name, 0), Ref(new_bias.name, 0)),
        attrs=attrs,
    )
    return {new_bias.name: new_bias, node.name: bias_add}
