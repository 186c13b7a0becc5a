"""Writes LightEval tasks that read the dataset in place: one for each of its configs, and one over all rows."""

from __future__ import annotations

import json
from pathlib import Path

from niah_gen.export.base import ExportFormat, ExportOptions, TaskSource, WrittenFile
from niah_gen.export.exported_tasks import settings_files
from niah_gen.export.task_rows import grouped, task_name, task_rows, template, write_task_files

_NAME = "niah_lighteval"


def _write(source: TaskSource, folder: Path, options: ExportOptions) -> list[WrittenFile]:
    rows = task_rows(source, options)
    name = task_name("niah", source.dataset.manifest.name)
    configs = grouped(rows, (row.config for row in rows))
    tasks = {f"{name}:{config}": (config, max(row.limit for row in group)) for config, group in configs.items()}
    every = {f"{name}_all": ("all", max(row.limit for row in rows))}
    files = {
        f"{_NAME}.py": template("lighteval.py.txt"),
        f"{_NAME}.json": json.dumps(tasks | every, indent=1) + "\n",
        f"{_NAME}_tasks.txt": "".join(f"{task}|0\n" for task in tasks),
    }
    return write_task_files(folder, files | settings_files(_NAME, source, rows, options), rows)


def _advice(source: TaskSource, out: Path, options: ExportOptions) -> str:
    return (
        "run it: lighteval endpoint litellm provider=openai,model_name=openai/NAME,base_url=http://127.0.0.1:8000/v1,"
        f"api_key=KEY {out / _NAME}_tasks.txt --custom-tasks {out / _NAME}.py --save-details; in place of the file, "
        f"{task_name('niah', source.dataset.manifest.name)}_all asks all rows as one task, for the dataset's headline"
    )


LIGHTEVAL = ExportFormat(
    name="lighteval",
    what="tasks for LightEval: one per config, and one over all rows",
    files=f"{_NAME}.py for --custom-tasks, and {_NAME}_tasks.txt with the names of the tasks",
    pattern=f"{_NAME}*",
    takes=("max_tokens", "more_tokens"),
    write_tasks=_write,
    advice=_advice,
)
