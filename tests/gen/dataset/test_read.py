"""Data files are spread over processes if there is enough text for several."""

from __future__ import annotations

import os

import pytest

from niah_gen.dataset.read import jobs_for, over_files
from niah_gen.errors import ResourceError


@pytest.mark.slow
def test_a_dead_worker_process_raises_a_resource_error() -> None:
    with pytest.raises(ResourceError, match="a worker process died"):
        list(over_files(os._exit, 1, ["a", "b"], 2))


def test_little_text_is_not_worth_a_second_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert [jobs_for(tokens) for tokens in (0, 1_000_000, 100_000_000)] == [1, 1, 7]
