"""Provides fixtures shared by the tests of both packages: the browser for their pages, and an object store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from chromium import NAMES, Chromium, find_chromium

if TYPE_CHECKING:
    from made_store import MadeStore


# Seconds that a test with this mark may take; 0 is no limit.
LIMITS = {"soak": 0, "slow": 300}
# Whatever uses one of these fixtures starts a process.
STARTS_A_PROCESS = {"browser", "running"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests as slow by the fixtures that they use, and give those that are marked more time."""
    for item in items:
        if STARTS_A_PROCESS & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
        limits = [LIMITS[mark] for mark in LIMITS if item.get_closest_marker(mark)]
        if limits and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(limits[0]))


@pytest.fixture(scope="session")
def browser() -> Iterator[Chromium]:
    program = find_chromium()
    if program is None:
        message = f"no Chromium on the path ({', '.join(NAMES)}; set NIAH_CHROMIUM to use another)"
        if os.environ.get("CI") == "true" or "NIAH_CHROMIUM" in os.environ:
            pytest.fail(message)
        pytest.skip(message)
    opened = Chromium(program)
    yield opened
    opened.close()


@pytest.fixture
def store() -> Iterator[type[MadeStore]]:
    """An empty object store in memory. It is imported here because it needs fsspec, which may be missing."""
    from made_store import made_store

    with made_store() as empty_store:
        yield empty_store
