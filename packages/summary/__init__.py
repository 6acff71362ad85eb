"""Summaries for TensorBoard: what a step measured, written to event files; `qn.summary` is this
package.
"""

from qanat.summary.chrome_trace import chrome_trace
from qanat.summary.event_file import summary_iterator
from qanat.summary.event_pb2 import Event, SessionLog
from qanat.summary.file_writer import FileWriter
from qanat.summary.summaries import (
    histogram,
    image,
    merge,
    merge_all,
    scalar,
    tensor_summary,
    text,
)
from qanat.summary.summary_pb2 import Summary, SummaryMetadata

__all__ = [
    "Event",
    "FileWriter",
    "SessionLog",
    "Summary",
    "SummaryMetadata",
    "chrome_trace",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "scalar",
    "summary_iterator",
    "tensor_summary",
    "text",
]
