"""Tasks for OpenCompass ask the chosen rows and give our headline."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from changed_rows import rows_of

import niah_gen
from niah_gen.errors import NiahError
from niah_gen.export.export import export
from niah_score import Judge

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


def entries_of(folder: Path) -> dict[str, list[str]]:
    entries = json.loads((folder / "niah_opencompass.json").read_bytes())
    return {name: entry["ids"] for name, entry in entries.items()}


def test_each_config_part_and_control_has_an_entry(parts: Path, tmp_path: Path) -> None:
    export(parts, "opencompass", tmp_path)
    entries, rows = entries_of(tmp_path), {row["id"]: row for row in rows_of(parts)}
    assert sorted(one for ids in entries.values() for one in ids) == sorted(rows)
    name = f"parts_{parts.name.rpartition('-')[2]}"
    for entry, ids in entries.items():
        coordinates = {tuple(rows[one][column] for column in ("length", "part", "control")) for one in ids}
        ((length, part, control),) = coordinates
        size = "en-8k" if length == 8000 else "en-600"
        assert entry == "_".join([name, size, part, *([control] if control else [])])
    config = variables(tmp_path / "datasets" / "niah_opencompass.py")["niah_datasets"]
    assert [(one["abbr"], one["entry"]) for one in config] == [(entry, entry) for entry in entries]
    for entry, one in zip(entries, config, strict=True):
        assert one["infer_cfg"]["inferencer"]["max_out_len"] == (300 if "_lists" in entry else 200)


def test_a_part_named_like_the_control_of_another_part_is_refused(tmp_path: Path) -> None:
    facts, plain = {**PARTS["parts"][0], "name": "plain"}, {**PARTS["parts"][2], "name": "plain_absent"}
    dataset = niah_gen.build({**PARTS, "lengths": [600], "parts": [facts, plain]}, tmp_path / "made")
    with pytest.raises(NiahError, match=r"_plain_absent: rows of a part and rows of another part's control"):
        export(dataset, "opencompass", tmp_path / "tasks")
    export(dataset, "opencompass", tmp_path / "tasks", conditions=["control=none"])


def test_summary_weights_reproduce_our_headline_per_config_and_overall(parts: Path, tmp_path: Path) -> None:
    export(parts, "opencompass", tmp_path)
    entries, rows = entries_of(tmp_path), {row["id"]: row for row in rows_of(parts)}
    scores = {one: float(number * 37 % 101) for number, one in enumerate(rows)}
    means = {entry: sum(scores[one] for one in ids) / len(ids) for entry, ids in entries.items()}
    judge = Judge(parts)
    summarizer = variables(tmp_path / "summarizers" / "niah_opencompass.py")["summarizer"]
    groups = {group["name"]: group["weights"] for group in summarizer["summary_groups"]}
    name = f"parts_{parts.name.rpartition('-')[2]}"
    assert list(groups) == [name, f"{name}_en-600", f"{name}_en-8k"]
    for group, weights in groups.items():
        theirs = sum(means[entry] * weight for entry, weight in weights.items()) / sum(weights.values())
        asked = [(one, scores[one]) for entry, ids in entries.items() if entry.startswith(group) for one in ids]
        assert theirs == pytest.approx(judge.headline(asked), abs=1e-9)
