"""Writes lm-evaluation-harness tasks that read the dataset in place: over all rows, one per config, and a group."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from niah_gen.export.base import ExportFormat, ExportOptions, TaskSource, WrittenFile
from niah_gen.export.exported_tasks import configs_of, has_chats, settings_files
from niah_gen.export.task_rows import task_name, task_rows, template, write_task_files

_MODULE = "niah_lm_eval"


def _write(source: TaskSource, folder: Path, options: ExportOptions) -> list[WrittenFile]:
    rows = task_rows(source, options)
    manifest = source.dataset.manifest
    name, configs = task_name("niah", manifest.name), configs_of(rows)
    files = {f"{_MODULE}.yaml": _task(name, manifest.version, configs)}
    for config in configs:
        task = task_name(config)
        files[f"{_MODULE}-{task}.yaml"] = _task(f"{name}-{task}", manifest.version, only=config)
    files[f"{_MODULE}-configs.yaml"] = _group(name, manifest.version, [task_name(config) for config in configs])
    files[f"{_MODULE}.py"] = template("lm_eval.py.txt")
    return write_task_files(folder, files | settings_files(_MODULE, source, rows, options), rows)


def _task(name: str, version: str, configs: Sequence[str] = (), only: str | None = None) -> str:
    """The YAML of a task: over all rows, with a score for each config too, or over one config."""
    lines = [
        f"task: {_quoted(name)}",
        f"class: !function {_MODULE}.NiahTask",
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
        f"process_results: !function {_MODULE}.{'scores' if only else 'scores_by_config'}",
        "metric_list:",
    ]
    for metric in ("score", *(f"score_{config}" for config in configs)):
        lines += [
            f"  - metric: {_quoted(metric)}",
            f"    aggregation: !function {_MODULE}.headline",
            "    higher_is_better: true",
        ]
    return "\n".join([*lines, "metadata:", f"  version: {_quoted(version)}", ""])


def _group(name: str, version: str, tasks: Sequence[str]) -> str:
    """The YAML of the group of all configs' tasks; lm_eval can only average them weighted by their sizes."""
    return "\n".join(
        [
            f"group: {_quoted(f'{name}_configs')}",
            "task:",
            *(f"  - {_quoted(f'{name}-{task}')}" for task in tasks),
            "aggregate_metric_list:",
            "  - metric: score",
            "    aggregation: mean",
            "    weight_by_size: true",
            "metadata:",
            f"  version: {_quoted(version)}",
            "",
        ]
    )


def _quoted(text: str) -> str:
    """A text between double quotes, which YAML reads as JSON does."""
    return json.dumps(text, ensure_ascii=False)


def _advice(source: TaskSource, out: Path, options: ExportOptions) -> str:
    chats = has_chats(source, options)
    model, path = ("local-chat-completions", "chat/completions") if chats else ("local-completions", "completions")
    return (
        f"run it: lm_eval run --include_path {out} --tasks {task_name('niah', source.dataset.manifest.name)} --model "
        f"{model} --model_args model=NAME,base_url=http://127.0.0.1:8000/v1/{path},tokenizer_backend=None,"
        f"tokenized_requests=False,num_concurrent=8 {'--apply_chat_template ' if chats else ''}--log_samples "
        "--output_path LOGS"
    )


LM_EVAL = ExportFormat(
    name="lm-eval",
    what="tasks for lm-evaluation-harness: one over all rows, one per config, and a group of these",
    files="niah_lm_eval.yaml, niah_lm_eval-en-8k.yaml, ...: a folder for --include_path",
    pattern=f"{_MODULE}*",
    takes=("system", "max_tokens", "more_tokens"),
    write_tasks=_write,
    advice=_advice,
)
