"""Programs of pointwise ops, and the updates of variables at their ends."""

import re
import struct
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from qanat.core.shapes import TensorShape
from qanat.kernels_cuda.device import DeviceArray, sizes_of
from qanat.kernels_cuda.kernel import FLOATS, Run, cuda_kernel
from qanat.kernels_cuda.sources import pointwise_ops
from qanat.kernels_cuda.variables import Variable

# kMaxInstructions and kMaxArrays of cu/fused_elementwise.cu.
MAX_INSTRUCTIONS: Final = 128
MAX_ARRAYS: Final = 80

_CALL = re.compile(r"(\w+)=(\w+)\((\w+)(?:,(\w+))?\)")
_STORE = re.compile(r"(\w+)([+-]?=)(\w+)")


@dataclass(frozen=True)
class _Code:
    """A program in numbers.

    Attributes:
        names: of the arrays that it reads, in the order of their registers.
        instructions: (function, result, x, y).
        stores: by what is written ("h0", "out"), the register.
    """

    names: Sequence[str]
    instructions: Sequence[tuple[int, int, int, int]]
    stores: Mapping[str, int]


@lru_cache(maxsize=1)
def _numbers() -> Mapping[str, int]:
    tables = pointwise_ops()
    return {op: i for i, op in enumerate((*tables["UNARY"], *tables["BINARY"]))}


@lru_cache(maxsize=1024)
def _translate(program: str) -> _Code:
    """The text of `qanat.ops.fused_elementwise` in numbers.

    Raises:
        ValueError: it has more instructions or arrays than kernels have room for.
    """
    lines = program.split(";")
    calls = [match.groups() for line in lines if (match := _CALL.fullmatch(line))]
    stores = [match.groups() for line in lines[len(calls) :] if (match := _STORE.fullmatch(line))]
    results = {call[0] for call in calls}
    read = [name for _, _, *names in calls for name in names if name and name not in results]
    read += [target for target, how, _ in stores if how != "="]
    read += [value for _, _, value in stores if value not in results]
    names = list(dict.fromkeys(read))
    registers = {name: i for i, name in enumerate((*names, *(call[0] for call in calls)))}
    code = [
        (_numbers()[op], registers[result], registers[x], registers[y or x])
        for result, op, x, y in calls
    ]
    stored = {}
    for target, how, value in stores:
        register = registers[value]
        if how != "=":
            change = _numbers()["Add" if how == "+=" else "Sub"]
            code.append((change, len(names) + len(code), registers[target], register))
            register = code[-1][1]
        stored[target] = register
    if len(code) > MAX_INSTRUCTIONS:
        raise ValueError(
            f"expected a program of at most {MAX_INSTRUCTIONS} instructions, got {len(code)}"
        )
    if max(len(names), len(stored)) > MAX_ARRAYS:
        raise ValueError(
            f"expected a program that reads and writes at most {MAX_ARRAYS} arrays each, got "
            f"{len(names)} and {len(stored)}"
        )
    return _Code(names, code, stored)


@cuda_kernel("_FusedElementwise", T=FLOATS)
def _(
    run: Run,
    *inputs: Any,
    program: str,
    shape: TensorShape,
    H: int,
    M: int,  # noqa: N803
) -> Any:
    handles, values = inputs[:H], inputs[H:]
    code = _translate(program)
    with ExitStack() as locks:
        # Two handles may be of one variable.
        for variable in sorted(set(handles), key=id):
            locks.enter_context(variable.lock)
        arrays = [_array(name, handles, values, shape) for name in code.names]
        outputs = {
            name: run.gpu.empty(sizes_of(shape), run.node.attrs["T"]) for name in code.stores
        }
        _launch(run, code, arrays, list(outputs.values()))
        for name, made in outputs.items():
            if name != "out":
                handles[int(name[1:])].assign(made)
    return outputs.get("out")


def _array(
    name: str, handles: Sequence[Variable], values: Sequence[DeviceArray], shape: TensorShape
) -> tuple[DeviceArray, int]:
    """What a program calls `name`, and its stride.

    Raises:
        ValueError: it has another shape than the program's.
    """
    kind, index = name[0], int(name[1:])
    array = handles[index].read() if kind == "h" else values[index]
    single = kind == "s"
    fits = array.size == 1 if single else array.shape == sizes_of(shape)
    if not fits:
        raise ValueError(f"expected shape {'[]' if single else shape}, got {list(array.shape)}")
    return array, 0 if single else 1


def _launch(
    run: Run,
    code: _Code,
    arrays: Sequence[tuple[DeviceArray, int]],
    outputs: Sequence[DeviceArray],
) -> None:
    def padded(numbers: Sequence[int]) -> list[int]:
        return [*numbers, *[0] * (MAX_ARRAYS - len(numbers))]

    count = outputs[0].size
    numbers = [count, len(arrays), len(code.instructions), len(outputs)]
    numbers += padded([array.block.address for array, _ in arrays])
    numbers += padded([stride for _, stride in arrays])
    numbers += padded([array.block.address for array in outputs])
    numbers += padded(list(code.stores.values()))
    words = [word for instruction in code.instructions for word in instruction]
    words += [0] * (4 * MAX_INSTRUCTIONS - len(words))
    program = struct.pack(f"<{len(numbers)}Q{len(words)}H", *numbers, *words)
    dtype = outputs[0].dtype.name
    run.each("fused_elementwise", f"program_{dtype}", count, program)
