"""Writes LightEval tasks that read the dataset where it stands: one for each of its configs, and one of all rows."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from niah_gen.export.base import ExportFormat, ExportOptions, TaskSource, WrittenFile
from niah_gen.export.task_rows import TaskRow, grouped, task_name, task_rows, template, write_task_files

_NAME = "niah_lighteval"


def _write(source: TaskSource, folder: Path, options: ExportOptions) -> list[WrittenFile]:
    rows = task_rows(source, options)
    dataset = source.dataset
    name = task_name("niah", dataset.manifest.name)
    configs = grouped(rows, (row.config for row in rows))
    tasks = {f"{name}:{config}": _task(config, found, source.is_whole) for config, found in configs.items()}
    plan = {
        "dataset": os.path.abspath(dataset.folder),
        "digest8": dataset.manifest.digest8,
        "tasks": {**tasks, f"{name}_all": _task("all", rows, source.is_whole)},
    }
    files = {
        f"{_NAME}.py": template("lighteval.py.txt"),
        f"{_NAME}.json": json.dumps(plan, ensure_ascii=False, indent=1) + "\n",
        f"{_NAME}_tasks.txt": "".join(f"{task}|0\n" for task in tasks),
    }
    return write_task_files(folder, files, rows)


def _task(config: str, rows: Sequence[TaskRow], is_whole: bool) -> dict[str, Any]:
    """A task: its config of the dataset, the most tokens of an answer, and its rows; null for all of the config."""
    return {
        "config": config,
        "limit": max(row.limit for row in rows),
        "ids": None if is_whole else [row.id for row in rows],
    }


LIGHTEVAL = ExportFormat(
    name="lighteval",
    what="tasks for LightEval, one a config",
    files=f"{_NAME}.py for --custom-tasks, {_NAME}.json beside it, {_NAME}_tasks.txt with the names of the tasks",
    pattern=f"{_NAME}*",
    takes=("max_tokens", "more_tokens"),
    write_tasks=_write,
)
