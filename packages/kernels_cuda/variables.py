"""Variables whose values are in a device's memory."""

import threading
from typing import Any

from qanat.core.dtypes import DType
from qanat.core.errors import CancelledError, FailedPreconditionError, InvalidArgumentError
from qanat.core.shapes import TensorShape
from qanat.kernels_cuda.device import DeviceArray

_CLOSED = "the session was closed"


class Variable:
    """A value that steps read and replace, until the variable is closed.

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
        self._closed = False

    @property
    def is_initialized(self) -> bool:
        """
        Raises:
            CancelledError: it is closed.
        """
        return self._found() is not None

    def read(self) -> DeviceArray:
        """
        Raises:
            FailedPreconditionError: it has no value yet.
            CancelledError: it is closed.
        """
        value = self._found()
        if value is None:
            raise FailedPreconditionError(
                f"expected the variable '{self.name}' to be initialized; run its initializer first"
            )
        return value

    def assign(self, value: DeviceArray) -> None:
        """Gives it another value, which a closed variable drops. The caller has the lock."""
        if not self._closed:
            self._value = value

    def close(self) -> None:
        """Takes the value away for good, once no step is between reading and replacing it."""
        with self.lock:
            self._closed = True  # before the value goes: who reads without the lock finds out why
            self._value = None

    def _found(self) -> DeviceArray | None:
        value = self._value
        if value is None and self._closed:
            raise CancelledError(_CLOSED)
        return value


class Variables:
    """The variables of a session on one device, by container and name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[tuple[Any, Any], Variable] = {}
        self._closed = False

    def get(self, container: Any, name: Any, dtype: DType, shape: TensorShape) -> Variable:
        """The variable of that name, made where there is none.

        Raises:
            InvalidArgumentError: it is of another dtype.
            CancelledError: the variables are closed.
        """
        with self._lock:
            if self._closed:
                raise CancelledError(_CLOSED)
            key = (container, name)
            if key not in self._found:
                self._found[key] = Variable(str(name), dtype, shape)
            found = self._found[key]
        if found.dtype is not dtype:
            raise InvalidArgumentError(
                f"expected '{name}' to be of {dtype}, got a variable of {found.dtype}"
            )
        return found

    def close(self) -> None:
        """Closes all variables; none is made any more."""
        with self._lock:
            self._closed = True
            variables = list(self._found.values())
            self._found.clear()
        for variable in variables:  # without the lock, which a step may want that has a variable's
            variable.close()
