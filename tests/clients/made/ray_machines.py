"""A Ray cluster of two nodes on this machine, and builds on it that tests hold, kill and wait for."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from made_sessions import started
from ray.cluster_utils import Cluster

Started = TypeVar("Started")

# Seconds after which a command counts as hanging; busy machines take their time.
PATIENCE = 300
STORE = 75 * 1024 * 1024
RECIPE = {
    "name": "held", "task": "held_family:HELD", "lengths": [600, 1000], "depths": [0, 40, 100], "repeats": 3,
    "languages": ["en"],
}  # fmt: skip
COMMAND = ["held.toml", "--format", "parquet,jsonl"]


def patiently(start: Callable[[], Started], times: int = 4) -> Started:
    """Start something, several times if need be: Ray gives a node 30 seconds, too few on a busy machine."""
    while True:
        times -= 1
        try:
            return start()
        except Exception as error:
            if not times or "timed out during startup" not in str(error):
                raise


class Machines:
    """A cluster: a head that does no work, and two nodes with one CPU each."""

    def __init__(self) -> None:
        self.cluster = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "num_gpus": 0, "object_store_memory": STORE, "include_dashboard": False},
        )
        self.nodes: list[Any] = []
        self.fill()

    @property
    def address(self) -> str:
        head: str = self.cluster.address
        return head

    def fill(self) -> None:
        """Add nodes until there are two."""
        while len(self.nodes) < 2:
            node = partial(self.cluster.add_node, num_cpus=1, num_gpus=0, object_store_memory=STORE)
            self.nodes.append(patiently(node))

    def lose(self, node_id: str) -> None:
        """Kill a node outright."""
        (lost,) = (node for node in self.nodes if node.node_id == node_id)
        self.nodes.remove(lost)
        self.cluster.remove_node(lost, allow_graceful=False)


@contextmanager
def two_nodes(environment: Mapping[str, str] | None = None) -> Iterator[Machines]:
    """A cluster whose machines have these variables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # What these variables name must reach the cluster with the build, not through its own environment.
        for name in ("NIAH_HELD", "NIAH_CORPORA"):
            patch.delenv(name, raising=False)
        for name, value in (environment or {}).items():
            patch.setenv(name, value)
        machines = patiently(Machines)
    try:
        yield machines
    finally:
        machines.cluster.shutdown()


class Ended(tuple[int, str, str]):
    """Exit code, stdout and stderr of a command."""

    __slots__ = ()

    @property
    def folder(self) -> Path:
        """The dataset, which must be the only thing that was printed."""
        code, printed, errors = self
        assert (code, errors) == (0, "")
        (line,) = printed.splitlines()
        return Path(line)


def begin(*words: str, engine: str = "ray") -> AbstractContextManager[subprocess.Popen[str]]:
    """A build in its own session, which leaves no process behind."""
    return started([sys.executable, "-m", "niah_gen.cli", "build", *words, "--engine", engine])


def end(process: subprocess.Popen[str]) -> Ended:
    printed, errors = process.communicate(timeout=PATIENCE)
    return Ended((process.returncode, printed, errors))


def build(*words: str) -> Ended:
    with begin(*words) as process:
        return end(process)


def until(condition: Callable[[], Any], process: subprocess.Popen[str]) -> Any:
    """Call a function until it returns something true, and return that."""
    deadline = time.monotonic() + PATIENCE
    while not (result := condition()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return result


def begun(folder: Path) -> list[tuple[int, str]]:
    """The process and node of each worker that has begun to wait."""
    return [(int(file.name.split("-")[1]), file.read_text("utf-8")) for file in sorted(folder.glob("begun-*"))]


def enough(folder: Path, number: int) -> list[tuple[int, str]]:
    """All workers that have begun to wait, once there are `number` of them."""
    workers = begun(folder)
    return workers if len(workers) >= number else []


def below(pid: int) -> set[int]:
    """A process and all its descendants."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in listed.splitlines()]
    family = {pid}
    while more := {child for child, parent in pairs if parent in family} - family:
        family |= more
    return family


def alive(pids: set[int]) -> set[int]:
    """The processes that still run; a zombie counts as dead."""
    listed = subprocess.run(["ps", "-eo", "pid=,stat="], capture_output=True, text=True, check=True).stdout
    running = {int(pid) for pid, state in map(str.split, listed.splitlines()) if not state.startswith("Z")}
    return pids & running


def gone(pids: set[int]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while alive(pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not alive(pids)
