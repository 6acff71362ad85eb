"""Tests of `import qanat as qn`: every name is found where it should be, and cheaply."""

import importlib
import subprocess
import sys
from types import ModuleType

import pytest

import qanat as qn
from qanat.core import dtypes, face
from qanat.core.operation import Output


def test_every_name_of_core_is_there() -> None:
    for name in face._CORE_MODULE_OF:
        assert getattr(qn, name) is not None, name
    assert qn.Tensor is Output and qn.bool is dtypes.bool_ and qn.errors.OpError is qn.OpError


def test_tables_agree_with_what_modules_say() -> None:
    for module_name, names in face._CORE.items():
        module = importlib.import_module(f"qanat.core.{module_name}")
        shown = {face._RENAMED.get(name, name) for name in names}
        assert shown >= set(getattr(module, "__all__", ())) or module_name in ("graph", "op_def")


def test_import_loads_nothing_heavy() -> None:
    code = "import sys, qanat; print([m for m in ('numpy', 'google.protobuf') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_missing_parts_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def without_parts(name: str) -> ModuleType:
        if not name.startswith("qanat.core"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name)

    monkeypatch.setattr(importlib, "import_module", without_parts)
    with pytest.raises(AttributeError, match="qn.gradients is in a part.*tools/wheels autodiff"):
        face.find("gradients")
    with pytest.raises(AttributeError, match="install qanat-training"):
        face.find("train")
    with pytest.raises(AttributeError, match="install qanat-ops: in a clone of Qanat"):
        face.find("matmul")


def test_a_broken_part_shows_its_own_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> ModuleType:
        raise ModuleNotFoundError("No module named 'scipy'", name="scipy")

    monkeypatch.setattr(importlib, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="scipy"):
        face.find("gradients")


def test_wrong_names() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Sesion'"):
        _ = qn.Sesion
    with pytest.raises(AttributeError, match="__wrapped__"):
        _ = qn.__wrapped__
    assert "Session" in dir(qn)


def test_the_first_name_loads_the_ops(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    real = importlib.import_module

    def noting(name: str) -> ModuleType:
        loaded.append(name)
        return real(name)

    monkeypatch.setattr(importlib, "import_module", noting)
    assert face.find("placeholder") is qn.placeholder
    assert loaded == ["qanat.ops", "qanat.core.base_ops"]
