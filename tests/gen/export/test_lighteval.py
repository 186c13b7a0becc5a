"""Tasks exported for LightEval ask the chosen rows and judge their answers; a stub stands in for LightEval."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from stub_harnesses import lighteval_tasks

from niah_gen.dataset.read import rows_in
from niah_gen.export.base import ExportOptions
from niah_gen.export.export import export
from niah_score.contract import open_dataset


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [row for file in open_dataset(folder).files() for row in rows_in(file.path)]


def asked(module: Any, rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The ids that each task asks."""
    return {
        task.name: [doc.specific["id"] for row in rows if (doc := task.prompt_function(row, task.name)) is not None]
        for task in module.TASKS_TABLE
    }


def test_each_config_has_a_task_and_another_task_covers_all_rows(grid: Path, tmp_path: Path) -> None:
    done = export(grid, "lighteval", tmp_path)
    assert [Path(file.path).name for file in done.files] == [
        "niah_lighteval.py", "niah_lighteval.json", "niah_lighteval_tasks.txt", "niah_lighteval_export.json",
    ]  # fmt: skip
    module = lighteval_tasks(tmp_path)
    names = (tmp_path / "niah_lighteval_tasks.txt").read_text("utf-8").split()
    assert names == [f"niah_grid:{config}|0" for config in ("en-700", "en-900", "zh-700", "zh-900")]
    tasks = {task.name: task for task in module.TASKS_TABLE}
    assert {f"{name}|0" for name in tasks} == {*names, "niah_grid_all|0"}
    assert tasks["niah_grid:zh-700"].hf_subset == "zh-700"
    assert tasks["niah_grid_all"].hf_subset == "all"
    assert {task.hf_repo for task in tasks.values()} == {str(grid.absolute())}
    assert {task.generation_size for task in tasks.values()} == {200}
    rows = rows_of(grid)
    assert asked(module, rows)["niah_grid_all"] == [row["id"] for row in rows]


def test_only_chosen_rows_are_asked_with_the_extra_tokens_requested(grid: Path, tmp_path: Path) -> None:
    export(grid, "lighteval", tmp_path, ExportOptions(more_tokens=50), conditions=["depth=40,70", "language=en"])
    module = lighteval_tasks(tmp_path)
    rows = rows_of(grid)
    chosen = [row["id"] for row in rows if row["language"] == "en" and row["depth_percent"] in (40, 70)]
    assert len(chosen) == 4
    assert asked(module, rows)["niah_grid_all"] == chosen
    assert {task.generation_size for task in module.TASKS_TABLE} == {250}


def test_answers_are_judged_and_controls_are_left_out_of_the_headline(twins: Path, tmp_path: Path) -> None:
    export(twins, "lighteval", tmp_path)
    module = lighteval_tasks(tmp_path)
    judged = []
    for number, row in enumerate(rows_of(twins)):
        doc = module.doc(row, "task", None)
        answer = row["answers"][0] if number % 2 and row["control"] is None else "Zebra."
        response = SimpleNamespace(text=[answer], reasonings=[None])
        judged.append(module.JudgeAnswer().compute(doc, response))
    controls = {row["id"]: row["control"] for row in rows_of(twins)}
    without_controls = [one["score"] for one in judged if controls[one["id"]] is None]
    assert 0 < sum(without_controls) / len(without_controls) < 100
    assert module.headline(judged) == {"niah": pytest.approx(sum(without_controls) / len(without_controls))}
    assert {one["finding"] for one in judged} == {"found", "nothing"}


def test_a_chat_becomes_one_text_with_roles_only_if_the_assistant_speaks(chats: Path, tmp_path: Path) -> None:
    export(chats, "lighteval", tmp_path)
    module = lighteval_tasks(tmp_path)
    row = rows_of(chats)[0]
    assert module.doc(row, "task", None).query == f"Be brief.\n\n{row['prompt'][1]['content']}"
    turns = [{"role": "user", "content": "Hm?"}, {"role": "assistant", "content": "Yes."}]
    assert module.as_text([*turns, turns[0]]) == "User: Hm?\n\nAssistant: Yes.\n\nUser: Hm?"
    assert module.as_text("{as} it is\n") == "{as} it is\n"
