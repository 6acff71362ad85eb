"""Bias and activation applied where a product is stored: no pass over memory of their own."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from qanat.core.op_def import In, Shapes, lookup, op
from qanat.core.passes.optimise import JOINED_DTYPES, Rewriter, rewrite
from qanat.core.passes.step_graph import Node, Ref
from qanat.ops.convolution import Padding, conv2d_op
from qanat.ops.linalg import mat_mul

T = Annotated[In, "T"]
Activation = Literal["", "Relu"]

# The op that stands for a product with an epilogue, by the product's.
_FUSED: Final = {"Conv2D": "_FusedConv2D", "MatMul": "_FusedMatMul"}


@op("_FusedConv2D", outputs="output: T", T=JOINED_DTYPES, differentiable=False)
def fused_conv2d(
    input: T,
    filter: T,
    bias: T,
    *,
    strides: Sequence[int],
    padding: Padding,
    explicit_paddings: Sequence[int] = (),
    dilations: Sequence[int] = (1, 1, 1, 1),
    activation: Activation = "",
) -> Shapes:
    """activation(Conv2D(input, filter) + bias), bias of shape [out channels]."""
    shape_fn = conv2d_op.op_def.shape_fn
    shapes: Shapes = shape_fn(
        input,
        filter,
        strides=strides,
        padding=padding,
        explicit_paddings=explicit_paddings,
        dilations=dilations,
    )
    return shapes


@op("_FusedMatMul", outputs="product: T", T=JOINED_DTYPES, differentiable=False)
def fused_mat_mul(
    a: T,
    b: T,
    bias: T,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    activation: Activation = "",
) -> Shapes:
    """activation(MatMul(a, b) + bias), bias of shape [columns]."""
    shapes: Shapes = mat_mul.op_def.shape_fn(a, b, transpose_a=transpose_a, transpose_b=transpose_b)
    return shapes


@rewrite("epilogue")
def fuse_epilogue(step: Rewriter, node: Node) -> None:
    """Joins Relu(BiasAdd(product)) and BiasAdd(product), where nobody else sees what is between."""
    region = [node]
    if node.op == "Relu":
        region.append(step.producer(node.inputs[0]))
    bias_add = region[-1]
    if bias_add.op != "BiasAdd":
        return
    product = step.producer(bias_add.inputs[0])
    region.append(product)
    names = [member.name for member in region]
    if product.op not in _FUSED or len({member.device for member in region}) != 1:
        return
    if all(step.is_private(member, names) for member in region[1:]):
        step.replace(names, _fused(node, bias_add, product), {Ref(node.name, 0): Ref(node.name, 0)})


def _fused(node: Node, bias_add: Node, product: Node) -> Node:
    op_def = lookup(_FUSED[product.op])
    attrs = {name: value for name, value in product.attrs.items() if name in op_def.attrs}
    attrs["activation"] = "" if node is bias_add else node.op
    return node.replace(op_def=op_def, inputs=(*product.inputs, bias_add.inputs[1]), attrs=attrs)
