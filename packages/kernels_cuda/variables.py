"""Variables whose values are in a device's memory."""

import threading
from typing import Any

from qanat.core.dtypes import DType
from qanat.core.errors import FailedPreconditionError, InvalidArgumentError
from qanat.core.shapes import TensorShape
from qanat.kernels_cuda.device import DeviceArray


class Variable:
    """A value that steps read and replace.

    Arrays are never written to, so whoever has read one keeps what it read. `lock` is held from
    reading a value until its successor is in its place.

    Attributes:
        name: for messages.
        dtype: of its values.
        shape: of its values, as far as the handle knows it.
    """

    def __init__(self, name: str, dtype: DType, shape: TensorShape) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.lock = threading.Lock()
        self._value: DeviceArray | None = None

    @property
    def is_initialized(self) -> bool:
        return self._value is not None

    def read(self) -> DeviceArray:
        """
        Raises:
            FailedPreconditionError: it has no value yet.
        """
        value = self._value
        if value is None:
            raise FailedPreconditionError(
                f"expected the variable '{self.name}' to be initialized; run its initializer first"
            )
        return value

    def assign(self, value: DeviceArray | None) -> None:
        """Gives it another value; None for none."""
        self._value = value


class Variables:
    """The variables of a session on one device, by container and name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[tuple[Any, Any], Variable] = {}

    def get(self, container: Any, name: Any, dtype: DType, shape: TensorShape) -> Variable:
        """The variable of that name, made where there is none.

        Raises:
            InvalidArgumentError: it is of another dtype.
        """
        with self._lock:
            key = (container, name)
            if key not in self._found:
                self._found[key] = Variable(str(name), dtype, shape)
            found = self._found[key]
        if found.dtype is not dtype:
            raise InvalidArgumentError(
                f"expected '{name}' to be of {dtype}, got a variable of {found.dtype}"
            )
        return found

    def clear(self) -> None:
        """Takes the values of all variables away."""
        with self._lock:
            for variable in self._found.values():
                variable.assign(None)
            self._found.clear()
