"""Exported tasks ask the chosen rows of the exported dataset, and refuse any other."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from changed_rows import rows_of

from niah_gen.errors import IntegrityError, NiahError
from niah_gen.export.export import export
from niah_gen.export.exported_tasks import ExportedTasks, exported_tasks


def tasks_of(folder: Path) -> ExportedTasks:
    """The tasks as the exported module reads them when it runs."""
    return exported_tasks(str(folder / "niah_inspect.py"))


def test_a_running_task_can_choose_rows_by_their_coordinates(grid: Path, tmp_path: Path) -> None:
    export(grid, "inspect", tmp_path, conditions=["depth=0,40"])
    tasks = tasks_of(tmp_path)
    assert {row.config for row in tasks.rows(config="en-900")} == {"en-900"}
    assert {row.config for row in tasks.rows(length="0.9k", language=["en", "zh"])} == {"en-900", "zh-900"}
    assert len(tasks.rows(length=[700, 900], language="zh")) == 4
    for asked, message in (
        ({"length": "8k"}, "length=8000: no row has it; there are 700, 900"),
        ({"length": "long"}, "length=long: no row has it; there are 700, 900"),
        ({"config": "fr-700"}, "config=fr-700: no row has it; there are en-700"),
        ({"part": "None"}, "part=None: no row has it; these rows have no part"),
    ):
        with pytest.raises(NiahError, match=message):
            tasks.rows(**asked)


def test_an_export_with_missing_rows_or_files_is_refused(grid: Path, tmp_path: Path) -> None:
    export(grid, "inspect", tmp_path, conditions=["depth=0"])
    ids = tmp_path / "niah_inspect_ids.txt"
    ids.write_text(f"{ids.read_text('utf-8')}stranger\n", "utf-8")
    with pytest.raises(IntegrityError, match="holds 4 of the 5 rows that were exported"):
        tasks_of(tmp_path).rows()
    for name in ("ids.txt", "export.json"):
        (tmp_path / f"niah_inspect_{name}").unlink()
        with pytest.raises(FileNotFoundError, match=f"_{name}"):
            tasks_of(tmp_path)


def test_niah_dataset_locates_a_moved_dataset_and_refuses_another(
    grid: Path, chats: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = shutil.copytree(grid, tmp_path / "first")
    export(moved, "inspect", tmp_path / "tasks")
    moved = moved.rename(tmp_path / "second")
    with pytest.raises(NiahError, match=r"no such folder; set NIAH_DATASET to where dataset [0-9a-f]{8} is now"):
        tasks_of(tmp_path / "tasks")
    monkeypatch.setenv("NIAH_DATASET", str(moved))
    assert [row.id for row in tasks_of(tmp_path / "tasks").rows()] == [row["id"] for row in rows_of(grid)]
    monkeypatch.setenv("NIAH_DATASET", str(chats))
    with pytest.raises(IntegrityError, match=r"and these tasks ask [0-9a-f]{8}; export them again"):
        tasks_of(tmp_path / "tasks")


@pytest.mark.slow
def test_exported_tasks_need_only_the_base_install(grid: Path, tmp_path: Path) -> None:
    export(grid, "inspect", tmp_path)
    extras = ("datasets", "jieba", "jinja2", "regex", "tiktoken", "tokenizers", "tomli_w")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({extras!r}))\n"
        "from niah_gen.export.exported_tasks import exported_tasks\n"
        "from niah_score import Judge\n"
        "tasks = exported_tasks(sys.argv[1])\n"
        "row = tasks.rows()[0]\n"
        "print(Judge(tasks.dataset)(row.id, row.columns['answers'][0]).score)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "niah_inspect.py")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "100.0"
