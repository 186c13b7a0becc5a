"""Writes tasks for lm-evaluation-harness, Inspect and LightEval, which read the dataset in place.

Each is a shipped module that runs inside the harness, the files in which the harness looks for tasks, and beside them
what was exported, which the module reads with `niah_gen.export.exported_tasks`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from niah_gen.dataset.read import columns_in, rows_in
from niah_gen.export.base import (
    Chosen,
    ExportFormat,
    ExportOptions,
    WrittenFile,
    messages_of,
    reply_limit,
    sound,
    write_file,
)
from niah_gen.export.exported_tasks import OPTIONS

_TEMPLATES = Path(__file__).parents[1] / "library" / "harnesses"
_COLUMNS = (
    "id", "task", "part", "control", "language", "length", "depth_percent", "needles", "max_new_tokens",
)  # fmt: skip
# What some harness refuses in the name of a task, or some file system in the name of a file.
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_LM_EVAL, _INSPECT, _LIGHTEVAL = "niah_lm_eval", "niah_inspect", "niah_lighteval"


class TaskRow(NamedTuple):
    """A chosen row. config: of the dataset. limit: the most tokens of an answer. columns: its coordinates, as read."""

    id: str
    config: str
    limit: int
    columns: Mapping[str, Any]


def task_rows(chosen: Chosen, options: ExportOptions) -> list[TaskRow]:
    """The chosen rows in the order in which they are asked; of Parquet files no prompt is read.

    Raises IntegrityError for a row without a valid limit.
    """
    rows: dict[str, TaskRow] = {}
    wanted = {row.id for row in chosen.entries}
    for file in chosen.dataset.files():
        for row in columns_in(file.path, _COLUMNS):
            if row["id"] in wanted:
                columns = {**row, "needles": len(row["needles"] or ())}
                limit = reply_limit(sound(row, file.path), options)
                rows[row["id"]] = TaskRow(row["id"], file.config, limit, columns)
    return [rows[row.id] for row in chosen.entries]


def grouped(rows: Iterable[TaskRow], names: Iterable[str]) -> dict[str, list[TaskRow]]:
    """Rows grouped by the name of each, in their order; names in the order of their first rows."""
    groups: dict[str, list[TaskRow]] = {}
    for row, name in zip(rows, names, strict=True):
        groups.setdefault(name, []).append(row)
    return groups


def configs_of(rows: Sequence[TaskRow]) -> list[str]:
    """The configs of some rows, in their order."""
    return list(dict.fromkeys(row.config for row in rows))


def task_name(*parts: str | None) -> str:
    """A name for a task: its non-empty parts, reduced to letters, digits, `.`, `_` and `-`, joined by `_`."""
    return "_".join(_NOT_IN_A_NAME.sub("-", part) for part in parts if part)


def template(name: str) -> str:
    """The text of a shipped file that runs inside a harness."""
    return (_TEMPLATES / f"{name}.py.txt").read_text("utf-8")


def write_task(
    chosen: Chosen,
    folder: Path,
    options: ExportOptions,
    rows: Sequence[TaskRow],
    module: str,
    files: Mapping[str, str],
) -> list[WrittenFile]:
    """Write the files of a task, and those that `exported_tasks` reads: what was exported, and the ids unless all.

    The first file is recorded as holding all rows. Raises NiahError for a system message before rows that have one.
    """
    if options.system:
        _refuse_second_system(chosen, options)
    settings = {
        "dataset": os.path.abspath(chosen.dataset.folder),
        "digest8": chosen.dataset.manifest.digest8,
        "configs": configs_of(rows),
        "is_whole": chosen.is_whole,
        **{name: getattr(options, name) for name in OPTIONS},
    }
    texts = {**files, f"{module}_export.json": json.dumps(settings, ensure_ascii=False, indent=1) + "\n"}
    if not chosen.is_whole:
        texts[f"{module}_ids.txt"] = "".join(f"{row.id}\n" for row in rows)
    first = next(iter(texts))
    return [write_file(folder, name, text.encode(), len(rows) if name == first else 0) for name, text in texts.items()]


def _refuse_second_system(chosen: Chosen, options: ExportOptions) -> None:
    wanted = {row.id for row in chosen.entries}
    for file in chosen.dataset.files():
        for row in rows_in(file.path, ("id", "prompt")):
            if row["id"] in wanted:
                messages_of(row, options)


def _name(chosen: Chosen) -> str:
    return task_name("niah", chosen.dataset.manifest.name)


def _write_lm_eval(chosen: Chosen, folder: Path, options: ExportOptions) -> list[WrittenFile]:
    rows = task_rows(chosen, options)
    name, version, configs = _name(chosen), chosen.dataset.manifest.version, configs_of(rows)
    files = {f"{_LM_EVAL}.yaml": _task(name, version, configs)}
    for config in configs:
        task = task_name(config)
        files[f"{_LM_EVAL}-{task}.yaml"] = _task(f"{name}-{task}", version, only=config)
    # lm_eval can only average the tasks of a group weighted by their sizes.
    files[f"{_LM_EVAL}-configs.yaml"] = "\n".join([
        f"group: {_quoted(f'{name}_configs')}",
        "task:",
        *(f"  - {_quoted(f'{name}-{task_name(config)}')}" for config in configs),
        "aggregate_metric_list:",
        "  - metric: score",
        "    aggregation: mean",
        "    weight_by_size: true",
        "metadata:",
        f"  version: {_quoted(version)}",
        "",
    ])  # fmt: skip
    files[f"{_LM_EVAL}.py"] = template("lm_eval")
    return write_task(chosen, folder, options, rows, _LM_EVAL, files)


def _task(name: str, version: str, configs: Sequence[str] = (), only: str | None = None) -> str:
    """The YAML of a task: over all rows, with a score for each config too, or over one config."""
    lines = [
        f"task: {_quoted(name)}",
        f"class: !function {_LM_EVAL}.NiahTask",
        *([f"niah_config: {_quoted(only)}"] if only else []),
        "output_type: generate_until",
        "test_split: test",
        "# NiahTask sends the prompts; lm_eval requires these two.",
        "doc_to_text: id",
        "doc_to_target: answer",
        "generation_kwargs:",
        "  until: []  # lm_eval would cut answers at their first blank line",
        "  max_gen_toks: row  # each row has its own limit",
        "  do_sample: false",
        "  temperature: 0.0",
        f"process_results: !function {_LM_EVAL}.{'scores' if only else 'scores_by_config'}",
        "metric_list:",
    ]
    for metric in ("score", *(f"score_{config}" for config in configs)):
        lines += [
            f"  - metric: {_quoted(metric)}",
            f"    aggregation: !function {_LM_EVAL}.headline",
            "    higher_is_better: true",
        ]
    return "\n".join([*lines, "metadata:", f"  version: {_quoted(version)}", ""])


def _quoted(text: str) -> str:
    """A text between double quotes, which YAML reads as JSON does."""
    return json.dumps(text, ensure_ascii=False)


def _run_lm_eval(chosen: Chosen, out: Path, options: ExportOptions) -> str:
    # Harnesses must send messages, not bare texts, if the prompts are chats or a system message is set.
    first = next(rows_in(chosen.dataset.files()[0].path))
    chats = bool(options.system) or not isinstance(first["prompt"], str)
    model, path = ("local-chat-completions", "chat/completions") if chats else ("local-completions", "completions")
    return (
        f"run it: lm_eval run --include_path {out} --tasks {_name(chosen)} --model "
        f"{model} --model_args model=NAME,base_url=http://127.0.0.1:8000/v1/{path},tokenizer_backend=None,"
        f"tokenized_requests=False,num_concurrent=8 {'--apply_chat_template ' if chats else ''}--log_samples "
        "--output_path LOGS"
    )


def _write_inspect(chosen: Chosen, folder: Path, options: ExportOptions) -> list[WrittenFile]:
    # Inspect looks for the names of tasks in a file before running it, so they must be there in full.
    files = {f"{_INSPECT}.py": template("inspect").replace("niah_NAME", _name(chosen))}
    return write_task(chosen, folder, options, task_rows(chosen, options), _INSPECT, files)


def _run_inspect(chosen: Chosen, out: Path, options: ExportOptions) -> str:
    return (
        f"run it: inspect eval {out / _INSPECT}.py@{_name(chosen)} --model openai-api/local/NAME --log-dir LOGS "
        "--max-retries 5, with LOCAL_BASE_URL=http://127.0.0.1:8000/v1 and LOCAL_API_KEY=x for a server of your own"
    )


def _write_lighteval(chosen: Chosen, folder: Path, options: ExportOptions) -> list[WrittenFile]:
    rows = task_rows(chosen, options)
    name = _name(chosen)
    configs = grouped(rows, (row.config for row in rows))
    tasks = {f"{name}:{config}": (config, max(row.limit for row in group)) for config, group in configs.items()}
    every = {f"{name}_all": ("all", max(row.limit for row in rows))}
    files = {
        f"{_LIGHTEVAL}.py": template("lighteval"),
        f"{_LIGHTEVAL}.json": json.dumps(tasks | every, indent=1) + "\n",
        f"{_LIGHTEVAL}_tasks.txt": "".join(f"{task}|0\n" for task in tasks),
    }
    return write_task(chosen, folder, options, rows, _LIGHTEVAL, files)


def _run_lighteval(chosen: Chosen, out: Path, options: ExportOptions) -> str:
    return (
        "run it: lighteval endpoint litellm provider=openai,model_name=openai/NAME,base_url=http://127.0.0.1:8000/v1,"
        f"api_key=KEY {out / _LIGHTEVAL}_tasks.txt --custom-tasks {out / _LIGHTEVAL}.py --save-details; in place of "
        f"the file, {_name(chosen)}_all asks all rows as one task, for the dataset's headline"
    )


HARNESSES: dict[str, ExportFormat] = {
    "lm-eval": ExportFormat(
        "tasks for lm-evaluation-harness: one over all rows, one per config, and a group of these",
        f"{_LM_EVAL}*",
        _write_lm_eval,
        OPTIONS,
        advice=_run_lm_eval,
    ),
    "inspect": ExportFormat("a task for Inspect", f"{_INSPECT}*", _write_inspect, OPTIONS, advice=_run_inspect),
    "lighteval": ExportFormat(
        "tasks for LightEval: one per config, and one over all rows",
        f"{_LIGHTEVAL}*",
        _write_lighteval,
        ("max_tokens", "more_tokens"),
        advice=_run_lighteval,
    ),
}
