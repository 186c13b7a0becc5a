"""The dataset card: what the Hub reads from it, and what a person reads in it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from small_dataset import SMALL

import niah_gen
from niah_gen.dataset.complete import rewrite_card
from niah_gen.dataset.card import CANARY
from niah_score.contract import CARD, open_dataset

PARTS: dict[str, Any] = {
    "name": "card-parts", "lengths": [700, 1000], "depths": [0, 100], "languages": ["en"],
    "parts": [
        {"name": "near", "task": "single", "needles": ["velden-archive"], "controls": ["absent", "no_context"]},
        {"name": "far", "task": "single", "needles": ["velden-archive"], "lengths": [1000]},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return niah_gen.build(PARTS, tmp_path_factory.mktemp("parts"))


def test_a_card_is_rewritten_through_a_link_to_its_dataset(parts: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(parts)
    before = (parts / CARD).read_bytes()
    assert rewrite_card(tmp_path / "link") == tmp_path / "link" / CARD
    assert (parts / CARD).read_bytes() == before


def front_of(folder: Path) -> dict[str, Any]:
    front: dict[str, Any] = yaml.safe_load((folder / CARD).read_text("utf-8").split("---\n")[1])
    return front


def blocks(folder: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (folder / CARD).read_text("utf-8"), re.DOTALL)


def test_the_config_of_all_rows_comes_first_and_the_preview_last(small: Path) -> None:
    configs = front_of(small)["configs"]
    assert [config["config_name"] for config in configs] == [
        "all", "en-600", "en-1k", "zh-600", "zh-1k", "preview",
    ]  # fmt: skip
    assert [config.get("default") for config in configs] == [True, None, None, None, None, None]
    (files,) = (split["path"] for split in configs[0]["data_files"])
    assert files == [file.entry.path for file in open_dataset(small).files()]
    assert all((small / path).is_file() for path in files)
    assert configs[-1]["data_files"] == [{"split": "test", "path": "preview/test.parquet"}]


def test_a_rewritten_card_equals_the_card_of_the_build(parts: Path) -> None:
    built = (parts / CARD).read_bytes()
    rewrite_card(parts)
    assert (parts / CARD).read_bytes() == built


def test_the_card_names_only_needles_in_the_rows_and_counts_them_all(tmp_path: Path) -> None:
    folder = niah_gen.build("default", tmp_path, overrides={"languages": ["zh"], "lengths": [1000], "depths": [0, 50]})
    text = (folder / CARD).read_text("utf-8")
    rows = pl.read_parquet(folder / "data/*/*.parquet", columns=["part", "needle_id"]).unique()
    (head, table) = re.search(r"\n(\| part \|.*)\n\|[-|]+\n((?:\|.*\n)+)", text).groups()  # type: ignore[union-attr]
    at = head.split(" | ").index("needles")
    for line in table.splitlines():
        cells = line.removeprefix("| ").split(" | ")
        present = set(rows.filter(pl.col("part") == cells[0])["needle_id"])
        if not cells[at].strip():  # drawn at random, so in no recipe
            continue
        named = [name for name in cells[at].split(", ") if not name.startswith("...")]
        assert set(named) <= present
        assert int((re.findall(r"\((\d+)\)", cells[at]) or [len(named)])[0]) == len(present)
    assert "at 2 depths and 1 length, with" in text


def test_controls_are_described_and_left_out_of_the_grid(parts: Path) -> None:
    text = (parts / CARD).read_text("utf-8")
    assert "\n| no_context | " in text
    assert "guess rate" in text
    (grid,) = blocks(parts, "text")
    rows = [re.findall(r"\d+", line) for line in grid.splitlines()]
    assert rows == [["700", "1"], ["0", "1", "2"], ["100", "1", "2"]]
    assert "▓▓ 1  ██ 2" in grid


def test_lengths_and_depths_that_do_not_fit_the_grid_are_grouped(tmp_path: Path) -> None:
    recipe = {"name": "w", "lengths": [600 + step for step in range(11)], "depths": {"steps": 13}, "languages": ["en"]}
    folder = niah_gen.build({**recipe, "needles": ["velden-archive"]}, tmp_path)
    lines = blocks(folder, "text")[0].splitlines()
    assert lines[0].split() == ["depth", *(str(600 + step) for step in range(9)), "609-610"]
    assert len(lines) == 1 + 12
    assert lines[-1].split()[0] == "91.67-100"
    assert sum(int(n) for line in lines[1:] for n in re.findall(r"[░▒▓█]+ (\d+)", line)) == 11 * 13


@pytest.mark.slow
def test_the_python_code_of_the_card_loads_the_rows_and_parses_throughout(small: Path, tmp_path: Path) -> None:
    load, tables, *run = blocks(small, "python")
    for code in run:
        ast.parse(code)
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")}
    code = load.replace("THIS_FOLDER", str(small)).replace("\nrows", "\nassert len(list(rows)) in (18, 72)\nrows")
    code = code.replace("import load_dataset\n", "import load_dataset\nrows = range(18)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    names: dict[str, Any] = {}
    exec(tables.replace("THIS_FOLDER", str(small)), names)
    assert names["rows"].height == 72


def test_polars_and_pandas_read_every_row_of_the_files_the_card_lists(small: Path) -> None:
    files = [small / path for path in front_of(small)["configs"][0]["data_files"][0]["path"]]
    ids = [row["id"] for row in niah_gen.iter_rows(SMALL)]
    assert pl.read_parquet(files)["id"].to_list() == ids
    import pandas  # type: ignore[import-untyped]

    assert pandas.concat([pandas.read_parquet(file) for file in files])["id"].to_list() == ids


def test_the_card_says_how_to_score_and_cite_and_contains_the_canary(small: Path) -> None:
    text = (small / CARD).read_text("utf-8")
    assert "niah-score score THIS_FOLDER answers.jsonl" in text
    assert f"@misc{{small_{small.name[-8:]}," in text
    assert text.rstrip().endswith(CANARY)


def test_the_card_uses_the_hubs_name_of_a_licence_if_there_is_one(small: Path, tmp_path: Path) -> None:
    assert front_of(small)["license"] == "cc0-1.0"
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("A short tale was told. It had an end! Was it good? It was. " * 60)
    own = niah_gen.build({**SMALL, "corpora": [str(tmp_path / "notes")], "languages": ["en"]}, tmp_path)
    assert (front_of(own)["license"], front_of(own)["license_name"]) == ("other", "see-corpora")
