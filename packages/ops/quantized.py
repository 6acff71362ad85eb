"""Arithmetic on int8, as phones do it: convolutions and matrix products of quantised numbers.

An int8 number q stands for the real number scale * (q - zero_point). Weights are symmetric, that
is, their zero point is 0, with a scale for each output channel; other tensors have one scale and
one zero point. Products are summed in int32, which wraps, and a sum becomes an int8 again by a
multiplication in fixed point that rounds once:

    q = clamp(output_zero_point + floor((sum + bias) * multiplier / 2^shift + 1/2)).

All of this is integer arithmetic: the same bits on every processor. Source: Jacob et al.,
"Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference"
(2018), sections 2.2 to 2.4; there the multiplication rounds twice.

These are no ops of TensorFlow's, whose quantised ops have other inputs; exporting a model makes
them.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from qanat.core.errors import ShapeError
from qanat.core.op_def import Handle, In, Shapes, op
from qanat.core.shapes import TensorShape
from qanat.ops.convolution import Padding, conv2d_op
from qanat.ops.linalg import mat_mul
from qanat.ops.shape_functions import dims_of_vector, same_dim

Int8 = Annotated[In, "int8"]
Int32 = Annotated[In, "int32"]
Float = Annotated[In, "float32"]
Activation = Literal["", "Relu"]


def _require_scale(scale: float) -> None:
    if not 0 < scale < float("inf"):
        raise ShapeError(f"expected a positive scale, got {scale}")


def _require_int8(name: str, value: int) -> None:
    if not -128 <= value <= 127:
        raise ShapeError(f"expected {name} from -128 to 127, got {value}")


@op("Int8Quantize", outputs="output: int8", differentiable=False)
def int8_quantize(input: Float, *, scale: float, zero_point: int) -> Shapes:
    """The int8 numbers nearest to real ones: clamp(round(input / scale) + zero_point).

    Halves round to even; NaN becomes the zero point. `scale` is rounded to float32.
    """
    _require_scale(scale)
    _require_int8("zero_point", zero_point)
    return [input.shape]


@op("Int8Dequantize", outputs="output: float32", differentiable=False)
def int8_dequantize(input: Int8, *, scale: float, zero_point: int) -> Shapes:
    """The real numbers that int8 ones stand for: scale * (input - zero_point).

    `scale` is rounded to float32.
    """
    _require_scale(scale)
    _require_int8("zero_point", zero_point)
    return [input.shape]


@op("Int8Conv2D", outputs="output: int8", differentiable=False)
def int8_conv2d(
    input: Int8,
    filter: Int8,
    bias: Int32,
    multiplier: Int32,
    shift: Int32,
    *,
    strides: Sequence[int],
    padding: Padding,
    explicit_paddings: Sequence[int] = (),
    dilations: Sequence[int] = (1, 1, 1, 1),
    input_zero_point: int,
    output_zero_point: int,
    activation: Activation = "",
) -> Shapes:
    """Convolution as of Conv2D; the module has the formula.

    What is padded stands for the real number 0.

    Args:
        input: [batch, height, width, in channels].
        filter: [height, width, in channels, out channels], with the zero point 0.
        bias: [out channels], in units of the scales of input and filter.
        multiplier: [out channels], 0 or more.
        shift: [out channels], from 1 to 62.
        activation: with "Relu" the result is output_zero_point at least.

    Raises:
        ShapeError: shapes or attributes do not fit.
        InvalidArgumentError: of the step, for a multiplier or shift out of range.
    """
    shapes: Shapes = conv2d_op.op_def.shape_fn(
        input,
        filter,
        strides=strides,
        padding=padding,
        explicit_paddings=explicit_paddings,
        dilations=dilations,
    )
    _check_end(shapes[0], bias, multiplier, shift, input_zero_point, output_zero_point)
    return shapes


@op("Int8MatMul", outputs="product: int8", differentiable=False)
def int8_mat_mul(
    a: Int8,
    b: Int8,
    bias: Int32,
    multiplier: Int32,
    shift: Int32,
    *,
    input_zero_point: int,
    output_zero_point: int,
    activation: Activation = "",
) -> Shapes:
    """Product of two matrices; the module has the formula.

    Args:
        a: [rows, inner], with the zero point input_zero_point.
        b: [inner, columns], with the zero point 0.
        bias, multiplier, shift: [columns]; see Int8Conv2D.
        activation: with "Relu" the result is output_zero_point at least.

    Raises:
        ShapeError: shapes or attributes do not fit.
        InvalidArgumentError: of the step, for a multiplier or shift out of range.
    """
    shapes: Shapes = mat_mul.op_def.shape_fn(a, b, transpose_a=False, transpose_b=False)
    _check_end(shapes[0], bias, multiplier, shift, input_zero_point, output_zero_point)
    return shapes


def _check_end(
    result: TensorShape | Handle,
    bias: In,
    multiplier: In,
    shift: In,
    input_zero_point: int,
    output_zero_point: int,
) -> None:
    """What becomes of the sums of a product of this shape."""
    _require_int8("input_zero_point", input_zero_point)
    _require_int8("output_zero_point", output_zero_point)
    assert isinstance(result, TensorShape)
    channels = result.known_dims()[-1]
    for name, vector in (("bias", bias), ("multiplier", multiplier), ("shift", shift)):
        size = dims_of_vector(vector, name)
        channels = same_dim(channels, size, f"the result's last dimension and {name}'s length")
