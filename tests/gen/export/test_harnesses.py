"""Tasks for LightEval and OpenCompass ask the chosen rows and give our headline; stubs stand in for the harnesses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import niah_gen
from niah_gen.dataset.read import rows_in
from niah_gen.errors import NiahError
from niah_gen.export.export import export
from niah_score import Judge
from niah_score.contract import open_dataset

PARTS: dict[str, Any] = {
    "name": "parts", "lengths": [600, 8000], "depths": [0, 33.3, 100], "corpora": ["en_essays"], "form": "chat",
    "needles_per_cell": 1, "controls": ["absent", "no_context"], "control_depths": [0],
    "parts": [
        {"name": "facts", "weight": 3, "needles": ["velden-archive", "brannock-lighthouse"], "needles_per_cell": 2},
        {"name": "lists", "task": "multi", "needles": ["list-en"], "max_new_tokens": 300},
        {"name": "plain", "weight": 0, "needles": ["velden-archive"], "controls": []},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def parts(built_once: Callable[..., Path]) -> Path:
    return built_once(PARTS)


def variables(path: Path) -> dict[str, Any]:
    """The variables of a config file."""
    values: dict[str, Any] = {}
    exec(compile(path.read_text("utf-8"), path.name, "exec"), values)
    return values


def rows_of(folder: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for file in open_dataset(folder).files() for row in rows_in(file.path)}


def entries_of(folder: Path) -> dict[str, list[str]]:
    entries = json.loads((folder / "niah_opencompass.json").read_bytes())
    return {name: entry["ids"] for name, entry in entries.items()}


def config_of(folder: Path) -> dict[str, dict[str, Any]]:
    return {one["abbr"]: one for one in variables(folder / "datasets" / "niah_opencompass.py")["niah_datasets"]}


def summarizer_of(folder: Path) -> dict[str, Any]:
    summarizer: dict[str, Any] = variables(folder / "summarizers" / "niah_opencompass.py")["summarizer"]
    return summarizer


def test_each_config_part_and_control_has_an_entry(parts: Path, tmp_path: Path) -> None:
    export(parts, "opencompass", tmp_path)
    entries, rows = entries_of(tmp_path), rows_of(parts)
    assert sorted(one for ids in entries.values() for one in ids) == sorted(rows)
    name = f"parts_{parts.name.rpartition('-')[2]}"
    for entry, ids in entries.items():
        coordinates = {tuple(rows[one][column] for column in ("length", "part", "control")) for one in ids}
        ((length, part, control),) = coordinates
        config = "en-8k" if length == 8000 else "en-600"
        assert entry == "_".join([name, config, part, *([control] if control else [])])
    config_file = config_of(tmp_path)
    assert list(config_file) == list(entries)
    for entry, one in config_file.items():
        assert one["entry"] == entry
        assert one["infer_cfg"]["inferencer"]["max_out_len"] == (300 if "_lists" in entry else 200)


def test_a_part_named_like_the_control_of_another_part_is_refused(tmp_path: Path) -> None:
    facts, plain = {**PARTS["parts"][0], "name": "plain"}, {**PARTS["parts"][2], "name": "plain_absent"}
    dataset = niah_gen.build({**PARTS, "lengths": [600], "parts": [facts, plain]}, tmp_path / "made")
    with pytest.raises(NiahError, match=r"_plain_absent: rows of a part and rows of another part's control"):
        export(dataset, "opencompass", tmp_path / "tasks")
    export(dataset, "opencompass", tmp_path / "tasks", conditions=["control=none"])


def test_summary_weights_reproduce_our_headline_per_config_and_overall(parts: Path, tmp_path: Path) -> None:
    export(parts, "opencompass", tmp_path)
    entries, rows = entries_of(tmp_path), rows_of(parts)
    scores = {one: float(number * 37 % 101) for number, one in enumerate(rows)}
    means = {entry: sum(scores[one] for one in ids) / len(ids) for entry, ids in entries.items()}
    judge = Judge(parts)
    groups = {group["name"]: group["weights"] for group in summarizer_of(tmp_path)["summary_groups"]}
    name = f"parts_{parts.name.rpartition('-')[2]}"
    assert list(groups) == [name, f"{name}_en-600", f"{name}_en-8k"]
    for group, weights in groups.items():
        theirs = sum(means[entry] * weight for entry, weight in weights.items()) / sum(weights.values())
        asked = [(one, scores[one]) for entry, ids in entries.items() if entry.startswith(group) for one in ids]
        assert theirs == pytest.approx(judge.headline(asked), abs=1e-9)


# --- LightEval ---


def asked(module: Any, rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The ids that each task asks."""
    return {
        task.name: [doc.specific["id"] for row in rows if (doc := task.prompt_function(row, task.name)) is not None]
        for task in module.TASKS_TABLE
    }
