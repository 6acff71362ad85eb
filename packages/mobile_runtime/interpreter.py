"""Runs model files in this process, by the same native code as on a phone."""

import ctypes
import math
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from qanat.core.constants import describe
from qanat.core.dtypes import as_dtype
from qanat.core.errors import FailedPreconditionError, NotFoundError, exception_type_from_error_code
from qanat.core.kernel_table import installed_libraries
from qanat.mobile_runtime.model import Model, ModelValue
from qanat.mobile_runtime.model_file import write_model
from qanat.mobile_runtime.model_format import ALIGNMENT, MAX_RANK

__all__ = ["Interpreter", "probe"]

Array = np.ndarray[Any, Any]
_Listener = Callable[[int, int, int], None]

_LIBRARY: Final = Path(__file__).parent / "native" / "libqanat_model.so"
_MESSAGE_BYTES: Final = 640
_SHARING: Final = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32
)


class _Options(ctypes.Structure):
    _fields_ = (
        ("kernels", ctypes.POINTER(ctypes.c_void_p)),
        ("num_kernels", ctypes.c_int32),
        ("memory_limit", ctypes.c_size_t),
        ("sharing", _SHARING),
        ("sharing_arg", ctypes.c_void_p),
    )


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("dims", ctypes.c_int64 * MAX_RANK),
        ("rank", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
    )


class _Memory(ctypes.Structure):
    _fields_ = (
        ("arena", ctypes.c_size_t),
        ("scratch", ctypes.c_size_t),
        ("heap", ctypes.c_size_t),
    )


class Interpreter:
    """A loaded model. Used by one thread at a time.

    Attributes:
        inputs: by name, (dtype, shape), in the file's order.
        outputs: likewise.
        arena_bytes: the planned memory of all values that are no constants.
        scratch_bytes: what kernels need beside it on this processor.
        heap_bytes: all memory that was allocated, both of these included.
    """

    def __init__(self, path: str | os.PathLike[str], memory_limit: int = 0) -> None:
        """
        Args:
            path: of a model file, which may not be cut while it is used; to replace it is fine.
            memory_limit: bytes that may be allocated, 0 for no limit.

        Raises:
            NotFoundError: the file cannot be read.
            DataLossError: it is no model file, or corrupt.
            UnimplementedError: it is of a newer version, or needs a kernel that does not exist.
            ResourceExhaustedError: it needs more memory than there is or than the limit.
            InvalidArgumentError: a kernel refuses its node.
        """
        self._model = _open(path, memory_limit, None)
        self._message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        library = _library()
        self._inputs = self._views(library.qanat_model_num_inputs, library.qanat_model_input)
        self._outputs = self._views(library.qanat_model_num_outputs, library.qanat_model_output)
        self.inputs = {name: (as_dtype(v.dtype), v.shape) for name, v in self._inputs.items()}
        self.outputs = {name: (as_dtype(v.dtype), v.shape) for name, v in self._outputs.items()}
        memory = _Memory()
        library.qanat_model_memory(self._model, ctypes.byref(memory))
        self.arena_bytes: int = memory.arena
        self.scratch_bytes: int = memory.scratch
        self.heap_bytes: int = memory.heap

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """Computes all outputs.

        Args:
            inputs: one array for each name of `inputs`, of its dtype and shape.

        Returns:
            New arrays by the names of `outputs`.

        Raises:
            TypeError: inputs are no map.
            ValueError: names, dtypes or shapes are others.
            OpError: a kernel failed; the subclass says why.
        """
        if self._model is None:
            raise ValueError("expected an open Interpreter, got one that was closed")
        if not isinstance(inputs, Mapping):
            raise TypeError(
                f"expected a map from the names {sorted(self._inputs)} to arrays, got "
                f"{describe(inputs)}"
            )
        if inputs.keys() != self._inputs.keys():
            raise ValueError(f"expected inputs {sorted(self._inputs)}, got {sorted(inputs)}")
        for name, view in self._inputs.items():
            value = np.asarray(inputs[name])
            if value.dtype != view.dtype or value.shape != view.shape:
                raise ValueError(
                    f"input {name}: expected {view.dtype}{list(view.shape)}, "
                    f"got {value.dtype}{list(value.shape)}"
                )
            view[...] = value
        _raise(_library().qanat_model_run(self._model, self._message), self._message)
        return {name: view.copy() for name, view in self._outputs.items()}

    def close(self) -> None:
        """Gives the memory back. A second time does nothing; the object is of no use afterwards."""
        if self._model is not None:
            self._inputs = self._outputs = {}
            _library().qanat_model_close(self._model)
            self._model = None

    def __enter__(self) -> "Interpreter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_model", None) is not None:
            self.close()

    def _views(self, count: Any, describe: Any) -> dict[str, Array]:
        """Inputs or outputs, by name, where they lie in the model's memory."""
        views = {}
        for i in range(count(self._model)):
            tensor = _Tensor()
            describe(self._model, i, ctypes.byref(tensor))
            memory = (ctypes.c_char * tensor.bytes).from_address(tensor.data)
            shape = tuple(tensor.dims[: tensor.rank])
            dtype = as_dtype(tensor.dtype).as_numpy
            views[tensor.name.decode()] = np.ndarray(shape, dtype, memory)
        return views


def probe(model: Model) -> list[dict[int, int]]:
    """Which outputs may lie in which inputs' memory: asked of the kernels, by running them once.

    Args:
        model: planned or not.

    Returns:
        For each node, by output, the input (both counted within the node) that its kernel aliases
        or may reuse. Of several, the first that nobody needs after the node, if there is one.
        Inputs that are constants do not count. It is the planner's to see that a shared input is
        not needed any more.

    Raises:
        OpError: a kernel does not exist, or fails; the subclass says why.
    """
    found: list[dict[int, list[int]]] = [{} for _ in model.nodes]

    def listen(node: int, output: int, candidate: int) -> None:
        if model.values[model.nodes[node].inputs[candidate]].data is None:
            found[node].setdefault(output, []).append(candidate)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        write_model(path, _apart(model))
        _library().qanat_model_close(_open(path, 0, listen))
    last_use = _last_uses(model)
    return [
        {
            output: next(
                (c for c in candidates if last_use[node.inputs[c]] == index), candidates[0]
            )
            for output, candidates in found[index].items()
        }
        for index, node in enumerate(model.nodes)
    ]


def _last_uses(model: Model) -> dict[int, int]:
    """The last node that reads each value; after all nodes for outputs of the model."""
    uses = {v: i for i, node in enumerate(model.nodes) for v in node.inputs}
    return uses | {value: len(model.nodes) for value in model.outputs.values()}


def _apart(model: Model) -> Model:
    """The same model with each value in a place of its own."""
    values: list[ModelValue] = []
    end = 0
    for value in model.values:
        if value.data is None:
            values.append(ModelValue(value.name, value.dtype, value.shape, offset=end))
            size = value.dtype.size * math.prod(value.shape)
            end += max(ALIGNMENT, -(-size // ALIGNMENT) * ALIGNMENT)
        else:
            values.append(value)
    return Model(tuple(values), model.nodes, model.inputs, model.outputs, end)


def _open(path: str | os.PathLike[str], memory_limit: int, listener: _Listener | None) -> Any:
    """A QanatModel*, with the kernels of all installed libraries."""
    if os.path.isdir(path):
        raise NotFoundError(f"expected a model file, got the folder {os.fspath(path)!r}")
    kernels = _kernels()
    heard = _SHARING(lambda _, *sharing: listener(*sharing)) if listener else _SHARING()
    options = _Options(kernels, len(kernels), memory_limit, heard, None)
    model = ctypes.c_void_p()
    message = ctypes.create_string_buffer(_MESSAGE_BYTES)
    code = _library().qanat_model_open_file(
        os.fsencode(path), ctypes.byref(options), ctypes.byref(model), message
    )
    _raise(code, message)
    return model


def _raise(code: int, message: Any) -> None:
    if code != 0:
        raise exception_type_from_error_code(code)(message.value.decode(errors="replace"))


@cache
def _library() -> Any:
    library = ctypes.CDLL(str(_LIBRARY))
    arguments: dict[str, Sequence[Any]] = {
        "close": [ctypes.c_void_p],
        "input": [ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(_Tensor)],
        "kernel_abi": [],
        "memory": [ctypes.c_void_p, ctypes.POINTER(_Memory)],
        "num_inputs": [ctypes.c_void_p],
        "num_outputs": [ctypes.c_void_p],
        "open_file": [
            ctypes.c_char_p,
            ctypes.POINTER(_Options),
            ctypes.POINTER(ctypes.c_void_p),
            ctypes.c_char_p,
        ],
        "output": [ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(_Tensor)],
        "run": [ctypes.c_void_p, ctypes.c_char_p],
    }
    for name, types in arguments.items():
        function = getattr(library, f"qanat_model_{name}")
        function.argtypes = types
        function.restype = None if name in ("close", "memory") else ctypes.c_int32
    return library


@cache
def _kernels() -> Any:
    """The `qanat_register_kernels` of each installed library, as an array for native code.

    Raises:
        FailedPreconditionError: one was built for another ABI.
    """
    addresses = []
    wanted = _library().qanat_model_kernel_abi()
    for path in installed_libraries():
        kernels = ctypes.CDLL(path)
        if kernels.qanat_kernel_abi() != wanted:
            raise FailedPreconditionError(
                f"expected a kernel library of ABI {wanted}, got another in {path}"
            )
        address = ctypes.cast(kernels.qanat_register_kernels, ctypes.c_void_p).value
        addresses.append(address)
    return (ctypes.c_void_p * len(addresses))(*addresses)
