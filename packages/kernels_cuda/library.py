"""What core asks of this package: whether there is a GPU, its kernels, a device for a session."""

import threading
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from qanat.core.device_library import Device, KernelKey, Segment
from qanat.core.passes.step_graph import Node

if TYPE_CHECKING:
    from qanat.kernels_cuda.device import Gpu
    from qanat.kernels_cuda.driver import Driver


class CudaLibrary:
    """The GPUs that CUDA's driver shows. Nothing of CUDA is imported before it is asked."""

    device_type: Final = "GPU"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._gpus: list[Gpu] | None = None
        self._absence: str | None = None

    def absence(self) -> str | None:
        """Why there is no GPU, in one line."""
        self._find()
        return self._absence

    def kernels(self) -> Sequence[KernelKey]:
        from qanat.kernels_cuda.kernel import kernel_keys

        return list(kernel_keys())

    def open(self) -> Sequence[Device]:
        return [_SessionDevice(gpu) for gpu in self._find()]

    @contextmanager
    def using(self, driver: "Driver") -> Any:
        """Has new sessions see this driver's device and no other: for tests."""
        from qanat.core.kernel_table import forget_kernel_table
        from qanat.kernels_cuda.device import Gpu

        before = self._gpus, self._absence
        self._gpus, self._absence = [Gpu(driver)], None
        forget_kernel_table()
        try:
            yield self._gpus[0]
        finally:
            self._gpus, self._absence = before
            forget_kernel_table()

    def _find(self) -> "list[Gpu]":
        with self._lock:
            if self._gpus is None:
                from qanat.kernels_cuda.pycuda_driver import NoGpu, drivers

                try:
                    found = drivers()
                except NoGpu as error:
                    self._gpus, self._absence = [], str(error)
                else:
                    from qanat.kernels_cuda.device import Gpu

                    self._gpus = [Gpu(driver) for driver in found]
            return self._gpus


class _SessionDevice:
    """A GPU as one session has it: with variables of its own."""

    def __init__(self, gpu: "Gpu") -> None:
        from qanat.kernels_cuda.variables import Variables

        self._gpu = gpu
        self._variables = Variables()

    def compile(self, segment: Segment, inputs: Sequence[Node]) -> Callable[..., Sequence[Any]]:
        """See `qanat.core.device_library.Device`."""
        from qanat.kernels_cuda.segment import CompiledSegment

        return CompiledSegment(self._gpu, self._variables, segment, inputs)

    def close(self) -> None:
        self._variables.close()
