"""Qanat, a dataflow system for machine learning: `import qanat as qn`.

Names are found in the installed parts on first use, so that importing this costs next to nothing.
"""

from pkgutil import extend_path
from typing import Any

# The parts of Qanat are installed separately and may stand in several folders.
__path__ = extend_path(__path__, __name__)


def __getattr__(name: str) -> Any:
    from qanat.core import face

    value = face.find(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from qanat.core import face

    return sorted({*globals(), *face.names()})
