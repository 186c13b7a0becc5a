"""Provides the real browser in which the pages of both packages are tested."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from chromium import NAMES, Chromium, find_chromium


@pytest.fixture(scope="session")
def browser() -> Iterator[Chromium]:
    program = find_chromium()
    if program is None:
        told = f"no Chromium on the path ({', '.join(NAMES)}; or NIAH_CHROMIUM names one)"
        if os.environ.get("CI") == "true" or "NIAH_CHROMIUM" in os.environ:
            pytest.fail(told)
        pytest.skip(told)
    opened = Chromium(program)
    yield opened
    opened.close()
