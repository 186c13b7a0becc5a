"""Writes an Inspect task that reads the dataset in place."""

from __future__ import annotations

from pathlib import Path

from niah_gen.export.base import ExportFormat, ExportOptions, TaskSource, WrittenFile
from niah_gen.export.exported_tasks import settings_files
from niah_gen.export.task_rows import task_name, task_rows, template, write_task_files

_MODULE = "niah_inspect"


def _write(source: TaskSource, folder: Path, options: ExportOptions) -> list[WrittenFile]:
    rows = task_rows(source, options)
    # Inspect looks for the names of tasks in a file before running it, so they must be there in full.
    text = template("inspect.py.txt").replace("niah_NAME", _name(source))
    files = {f"{_MODULE}.py": text}
    return write_task_files(folder, files | settings_files(_MODULE, source, rows, options), rows)


def _name(source: TaskSource) -> str:
    return task_name("niah", source.dataset.manifest.name)


def _advice(source: TaskSource, out: Path, options: ExportOptions) -> str:
    return (
        f"run it: inspect eval {out / _MODULE}.py@{_name(source)} --model openai-api/local/NAME --log-dir LOGS "
        "--max-retries 5, with LOCAL_BASE_URL=http://127.0.0.1:8000/v1 and LOCAL_API_KEY=x for a server of your own"
    )


INSPECT = ExportFormat(
    name="inspect",
    what="a task for Inspect",
    files=f"{_MODULE}.py, for inspect eval",
    pattern=f"{_MODULE}*",
    takes=("system", "max_tokens", "more_tokens"),
    write_tasks=_write,
    advice=_advice,
)
