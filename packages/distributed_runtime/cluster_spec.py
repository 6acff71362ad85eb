"""Which tasks a cluster has, and where."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qanat.core.constants import describe

if TYPE_CHECKING:
    from qanat.distributed_runtime.control_pb2 import ClusterDef


class ClusterSpec:
    """The jobs of a cluster, and the address of each of their tasks.

    >>> ClusterSpec({"ps": ["10.0.0.1:2222"], "worker": ["10.0.0.2:2222", "10.0.0.3:2222"]})

    Equal to another that says the same.
    """

    def __init__(self, cluster: Any) -> None:
        """
        Args:
            cluster: a dict from the name of a job to the addresses of its tasks, a list or a dict
                by task index; or a ClusterSpec or ClusterDef.

        Raises:
            TypeError: it is something else.
            ValueError: an address is not "host:port", or two tasks have the same.
        """
        if isinstance(cluster, ClusterSpec):
            cluster = cluster._jobs
        elif hasattr(cluster, "job"):
            cluster = {job.name: dict(job.tasks) for job in cluster.job}
        if not isinstance(cluster, Mapping):
            raise TypeError(
                "cluster: expected a dict from names of jobs to lists of addresses, got "
                f"{describe(cluster)}"
            )
        self._jobs: dict[str, dict[int, str]] = {
            name: _tasks(name, tasks) for name, tasks in sorted(cluster.items())
        }
        _check_distinct(self._jobs)

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs, sorted."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """How many tasks a job has.

        Raises:
            ValueError: there is no such job.
        """
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The indices of a job's tasks, sorted; ValueError as in `num_tasks`."""
        return list(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """The "host:port" of a task.

        Raises:
            ValueError: there is no such task.
        """
        job = self._job(job_name)
        if task_index not in job:
            raise ValueError(
                f"expected one of the tasks {list(job)} of job {job_name!r}, got {task_index}"
            )
        return job[task_index]

    def job_tasks(self, job_name: str) -> list[str]:
        """The addresses of a job's tasks, by index; ValueError as in `num_tasks`."""
        return list(self._job(job_name).values())

    def tasks(self) -> list[tuple[str, int, str]]:
        """(job, index, address) of every task."""
        return [
            (name, index, address)
            for name, tasks in self._jobs.items()
            for index, address in tasks.items()
        ]

    def as_dict(self) -> dict[str, Any]:
        """By job the addresses: a list where the indices are 0, 1, ..., else a dict."""
        return {
            name: list(tasks.values()) if list(tasks) == list(range(len(tasks))) else dict(tasks)
            for name, tasks in self._jobs.items()
        }

    def as_cluster_def(self) -> "ClusterDef":
        """As a protocol buffer, compatible with TensorFlow's."""
        from qanat.distributed_runtime import control_pb2

        proto = control_pb2.ClusterDef()
        for name, tasks in self._jobs.items():
            job = proto.job.add(name=name)
            for index, address in tasks.items():
                job.tasks[index] = address
        return proto

    def _job(self, name: str) -> dict[int, str]:
        if name not in self._jobs:
            raise ValueError(f"expected one of the jobs {self.jobs}, got {name!r}")
        return self._jobs[name]

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __hash__(self) -> int:
        return hash(tuple(self.tasks()))

    def __repr__(self) -> str:
        return f"ClusterSpec({self.as_dict()!r})"


def _tasks(job: Any, tasks: Any) -> dict[int, str]:
    if not isinstance(job, str):
        raise TypeError(f"cluster: expected names of jobs, got {describe(job)}")
    if isinstance(tasks, Mapping):
        found = {int(index): tasks[index] for index in sorted(tasks)}
    elif isinstance(tasks, Sequence) and not isinstance(tasks, (str, bytes)):
        found = dict(enumerate(tasks))
    else:
        raise TypeError(
            f"cluster: expected a list of addresses for job {job!r}, got {describe(tasks)}"
        )
    for address in found.values():
        split_address(address)
    return found


def split_address(address: Any) -> tuple[str, int]:
    """The host and port of an address.

    Raises:
        ValueError: it is not "host:port".
    """
    host, colon, port = address.rpartition(":") if isinstance(address, str) else ("", "", "")
    if not (host and colon and port.isdigit() and 0 < int(port) < 65536):
        raise ValueError(f'expected an address such as "localhost:2222", got {address!r}')
    return host.strip("[]"), int(port)


def _check_distinct(jobs: Mapping[str, Mapping[int, str]]) -> None:
    seen: dict[str, str] = {}
    for job, tasks in jobs.items():
        for index, address in tasks.items():
            task = task_name(job, index)
            if address in seen:
                raise ValueError(
                    f"cluster: expected an address of its own for {task}, got {address}, which is "
                    f"that of {seen[address]}"
                )
            seen[address] = task


def task_name(job: str, index: int) -> str:
    """A task as device names begin with it."""
    return f"/job:{job}/task:{index}"
