"""Which kernels exist: what placement asks before anything is compiled."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from qanat.core import dtypes
from qanat.core.device_library import KernelKey, device_libraries, kernel_packages
from qanat.core.dtypes import DType
from qanat.core.face import how_to_install


class KernelTable:
    """The kernels of each type of device."""

    def __init__(self, kernels: Mapping[str, Iterable[KernelKey]]) -> None:
        """
        Args:
            kernels: by device type, such as "CPU".
        """
        self._types: dict[tuple[str, str], list[Mapping[str, int]]] = {}
        for device_type, keys in kernels.items():
            for op, constraints in keys:
                self._types.setdefault((device_type, op), []).append(constraints)

    def has(self, device_type: str, op: str, attrs: Mapping[str, Any]) -> bool:
        """Whether a kernel of that device runs a node of that op with these attributes."""
        return any(
            all(_matches(attrs.get(name), number) for name, number in constraints.items())
            for constraints in self.variants(device_type, op)
        )

    def variants(self, device_type: str, op: str) -> Sequence[Mapping[str, int]]:
        """For each kernel of an op, by type attr, the number of the dtype it takes."""
        return self._types.get((device_type, op), ())

    def describe(self, op: str) -> str:
        """The kernels an op has, for messages: "CPU: T in (float32, float64)"."""
        lines = []
        for (device_type, name), variants in sorted(self._types.items()):
            if name == op:
                shown = dict.fromkeys(map(_show, variants))
                lines.append(f"{device_type}: {' | '.join(shown)}")
        if lines or kernel_packages():
            return "; ".join(lines) or "none on any device"
        return f"none on any device, for no kernels are installed: {how_to_install('kernels_cpu')}"


def _matches(value: Any, number: int) -> bool:
    if isinstance(value, list):
        return all(dtype.number == number for dtype in value)
    return isinstance(value, DType) and value.number == number


def _show(constraints: Mapping[str, int]) -> str:
    if not constraints:
        return "any type"
    return ", ".join(f"{name}={dtypes.as_dtype(n)}" for name, n in constraints.items())


_lock: Final = threading.Lock()
_table: KernelTable | None = None


def kernel_table() -> KernelTable:
    """The kernels of all installed packages `qanat.kernels_*`, which the first call loads; of those
    with devices of their own, where there is one.

    Raises:
        NotFoundError, InvalidArgumentError: such a package has no library, or one of another build.
    """
    global _table
    with _lock:
        if _table is None:
            from qanat.core import _native

            for library in installed_libraries():
                _load(library)
            kernels: dict[str, Sequence[KernelKey]]
            kernels = {"CPU": [(op, types) for op, types, _ in _native.kernels()]}
            for devices in device_libraries():
                if devices.absence() is None:
                    kernels[devices.device_type] = devices.kernels()
            _table = KernelTable(kernels)
        return _table


def load_kernel_library(path: str) -> None:
    """Loads kernels of the user's own: a shared object with the entry points of
    `kernel/registry.h`.

    Args:
        path: of the shared object.

    Raises:
        NotFoundError: it cannot be loaded.
        InvalidArgumentError: it was built for another ABI number.
    """
    kernel_table()
    _load(path)
    forget_kernel_table()


def forget_kernel_table() -> None:
    """There are kernels more: the table is made anew when it is asked for."""
    global _table
    with _lock:
        _table = None


def _load(path: str) -> None:
    from qanat.core import _native
    from qanat.core.run_errors import raise_status

    try:
        _native.load_kernel_library(path)
    except _native.StatusError as error:
        raise_status(error, None)


def installed_libraries() -> list[str]:
    """The shared objects of all installed packages `qanat.kernels_*`: each names its own as
    LIBRARY."""
    named = (getattr(package, "LIBRARY", None) for package in kernel_packages())
    return [str(library) for library in named if library is not None]
