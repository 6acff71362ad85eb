"""Looking into checkpoints."""

from pathlib import Path

import numpy as np
import pytest

from qanat.checkpoint import list_variables, load_checkpoint, load_variable, update_checkpoint_state
from qanat.checkpoint.bundle_writer import write_bundle
from qanat.core import dtypes
from qanat.core.errors import NotFoundError


def test_a_prefix_or_a_folder(tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    write_bundle(path, {"b": np.zeros((2, 3)), "a": np.array([5], np.int8)})
    with pytest.raises(NotFoundError, match="expected a checkpoint in"):
        load_checkpoint(tmp_path)
    update_checkpoint_state(str(tmp_path), path)
    for place in (path, tmp_path):
        reader = load_checkpoint(place)
        assert reader.has_tensor("a") and not reader.has_tensor("c")
        assert reader.get_tensor("a").tolist() == [5]
        assert reader.get_variable_to_shape_map() == {"a": [1], "b": [2, 3]}
        assert reader.get_variable_to_dtype_map() == {"a": dtypes.int8, "b": dtypes.float64}
        assert list_variables(place) == [("a", [1]), ("b", [2, 3])]
        assert load_variable(place, "b").shape == (2, 3)


def test_what_is_not_there(tmp_path: Path) -> None:
    write_bundle(str(tmp_path / "model"), {"a": np.zeros(1)})
    with pytest.raises(NotFoundError, match="found no 'c'"):
        load_variable(tmp_path / "model", "c")
    with pytest.raises(NotFoundError, match="found no file"):
        load_checkpoint(tmp_path / "other")
