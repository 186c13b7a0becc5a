"""--engine ray writes the same objects to a store as one process writes files, even if a worker and a node are lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest
from object_store import BUCKET, SECRET, ObjectStore, serving_objects
from ray_machines import COMMAND, Ended, Machines, begin, build, end, enough, two_nodes, until

OUT = f"s3://{BUCKET}/deep/er"


@pytest.fixture(scope="module")
def shared_store() -> Iterator[ObjectStore]:
    with serving_objects() as store:
        yield store


@pytest.fixture
def store(shared_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """The store, empty, with its address and credentials in the command's environment."""
    shared_store.empty()
    for name, value in shared_store.environment.items():
        monkeypatch.setenv(name, value)
    return shared_store


@pytest.fixture(scope="module")
def machines(shared_store: ObjectStore) -> Iterator[Machines]:
    """Machines that have the credentials themselves: a build does not send its own."""
    with two_nodes(shared_store.environment) as machines:
        yield machines


def check_objects(store: ObjectStore, ended: Ended, expected: dict[str, bytes]) -> None:
    """The store holds the files of one process and nothing else, and no output contains the secret."""
    code, printed, errors = ended
    assert code == 0, errors
    assert SECRET not in printed + errors
    (address,) = printed.splitlines()
    assert address.startswith(f"{OUT}/held/")
    top = address.removeprefix(f"s3://{BUCKET}/")
    digests = {f"{top}/{name}": sha256(data).hexdigest() for name, data in expected.items()}
    assert store.objects() == digests


def test_two_nodes_write_the_same_objects_as_one_process(
    machines: Machines, store: ObjectStore, one_process: dict[str, bytes]
) -> None:
    machines.fill()
    check_objects(store, build(*COMMAND, "--out", OUT, "--ray-address", machines.address), one_process)


def test_a_killed_worker_and_a_lost_node_change_no_object(
    machines: Machines, store: ObjectStore, tmp_path: Path, one_process: dict[str, bytes]
) -> None:
    machines.fill()
    (tmp_path / "hold").touch()
    with begin(*COMMAND, "--out", OUT, "--ray-address", machines.address) as process:
        workers = until(partial(enough, tmp_path, 2), process)
        os.kill(workers[0][0], signal.SIGKILL)
        until(partial(enough, tmp_path, 3), process)
        machines.lose(workers[1][1])
        assert not [name for name in store.names() if name.endswith("manifest.json")]
        (tmp_path / "go").touch()
        check_objects(store, end(process), one_process)
