"""Qanat, a dataflow system for machine learning: `import qanat as qn`."""

from pkgutil import extend_path

# The parts of Qanat are installed separately and may stand in several folders.
__path__ = extend_path(__path__, __name__)
