"""The networks that programs can be told to use, by name."""

from typing import Final

from qanat.models.classifier import Model
from qanat.models.lenet import lenet
from qanat.models.mlp import mlp

NETWORKS: Final[dict[str, Model]] = {"lenet": lenet, "mlp": mlp}
