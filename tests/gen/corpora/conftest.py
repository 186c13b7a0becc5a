"""Confines the tests of corpora to their own folders and to the loopback."""

from __future__ import annotations

from pathlib import Path

import pytest

from niah_gen.corpora.find import data_folder


@pytest.fixture
def own_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides the user's corpora and proxies."""
    for variable in ("NIAH_CORPORA", "http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def folder(own_surroundings: None) -> Path:
    """Where corpora are installed."""
    return data_folder()


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the Hub out of reach."""
    # Not set in the environment: a module imported meanwhile would keep the value for all later tests.
    import datasets
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hf" / "datasets")
