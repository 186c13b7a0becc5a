"""Runs real clients and our own programs as a user would, without a network, and returns what the scorer reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from planned_server import Expected

from niah_gen.dataset.read import rows_in
from niah_score.contract import open_dataset

BIN = Path(sys.executable).parent
PAGE = Path(__file__).parents[3] / "docs" / "clients.md"
# Where any request that leaves this machine goes, and is refused at once.
_NOWHERE = "http://127.0.0.1:9"


class Scores(NamedTuple):
    """What niah-score reports: each row that has an answer, and its summary.json."""

    rows: dict[str, Expected]
    summary: Mapping[str, Any]

    @property
    def headline(self) -> float:
        mean: float = self.summary["headline"]["mean"]
        return mean


def rows_of(dataset: Path, config: str | None = None) -> list[dict[str, Any]]:
    """The rows of a dataset, or of one config, in row order."""
    files = (file for file in open_dataset(dataset).files() if config in (None, file.config))
    return [row for file in files for row in rows_in(file.path)]


def configs_of(dataset: Path) -> list[str]:
    """The configs of a dataset, in row order."""
    return list(dict.fromkeys(file.config for file in open_dataset(dataset).files()))


def run(command: Sequence[str | Path], folder: Path, expect: int = 0, **more: str) -> str:
    """Run a program of this environment in a folder, offline, and return what it prints.

    more: environment variables. Fails if the exit code is not the expected one.
    """
    home = folder / "home"
    home.mkdir(exist_ok=True)
    offline = {
        "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HOME": str(home / "hf"),
        "HF_HUB_DISABLE_TELEMETRY": "1", "HTTP_PROXY": _NOWHERE, "HTTPS_PROXY": _NOWHERE, "ALL_PROXY": _NOWHERE,
        "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost", "OPENAI_API_KEY": "x",
        "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "NO_COLOR": "1", "TOKENIZERS_PARALLELISM": "false",
    }  # fmt: skip
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NIAH_", "OPENAI_", "HF_"))}
    program, *words = map(str, command)
    done = subprocess.run(
        [str(BIN / program), *words], cwd=folder, env={**kept, **offline, **more}, capture_output=True, text=True,
        check=False, timeout=900,
    )  # fmt: skip
    printed = done.stdout + done.stderr
    assert done.returncode == expect, f"{program} ended with {done.returncode}:\n{printed[-6000:]}"
    return printed


def export(dataset: Path, to: str, out: Path, *flags: str) -> str:
    """Export a dataset as a user would, and return what was printed."""
    return run(["niah-gen", "export", dataset, "--to", to, "--out", out, *flags], out.parent)


def score(dataset: Path, answers: Sequence[Path], out: Path, *flags: str, expect: int = 0) -> Scores:
    """Score answer files as a user would."""
    run(["niah-score", "score", dataset, *answers, "--out", out, *flags], out.parent, expect)
    import polars as pl

    frame = pl.read_parquet(out / "scores.parquet").filter(pl.col("status") != "missing")
    rows = {name: Expected(*rest) for name, *rest in frame.select("id", "status", "score").iter_rows()}
    return Scores(rows, json.loads((out / "summary.json").read_bytes()))


def table_line(package: str, what: str, rows: int, ours: float, theirs: float | None) -> str:
    """The line of docs/clients.md for a run: its stack, the rows asked and scored as planned, our number and theirs."""
    number = "none of its own" if theirs is None else f"{theirs:.4f}"
    return f"| {package} {version(package)} | {what} | {rows} | {rows} | {ours:.4f} | {number} |"


def documented(package: str, what: str, rows: int, ours: float, theirs: float | None = None) -> None:
    """Check that docs/clients.md states the result of a run. If the harness has a number, it must equal ours."""
    if theirs is not None:
        assert theirs == pytest.approx(ours, abs=1e-9)
    line = table_line(package, what, rows, ours, theirs)
    assert line in PAGE.read_text("utf-8").splitlines(), f"{PAGE.name} should have the line\n{line}"
