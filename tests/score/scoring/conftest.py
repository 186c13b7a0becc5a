"""The rows and scores that a judge is asked about."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from judge_case import IDS, SAID, dataset, scored

from niah_score.join.rows import Rows


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    return dataset(tmp_path)


@pytest.fixture
def scores(rows: Rows, tmp_path: Path) -> pl.DataFrame:
    return scored(tmp_path, [{"id": n, "prediction": t} for n, t in zip(IDS, SAID, strict=True) if t is not None])
