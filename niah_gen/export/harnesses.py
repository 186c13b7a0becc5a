"""Writes tasks for lm-evaluation-harness, Inspect, LightEval and OpenCompass, which read the dataset in place.

Each is a shipped module that runs inside the harness, the files in which the harness looks for tasks, and beside them
what was exported, which the module reads with `niah_gen.export.exported_tasks`.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from niah_gen.dataset.read import rows_in
from niah_gen.errors import NiahError
from niah_gen.export.base import Chosen, ExportFormat, ExportOptions, Row
from niah_gen.export.exported_tasks import OPTIONS
from niah_score.contract import Manifest

_TEMPLATES = Path(__file__).parents[1] / "library" / "harnesses"
# What some harness refuses in the name of a task, or some file system in the name of a file.
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_OPENCOMPASS = "niah_opencompass"
# The longest length of each of NeedleBench's sets, by which the sets are named and its summarizer finds them.
_SIZES = (4_000, 8_000, 32_000, 128_000, 200_000, 256_000, 1_000_000)

Entries = Mapping[str, Sequence[Row]]
Files = Mapping[str, str]


def _named(*parts: str | None) -> str:
    """A name for a task: its non-empty parts, reduced to letters, digits, `.`, `_` and `-`, joined by `_`."""
    return "_".join(_NOT_IN_A_NAME.sub("-", part) for part in parts if part)


def task_name(chosen: Chosen) -> str:
    """The name of the task of a harness over all rows."""
    return _named("niah", chosen.dataset.manifest.name)


def _grouped(rows: Sequence[Row], name: Callable[[Row], str]) -> dict[str, list[Row]]:
    """Rows grouped by name, in their order; names in the order of their first rows."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(name(row), []).append(row)
    return groups


def _configs(rows: Sequence[Row]) -> list[str]:
    return list(_grouped(rows, lambda row: row["config"]))


def template(name: str, texts: Mapping[str, str] = {}) -> str:
    """A shipped file that runs inside a harness, with a text in place of each name."""
    text = (_TEMPLATES / f"{name}.txt").read_text("utf-8")
    return re.sub("|".join(texts), lambda match: texts[match[0]], text) if texts else text


def _write(chosen: Chosen, folder: Path, options: ExportOptions, module: str, files: Files) -> dict[str, int]:
    """Write the files of a task, and those that `exported_tasks` reads: what was exported, and the ids unless all.

    The first file is recorded as holding all rows. Raises NiahError for a system message before rows that have one.
    """
    if options.system:
        for row in chosen.rows((), folder):
            options.messages(row)
    settings = {
        "dataset": os.path.abspath(chosen.dataset.folder),
        "digest8": chosen.dataset.manifest.digest8,
        "configs": _configs(chosen.entries),
        "is_whole": chosen.is_whole,
        **{name: getattr(options, name) for name in OPTIONS},
    }
    texts = {**files, f"{module}_export.json": json.dumps(settings, ensure_ascii=False, indent=1) + "\n"}
    if not chosen.is_whole:
        texts[f"{module}_ids.txt"] = "".join(f"{row['id']}\n" for row in chosen.entries)
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8", newline="")
    return {name: 0 if number else len(chosen.entries) for number, name in enumerate(texts)}


def _lm_eval(chosen: Chosen, folder: Path, options: ExportOptions) -> dict[str, int]:
    name, version, configs = task_name(chosen), chosen.dataset.manifest.version, _configs(chosen.entries)
    files = {"niah_lm_eval.yaml": _lm_eval_task(name, version, configs)}
    for config in configs:
        task = _named(config)
        files[f"niah_lm_eval-{task}.yaml"] = _lm_eval_task(f"{name}-{task}", version, only=config)
    # lm_eval can only average the tasks of a group weighted by their sizes.
    files["niah_lm_eval-configs.yaml"] = template("lm_eval_configs.yaml", {
        "NAME": json.dumps(f"{name}_configs"), "VERSION": json.dumps(version),
        "TASKS": "".join(f"  - {json.dumps(f'{name}-{_named(config)}')}\n" for config in configs),
    })  # fmt: skip
    files["niah_lm_eval.py"] = template("lm_eval.py")
    return _write(chosen, folder, options, "niah_lm_eval", files)


def _lm_eval_task(name: str, version: str, configs: Sequence[str] = (), only: str | None = None) -> str:
    """The YAML of a task: over all rows, with a score for each config too, or over one config."""
    metric = "  - metric: {}\n    aggregation: !function niah_lm_eval.headline\n    higher_is_better: true\n"
    metrics = ["score", *(f"score_{config}" for config in configs)]
    return template("lm_eval_task.yaml", {
        # A text between double quotes, which YAML reads as JSON does.
        "NAME": json.dumps(name), "VERSION": json.dumps(version),
        "CONFIG": f"niah_config: {json.dumps(only)}\n" if only else "",
        "SCORES": "scores" if only else "scores_by_config",
        "METRICS": "".join(metric.format(json.dumps(one)) for one in metrics),
    })  # fmt: skip


def endpoint(chosen: Chosen, options: ExportOptions) -> dict[str, str]:
    """How lm_eval reaches a server: with messages, not bare texts, if prompts are chats or a system message is set."""
    first = next(rows_in(chosen.dataset.files()[0].path))
    if isinstance(first["prompt"], str) and not options.system:
        return {"model": "local-completions", "path": "completions", "chat": ""}
    return {"model": "local-chat-completions", "path": "chat/completions", "chat": "--apply_chat_template "}


def _inspect(chosen: Chosen, folder: Path, options: ExportOptions) -> dict[str, int]:
    # Inspect looks for the names of tasks in a file before running it, so they must be there in full.
    text = template("inspect.py", {"niah_NAME": task_name(chosen)})
    return _write(chosen, folder, options, "niah_inspect", {"niah_inspect.py": text})


def _lighteval(chosen: Chosen, folder: Path, options: ExportOptions) -> dict[str, int]:
    name = task_name(chosen)
    configs = _grouped(chosen.entries, lambda row: row["config"])
    tasks = {f"{name}:{config}": (config, max(map(options.limit, rows))) for config, rows in configs.items()}
    every = {f"{name}_all": ("all", max(map(options.limit, chosen.entries)))}
    files = {
        "niah_lighteval.py": template("lighteval.py"),
        "niah_lighteval.json": json.dumps(tasks | every, indent=1) + "\n",
        "niah_lighteval_tasks.txt": "".join(f"{task}|0\n" for task in tasks),
    }
    return _write(chosen, folder, options, "niah_lighteval", files)


def _by_config(chosen: Chosen, folder: Path, options: ExportOptions) -> dict[str, int]:
    """OpenCompass entries by config, part and control, with groups whose means are our headlines."""
    manifest = chosen.dataset.manifest
    name = _named(manifest.name, manifest.digest8)
    entries = _grouped(chosen.entries, lambda row: _named(name, row["config"], row["part"], row["control"]))
    for entry, rows in entries.items():
        # A part `a_absent` and the control `absent` of a part `a`: one entry would give the rows of both equal weight.
        if len({(row["part"], row["control"]) for row in rows}) > 1:
            why = "rows of a part and rows of another part's control would both have this name"
            raise NiahError(f"{entry}: {why}; rename a part in the recipe, or choose rows with --subset")
    asked = {entry: rows for entry, rows in entries.items() if rows[0]["control"] is None}
    by_config: dict[str, dict[str, Sequence[Row]]] = {}
    for entry, rows in asked.items():
        by_config.setdefault(_named(name, rows[0]["config"]), {})[entry] = rows
    several = {config: group for config, group in by_config.items() if set(group) != {config}}
    members: dict[str, Entries] = {name: asked, **several}
    weights = {group: _weights(of, manifest) for group, of in members.items()}
    groups = [{"name": group, "subsets": list(of), "weights": of} for group, of in weights.items() if of]
    summarizer = {"dataset_abbrs": [*(group["name"] for group in groups), *entries], "summary_groups": groups}
    return _opencompass(chosen, folder, options, entries, summarizer)


def _weights(entries: Entries, manifest: Manifest) -> dict[str, float]:
    """The weight of each entry in a headline: its share of the rows of its part, times the weight of the part."""
    rows_of = Counter(row["part"] for rows in entries.values() for row in rows)
    weight_of: Mapping[str | None, float] = {part.name: part.weight for part in manifest.parts} or rows_of
    parts = {entry: rows[0]["part"] for entry, rows in entries.items()}
    weights = {entry: weight_of[part] * len(entries[entry]) / rows_of[part] for entry, part in parts.items()}
    return {entry: weight for entry, weight in weights.items() if weight > 0}


def _by_length_and_depth(chosen: Chosen, folder: Path, options: ExportOptions) -> dict[str, int]:
    """OpenCompass entries by length and depth, as NeedleBench names them: `Length1000Depth50_origin_en_8k`."""
    unplaced = [row for row in chosen.entries if row["control"] or None in (row["length"], row["depth_percent"])]
    if unplaced:
        why = "rows are controls, or have no length or depth, and OpenCompass's plots have no cell for them"
        raise NiahError(f"{len(unplaced):,} {why}; add --subset control=none, or export --to opencompass")
    longest = max(row["length"] for row in chosen.entries)
    longest = next((size for size in _SIZES if size >= longest), longest)
    size = f"{longest // 1000}k" if longest % 1000 == 0 else str(longest)

    def named(row: Row) -> str:
        """The part, if any, replaces NeedleBench's word for a task: `origin` for one needle, `2needle` for two."""
        kind = {"single": "origin", "multi": f"{row['needles']}needle"}.get(row["task"], str(row["task"]))
        cell = f"Length{row['length']}Depth{row['depth_percent']:.15g}"
        return _named(cell, row["part"] or kind, row["language"], size)

    entries = _grouped(chosen.entries, named)
    # Its plot tools treat every line of a summary as a cell, so there are no groups.
    summarizer = {"type": f"{_OPENCOMPASS}.NiahHeatmaps", "dataset_abbrs": list(entries)}
    return _opencompass(chosen, folder, options, entries, summarizer)


def _opencompass(
    chosen: Chosen, folder: Path, options: ExportOptions, entries: Entries, summarizer: Mapping[str, Any]
) -> dict[str, int]:
    asked = {name: {"configs": _configs(rows), "ids": [row["id"] for row in rows]} for name, rows in entries.items()}
    limits = [f"\n        ({json.dumps(name)}, {max(map(options.limit, rows))})," for name, rows in entries.items()]
    lists = f'"""Lists the entries, and what they are together."""\n\nsummarizer = {json.dumps(summarizer, indent=4)}\n'
    files = {
        f"{_OPENCOMPASS}.py": template("opencompass.py"),
        f"{_OPENCOMPASS}.json": json.dumps(asked, indent=1) + "\n",
        f"datasets/{_OPENCOMPASS}.py": template("opencompass_datasets.py", {"ENTRIES": f"[{''.join(limits)}\n    ]"}),
        # JSON without null, true and false is Python.
        f"summarizers/{_OPENCOMPASS}.py": lists,
    }
    return _write(chosen, folder, options, _OPENCOMPASS, files)


_SERVER = "http://127.0.0.1:8000/v1"
_RUN_OPENCOMPASS = (
    "run it: PYTHONPATH={out} opencompass --config-dir {out} --datasets niah_opencompass --summarizer niah_opencompass "
    "--models MODEL; lower is better in entries of the control no_context, which is asked without the text"
)
HARNESSES: dict[str, ExportFormat] = {
    "lm-eval": ExportFormat(
        "tasks for lm-evaluation-harness: one over all rows, one per config, and a group of these",
        "niah_lm_eval*", _lm_eval, OPTIONS,
        advice="run it: lm_eval run --include_path {out} --tasks {name} --model {model} --model_args model=NAME,"
        f"base_url={_SERVER}/{{path}},tokenizer_backend=None,tokenized_requests=False,num_concurrent=8 {{chat}}"
        "--log_samples --output_path LOGS",
    ),
    "inspect": ExportFormat(
        "a task for Inspect", "niah_inspect*", _inspect, OPTIONS,
        advice="run it: inspect eval {out}/niah_inspect.py@{name} --model openai-api/local/NAME --log-dir LOGS "
        f"--max-retries 5, with LOCAL_BASE_URL={_SERVER} and LOCAL_API_KEY=x for a server of your own",
    ),
    "lighteval": ExportFormat(
        "tasks for LightEval: one per config, and one over all rows",
        "niah_lighteval*", _lighteval, ("max_tokens", "more_tokens"),
        advice=f"run it: lighteval endpoint litellm provider=openai,model_name=openai/NAME,base_url={_SERVER},"
        "api_key=KEY {out}/niah_lighteval_tasks.txt --custom-tasks {out}/niah_lighteval.py --save-details; in place of "
        "the file, {name}_all asks all rows as one task, for the dataset's headline",
    ),
    "opencompass": ExportFormat(
        "datasets for OpenCompass, one per config and part",
        f"{_OPENCOMPASS}*", _by_config, OPTIONS, advice=_RUN_OPENCOMPASS,
    ),
    "opencompass-length-depth": ExportFormat(
        "datasets for OpenCompass, one per length and depth, named as its needle-in-a-haystack plots expect",
        f"{_OPENCOMPASS}*", _by_length_and_depth, OPTIONS, advice=_RUN_OPENCOMPASS,
    ),
}  # fmt: skip
