"""Which line of the user's code is being run: the one that errors name.

A position is kept as (code, instruction), which costs two references a node; the line number is
looked up when somebody asks. No frame is kept, so no local variable of the user lives longer.
"""

import sys
from types import CodeType
from typing import Final

Position = tuple[CodeType, int]

# Modules of this package count as the user's where they are programs rather than the library.
_OUTSIDE: Final = ("qanat.models", "qanat.tests")

_internal: Final[dict[str, bool]] = {}


def _is_internal(module: str) -> bool:
    inside = (
        (module == "qanat" or module.startswith("qanat."))
        and not module.startswith(_OUTSIDE)
        and not module.endswith(("_test", "_cases", "_bench"))
    )
    _internal[module] = inside
    return inside


def capture(depth: int = 1) -> Position | None:
    """The position of the innermost frame that is not Qanat's, looking from `depth` frames up."""
    try:
        frame = sys._getframe(depth + 1)
    except ValueError:
        return None
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        inside = _internal.get(module)
        if inside is None:
            inside = _is_internal(module)
        if not inside:
            return frame.f_code, frame.f_lasti
        frame = frame.f_back  # type: ignore[assignment]
    return None


def describe(position: Position | None) -> str | None:
    """ "file:line" of a position; None where there is none."""
    if position is None:
        return None
    code, instruction = position
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= instruction < end and number is not None:
            line = number
            break
    return f"{code.co_filename}:{line}"
