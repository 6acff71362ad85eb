"""Checkpoints: the values of variables on disk, written atomically and checked when read."""

from qanat.checkpoint.saver import Saver
from qanat.checkpoint.state import (
    checkpoint_exists,
    get_checkpoint_state,
    latest_checkpoint,
    update_checkpoint_state,
)

__all__ = [
    "Saver",
    "checkpoint_exists",
    "get_checkpoint_state",
    "latest_checkpoint",
    "update_checkpoint_state",
]
