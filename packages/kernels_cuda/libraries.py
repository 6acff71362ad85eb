"""CUDA's libraries, which are used where they are installed: others' kernels in place of ours."""

import logging
import os
from collections.abc import Callable
from typing import Final, TypeVar

Made = TypeVar("Made")

VARIABLE: Final = "QANAT_CUDA_LIBRARIES"
"""Of the environment: the libraries that may be used, such as "cublas,cudnn"; none if it is empty,
all if it is not set."""

_log: Final = logging.getLogger("qanat.kernels_cuda")


def opened(name: str, make: Callable[[], Made]) -> Made | None:
    """What `make` makes of a library, if the library may be used and can be.

    Which it is, and why, is one line of the log, at level INFO.
    """
    wanted = os.environ.get(VARIABLE)
    if wanted is not None and name not in map(str.strip, wanted.split(",")):
        _log.info("%s is not used: %s does not name it", name, VARIABLE)
        return None
    try:
        made = make()
    except Exception as error:  # what is missing shows in many ways, by classes of the bindings
        _log.info("%s is not used: %s", name, first_line(error))
        return None
    _log.info("%s is used", name)
    return made


def first_line(error: Exception) -> str:
    """Of what an error says: for the log."""
    return str(error).partition("\n")[0]
