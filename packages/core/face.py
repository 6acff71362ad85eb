"""What `import qanat as qn` shows: the public names of all parts, each loaded on first use.

Core's and the ops' names are what their modules' `__all__` say. Of the other parts, which may not
be installed, the table below knows the names, so that a missing part can be named; a test compares
it with the parts' `__all__`.
"""

import importlib
import importlib.util
from collections.abc import Iterable
from difflib import get_close_matches
from types import ModuleType
from typing import Any, Final

# Core's public names, by the module that has them; the value is loaded with the name's first use.
_CORE: Final[dict[str, tuple[str, ...]]] = {
    "base_ops": (
        "constant",
        "group",
        "identity",
        "no_op",
        "placeholder",
        "placeholder_with_default",
    ),
    "convert": ("register_tensor_conversion_function",),
    "device_name": ("DeviceSpec",),
    "dtypes": (
        "DType",
        "as_dtype",
        "bool",
        *"float16 bfloat16 float32 float64 half double complex64 complex128".split(),
        *"int8 int16 int32 int64 uint8 uint16 uint32 uint64 string resource".split(),
    ),
    "errors": ("OpError", "ShapeError"),
    "fetches": ("register_session_run_conversion_functions",),
    "graph": (
        "Graph",
        "GraphKeys",
        "Operation",
        "Output",
        "Tensor",
        "add_to_collection",
        "add_to_collections",
        "colocate_with",
        "container",
        "control_dependencies",
        "convert_to_tensor",
        "device",
        "get_collection",
        "get_collection_ref",
        "get_default_graph",
        "get_seed",
        "name_scope",
        "reset_default_graph",
        "set_random_seed",
    ),
    "graph_def": ("import_graph_def",),
    "kernel_table": ("load_kernel_library",),
    "op_def": ("op",),
    "proto_values": ("make_ndarray", "make_tensor_proto"),
    "python_kernel": ("python_kernel",),
    "session": (
        "InteractiveSession",
        "RunOptions",
        "Session",
        "SessionConfig",
        "get_default_session",
    ),
    "shapes": ("TensorShape",),
    "step_trace": ("RunMetadata",),
}

# TensorFlow's names for what has another one in its module.
_RENAMED: Final = {"DeviceSpec": "DeviceName", "Tensor": "Output", "bool": "bool_"}

# Names of the parts that may not be installed.
PARTS: Final[dict[str, tuple[str, ...]]] = {
    "autodiff": ("compute_gradient", "compute_gradient_error", "custom_gradient", "gradients"),
    "checkpoint": (
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
    ),
    "control_flow": (
        "TensorArray",
        "case",
        "cond",
        "foldl",
        "foldr",
        "map_fn",
        "scan",
        "while_loop",
    ),
    "distributed_runtime": ("ClusterSpec", "Server", "replica_device_setter"),
    "training": ("clip_by_global_norm", "clip_by_norm", "global_norm"),
}

# Modules that are shown under a name of their own.
_MODULES: Final = {
    "dtypes": "core.dtypes",
    "errors": "core.errors",
    "initializers": "ops.initializers",
    "layers": "ops.layers",
    "losses": "training.losses",
    "metrics": "training.metrics",
    "nn": "ops.nn",
    "random": "ops.random",
    "summary": "summary",
    "train": "training",
}

# Names that a part adds to such a module, and the module of the part that has them, or is them.
_ADDED: Final = {
    "nn": {"dynamic_rnn": "control_flow.rnn", "rnn_cell": "control_flow.rnn_cell"},
}

_CORE_MODULE_OF: Final = {name: module for module, names in _CORE.items() for name in names}
_PART_OF: Final = {name: part for part, names in PARTS.items() for name in names}


def find(name: str) -> Any:
    """The value of `qn.name`.

    Raises:
        AttributeError: no part has the name, or the part that has it is not installed; the message
            says which distribution to install, and where it is.
    """
    if name.startswith("__"):
        raise AttributeError(f"module 'qanat' has no attribute {name!r}")
    ops = _installed("ops")  # whatever the name: `a + b` and imported graphs need them
    if name in _CORE_MODULE_OF:
        module = importlib.import_module(f"qanat.core.{_CORE_MODULE_OF[name]}")
        return getattr(module, _RENAMED.get(name, name))
    if name in _MODULES:
        return _part_module(_MODULES[name], name)
    if name in _PART_OF:
        return getattr(_part_module(_PART_OF[name], name), name)
    if ops is not None and name in public_names(ops):
        return getattr(ops, name)
    part = _installed(name)
    if part is not None:
        return part
    raise AttributeError(f"module 'qanat' has no attribute {name!r}{_hint(name, ops)}")


def find_in(module: str, name: str) -> Any:
    """The value of `qn.module.name` where another part adds it.

    Raises:
        AttributeError: no part does, or the one that does is not installed.
    """
    added = _ADDED.get(module, {})
    path = added.get(name)
    if path is None and name.startswith("__"):
        raise AttributeError(f"module 'qanat.{module}' has no attribute {name!r}")
    if path is None:
        known = {*public_names(importlib.import_module(f"qanat.{_MODULES[module]}")), *added}
        hint = _near(name, known, f"qn.{module}.")
        raise AttributeError(f"module 'qanat.{module}' has no attribute {name!r}{hint}")
    found = _part_module(path, f"{module}.{name}")
    return found if path.endswith("." + name) else getattr(found, name)


def names() -> Iterable[str]:
    """All names that `find` finds here."""
    ops = _installed("ops")
    return {
        *_CORE_MODULE_OF,
        *(name for name, module in _MODULES.items() if _has_part(module)),
        *(name for name, part in _PART_OF.items() if _has_part(part)),
        *(public_names(ops) if ops is not None else ()),
    }


def public_names(module: ModuleType) -> Iterable[str]:
    """What a module's `__all__` says; where it has none, all it holds but modules and "_" names."""
    listed: Iterable[str] | None = getattr(module, "__all__", None)
    if listed is not None:
        return listed
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    ]


def _has_part(module: str) -> bool:
    """Whether the part that a module is in is installed; nothing is loaded."""
    return importlib.util.find_spec(f"qanat.{module.split('.')[0]}") is not None


def _installed(module: str) -> ModuleType | None:
    """A module of Qanat, or None where it is not installed. One that is broken raises its error."""
    full = f"qanat.{module}"
    try:
        return importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name is not None and (full + ".").startswith(error.name + "."):
            return None
        raise


def _part_module(path: str, name: str) -> ModuleType:
    module = _installed(path)
    if module is not None:
        return module
    part = path.split(".")[0]
    raise AttributeError(
        f"qn.{name} is in a part of Qanat that is not installed: {how_to_install(part)}"
    )


def how_to_install(part: str) -> str:
    """What a user is told who lacks a part, named by its folder."""
    distribution = f"qanat-{part.replace('_', '-')}"
    return f"install {distribution}: in a clone of Qanat, `pip install $(tools/wheels {part})`"


def _hint(name: str, ops: ModuleType | None) -> str:
    if ops is None:
        return f"; the ops are not installed: {how_to_install('ops')}"
    return _near(name, names(), "qn.")


def _near(name: str, known: Iterable[str], prefix: str) -> str:
    near = get_close_matches(name, known, n=3)
    return f"; did you mean {' or '.join(prefix + other for other in near)}?" if near else ""
