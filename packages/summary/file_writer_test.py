"""Nothing that was added is lost, and nobody waits for a disk that is broken."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import DecodeError

from qanat import summary
from qanat.core.base_ops import constant
from qanat.core.graph import Graph
from qanat.core.session import Session
from qanat.summary import event_file
from qanat.summary.event_file import summary_iterator


def a_summary(tag: str, value: float = 1.0) -> Any:
    return summary.Summary(value=[summary.Summary.Value(tag=tag, simple_value=value)])


def only_file(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def events(folder: Path) -> list[Any]:
    return list(summary_iterator(only_file(folder)))


def test_events_in_order(tmp_path: Path) -> None:
    graph = Graph()
    with graph.as_default():
        constant(1.0, name="one")
    with summary.FileWriter(tmp_path / "new" / "run", graph) as writer:
        for step in range(100):
            writer.add_summary(a_summary("loss", step), step)
        assert writer.get_logdir() == str(tmp_path / "new" / "run")
    version, graph_event, *rest = events(tmp_path / "new" / "run")
    assert version.file_version == "brain.Event:2" and version.wall_time > 1e9
    assert b"one" in graph_event.graph_def
    assert [e.step for e in rest] == list(range(100))
    assert [e.summary.value[0].simple_value for e in rest] == list(range(100))


def test_flush_shows_all_before_it(tmp_path: Path) -> None:
    writer = summary.FileWriter(tmp_path, flush_secs=1000)
    for step in range(50):
        writer.add_summary(a_summary("a").SerializeToString(), step)
        writer.flush()
        assert len(events(tmp_path)) == step + 2
    writer.close()


def test_events_show_up_by_themselves(tmp_path: Path) -> None:
    writer = summary.FileWriter(tmp_path, flush_secs=0.05)
    writer.add_summary(a_summary("a"))
    seen = threading.Event()
    for _ in range(400):
        if len(events(tmp_path)) == 2:
            break
        seen.wait(0.05)
    assert len(events(tmp_path)) == 2
    writer.close()


def test_metadata_is_written_once_a_tag(tmp_path: Path) -> None:
    noted = a_summary("a")
    noted.value[0].metadata.plugin_data.plugin_name = "text"
    with summary.FileWriter(tmp_path) as writer:
        writer.add_summary(noted.SerializeToString())
        writer.add_summary(noted.SerializeToString())
    _, first, second = events(tmp_path)
    assert first.summary.value[0].HasField("metadata")
    assert not second.summary.value[0].HasField("metadata")


def test_other_events(tmp_path: Path) -> None:
    start = summary.SessionLog(status=summary.SessionLog.START)
    with summary.FileWriter(tmp_path, filename_suffix=".mine") as writer:
        writer.add_session_log(start, 7)
        writer.add_event(summary.Event(step=8))
    assert only_file(tmp_path).name.endswith(".mine")
    _, log, other = events(tmp_path)
    assert (log.session_log, log.step, other.step) == (start, 7, 8)


def test_many_threads_lose_nothing(tmp_path: Path) -> None:
    with summary.FileWriter(tmp_path, max_queue=2) as writer:

        def work(thread: int) -> None:
            for i in range(100):
                writer.add_summary(a_summary("a"), 1000 * thread + i)

        threads = [threading.Thread(target=work, args=(t,)) for t in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    steps = sorted(event.step for event in events(tmp_path)[1:])
    assert steps == [1000 * t + i for t in range(8) for i in range(100)]


def test_after_close(tmp_path: Path) -> None:
    writer = summary.FileWriter(tmp_path)
    writer.close()
    writer.close()
    for use in (writer.flush, lambda: writer.add_summary(a_summary("a"))):
        with pytest.raises(ValueError, match="expected an open writer"):
            use()
    writer.reopen()
    writer.reopen()
    writer.add_summary(a_summary("a"))
    writer.close()
    assert sorted(len(list(summary_iterator(path))) for path in tmp_path.iterdir()) == [1, 2]


def test_the_end_of_the_program_closes(tmp_path: Path) -> None:
    program = f"""
from qanat import summary
writer = summary.FileWriter({str(tmp_path)!r})
value = summary.Summary.Value(tag="a", simple_value=1)
for step in range(1000):
    writer.add_summary(summary.Summary(value=[value]), step)
"""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    subprocess.run([sys.executable, "-c", program], check=True, timeout=100, env=environment)
    assert len(events(tmp_path)) == 1001


def test_a_writer_that_nobody_holds_closes(tmp_path: Path) -> None:
    writer = summary.FileWriter(tmp_path)
    writer.add_summary(a_summary("a"))
    del writer
    assert len(events(tmp_path)) == 2


def test_a_broken_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread waits, and every later call says what happened."""
    writer = summary.FileWriter(tmp_path, max_queue=1)

    def full(self: Any, event: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(event_file.EventFile, "write", full)
    writer.add_summary(a_summary("a"))
    with pytest.raises(OSError, match="No space left"):
        writer.flush()
    for use in (writer.flush, lambda: writer.add_summary(a_summary("a")), writer.close):
        with pytest.raises(OSError, match="No space left"):
            use()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        summary.FileWriter(tmp_path / "file" / "logs")


def test_graph_or_graph_def(tmp_path: Path) -> None:
    graph = Graph()
    with summary.FileWriter(tmp_path, graph_def=graph.as_graph_def()) as writer:
        with pytest.raises(ValueError, match="expected a graph or a graph_def"):
            writer.add_graph(None)
        with pytest.raises(ValueError, match="expected a graph or a graph_def"):
            writer.add_graph(graph, graph_def=graph.as_graph_def())
    assert events(tmp_path)[1].HasField("graph_def")


@pytest.mark.parametrize("given", ["text", None, 3, ["a"]], ids=repr)
def test_what_is_no_summary(given: Any, tmp_path: Path) -> None:
    writer = summary.FileWriter(tmp_path)
    with pytest.raises(TypeError, match=r"\[FileWriter\] expected a Summary or the bytes.*, got "):
        writer.add_summary(given)
    with pytest.raises(TypeError, match="expected a RunMetadata, got "):
        writer.add_run_metadata(given, "step")
    writer.close()
    assert len(events(tmp_path)) == 1


@pytest.mark.parametrize("given", [b"xx", b"\xff", b"no summary"])
def test_bytes_of_something_else(given: bytes, tmp_path: Path) -> None:
    with summary.FileWriter(tmp_path) as writer, pytest.raises(DecodeError, match="expected a ser"):
        writer.add_summary(given, 0)
    assert len(events(tmp_path)) == 1


def test_what_is_no_graph(tmp_path: Path) -> None:
    with Graph().as_default(), Session() as session:
        others: list[Any] = ["x", session]
        for given in others:
            with pytest.raises(TypeError, match="expected a Graph as graph, got "):
                summary.FileWriter(tmp_path / "new", given)
    with pytest.raises(TypeError, match="expected a GraphDef, got 'x'"):
        summary.FileWriter(tmp_path / "new", graph_def="x")
    assert not (tmp_path / "new").exists()
