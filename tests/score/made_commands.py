"""Calls niah-score, and answers the contract dataset."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from commands import invoke
from made import CONTRACT

from niah_score.cli.commands import app

EXECUTABLE = Path(sys.executable).with_name("niah-score")


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command inside the test process."""
    return invoke(app, *arguments, **environment)


def installed(*arguments: object, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run([EXECUTABLE, *map(str, arguments)], capture_output=True, text=True, check=False, **more)


def contract_answers() -> list[dict[str, Any]]:
    """The reference answer to every row of the contract dataset."""
    files = sorted((CONTRACT / "jsonl").rglob("*.jsonl"))
    rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    return [{"id": row["id"], "prediction": row["answers"][0]} for row in rows]
