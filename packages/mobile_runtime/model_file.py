"""Model files: written once by an exporter, mapped into memory by the interpreter."""

import contextlib
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from qanat.core import dtypes
from qanat.core.crc32c import crc32c
from qanat.core.dtypes import DType, as_dtype
from qanat.core.errors import DataLossError, UnimplementedError
from qanat.core.shapes import TensorShape
from qanat.mobile_runtime import model_format as fmt
from qanat.mobile_runtime.model import Model, ModelNode, ModelValue
from qanat.mobile_runtime.model_format import Kind, Place

__all__ = ["read_model", "write_model"]

Array = np.ndarray[Any, Any]

_PLAIN: Final = dtypes.ALL - {dtypes.string, dtypes.resource}
_LISTS: Final = {Kind.INTS: "<i8", Kind.FLOATS: "<f8", Kind.TYPES: "<i8", Kind.SHAPE: "<i8"}


def write_model(path: str | os.PathLike[str], model: Model) -> None:
    """Writes a model, whole or not at all.

    Attributes whose names begin with "_" are notes between passes and are left out.

    Args:
        path: of the file, which is replaced.
        model: planned: every value has data or an offset.

    Raises:
        OSError: the file cannot be written.
        ValueError: a value has neither data nor a place in the arena, or its data are not of its
            dtype and shape; or an attribute is of a kind that no kernel reads.
    """
    contents = _Writer(model).contents()
    temporary = f"{os.fspath(path)}.{os.getpid()}"
    try:
        with open(temporary, "wb") as file:
            file.write(contents)
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):  # it names a file that the caller knows nothing of
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise


def read_model(path: str | os.PathLike[str]) -> Model:
    """The model in a file. Its constants are read-only views of the file, mapped into memory.

    Raises:
        OSError: the file cannot be read.
        DataLossError: it is no model file, or corrupt.
        UnimplementedError: it is of a newer version.
    """
    with open(path, "rb") as file:
        empty = os.fstat(file.fileno()).st_size == 0
    contents = np.zeros(0, np.uint8) if empty else np.memmap(path, np.uint8, "r").view(np.ndarray)
    try:
        return _Reader(contents).model()
    except (ValueError, IndexError, KeyError, TypeError, OverflowError) as error:
        raise DataLossError(f"[Model] {os.fspath(path)} is corrupt: {error}") from error


def _round_up(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


class _Writer:
    """Sections, then texts and lists, then constants."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._tensors: list[ModelValue] = []
        attrs = [
            (name, *self._encoded(node, name, value))
            for node in model.nodes
            for name, value in sorted(node.attrs.items())
            if not name.startswith("_")
        ]
        edges = [value for node in model.nodes for value in (*node.inputs, *node.outputs)]
        self._header: Any = np.zeros((), fmt.HEADER)
        counts = {
            "values": len(model.values),
            "tensors": len(self._tensors),
            "nodes": len(model.nodes),
            "attrs": len(attrs),
            "inputs": len(model.inputs),
            "outputs": len(model.outputs),
            "edges": len(edges),
        }
        for name, count in counts.items():
            self._header[name] = count
        self._sections: dict[str, Any] = {
            name: np.zeros(sum(counts[c] for c in added), record)
            for name, record, added in fmt.SECTIONS
        }
        size = fmt.HEADER.itemsize + sum(_round_up(s.nbytes, 8) for s in self._sections.values())
        self._pool = bytearray(size)  # the sections are written over its start at last
        self._spans: dict[bytes, int] = {}
        self._sections["edges"][:] = edges
        self._write_attrs(attrs)
        self._write_nodes()
        self._write_ports()
        self._write_values()

    def contents(self) -> bytes:
        """The file."""
        header = self._header
        header["magic"] = fmt.MAGIC
        header["version"] = fmt.VERSION
        header["file_bytes"] = len(self._pool)
        header["arena_bytes"] = self._model.arena_bytes
        at = fmt.HEADER.itemsize
        for section in self._sections.values():
            self._pool[at : at + section.nbytes] = section.tobytes()
            at += _round_up(section.nbytes, 8)
        self._pool[: header.nbytes] = header.tobytes()
        header["checksum"] = crc32c(memoryview(self._pool)[fmt.CHECKED_FROM :])
        self._pool[: header.nbytes] = header.tobytes()
        return bytes(self._pool)

    def _add(self, data: bytes | memoryview, alignment: int) -> int:
        """Appends bytes; where they are."""
        self._pool.extend(bytes(-len(self._pool) % alignment))
        at = len(self._pool)
        self._pool += data
        return at

    def _span(self, text: str | bytes) -> tuple[int, int]:
        data = text.encode("utf-8") if isinstance(text, str) else bytes(text)
        if data not in self._spans:
            self._spans[data] = self._add(data + b"\0", 1)
        return self._spans[data], len(data)

    def _encoded(self, node: ModelNode, name: str, value: Any) -> tuple[Kind, Any]:
        """An attribute's kind and, as that kind has it, its value."""
        if isinstance(value, bool):
            return Kind.BOOL, int(value)
        if isinstance(value, int):
            return Kind.INT, value
        if isinstance(value, float):
            return Kind.FLOAT, value
        if isinstance(value, (str, bytes)):
            return Kind.STRING, value
        if isinstance(value, DType):
            return Kind.TYPE, value.number
        if isinstance(value, TensorShape):
            return Kind.SHAPE, value.dims
        if isinstance(value, np.ndarray):
            self._tensors.append(ModelValue(name, as_dtype(value.dtype), value.shape, value))
            return Kind.TENSOR, len(self._tensors) - 1
        if isinstance(value, (list, tuple)):
            for kind, types in ((Kind.INTS, int), (Kind.TYPES, DType), (Kind.FLOATS, (int, float))):
                if all(isinstance(v, types) and not isinstance(v, bool) for v in value):
                    return kind, value
        raise ValueError(
            f"[{node.op}] expected attributes that kernels can read, got {name}={value!r} "
            f"(node '{node.name}')"
        )

    def _write_attrs(self, attrs: Sequence[tuple[str, Kind, Any]]) -> None:
        for record, (name, kind, value) in zip(self._sections["attrs"], attrs, strict=True):
            record["name"] = self._span(name)
            record["kind"] = kind
            if kind == Kind.STRING:
                record["payload"], record["count"] = self._span(value)
            elif kind == Kind.SHAPE and value is None:
                record["count"] = fmt.UNKNOWN_RANK
            elif kind in _LISTS:
                numbers = [_number(element) for element in value]
                record["count"] = len(numbers)
                record["payload"] = self._add(np.array(numbers, _LISTS[kind]).tobytes(), 8)
            else:
                bits = np.array(value, "<f8" if kind == Kind.FLOAT else "<i8")
                record["payload"] = bits.view("<u8")

    def _write_nodes(self) -> None:
        edge = attr = 0
        for record, node in zip(self._sections["nodes"], self._model.nodes, strict=True):
            record["name"] = self._span(node.name)
            record["op"] = self._span(node.op)
            record["first_input"], record["inputs"] = edge, len(node.inputs)
            edge += len(node.inputs)
            record["first_output"], record["outputs"] = edge, len(node.outputs)
            edge += len(node.outputs)
            count = sum(not name.startswith("_") for name in node.attrs)
            record["first_attr"], record["attrs"] = attr, count
            attr += count

    def _write_ports(self) -> None:
        ports = [*self._model.inputs.items(), *self._model.outputs.items()]
        for record, (name, value) in zip(self._sections["ports"], ports, strict=True):
            record["name"] = self._span(name)
            record["value"] = value

    def _write_values(self) -> None:
        values = [*self._model.values, *self._tensors]
        for record, value in zip(self._sections["values"], values, strict=True):
            record["name"] = self._span(value.name)
        for record, value in zip(self._sections["values"], values, strict=True):
            _check_value(value, self._model.arena_bytes)
            record["dtype"] = value.dtype.number
            record["rank"] = len(value.shape)
            record["dims"][: len(value.shape)] = value.shape
            if value.data is None:
                record["place"], record["offset"] = Place.ARENA, value.offset
            else:
                record["place"] = Place.FILE
                record["offset"] = self._add(value.data.tobytes(), fmt.ALIGNMENT)


def _number(element: Any) -> Any:
    """A list's element as it is stored."""
    if isinstance(element, DType):
        return element.number
    return -1 if element is None else element


def _check_value(value: ModelValue, arena_bytes: int) -> None:
    """Raises ValueError where the interpreter would refuse it."""

    def refuse(expected: str, got: Any) -> None:
        raise ValueError(f"[Model] expected {expected}, got {got} (value '{value.name}')")

    if value.dtype not in _PLAIN:
        refuse("numbers or bools", value.dtype)
    if len(value.shape) > fmt.MAX_RANK or min(value.shape, default=0) < 0:
        refuse(f"at most {fmt.MAX_RANK} dimensions, none below 0", value.shape)
    if value.data is not None:
        if value.data.dtype != value.dtype.as_numpy or value.data.shape != tuple(value.shape):
            got = f"{value.data.dtype}{list(value.data.shape)}"
            refuse(f"data of {value.dtype}{list(value.shape)}", got)
    elif value.offset is None:
        refuse("data or a place in the arena", "neither")
    elif value.offset % fmt.ALIGNMENT or not 0 <= value.offset <= arena_bytes - _bytes(value):
        refuse(f"a place in the arena of {arena_bytes} bytes", value.offset)


def _bytes(value: ModelValue) -> int:
    return value.dtype.size * math.prod(value.shape)


class _Reader:
    """Whatever is wrong in the file becomes one of the exceptions that read_model catches."""

    def __init__(self, contents: Array) -> None:
        self._contents = contents
        if contents.size < fmt.HEADER.itemsize or contents[:8].tobytes() != fmt.MAGIC:
            raise ValueError("expected a model file, got none")
        self._header = contents[: fmt.HEADER.itemsize].view(fmt.HEADER)[0]
        version = int(self._header["version"])
        if version != fmt.VERSION:
            raise UnimplementedError(
                f"[Model] expected a file of version {fmt.VERSION}, got version {version}"
            )
        if int(self._header["file_bytes"]) != contents.size:
            raise ValueError(f"expected {self._header['file_bytes']} bytes, got {contents.size}")
        if crc32c(contents[fmt.CHECKED_FROM :].data) != self._header["checksum"]:
            raise ValueError("expected another checksum")
        self._sections: dict[str, Array] = {}
        at = fmt.HEADER.itemsize
        for name, record, added in fmt.SECTIONS:
            count = sum(int(self._header[c]) for c in added)
            self._sections[name] = self._array(at, record, count)
            at += _round_up(count * record.itemsize, 8)

    def model(self) -> Model:
        """The model."""
        count = int(self._header["values"])
        values = [self._value(record) for record in self._sections["values"]]
        inputs = int(self._header["inputs"])
        return Model(
            values=tuple(values[:count]),
            nodes=tuple(self._node(r, values[count:]) for r in self._sections["nodes"]),
            inputs=self._ports(self._sections["ports"][:inputs], count),
            outputs=self._ports(self._sections["ports"][inputs:], count),
            arena_bytes=int(self._header["arena_bytes"]),
        )

    def _array(self, offset: int, dtype: Any, count: int) -> Array:
        dtype = np.dtype(dtype)
        if offset + count * dtype.itemsize > self._contents.size:
            raise ValueError(f"expected {count} records of {dtype.itemsize} bytes at {offset}")
        if count == 0:
            return np.zeros(0, dtype)
        return self._contents[offset : offset + count * dtype.itemsize].view(dtype)

    def _text(self, span: Any) -> str:
        return self._array(int(span["offset"]), np.uint8, int(span["size"])).tobytes().decode()

    def _value(self, record: Any) -> ModelValue:
        dtype = as_dtype(int(record["dtype"]))
        if dtype not in _PLAIN:
            raise ValueError(f"expected numbers or bools, got {dtype}")
        shape = tuple(record["dims"].tolist()[: int(record["rank"])])
        if len(shape) != record["rank"]:
            raise ValueError(f"expected at most {fmt.MAX_RANK} dimensions, got {record['rank']}")
        name, offset = self._text(record["name"]), int(record["offset"])
        if Place(record["place"]) == Place.ARENA:
            value = ModelValue(name, dtype, shape, offset=offset)
        else:
            data = self._array(offset, dtype.as_numpy, math.prod(shape)).reshape(shape)
            value = ModelValue(name, dtype, shape, data)
        _check_value(value, int(self._header["arena_bytes"]))
        return value

    def _node(self, record: Any, tensors: Sequence[ModelValue]) -> ModelNode:
        first = int(record["first_attr"])
        attrs = self._sections["attrs"][first : first + int(record["attrs"])]
        return ModelNode(
            name=self._text(record["name"]),
            op=self._text(record["op"]),
            inputs=self._edges(record["first_input"], record["inputs"]),
            outputs=self._edges(record["first_output"], record["outputs"]),
            attrs={self._text(attr["name"]): self._attr(attr, tensors) for attr in attrs},
        )

    def _edges(self, first: Any, count: Any) -> tuple[int, ...]:
        edges = self._sections["edges"][int(first) : int(first) + int(count)].tolist()
        if len(edges) != count or any(edge >= self._header["values"] for edge in edges):
            raise ValueError(f"expected {count} indices of values, got {edges}")
        return tuple(edges)

    def _attr(self, record: Any, tensors: Sequence[ModelValue]) -> Any:
        kind, count, payload = Kind(record["kind"]), int(record["count"]), int(record["payload"])
        if kind == Kind.SHAPE and count == fmt.UNKNOWN_RANK:
            return TensorShape(None)
        if kind in _LISTS:
            numbers = self._array(payload, _LISTS[kind], count).tolist()
            if kind == Kind.SHAPE:
                return TensorShape(numbers)
            return [as_dtype(n) for n in numbers] if kind == Kind.TYPES else numbers
        if kind == Kind.BOOL:
            return payload != 0
        if kind == Kind.INT:
            return int(np.uint64(payload).view(np.int64))
        if kind == Kind.FLOAT:
            return float(np.uint64(payload).view(np.float64))
        if kind == Kind.TYPE:
            return as_dtype(payload)
        if kind == Kind.TENSOR:
            return tensors[payload].data
        return self._string(self._array(payload, np.uint8, count).tobytes())

    @staticmethod
    def _string(data: bytes) -> str | bytes:
        """Text where it is text: attributes hold either."""
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return data

    def _ports(self, records: Array, values: int) -> Mapping[str, int]:
        ports = {self._text(record["name"]): int(record["value"]) for record in records}
        if len(ports) != len(records) or any(value >= values for value in ports.values()):
            raise ValueError(f"expected different names of values, got {ports}")
        return ports
