"""Tests that `qn` shows what the parts say is public, and every name a user finds there works."""

import importlib
from types import ModuleType
from typing import Any

import pytest

import qanat as qn
from qanat.core import face


def shown_as_module(part: str) -> bool:
    return part in face._MODULES.values()


@pytest.mark.parametrize("part", face.PARTS)
def test_the_table_of_parts_agrees_with_them(part: str) -> None:
    public = set(face.public_names(importlib.import_module(f"qanat.{part}")))
    listed = set(face.PARTS[part])
    if shown_as_module(part):
        assert listed <= public
    else:
        assert listed == public


@pytest.mark.parametrize("name", face._MODULES)
def test_modules_have_public_names(name: str) -> None:
    module = getattr(qn, name)
    assert isinstance(module, ModuleType) and list(face.public_names(module))


def test_every_name_that_dir_shows_is_there() -> None:
    missing = [name for name in dir(qn) if getattr(qn, name, None) is None and name != "__spec__"]
    assert not [name for name in missing if not name.startswith("__")]


def test_no_part_hides_a_name_of_another() -> None:
    ops = importlib.import_module("qanat.ops")
    core, parts = set(face._CORE_MODULE_OF), set(face._PART_OF)
    assert not core & parts and not parts & set(face.public_names(ops))


@pytest.mark.parametrize(
    ("module", "wrong", "right"),
    [
        (qn.nn, "rellu", "qn.nn.relu"),
        (qn.nn, "dynamic_rn", "qn.nn.dynamic_rnn"),
        (qn.train, "AdamOptimiser", "qn.train.AdamOptimizer"),
    ],
)
def test_a_wrong_name_of_a_module(module: Any, wrong: str, right: str) -> None:
    with pytest.raises(AttributeError, match=f"has no attribute '{wrong}'; did you mean .*{right}"):
        getattr(module, wrong)
