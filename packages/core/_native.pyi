"""The one native module: kernels, executables and the values that outlive a step.

Private to `qanat.core`, where Session, the compiler and the placer call it, and to
`qanat.distributed_runtime`; nobody else does.
"""

from collections.abc import Mapping, Sequence
from typing import Any

class StatusError(Exception):
    """A step or a compilation failed.

    Attributes:
        code: the gRPC number of the error, see `qanat.core.errors`.
        message: without op, node name and user line, which the Python side adds.
        node: index into the compiled nodes of the one that failed, or -1.
    """

    code: int
    message: str
    node: int

def load_kernel_library(path: str) -> None:
    """Loads a shared object with the C entry points of `kernel/registry.h`; a second time is a
    no-op."""

def kernels() -> list[tuple[str, dict[str, int], int]]:
    """All kernels, loaded and built in, as (op, {type attr: DataType number}, flags)."""

def add_python_kernel(op: str, types: Mapping[str, int], expensive: bool) -> None:
    """Says that nodes of `op` with these type attrs are run by the function that their attr
    "python_function" is: (*inputs) -> list of arrays of the outputs' dtypes. What it raises is the
    step's failure: a StatusError the status it says, another an internal error."""

def empty(dtype: int, shape: Sequence[int]) -> Any:
    """An array in the runtime's memory, elements undefined. A Python kernel that returns it gives
    the step that memory."""
def control_flow_ops() -> list[str]:
    """The ops that the executor directs values by: those that have a `Role`."""

def crc32c(data: bytes | bytearray | memoryview, before: int = 0) -> int:
    """The CRC-32C of a C-contiguous buffer that follows bytes with the CRC-32C `before`."""

class Resources:
    """Variables by (container, name). Sessions that share one share their state."""

    def __init__(self) -> None: ...
    def clear(self, container: str) -> None: ...

class Runtime:
    """A thread pool, an allocator, resources and the stateful kernels of one session."""

    def __init__(self, threads: int, resources: Resources) -> None: ...
    def memory(self) -> dict[str, int]:
        """Bytes: in_use, peak, reserved; and fresh_pages, the number of times memory was asked of
        the system. Of the whole process: results outlive sessions, so all share one allocator."""

class Cancellation:
    """Ends the steps that were started with it; from any thread, any number of times."""

    def __init__(self) -> None: ...
    def cancel(self, code: int, message: str) -> None: ...

class StepTrace:
    """When each kernel of one step ran."""

    def __init__(self) -> None: ...
    def events(self) -> list[tuple[int, int, int, int]]:
        """(node index, thread, begin, end) of each kernel that has run; threads are counted by
        their first appearance, times are nanoseconds since 1970."""

# One node, in topological order but for the inputs that close a loop:
# (name, op, inputs, control_inputs, attrs, output_dtypes)
#   inputs: (node index, output index) pairs; control_inputs: node indices
#   attrs: name -> bool | int | float | bytes | DType number as ("type", n) | ("shape", dims) |
#          np.ndarray | list of int / float / bytes | a function as ("function", f)
#   output_dtypes: DataType numbers
# The op "_Arg" with int attr "index" stands for a fed value; it has no kernel and no inputs.
Node = tuple[str, str, Sequence[tuple[int, int]], Sequence[int], Mapping[str, Any], Sequence[int]]

class Executable:
    """A compiled plan: immutable, run by any number of threads at once.

    Attributes:
        functions: what keeps the functions alive that are attrs of its nodes; set by who made it.
    """

    functions: Sequence[Any]

    def __init__(
        self,
        runtime: Runtime,
        nodes: Sequence[Node],
        fetches: Sequence[tuple[int, int]],
        targets: Sequence[int],
    ) -> None: ...
    def run(
        self,
        feeds: Sequence[Any],
        deadline_s: float = 0.0,
        cancellation: Cancellation | None = None,
        trace: StepTrace | None = None,
    ) -> list[Any]:
        """Runs one step without the GIL.

        Args:
            feeds: by "_Arg" index: NumPy arrays (C-contiguous or not, of native byte order) and
                NumPy scalars of exactly the declared dtype, Python scalars that it can hold;
                strings as object arrays of bytes. A large contiguous array that is aligned to 64
                bytes is used without a copy and held until the step has ended.
            deadline_s: 0 for none.
            trace: gets the times of this step's kernels.

        Returns:
            A NumPy array a fetch (a NumPy scalar for rank 0, bytes for a scalar string), the
            caller's own and writable: it has the tensor's buffer, or a copy where a variable, a
            constant or another fetch shares that.

        Raises:
            StatusError: the step failed.
            KeyboardInterrupt: the main thread was interrupted; the step has ended.
        """

# Steps that span tasks. All of this is for `qanat.distributed_runtime`; numbers of sessions,
# incarnations and executables are unsigned and below 2**64.

class Connection:
    """A connection to another task, over which steps go. It closes when the task dies."""

    def __init__(
        self, socket: int, peer: str, incarnation: int, session: int, timeout_s: float
    ) -> None:
        """Says hello.

        Args:
            socket: a connected one, which this owns from now on.
            peer: how errors name the other end.
            incarnation: the life of the task that is meant.
            session: what the task keeps for it goes when the connection closes; 0 for none.

        Raises:
            StatusError: nobody answers in time, or the task is another incarnation.
        """
    def is_open(self) -> bool: ...
    def close(self, code: int, message: str) -> None:
        """Steps that use it end with this error; the first one counts."""

class Task:
    """A task of a cluster: its variables, and its parts of steps."""

    def __init__(self, name: str, incarnation: int, threads: int = 0) -> None: ...
    def listen(self, socket: int) -> None:
        """Accepts clients and other tasks at a listening socket, which this owns from now on."""
    def set_peer(self, name: str, connection: Connection) -> None:
        """By which values of another task are fetched from now on."""
    def add_executable(
        self,
        session: int,
        nodes: Sequence[Node],
        fetches: Sequence[tuple[int, int]],
        targets: Sequence[int],
    ) -> int:
        """Compiles a part of a step that other processes may ask for, by the number returned.

        Raises:
            StatusError: a kernel refuses its node.
        """
    def drop_session(self, session: int) -> None:
        """Forgets the executables of a session."""
    def clear(self, container: str) -> None:
        """Forgets the variables and queues of a container."""
    def clear_all(self) -> None: ...
    def steps(self) -> int:
        """How many steps it has a part in, or keeps values for."""
    def close(self, code: int, message: str) -> None:
        """Ends all steps and connections with this error."""

class ClusterExecutable:
    """A compiled step whose parts run on several tasks; run by any number of threads at once."""

    def __init__(
        self,
        task: Task | None,
        local: tuple[int, Sequence[Node], Sequence[tuple[int, int]], Sequence[int]] | None,
        remotes: Sequence[tuple[Connection, int, Sequence[tuple[int, int]], int]],
        fetches: Sequence[tuple[int, int]],
    ) -> None:
        """
        Args:
            task: the task of this process, or None.
            local: its part as (session, nodes, fetches, targets), or None.
            remotes: of each other part the connection, the executable's number there, (index, type)
                of each value it is fed, and the number of its first node among those of all parts.
            fetches: (part, place among what that fetches); part -1 is the local one.

        Raises:
            StatusError: a kernel refuses its node.
        """
    def run(
        self,
        feeds: Sequence[Any],
        deadline_s: float = 0.0,
        cancellation: Cancellation | None = None,
        trace: None = None,
    ) -> list[Any]:
        """As `Executable.run`."""
