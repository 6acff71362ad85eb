"""Python's roles of ops are those that native code runs itself."""

import qanat.ops  # noqa: F401 (defines the ops)
from qanat.core import _native
from qanat.core.op_def import Role, registered


def test_roles_agree() -> None:
    roles = {op_def.name: op_def.role for op_def in registered() if op_def.role is not Role.NONE}
    assert sorted(roles) == sorted(_native.control_flow_ops())
    assert all(role.value == name for name, role in roles.items())
    assert set(roles.values()) == set(Role) - {Role.NONE}
