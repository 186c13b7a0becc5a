"""The dataset that is built on a cluster, as one process builds it, and an environment without the user's data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import tomli_w
from small_dataset import tree

import niah_gen

pytest.register_assert_rewrite("ray_machines")
from ray_machines import RECIPE  # noqa: E402 - registered first

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def _paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Only the command has the family's module on its PYTHONPATH, and it reads no data of the user's."""
    made = str(HERE.parent / "made")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([made, *filter(None, [os.environ.get("PYTHONPATH")])]))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("NIAH_HELD", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    (tmp_path / "held.toml").write_text(tomli_w.dumps(RECIPE), "utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def one_process(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of the dataset as one process builds them."""
    return tree(niah_gen.build(RECIPE, tmp_path_factory.mktemp("alone"), formats=["parquet", "jsonl"]))
