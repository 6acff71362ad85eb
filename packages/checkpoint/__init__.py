"""Checkpoints: the values of variables on disk, written atomically and checked when read."""

from qanat.checkpoint.best import best_checkpoint
from qanat.checkpoint.checkpoint_reader import (
    CheckpointReader,
    list_variables,
    load_checkpoint,
    load_variable,
)
from qanat.checkpoint.matching import MatchReport
from qanat.checkpoint.partial_restore import restore_matching
from qanat.checkpoint.safetensors import load_safetensors, save_safetensors
from qanat.checkpoint.saver import Saver
from qanat.checkpoint.state import (
    checkpoint_exists,
    get_checkpoint_state,
    latest_checkpoint,
    update_checkpoint_state,
)

__all__ = [
    "CheckpointReader",
    "MatchReport",
    "Saver",
    "best_checkpoint",
    "checkpoint_exists",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_safetensors",
    "load_variable",
    "restore_matching",
    "save_safetensors",
    "update_checkpoint_state",
]
