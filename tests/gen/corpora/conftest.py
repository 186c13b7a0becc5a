"""Confines the tests of corpora to their own folders and to the loopback."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def own_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides the user's corpora and proxies."""
    for variable in ("NIAH_CORPORA", "http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where corpora are installed."""
    return tmp_path / "installed"
