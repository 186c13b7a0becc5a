"""Writes OpenCompass datasets that read this one in place: by config, or by length and depth for its plots."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from niah_gen.errors import NiahError
from niah_gen.export.base import Chosen, ExportFormat, ExportOptions, WrittenFile
from niah_gen.export.exported_tasks import OPTIONS
from niah_gen.export.harnesses import TaskRow, configs_of, grouped, task_name, task_rows, template, write_task
from niah_score.contract import Manifest

_NAME = "niah_opencompass"
# The longest length of each of NeedleBench's sets, by which the sets are named and its summarizer finds them.
_SIZES = (4_000, 8_000, 32_000, 128_000, 200_000, 256_000, 1_000_000)

Entries = Mapping[str, Sequence[TaskRow]]


def _by_config(chosen: Chosen, folder: Path, options: ExportOptions) -> list[WrittenFile]:
    rows = task_rows(chosen, options)
    manifest = chosen.dataset.manifest
    name = task_name(manifest.name, manifest.digest8)
    entries = grouped(rows, (task_name(name, row.config, row.columns["part"], row.columns["control"]) for row in rows))
    for entry, group in entries.items():
        # A part `a_absent` and the control `absent` of a part `a`: one entry would give the rows of both equal weight.
        if len({(row.columns["part"], row.columns["control"]) for row in group}) > 1:
            raise NiahError(
                f"{entry}: rows of a part and rows of another part's control would both have this name; rename a part "
                "in the recipe, or choose rows with --subset"
            )
    groups = _groups(name, entries, manifest)
    summarizer = {"dataset_abbrs": [*(group["name"] for group in groups), *entries], "summary_groups": groups}
    return _write(chosen, folder, options, entries, rows, summarizer)


def _by_length_and_depth(chosen: Chosen, folder: Path, options: ExportOptions) -> list[WrittenFile]:
    rows = task_rows(chosen, options)
    controls = sum(row.columns["control"] is not None for row in rows)
    if controls:
        raise NiahError(
            f"{controls:,} rows are controls, which OpenCompass's plots would average into the cells; add --subset "
            "control=none, or export --to opencompass"
        )
    without = sum(row.columns["length"] is None or row.columns["depth_percent"] is None for row in rows)
    if without:
        raise NiahError(
            f"{without:,} rows have no length or no depth, so OpenCompass's plots have no cell for them; choose "
            "others with --subset, or export --to opencompass"
        )
    size = _size(max(row.columns["length"] for row in rows))
    entries = grouped(rows, (_cell_name(row.columns, size) for row in rows))
    # Its plot tools treat every line of a summary as a cell, so there are no groups.
    return _write(
        chosen, folder, options, entries, rows, {"type": f"{_NAME}.NiahHeatmaps", "dataset_abbrs": list(entries)}
    )


def _cell_name(columns: Mapping[str, Any], size: str) -> str:
    """`Length1000Depth50_origin_en_8k`, as NeedleBench names its entries; the part, if any, replaces the kind."""
    depth = f"{columns['depth_percent']:.15g}"
    kind = columns["part"] or _kind(columns)
    return task_name(f"Length{columns['length']}Depth{depth}", kind, columns["language"], size)


def _kind(columns: Mapping[str, Any]) -> str:
    """NeedleBench's word for a task: `origin` for one needle, `2needle` for two."""
    if columns["task"] == "single":
        return "origin"
    if columns["task"] == "multi":
        return f"{columns['needles']}needle"
    return str(columns["task"])


def _size(longest: int) -> str:
    size = next((size for size in _SIZES if size >= longest), longest)
    return f"{size // 1000}k" if size % 1000 == 0 else str(size)


def _groups(name: str, entries: Entries, manifest: Manifest) -> list[dict[str, Any]]:
    """The headline over all entries, and that of each config with several, as weighted means of entries."""
    asked = {entry: rows for entry, rows in entries.items() if rows[0].columns["control"] is None}
    by_config: dict[str, dict[str, Sequence[TaskRow]]] = {}
    for entry, rows in asked.items():
        by_config.setdefault(task_name(name, rows[0].config), {})[entry] = rows
    groups = {name: asked, **{config: group for config, group in by_config.items() if set(group) != {config}}}
    return [
        {"name": group, "subsets": list(weights), "weights": weights}
        for group, members in groups.items()
        if (weights := _weights(members, manifest))
    ]


def _weights(entries: Entries, manifest: Manifest) -> dict[str, float]:
    """The weight of each entry in a headline: its share of the rows of its part, times the weight of the part."""
    rows_of: Counter[str | None] = Counter()
    for rows in entries.values():
        rows_of[rows[0].columns["part"]] += len(rows)
    weight_of: Mapping[str | None, float] = {part.name: part.weight for part in manifest.parts} or rows_of
    weights = {}
    for entry, rows in entries.items():
        part = rows[0].columns["part"]
        weights[entry] = weight_of[part] * len(rows) / rows_of[part]
    return {entry: weight for entry, weight in weights.items() if weight > 0}


def _write(
    chosen: Chosen,
    folder: Path,
    options: ExportOptions,
    entries: Entries,
    rows: Sequence[TaskRow],
    summarizer: Mapping[str, Any],
) -> list[WrittenFile]:
    asked = {name: {"configs": configs_of(group), "ids": [row.id for row in group]} for name, group in entries.items()}
    limits = [(name, max(row.limit for row in group)) for name, group in entries.items()]
    lines = "".join(f"\n        ({json.dumps(name)}, {limit})," for name, limit in limits)
    files = {
        f"{_NAME}.py": template("opencompass"),
        f"{_NAME}.json": json.dumps(asked, indent=1) + "\n",
        f"datasets/{_NAME}.py": template("opencompass_datasets").replace("ENTRIES", f"[{lines}\n    ]"),
        # JSON without null, true and false is Python.
        f"summarizers/{_NAME}.py": f'"""Lists the entries, and what they are together."""\n\nsummarizer = '
        f"{json.dumps(summarizer, indent=4)}\n",
    }
    return write_task(chosen, folder, options, rows, _NAME, files)


def _advice(chosen: Chosen, out: Path, options: ExportOptions) -> str:
    return (
        f"run it: PYTHONPATH={out} opencompass --config-dir {out} --datasets {_NAME} --summarizer {_NAME} "
        "--models MODEL; lower is better in entries of the control no_context, which is asked without the text"
    )


_BY_CONFIG = ExportFormat(
    "datasets for OpenCompass, one per config and part", f"{_NAME}*", _by_config, OPTIONS, advice=_advice
)
OPENCOMPASS: dict[str, ExportFormat] = {
    "opencompass": _BY_CONFIG,
    "opencompass-length-depth": _BY_CONFIG._replace(
        what="datasets for OpenCompass, one per length and depth, named as its needle-in-a-haystack plots expect",
        write=_by_length_and_depth,
    ),
}
