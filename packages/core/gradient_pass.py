"""Which call of `gradients` is under way: its name tells apart what several calls keep in one
step."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_name: Final[ContextVar[str]] = ContextVar("gradient_pass", default="gradients")


def gradient_pass() -> str:
    """The name scope of the outermost call of `gradients` that is under way."""
    return _name.get()


@contextmanager
def named_gradient_pass(name: str) -> Iterator[None]:
    """Gives the pass within the block a name."""
    token = _name.set(name)
    try:
        yield
    finally:
        _name.reset(token)
