"""--engine ray builds the same dataset as one process, whatever happens to workers and machines meanwhile."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from ray_machines import COMMAND, Machines, begin, begun, below, build, end, enough, gone, two_nodes, until
from small_dataset import tree

from niah_score.contract import MANIFEST


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    with two_nodes() as machines:
        yield machines


def test_two_nodes_build_the_files_of_one(machines: Machines, tmp_path: Path, one_process: dict[str, bytes]) -> None:
    machines.fill()
    folder = build(*COMMAND, "--out", str(tmp_path / "out"), "--ray-address", machines.address).folder
    assert tree(folder) == one_process
    assert not list(folder.parent.glob("*.partial"))


def test_a_killed_worker_is_replaced(machines: Machines, tmp_path: Path, one_process: dict[str, bytes]) -> None:
    machines.fill()
    (tmp_path / "hold").touch()
    with begin(*COMMAND, "--out", str(tmp_path / "out"), "--ray-address", machines.address) as process:
        waiting = until(partial(enough, tmp_path, 2), process)
        os.kill(waiting[0][0], signal.SIGKILL)
        assert until(partial(enough, tmp_path, 3), process)
        assert not list((tmp_path / "out").rglob(MANIFEST))
        (tmp_path / "go").touch()
        folder = end(process).folder
    assert tree(folder) == one_process


def test_files_of_a_lost_node_are_built_anew(machines: Machines, tmp_path: Path, one_process: dict[str, bytes]) -> None:
    machines.fill()
    (tmp_path / "hold").touch()
    with begin(*COMMAND, "--out", str(tmp_path / "out"), "--ray-address", machines.address) as process:
        waiting = until(partial(enough, tmp_path, 2), process)
        (lost, node), (_, other) = waiting
        assert node != other
        machines.lose(node)
        assert gone({lost})
        (tmp_path / "go").touch()
        folder = end(process).folder
    assert tree(folder) == one_process


@pytest.mark.parametrize("target", ["the build", "all of its processes"])
def test_an_interrupted_build_ends_the_cluster_that_it_started(tmp_path: Path, target: str) -> None:
    (tmp_path / "hold").touch()
    with begin(*COMMAND, "--out", str(tmp_path / "out"), "--jobs", "1") as process:
        until(lambda: begun(tmp_path), process)
        processes = below(process.pid)
        (os.kill if target == "the build" else os.killpg)(process.pid, signal.SIGINT)
        assert end(process) == (130, "", "niah-gen: interrupted; run the same command again to go on\n")
        assert gone(processes)
