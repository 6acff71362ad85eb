"""Names of devices, whole or partial: `/job:worker/task:17/device:GPU:3`, `/cpu:0`, `/job:ps`."""

import re
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Final

_PART: Final = re.compile(
    r"/(?:job:(?P<job>[A-Za-z][A-Za-z0-9_.\-]*)"
    r"|replica:(?P<replica>\d+|\*)"
    r"|task:(?P<task>\d+|\*)"
    r"|device:(?P<type>[A-Za-z][A-Za-z0-9_]*|\*)(?::(?P<index>\d+|\*))?"
    r"|(?P<short>[cC][pP][uU]|[gG][pP][uU])(?::(?P<short_index>\d+|\*))?)"
)


@dataclass(frozen=True, slots=True)
class DeviceName:
    """A device, or a constraint on devices: a part that is None may be anything.

    Attributes:
        job: the job's name in the cluster.
        replica: TensorFlow's replica number; Qanat keeps it for graphs made elsewhere.
        task: the task's number in its job.
        device_type: in upper case, as in "GPU".
        device_index: the number among the task's devices of that type.
    """

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    @staticmethod
    def from_string(spec: str) -> "DeviceName":
        """Parses a whole or partial name; "" is no constraint at all.

        Raises:
            ValueError: it is no device name.
        """
        return _parse(spec)

    parse_from_string = from_string

    def merge(self, inner: "DeviceName") -> "DeviceName":
        """This constraint, overridden by the parts that `inner` gives."""
        given = {
            field.name: value
            for field in fields(inner)
            if (value := getattr(inner, field.name)) is not None
        }
        return replace(self, **given)

    def intersect(self, other: "DeviceName") -> "DeviceName | None":
        """The constraint that holds where both do; None if they contradict each other."""
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if mine is not None and theirs is not None and mine != theirs:
                return None
        return self.merge(other)

    def allows(self, device: "DeviceName") -> bool:
        """Whether `device` has every part that this constraint gives."""
        return all(
            (mine := getattr(self, field.name)) is None or mine == getattr(device, field.name)
            for field in fields(self)
        )

    def to_string(self) -> str:
        return str(self)

    def __str__(self) -> str:
        parts = []
        if self.job is not None:
            parts.append(f"/job:{self.job}")
        if self.replica is not None:
            parts.append(f"/replica:{self.replica}")
        if self.task is not None:
            parts.append(f"/task:{self.task}")
        if self.device_type is not None or self.device_index is not None:
            index = "*" if self.device_index is None else self.device_index
            parts.append(f"/device:{self.device_type or '*'}:{index}")
        return "".join(parts)


@lru_cache(maxsize=1024)
def _parse(spec: str) -> DeviceName:
    parts: dict[str, str] = {}
    at = 0
    text = spec if spec.startswith("/") or not spec else "/" + spec
    while at < len(text):
        match = _PART.match(text, at)
        after = match.end() if match else -1
        if match is None or (after < len(text) and text[after] != "/"):
            raise ValueError(
                "expected a device name such as '/job:worker/task:17/device:GPU:3' or '/cpu:0', "
                f"got {spec!r} (not understood from {text[at:]!r} on)"
            )
        for key, value in match.groupdict().items():
            if value is not None:
                key = {"short": "type", "short_index": "index"}.get(key, key)
                if key in parts:
                    raise ValueError(f"expected each part of a device name once, got {spec!r}")
                parts[key] = value
        at = after
    return DeviceName(
        job=parts.get("job"),
        replica=_number(parts.get("replica")),
        task=_number(parts.get("task")),
        device_type=None if parts.get("type") in (None, "*") else parts["type"].upper(),
        device_index=_number(parts.get("index")),
    )


def _number(text: str | None) -> int | None:
    return None if text is None or text == "*" else int(text)
