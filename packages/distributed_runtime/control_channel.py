"""What tasks say to each other outside of steps: one gRPC service, errors that name the task."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Protocol

import grpc

from qanat.core.errors import OpError, UnavailableError, exception_type_from_error_code
from qanat.distributed_runtime import control_pb2

_SERVICE: Final = "qanat.Task"
_THREADS: Final = 8
_OPTIONS: Final = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.so_reuseport", 0),  # a second task at an address is an error, not a rival
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),  # a new channel does not inherit an old one's back-off
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
)

# The calls: request and response.
_CALLS: Final[Mapping[str, tuple[Any, Any]]] = {
    "GetStatus": (control_pb2.StatusRequest, control_pb2.StatusResponse),
    "RegisterPart": (control_pb2.RegisterPartRequest, control_pb2.RegisterPartResponse),
    "CloseSession": (control_pb2.CloseSessionRequest, control_pb2.CloseSessionResponse),
    "Reset": (control_pb2.ResetRequest, control_pb2.ResetResponse),
}


class ControlService(Protocol):
    """What a task answers. An OpError that is raised reaches the caller as the same error."""

    def get_status(self, request: Any) -> Any:
        """StatusRequest -> StatusResponse"""

    def register_part(self, request: Any) -> Any:
        """RegisterPartRequest -> RegisterPartResponse"""

    def close_session(self, request: Any) -> Any:
        """CloseSessionRequest -> CloseSessionResponse"""

    def reset(self, request: Any) -> Any:
        """ResetRequest -> ResetResponse"""


def serve(service: ControlService, address: str) -> grpc.Server:
    """Starts to answer at an address.

    Raises:
        RuntimeError: nobody can listen there.
    """
    server = grpc.server(
        ThreadPoolExecutor(_THREADS, thread_name_prefix="qanat_control"), options=_OPTIONS
    )
    methods = {
        "GetStatus": service.get_status,
        "RegisterPart": service.register_part,
        "CloseSession": service.close_session,
        "Reset": service.reset,
    }
    handlers = {name: _handler(name, method) for name, method in methods.items()}
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(_SERVICE, handlers)])
    if server.add_insecure_port(address) == 0:
        raise RuntimeError(f"expected an address to listen at, got {address}")
    server.start()
    return server


def _handler(name: str, method: Callable[[Any], Any]) -> Any:
    request, response = _CALLS[name]

    def answer(message: Any, context: grpc.ServicerContext) -> Any:
        try:
            return method(message)
        except OpError as error:
            code = next(c for c in grpc.StatusCode if c.value[0] == error.code)
            context.abort(code, str(error))

    return grpc.unary_unary_rpc_method_handler(
        answer,
        request_deserializer=request.FromString,
        response_serializer=response.SerializeToString,
    )


class ControlChannel:
    """Calls one task.

    Attributes:
        peer: how errors name it, "/job:ps/task:0 at 10.0.0.1:2222".
    """

    def __init__(self, task: str, address: str) -> None:
        """
        Args:
            task: "/job:ps/task:0", or "" where that is not known yet.
        """
        self.peer = f"{task} at {address}" if task else address
        self._channel = grpc.insecure_channel(address, options=_OPTIONS)
        self._calls = {
            name: self._channel.unary_unary(
                f"/{_SERVICE}/{name}",
                request_serializer=request.SerializeToString,
                response_deserializer=response.FromString,
            )
            for name, (request, response) in _CALLS.items()
        }

    def get_status(self, timeout_s: float) -> Any:
        """The task's StatusResponse; for errors see `call`."""
        return self.call("GetStatus", control_pb2.StatusRequest(), timeout_s)

    def call(self, name: str, request: Any, timeout_s: float) -> Any:
        """The response to a request.

        Raises:
            UnavailableError: nobody answers there.
            OpError: the task refuses, or does not answer in time.
        """
        try:
            return self._calls[name](request, timeout=timeout_s)
        except grpc.RpcError as error:
            raise self._translated(error, timeout_s) from None

    def close(self) -> None:
        self._channel.close()

    def _translated(self, error: Any, timeout_s: float) -> OpError:
        code, details = error.code(), error.details() or ""
        if code is grpc.StatusCode.UNAVAILABLE:
            return UnavailableError(f"expected an answer of {self.peer}, got none: {details}")
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            return exception_type_from_error_code(code.value[0])(
                f"expected an answer of {self.peer} within {timeout_s:.3g} s, got none"
            )
        return exception_type_from_error_code(code.value[0])(f"{details} (on {self.peer})")
