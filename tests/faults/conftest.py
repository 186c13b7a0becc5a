"""The server and the bench on which commands meet faults, and what these commands read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fault_bench import Bench, Server
from fault_cases import Inputs


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A process that runs commands, each with its own fault."""
    started = Server(tmp_path_factory.mktemp("server"))
    yield started
    started.close()


@pytest.fixture(scope="session")
def bench(running: Server, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The folder that commands run in, without inputs."""
    return Bench(running, tmp_path_factory.mktemp("faults") / "place")


@pytest.fixture(scope="session")
def inputs(running: Server, bench: Bench) -> Inputs:
    """What commands read."""
    return Inputs(running, bench.place)
