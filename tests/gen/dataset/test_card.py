"""What cards and listings say of datasets."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from each import each
from made_store import BUCKET, MadeStore
from small_dataset import SMALL

import niah_gen
from niah_gen.dataset.card import chosen_rows
from niah_gen.dataset.listing import datasets_at, datasets_below, listing_lines
from niah_gen.errors import NiahError
from niah_gen.recipe.read import load_recipe
from niah_gen.rows.floors import smallest_difference
from niah_gen.rows.plan import make_plan
from niah_score.contract import CARD, open_dataset, read_manifest


@each("lengths", [[1000], [1000 + 10 * step for step in range(130)]])
def test_the_preview_shows_every_kind_of_row_in_up_to_a_hundred_rows(lengths: list[int]) -> None:
    recipe = {"name": "k", "lengths": lengths, "depths": [0, 50, 100], "languages": ["en"], "controls": ["no_context"]}
    plan = make_plan(load_recipe(recipe))
    chosen = chosen_rows(plan)
    rows = [plan.shards[number].first + place for number, places in enumerate(chosen) for place in places]
    cells = [plan.cells[row] for row in rows]
    assert rows == sorted(set(rows))
    assert {cell.control for cell in cells} == {None, "no_context"}
    assert {cell.depth for cell in cells} == {0, 50, 100}
    assert len(cells) <= 100
    assert len({cell.length for cell in cells}) >= min(len(lengths), 50)


PARTS: dict[str, Any] = {
    "name": "card-parts", "lengths": [700, 1000], "depths": [0, 100], "languages": ["en"],
    "parts": [
        {"name": "near", "task": "single", "needles": ["velden-archive"], "controls": ["absent", "no_context"]},
        {"name": "far", "task": "single", "needles": ["velden-archive"], "lengths": [1000]},
    ],
}  # fmt: skip


def front_of(folder: Path) -> dict[str, Any]:
    front: dict[str, Any] = yaml.safe_load((folder / CARD).read_text("utf-8").split("---\n")[1])
    return front


def test_the_config_of_all_rows_comes_first_and_the_preview_last(small: Path) -> None:
    configs = front_of(small)["configs"]
    assert [(config["config_name"], config.get("default")) for config in configs] == [
        ("all", True), *((name, None) for name in ("en-600", "en-1k", "zh-600", "zh-1k", "preview")),
    ]  # fmt: skip
    (files,) = (split["path"] for split in configs[0]["data_files"])
    assert files == [file.entry.path for file in open_dataset(small).files()]
    assert all((small / path).is_file() for path in files)
    assert configs[-1]["data_files"] == [{"split": "test", "path": "preview/test.parquet"}]


def test_the_card_names_only_needles_in_the_rows_and_counts_them_all(tmp_path: Path) -> None:
    named = {"name": "many", "needles": ["single-en"], "weight": 1}
    recipe = {**PARTS, "parts": [*PARTS["parts"], named], "languages": ["en"]}
    folder = niah_gen.build(recipe, tmp_path)
    rows = pl.read_parquet(folder / "data/*/*.parquet", columns=["part", "needle_id"]).unique()
    (head, table) = re.search(r"\n(\| part \|.*)\n\|[-|]+\n((?:\|.*\n)+)", (folder / CARD).read_text("utf-8")).groups()  # type: ignore[union-attr]
    at = head.split(" | ").index("needles")
    for line in table.splitlines():
        cells = line.removeprefix("| ").split(" | ")
        present = set(rows.filter(pl.col("part") == cells[0])["needle_id"])
        shown = [name for name in cells[at].split(", ") if not name.startswith("...")]
        assert set(shown) <= present
        assert int((re.findall(r"\((\d+)\)", cells[at]) or [len(shown)])[0]) == len(present)


def test_controls_are_described_and_left_out_of_the_grid(tmp_path: Path) -> None:
    text = (niah_gen.build(PARTS, tmp_path) / CARD).read_text("utf-8")
    assert "\n| no_context | " in text
    assert "guess rate" in text
    assert "| depth | 700 | 1k |\n|---|---:|---:|\n| 0 % | 1 | 2 |\n| 100 % | 1 | 2 |\n" in text


@pytest.mark.slow
def test_the_python_code_of_the_card_loads_the_rows_and_parses_throughout(small: Path, tmp_path: Path) -> None:
    load, tables, *run = re.findall(r"```python\n(.*?)```", (small / CARD).read_text("utf-8"), re.DOTALL)
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


def test_the_card_of_worlds_states_what_chance_is_worth_and_which_differences_are_told_apart(tmp_path: Path) -> None:
    worlds = {"parts": "records,tally", "lengths": [2000], "options.worlds": 2}
    text = (niah_gen.build("default", tmp_path, overrides=worlds) / CARD).read_text("utf-8")
    assert "\n| records | 8.3 | 8.3 | 18.2 |\n| tally | 16.7 | 0.0 | 18.3 |\n" in text
    assert re.search(r"\nTwo models that answer all rows are told apart .* by \d+\.\d points, at one length by ", text)


def test_more_worlds_and_more_lengths_tell_smaller_differences_apart() -> None:
    def told(worlds: int, lengths: int) -> float:
        recipe = load_recipe("default", {"options.worlds": worlds})
        questions = {"lists": 6, "tally": 6}
        rows = {
            (part.name, length): 2 * worlds * questions.get(part.name or "", 12)
            for part in recipe.parts for length in range(lengths)
        }  # fmt: skip
        return smallest_difference(recipe.parts, rows, 2)

    assert told(8, 1) == pytest.approx(5.2, abs=0.05)
    assert told(8, 3) < told(8, 1)
    assert told(32, 1) == pytest.approx(told(8, 1) / 2)


def copied(small: Path, folder: Path) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copytree(small, folder))


def test_a_line_states_name_version_digest_rows_tokens_lengths_and_formats(small: Path, tmp_path: Path) -> None:
    manifest = read_manifest(small)
    recipe = {**SMALL, "name": "four", "lengths": [600, 700, 800, 900], "languages": ["zh"], "depths": [0]}
    niah_gen.build(recipe, tmp_path, formats=["jsonl.gz", "jsonl"])
    copied(small, tmp_path / "small" / small.name)
    four, other = listing_lines(datasets_below(tmp_path)[0])
    assert re.split(r" {2,}", other) == [
        str(tmp_path / "small" / small.name), "small", "1.0.0", manifest.digest8, f"{manifest.rows} rows",
        f"{manifest.tokens:,} tokens", "en 600, 1k, zh 600, 1k", "parquet",
    ]  # fmt: skip
    assert re.split(r" {2,}", four)[-2:] == ["zh 600 to 900 (4)", "jsonl, jsonl.gz"]
    for column in (" rows", " tokens", "parquet"):
        assert four.find(column) in (other.find(column), -1)


def test_what_should_be_a_dataset_but_is_not_is_listed_with_its_problem(small: Path, tmp_path: Path) -> None:
    def changed(content: str) -> Path:
        copy = copied(small, tmp_path / "x" / "copy\x1b[2J")
        (copy / "manifest.json").write_text(content)
        return copy

    for make, problem in (
        (lambda: changed(""), "manifest.json: not a manifest of schema version"),
        (lambda: changed('{"schema_version": 99}'), "manifest.json: schema_version 99 is newer"),
        (lambda: copied(small, tmp_path / "x" / "1.0.0-0123abcd"), "the name says dataset 0123abcd, "),
        (lambda: (copied(small, tmp_path / "x" / "a") / "manifest.json").unlink(), "no manifest.json, so this is not"),
        (lambda: niah_gen.build(SMALL, tmp_path / "x", shard=(1, 2)),
         "unfinished, 2 files written; run the same build again, or its remaining"),
    ):  # fmt: skip
        make()
        (item,) = datasets_below(tmp_path)[0]
        assert (item.dataset, str(item.problem).startswith(problem)) == (None, True)
        (line,) = listing_lines([item])
        assert "\x1b" not in line
        shutil.rmtree(tmp_path / "x")
    with pytest.raises(NiahError, match="no such folder"):
        datasets_below(tmp_path / "nothing")


def test_a_dataset_with_missing_or_truncated_files_is_listed_with_a_warning(small: Path, tmp_path: Path) -> None:
    copy = copied(small, tmp_path / "copy")
    files = sorted(copy.rglob("*.parquet"))
    files[0].unlink()
    files[1].write_bytes(b"cut")
    (item,) = datasets_below(tmp_path)[0]
    assert item.dataset is not None
    (line,) = listing_lines([item])
    assert line.endswith(f"parquet  2 of {len(files) + 2} files missing or of another size: niah-gen verify")


def test_links_are_followed_and_each_folder_is_listed_once(small: Path, tmp_path: Path) -> None:
    top = tmp_path / "build"
    copied(small, top / "z" / "real")
    (top / "a-link").symlink_to(top / "z" / "real")
    (top / "around").symlink_to(top)
    copied(small, tmp_path / "elsewhere" / "other")
    (top / "m-link").symlink_to(tmp_path / "elsewhere")
    (top / "n-link").symlink_to(tmp_path / "elsewhere")
    assert [str(item.folder) for item in datasets_below(top)[0]] == [str(top / "m-link/other"), str(top / "z/real")]


FAR = {"name": "far", "task": "key-values", "languages": ["en"], "lengths": [400, 500], "depths": [0]}


def test_intact_damaged_and_unfinished_datasets_are_listed_as_such(store: type[MadeStore]) -> None:
    whole = niah_gen.build_at(FAR, f"{BUCKET}/a")
    short = niah_gen.build_at({**FAR, "name": "short"}, f"{BUCKET}/a")
    partial = niah_gen.build_at({**FAR, "name": "part"}, f"{BUCKET}/b", shard=(1, 2))
    store.objects["bucket/c/manifest.json"] = b"{}"
    store.objects["bucket/c/more.txt"] = b"x"
    del store.objects[f"{short.removeprefix('made://')}/recipe.toml"]
    lines = [line.split("  ") for line in listing_lines(datasets_at(BUCKET))]
    assert [line[0].rstrip() for line in lines] == [whole, short, partial, f"{BUCKET}/c"]
    descriptions = {line[0]: "  ".join(line[1:]) for line in lines}
    assert "2 rows" in descriptions[whole]
    assert "missing" not in descriptions[whole]
    assert "1 of 5 files missing or of another size: niah-gen verify" in descriptions[short]
    assert "unfinished, 1 files written" in descriptions[partial]
    assert "not a manifest" in descriptions[f"{BUCKET}/c"]
    (listed,) = datasets_at(whole)
    assert str(listed.folder).rstrip("/") == whole
    assert datasets_at(f"{BUCKET}/nothing") == []
