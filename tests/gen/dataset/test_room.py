"""Room on the disk: files already written count, even while other builds write beside them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from each import each
from small_dataset import SMALL

from niah_gen.dataset.folders import BuildFolders
from niah_gen.dataset.room import check_room
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.plan import make_plan


@each("looks", [0, 1])
def test_files_that_another_build_renames_meanwhile_do_not_stop_the_check(
    looks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(load_recipe(SMALL))
    target = BuildFolders(tmp_path / "small" / plan.folder_name)
    target.dataset.mkdir(parents=True)
    aside = target.dataset / ".test.parquet.0.tmp"
    aside.write_bytes(b"x" * 1000)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage._replace(free=20_000))
    notices: list[str] = []
    check_room(plan, target, ("parquet",), 2, notices.append)
    (before,) = notices
    real_stat = os.stat
    seen = 0

    def renamed_after(path: Any, *given: Any, **more: Any) -> os.stat_result:
        nonlocal seen
        if str(path) == str(aside):
            if seen == looks:
                aside.unlink()
            seen += 1
        return real_stat(path, *given, **more)

    monkeypatch.setattr(os, "stat", renamed_after)
    check_room(plan, target, ("parquet",), 2, notices.append)
    assert notices[1].split(" bytes ")[1:] == before.split(" bytes ")[1:]
