"""FileWriter: summaries, graphs and traces into event files for TensorBoard."""

import os
import time
import weakref
from typing import Any, Self

from google.protobuf.message import DecodeError, Message

from qanat.core.constants import describe
from qanat.core.graph import Graph
from qanat.summary.background_writer import BackgroundWriter
from qanat.summary.event_file import EventFile
from qanat.summary.event_pb2 import Event, SessionLog, TaggedRunMetadata
from qanat.summary.summary_pb2 import Summary


class FileWriter:
    """Writes events to a file in a folder, in the background.

    Events are in the file, and TensorBoard sees them, `flush_secs` later, after `flush` and after
    `close`, which the end of the program does too. Any number of threads may use it. It is a
    context manager that closes itself.

    Args:
        logdir: the folder, made if need be.
        graph: a graph to add at once.
        max_queue: how many events may wait to be written before adding one waits.
        flush_secs: how long they may wait.
        graph_def: a GraphDef to add at once, in place of `graph`.
        filename_suffix: of the file's name.

    Raises:
        OSError: the file cannot be made.
        TypeError: graph is no Graph, or graph_def no GraphDef.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        graph: Graph | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
    ) -> None:
        described = None
        if graph is not None or graph_def is not None:
            described = _serialized_graph(graph, graph_def)
        self._logdir = os.fspath(logdir)
        self._options = (max_queue, flush_secs)
        self._suffix = filename_suffix or ""
        self._described: set[str] = set()  # tags whose metadata is in the file
        self._open()
        if described is not None:
            self._add(Event(graph_def=described), None)

    def _open(self) -> None:
        folder, suffix = self._logdir, self._suffix
        self._writer = BackgroundWriter(lambda: EventFile(folder, suffix), *self._options)
        self._finalizer = weakref.finalize(self, self._writer.close)
        self._described.clear()

    def get_logdir(self) -> str:
        return self._logdir

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Adds what a summary operation gave.

        Args:
            summary: a Summary, or one serialized.
            global_step: the step it belongs to, an int.

        Raises:
            OSError: an earlier event could not be written.
            ValueError: the writer is closed.
            TypeError: summary is none.
            google.protobuf.message.DecodeError: the bytes are no Summary.
        """
        if not isinstance(summary, Summary):
            summary = _parsed(summary)
        for value in summary.value:
            # Once a tag is enough: how it is shown does not change.
            if value.HasField("metadata"):
                if value.tag in self._described:
                    value.ClearField("metadata")
                self._described.add(value.tag)
        self._add(Event(summary=summary), global_step)

    def add_graph(
        self, graph: Graph | None, global_step: Any = None, graph_def: Any = None
    ) -> None:
        """Adds a graph, of which TensorBoard shows the last; raises as `add_summary` does.

        Args:
            graph: the graph, or None where `graph_def`, a GraphDef, is given.
        """
        self._add(Event(graph_def=_serialized_graph(graph, graph_def)), global_step)

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Adds a MetaGraphDef; raises as `add_summary` does."""
        meta_graph = _serialized(meta_graph_def, "a MetaGraphDef")
        self._add(Event(meta_graph_def=meta_graph), global_step)

    def add_session_log(self, session_log: SessionLog, global_step: Any = None) -> None:
        """Adds that a run began or ended; raises as `add_summary` does."""
        self._add(Event(session_log=session_log), global_step)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Adds the trace of a step; raises as `add_summary` does.

        Args:
            run_metadata: a RunMetadata that `Session.run` filled.
            tag: its name.
        """
        metadata = _serialized(run_metadata, "a RunMetadata")
        tagged = TaggedRunMetadata(tag=tag, run_metadata=metadata)
        self._add(Event(tagged_run_metadata=tagged), global_step)

    def add_event(self, event: Event) -> None:
        """Adds an event as it is; raises as `add_summary` does."""
        self._writer.add(event.SerializeToString())

    def _add(self, event: Event, global_step: Any) -> None:
        event.wall_time = time.time()
        if global_step is not None:
            event.step = int(global_step)
        self.add_event(event)

    def flush(self) -> None:
        """Returns once all that was added is in the file.

        Raises:
            OSError: something could not be written.
            ValueError: the writer is closed.
        """
        self._writer.flush()

    def close(self) -> None:
        """Returns once all that was added is in the file; a second time is a no-op.

        Raises:
            OSError: something could not be written.
        """
        self._finalizer.detach()
        self._writer.close()

    def reopen(self) -> None:
        """Goes on in a new file after `close`; a no-op for an open writer."""
        if not self._finalizer.alive:
            self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        self.close()


def _parsed(given: Any) -> Summary:
    """The Summary that was serialized. Bytes without a value in them are none, though they may
    parse."""
    if not isinstance(given, bytes):
        raise TypeError(
            "[FileWriter] expected a Summary or the bytes that running a summary operation gives, "
            f"got {describe(given)}"
        )
    try:
        summary = Summary.FromString(given)
    except DecodeError:
        summary = Summary()
    if given and not summary.value:
        raise DecodeError(f"[FileWriter] expected a serialized Summary, got {describe(given)}")
    return summary


def _serialized_graph(graph: Any, graph_def: Any) -> bytes:
    if (graph is None) == (graph_def is None):
        raise ValueError("[FileWriter] expected a graph or a graph_def")
    if graph is None:
        return _serialized(graph_def, "a GraphDef")
    if not isinstance(graph, Graph):
        raise TypeError(f"[FileWriter] expected a Graph as graph, got {describe(graph)}")
    return graph.as_graph_def().SerializeToString()


def _serialized(given: Any, kind: str) -> bytes:
    if not isinstance(given, Message):
        raise TypeError(f"[FileWriter] expected {kind}, got {describe(given)}")
    return given.SerializeToString()
