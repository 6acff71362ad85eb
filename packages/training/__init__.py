"""Training: optimizers, learning rates, clipping, losses and the global step; `qn.train` is this
package.
"""

from typing import Any

from qanat.checkpoint import CheckpointReader as NewCheckpointReader
from qanat.checkpoint import (
    Saver,
    best_checkpoint,
    checkpoint_exists,
    get_checkpoint_state,
    latest_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
    restore_matching,
    update_checkpoint_state,
)
from qanat.core import face
from qanat.training.adam import AdamOptimizer
from qanat.training.clipping import clip_by_global_norm, clip_by_norm, global_norm
from qanat.training.global_step import (
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from qanat.training.gradient_descent import GradientDescentOptimizer
from qanat.training.momentum import MomentumOptimizer
from qanat.training.optimizer import Optimizer
from qanat.training.schedules import (
    cosine_decay,
    exponential_decay,
    inverse_time_decay,
    piecewise_constant,
    polynomial_decay,
)
from qanat.training.sync_replicas import Chief, SyncReplicasOptimizer

__all__ = [
    "AdamOptimizer",
    "Chief",
    "GradientDescentOptimizer",
    "MomentumOptimizer",
    "NewCheckpointReader",
    "Optimizer",
    "Saver",
    "SyncReplicasOptimizer",
    "best_checkpoint",
    "checkpoint_exists",
    "clip_by_global_norm",
    "clip_by_norm",
    "cosine_decay",
    "create_global_step",
    "exponential_decay",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_norm",
    "global_step",
    "inverse_time_decay",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "piecewise_constant",
    "polynomial_decay",
    "restore_matching",
    "update_checkpoint_state",
]


def __getattr__(name: str) -> Any:
    """TensorFlow has the cluster's names in `train`, too: they are the face's, if installed."""
    if name in face.PARTS["distributed_runtime"]:
        return face.find(name)
    return face.find_in("train", name)
