"""--engine ray builds the same dataset as one process, whatever happens to workers and machines meanwhile."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from ray_machines import COMMAND, Machines, alive, begin, begun, below, build, end, enough, gone, two_nodes, until
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


def test_a_cluster_started_for_a_build_writes_its_files_and_ends(tmp_path: Path, one_process: dict[str, bytes]) -> None:
    with begin(*COMMAND, "--out", str(tmp_path / "out"), "--jobs", "2") as process:
        (tmp_path / "hold").touch()
        until(lambda: begun(tmp_path), process)
        processes = below(process.pid)
        assert len(processes) > 4
        (tmp_path / "go").touch()
        folder = end(process).folder
        assert gone(processes)
    assert tree(folder) == one_process


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


def test_a_build_ends_after_one_file_loses_four_workers_and_can_resume(
    machines: Machines, tmp_path: Path, one_process: dict[str, bytes]
) -> None:
    machines.fill()
    (tmp_path / "hold").touch()
    words = [*COMMAND, "--out", str(tmp_path / "out"), "--ray-address", machines.address, "--jobs", "1"]
    with begin(*words) as process:
        for number in range(1, 5):
            fresh = until(partial(enough, tmp_path, number), process)
            (pid,) = alive({pid for pid, _ in fresh})
            os.kill(pid, signal.SIGKILL)
            assert gone({pid})
        code, printed, errors = end(process)
    assert (code, printed) == (5, "")
    assert "its worker or machine was lost 4 times" in errors
    assert errors.count("\n") == 1
    (tmp_path / "go").touch()
    assert tree(build(*words).folder) == one_process


@pytest.mark.parametrize(
    ("raised", "code", "printed_error"),
    [
        ("length 600 holds no crate", 2, "niah-gen: length 600 holds no crate\n"),
        ("no crate", 1, "ValueError: no crate"),
    ],
)
def test_an_error_in_a_worker_ends_the_build_as_it_would_locally(
    machines: Machines, tmp_path: Path, raised: str, code: int, printed_error: str
) -> None:
    machines.fill()
    (tmp_path / "raise").write_text(raised)
    ended, printed, errors = build(*COMMAND, "--out", str(tmp_path / "out"), "--ray-address", machines.address)
    assert (ended, printed) == (code, "")
    assert printed_error in errors
    if code == 2:
        assert errors == printed_error
    else:
        assert "In a worker on " in errors


def test_an_interrupted_build_prints_one_sentence_and_leaves_the_cluster_usable(
    machines: Machines, tmp_path: Path, one_process: dict[str, bytes]
) -> None:
    machines.fill()
    (tmp_path / "hold").touch()
    words = [*COMMAND, "--out", str(tmp_path / "out"), "--ray-address", machines.address]
    with begin(*words) as process:
        waiting = until(partial(enough, tmp_path, 2), process)
        os.killpg(process.pid, signal.SIGINT)
        assert end(process) == (130, "", "niah-gen: interrupted; run the same command again to go on\n")
        assert gone({pid for pid, _ in waiting})
    (tmp_path / "go").touch()
    assert tree(build(*words).folder) == one_process


@pytest.mark.parametrize("target", ["the build", "all of its processes"])
def test_an_interrupted_build_ends_the_cluster_that_it_started(tmp_path: Path, target: str) -> None:
    (tmp_path / "hold").touch()
    with begin(*COMMAND, "--out", str(tmp_path / "out"), "--jobs", "1") as process:
        until(lambda: begun(tmp_path), process)
        processes = below(process.pid)
        (os.kill if target == "the build" else os.killpg)(process.pid, signal.SIGINT)
        assert end(process) == (130, "", "niah-gen: interrupted; run the same command again to go on\n")
        assert gone(processes)
