"""Which checkpoints of a folder exist and which is the latest: the text file "checkpoint"."""

import os
from collections.abc import Sequence
from typing import Any

from google.protobuf import text_format

from qanat.checkpoint.atomic_file import replacing
from qanat.checkpoint.bundle_index import index_path
from qanat.checkpoint.checkpoint_state_pb2 import CheckpointState
from qanat.core.constants import describe
from qanat.core.errors import DataLossError


def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
) -> None:
    """Says, atomically, what is the latest checkpoint of a folder.

    Args:
        save_dir: the folder.
        model_checkpoint_path: prefix of the latest checkpoint.
        all_model_checkpoint_paths: prefixes of all that are kept, the oldest first.
        latest_filename: of the file, "checkpoint" by default.
    """

    def portable(path: str) -> str:
        """Relative to the folder where it is inside, so that the folder can be moved."""
        relative = os.path.relpath(path, save_dir or ".")
        return os.path.abspath(path) if relative.startswith(os.pardir) else relative

    state = CheckpointState(
        model_checkpoint_path=portable(model_checkpoint_path),
        all_model_checkpoint_paths=map(
            portable, all_model_checkpoint_paths or [model_checkpoint_path]
        ),
    )
    with replacing(_state_path(save_dir, latest_filename)) as file:
        file.write(text_format.MessageToString(state, as_utf8=True).encode())


def get_checkpoint_state(
    checkpoint_dir: str, latest_filename: str | None = None
) -> CheckpointState | None:
    """What `update_checkpoint_state` said of a folder, with its paths made relative to the working
    folder or absolute; None if it said nothing.

    Raises:
        DataLossError: the file is corrupt.
    """
    path = _state_path(checkpoint_dir, latest_filename)
    try:
        with open(path, encoding="utf-8") as file:
            state = text_format.Parse(file.read(), CheckpointState())
    except FileNotFoundError:
        return None
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise DataLossError(f"[checkpoint] {path} is corrupt: {error}") from error
    state.model_checkpoint_path = os.path.join(checkpoint_dir, state.model_checkpoint_path)
    for i, kept in enumerate(state.all_model_checkpoint_paths):
        state.all_model_checkpoint_paths[i] = os.path.join(checkpoint_dir, kept)
    return state


def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """The prefix of a folder's latest checkpoint, for `Saver.restore`; None if there is none."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not checkpoint_exists(state.model_checkpoint_path):
        return None
    return state.model_checkpoint_path


def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Whether there is a checkpoint with this prefix."""
    return os.path.exists(index_path(checkpoint_prefix))


def checkpoint_path(given: Any, who: str) -> str:
    """What a user gave as a checkpoint's prefix, or as a file or folder.

    Raises:
        TypeError: it is no path.
    """
    if isinstance(given, str | os.PathLike):
        return os.fspath(given)
    hint = ": latest_checkpoint gives that where there is no checkpoint" if given is None else ""
    raise TypeError(f"[{who}] expected a checkpoint's path, got {describe(given)}{hint}")


def _state_path(folder: str, latest_filename: str | None) -> str:
    return os.path.join(folder, latest_filename or "checkpoint")
