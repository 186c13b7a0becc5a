"""Exported entries run in the real OpenCompass: its numbers and plots equal ours."""

from __future__ import annotations

import ast
import csv
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from client_runs import Scores, documented, export, rows_of, run, score
from planned_server import SURVIVED, expected, plan, serving

MODELS = """
models = [
    dict(
        abbr="planned", type="opencompass.models.OpenAI", path="gpt-4", key="x",
        openai_api_base="{url}/chat/completions",
        meta_template=dict(
            round=[dict(role="HUMAN", api_role="HUMAN"), dict(role="BOT", api_role="BOT", generate=True)],
            reserved_roles=[dict(role="SYSTEM", api_role="SYSTEM")],
        ),
        query_per_second=64, retry=3, max_seq_len=32768, batch_size=8, temperature=0.0,
    )
]
"""


def evaluated(tasks: Path, url: str, folder: Path, **more: Any) -> Path:
    """Run all entries, and return OpenCompass's folder of the run."""
    (tasks / "models").mkdir()
    (tasks / "models" / "planned.py").write_text(MODELS.format(url=url), "utf-8")
    printed = run(["niah-gen", "tokenizers", "--tiktoken-cache", folder / "tiktoken"], folder).split(
        "TIKTOKEN_CACHE_DIR="
    )
    run(
        ["opencompass", "--config-dir", tasks, "--datasets", "niah_opencompass", "--summarizer", "niah_opencompass",
         "--models", "planned", "--debug", "--work-dir", folder / "out"],
        folder, PYTHONPATH=str(tasks), TIKTOKEN_CACHE_DIR=printed[1].split("\n")[0], **more,
    )  # fmt: skip
    (run_folder,) = (folder / "out").iterdir()
    return run_folder


def entries_of(tasks: Path) -> dict[str, list[str]]:
    """The ids of each entry."""
    entries = json.loads((tasks / "niah_opencompass.json").read_bytes())
    return {name: entry["ids"] for name, entry in entries.items()}


def answers_of(folder: Path) -> list[Path]:
    return sorted((folder / "predictions" / "planned").glob("*.json"))


def summary_of(folder: Path) -> dict[str, Any]:
    """The unrounded numbers of each entry and group in the summary."""
    (summary,) = (folder / "summary").glob("*.txt")
    raw = summary.read_text("utf-8").split("Model: planned\n")[1]
    pairs = (line.split(": ", 1) for line in raw.splitlines() if ": {" in line)
    return {name: ast.literal_eval(value) for name, value in pairs}


def mean(scores: Scores, ids: list[str]) -> float:
    return sum(scores.rows[name].score for name in ids) / len(ids)


@pytest.mark.parametrize("name", ["texts", "chats", "parts"])
def test_exported_entries_run_and_score_as_planned(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    dataset: Path = request.getfixturevalue(name)
    rows = rows_of(dataset)
    plans = plan(rows, SURVIVED)
    export(dataset, "opencompass", tmp_path / "tasks")
    with serving(rows, plans) as server:
        done = evaluated(tmp_path / "tasks", server.url, tmp_path)
    ours = score(dataset, answers_of(done), tmp_path / "scores")
    assert ours.rows == expected(rows, plans, logged=False)
    theirs = summary_of(done)
    limits = {row["id"]: row["max_new_tokens"] for row in rows}
    for entry, ids in entries_of(tmp_path / "tasks").items():
        assert theirs[entry]["score"] == pytest.approx(mean(ours, ids), abs=1e-9)
        assert {server.bodies[one]["max_tokens"] for one in ids} == {max(limits[one] for one in ids)}
    headline = theirs[f"{name}_{dataset.name.rpartition('-')[2]}"]["weighted_average"]
    documented("opencompass", f"by config, {name}", len(rows), ours.headline, headline)


def test_the_summary_by_length_and_depth_equals_our_heatmap(texts: Path, tmp_path: Path) -> None:
    rows = [row for row in rows_of(texts) if row["language"] == "en"]
    plans = plan(rows, ["right", "wrong", "thinking"])
    moved = shutil.copytree(texts, tmp_path / "moved" / texts.name)
    export(moved, "opencompass-length-depth", tmp_path / "tasks", "--subset", "language=en", "--order", "shuffled")
    shutil.rmtree(moved)
    with serving(rows, plans) as server:
        done = evaluated(tmp_path / "tasks", server.url, tmp_path, NIAH_DATASET=str(texts))
    scores = score(texts, answers_of(done), tmp_path / "scores", "--missing", "exclude")
    assert scores.rows == expected(rows, plans)
    for path in answers_of(done):
        assert [one["gold"]["id"] for one in json.loads(path.read_bytes()).values()] == entries_of(tmp_path / "tasks")[
            path.stem
        ]
    (summary,) = (done / "summary").glob("*.csv")
    with summary.open(newline="", encoding="utf-8") as lines:
        cells = {line["dataset"].split("_")[0]: float(line["planned"]) for line in csv.DictReader(lines)}
    with (tmp_path / "scores" / "opencompass_summary.csv").open(newline="", encoding="utf-8") as lines:
        next(reader := csv.reader(lines))
        ours = {line[0].split("_")[0]: float(line[-1]) for line in reader}
    assert cells == ours
    assert len(cells) == 6
    assert list((done / "summary" / "plots" / "origin_en_4k").glob("*.png"))
    documented("opencompass", "by length and depth, English texts", len(rows), scores.headline, mean_of(cells))


def mean_of(cells: Mapping[str, float]) -> float:
    return sum(cells.values()) / len(cells)
