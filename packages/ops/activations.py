"""Functions between the layers of a neural network, elementwise, and biases."""

from typing import Annotated, Any

from qanat.core import dtypes
from qanat.core.errors import ShapeError
from qanat.core.graph import Operation, Output, convert_to_tensor, name_scope
from qanat.core.op_def import Grads, In, Shapes, op
from qanat.core.shapes import TensorShape, merge
from qanat.ops import broadcasting, comparison, elementwise, shaping
from qanat.ops.convolution import DataFormat, require_nhwc
from qanat.ops.shape_functions import dims_of_vector, same_dim

__all__ = [
    "bias_add",
    "elu",
    "leaky_relu",
    "relu",
    "relu6",
    "selu",
    "softplus",
    "softsign",
    "swish",
]

T = Annotated[In, "T"]


@op("Relu", outputs="activations: T", T=dtypes.REAL, pointwise=True)
def relu(features: T) -> Shapes:
    """max(features, 0), elementwise; NaN stays NaN. The derivative at 0 is 0."""
    return [features.shape]


@relu.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [relu_grad(grad, op.outputs[0])]


@op("ReluGrad", outputs="backprops: T", T=dtypes.REAL, pointwise=True)
def relu_grad(gradients: T, features: T) -> Shapes:
    """gradients where features > 0, else 0; features may be relu's input or its output."""
    return [merge(gradients.shape, features.shape)]


@relu_grad.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [relu_grad(grad, op.inputs[1]), None]


@op("Relu6", outputs="activations: T", T=dtypes.REAL, pointwise=True)
def relu6(features: T) -> Shapes:
    """min(max(features, 0), 6), elementwise; NaN stays NaN. The derivative at 0 and at 6 is 0.

    Source: Krizhevsky, Convolutional Deep Belief Networks on CIFAR-10, 2010.
    """
    return [features.shape]


@relu6.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [relu6_grad(grad, op.outputs[0])]


@op("Relu6Grad", outputs="backprops: T", T=dtypes.REAL, pointwise=True)
def relu6_grad(gradients: T, features: T) -> Shapes:
    """gradients where 0 < features < 6, else 0; features may be relu6's input or its output."""
    return [merge(gradients.shape, features.shape)]


@relu6_grad.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [relu6_grad(grad, op.inputs[1]), None]


@op("LeakyRelu", outputs="activations: T", T=dtypes.FLOATING, pointwise=True)
def leaky_relu_op(features: T, *, alpha: float = 0.2) -> Shapes:
    """features where they are > 0, else alpha * features; see `leaky_relu`."""
    return [features.shape]


@leaky_relu_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [leaky_relu_grad(grad, op.inputs[0], alpha=op.get_attr("alpha"))]


@op("LeakyReluGrad", outputs="backprops: T", T=dtypes.FLOATING, pointwise=True)
def leaky_relu_grad(gradients: T, features: T, *, alpha: float = 0.2) -> Shapes:
    """gradients where features > 0, else alpha * gradients."""
    return [merge(gradients.shape, features.shape)]


@leaky_relu_grad.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [leaky_relu_grad(grad, op.inputs[1], alpha=op.get_attr("alpha")), None]


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Output:
    """features where they are > 0, else alpha * features, elementwise.

    Source: Maas et al., Rectifier Nonlinearities Improve Neural Network Acoustic Models, 2013.
    """
    return leaky_relu_op(features, alpha=alpha, name=name)


@op("Elu", outputs="activations: T", T=dtypes.FLOATING, pointwise=True)
def elu(features: T) -> Shapes:
    """features where they are > 0, else exp(features) - 1, elementwise.

    Source: Clevert et al., Fast and Accurate Deep Network Learning by Exponential Linear Units,
    2015.
    """
    return [features.shape]


@elu.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [elu_grad(grad, op.outputs[0])]


@op("EluGrad", outputs="backprops: T", T=dtypes.FLOATING, pointwise=True)
def elu_grad(gradients: T, outputs: T) -> Shapes:
    """gradients where elu's `outputs` >= 0, else gradients * (outputs + 1)."""
    return [merge(gradients.shape, outputs.shape)]


@elu_grad.gradient
def _(op: Operation, grad: Output) -> Grads:
    gradients, outputs = op.inputs
    curved = comparison.select(outputs < 0, grad * gradients, shaping.zeros_like(grad))
    return [elu_grad(grad, outputs), curved]


SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


@op("Selu", outputs="activations: T", T=dtypes.FLOATING, pointwise=True)
def selu(features: T) -> Shapes:
    """scale * (features where they are > 0, else alpha * (exp(features) - 1)), elementwise.

    Source: Klambauer et al., Self-Normalizing Neural Networks, 2017, section 2, for the constants.
    """
    return [features.shape]


@selu.gradient
def _(op: Operation, grad: Output) -> Grads:
    y = op.outputs[0]
    curved = grad * (y + SELU_SCALE * SELU_ALPHA)
    return [comparison.select(y < 0, curved, grad * SELU_SCALE)]


@op("Softplus", outputs="activations: T", T=dtypes.FLOATING, pointwise=True)
def softplus(features: T) -> Shapes:
    """log(1 + exp(features)), elementwise, without overflow."""
    return [features.shape]


@softplus.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [grad * elementwise.sigmoid(op.inputs[0])]


@op("Softsign", outputs="activations: T", T=dtypes.FLOATING, pointwise=True)
def softsign(features: T) -> Shapes:
    """features / (1 + |features|), elementwise."""
    return [features.shape]


@softsign.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [grad / elementwise.square(1 + elementwise.abs(op.inputs[0]))]


def swish(features: Any, name: str | None = None) -> Output:
    """features * sigmoid(features), elementwise.

    Source: Ramachandran et al., Searching for Activation Functions, 2017.
    """
    with name_scope(name, "Swish", [features]):
        x = convert_to_tensor(features)
        return x * elementwise.sigmoid(x)


@op("BiasAdd", outputs="output: T", T=dtypes.REAL)
def bias_add_op(value: T, bias: T, *, data_format: DataFormat = "NHWC") -> Shapes:
    """value + bias along the last dimension; see `bias_add`."""
    require_nhwc(data_format)
    size, dims = dims_of_vector(bias, "bias"), value.shape.dims
    if dims is None:
        return [TensorShape(None)]
    if len(dims) < 2:
        raise ShapeError(f"expected value of rank 2 or more, got shape {value.shape}")
    channels = same_dim(dims[-1], size, "value's last dimension and bias's length")
    return [TensorShape([*dims[:-1], channels])]


@bias_add_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [grad, bias_add_grad(grad, data_format=op.get_attr("data_format"))]


@op("BiasAddGrad", outputs="output: T", T=dtypes.REAL)
def bias_add_grad(out_backprop: T, *, data_format: DataFormat = "NHWC") -> Shapes:
    """The gradient of BiasAdd for its bias: the sum over all dimensions but the last."""
    require_nhwc(data_format)
    dims = out_backprop.shape.dims
    if dims is not None and len(dims) < 2:
        raise ShapeError(f"expected out_backprop of rank 2 or more, got shape {out_backprop.shape}")
    return [TensorShape([None if dims is None else dims[-1]])]


@bias_add_grad.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [broadcasting.broadcast_to(grad, shaping.shape_of(op.inputs[0]))]


def bias_add(
    value: Any, bias: Any, data_format: DataFormat | None = None, name: str | None = None
) -> Output:
    """value + bias, the bias along the last dimension.

    Args:
        value: real numbers, rank 2 or more.
        bias: a vector as long as value's last dimension.
        data_format: "NHWC"; others are not supported.

    Raises:
        ShapeError: the lengths differ, or value's rank is below 2.
    """
    return bias_add_op(value, bias, data_format=data_format or "NHWC", name=name)
