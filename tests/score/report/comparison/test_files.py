"""A comparison as a folder: reproducible bytes, nothing replaced unasked, no spreadsheet formulas or stale pictures."""

from __future__ import annotations

import csv
import errno
import json
import unicodedata
from dataclasses import replace
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from each import each
from failing_disk import error, failing, killed
from hostile_signs import EVERY
from made_comparisons import TABLES, pictures
from made_runs import RUNS, reports

from niah_score.errors import LockedError, ResourceError, ScoreError
from niah_score.machine.files import hold
from niah_score.report.comparison import files
from niah_score.report.comparison.files import as_dict, as_frame, write_comparison
from niah_score.report.comparison.side_by_side import SideBySide, side_by_side
from niah_score.report.comparison.tables import lines_of
from niah_score.report.comparison.typeset import TABLE_FORMATS, in_latex
from niah_score.text.visible import in_markdown


@pytest.fixture(scope="module")
def two() -> SideBySide:
    return side_by_side([reports()[0], reports()[2]])


def test_the_same_runs_are_written_as_the_same_bytes(two: SideBySide, tmp_path: Path) -> None:
    one, other = write_comparison(two, tmp_path / "one"), write_comparison(two, tmp_path / "other")
    names = {path.name for path in one.iterdir()}
    assert names == TABLES | pictures("heatmaps", "difference-1")
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_json_and_csv_hold_every_figure(two: SideBySide) -> None:
    record = json.loads(json.dumps(as_dict(two), allow_nan=False))
    assert [one["name"] for one in record["runs"]] == [RUNS[0], RUNS[2]]
    assert record["rows"] == 330
    frame = as_frame(two)
    assert frame.height == 2 * (2 + 5 + 55) + (2 + 5 + 55)
    (pair,) = record["pairs"]
    for group, parts in (("all", [pair["overall"]]), ("length", pair["lengths"]), ("cell", pair["cells"])):
        lines = frame.filter(pl.col("kind") == "difference", pl.col("group") == group)
        for name in ("n", "mean", "low", "high", "p", "adjusted", "noise"):
            assert lines[name].to_list() == [part[name] for part in parts]
    best = frame.filter(pl.col("best"))
    assert {(line["run"], line["group"], line["length"]) for line in best.to_dicts()} == {
        (
            one["run"],
            *{"rows": ("all", None), "lengths": ("lengths", None)}.get(one["column"], ("length", one["column"])),
        )
        for one in record["best"]
    }
    assert best.height > 0


@cache
def named(name: str) -> SideBySide:
    """Two runs; the first one, its dataset and its signature carry the name."""
    _, report = reports()[0]
    small = replace(report, table=report.scores.head(6))
    strange = replace(small, dataset=name, signatures={"keyword": f"niah|{name}"})
    return side_by_side([(name, strange), ("other", small)])


@each("name", EVERY[::11])
def test_hostile_names_of_models_and_datasets_stay_plain_text(name: str) -> None:
    hostile, plain = named(name), named("plain")
    written = name.encode("utf-8", "backslashreplace").decode()
    assert json.loads(json.dumps(as_dict(hostile), ensure_ascii=False).encode("utf-8"))["runs"][0]["name"] == written
    assert as_frame(hostile)["run"][0] == written
    for form in TABLE_FORMATS:
        lines = lines_of(hostile, form)
        assert len(lines) == len(lines_of(plain, form))
        for line in lines:
            assert not {char for char in line if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}, form
    assert f"| {in_markdown(written)} | " in "\n".join(lines_of(hostile, "markdown"))
    assert f"\n    {in_latex(written)} & " in "\n".join(lines_of(hostile, "latex"))


@pytest.mark.slow
def test_names_in_the_csv_table_cannot_become_spreadsheet_formulas(tmp_path: Path) -> None:
    runs = [(name, report) for name, (_, report) in zip(("=1+1", "@x"), reports(), strict=False)]
    folder = write_comparison(side_by_side(runs), tmp_path / "out")
    cells = [cell for line in csv.reader((folder / "comparison.csv").open(encoding="utf-8")) for cell in line]
    assert "'=1+1" in cells
    texts = [cell for cell in cells if cell[:1] in ("=", "+", "-", "@")]
    assert all(float(cell) < 0 for cell in texts)


@pytest.mark.slow
def test_an_existing_comparison_is_replaced_only_with_overwrite(two: SideBySide, tmp_path: Path) -> None:
    three = side_by_side(reports())
    folder = write_comparison(three, tmp_path / "out")
    (folder / "difference-notes.png").write_text("mine")
    before = (folder / "comparison.json").read_bytes()
    with pytest.raises(ScoreError, match=r"already holds a comparison \(comparison\.csv\); choose another --out"):
        write_comparison(two, folder)
    assert (folder / "comparison.json").read_bytes() == before
    write_comparison(two, folder, overwrite=True)
    assert {path.name for path in folder.iterdir()} == (
        TABLES | pictures("heatmaps", "difference-1") | {"difference-notes.png"}
    )


def test_a_comparison_without_grids_has_no_pictures(two: SideBySide, tmp_path: Path) -> None:
    folder = write_comparison(replace(two, grids=(), differences=()), tmp_path / "out")
    assert {path.name for path in folder.iterdir()} == TABLES
    assert "![" not in (folder / "comparison.md").read_text("utf-8")


def test_an_unusable_folder_and_an_unknown_palette_are_reported(two: SideBySide, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(ScoreError, match="is a file; --out takes a folder"):
        write_comparison(two, file)
    with pytest.raises(ResourceError, match="Not a directory"):
        write_comparison(two, file / "below")
    with pytest.raises(ScoreError, match="rainbow"):
        write_comparison(two, tmp_path / "out", palette="rainbow")
    assert not (tmp_path / "out").exists()


def test_a_comparison_is_replaced_whole_or_not_at_all(
    two: SideBySide, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "draw", lambda grids, *paths, **how: [path.write_bytes(b"drawn") for path in paths])
    out = write_comparison(two, tmp_path / "out")
    (out / "note.txt").write_text("mine")
    whole = {path.name: path.read_bytes() for path in out.iterdir()}
    with (
        hold(out, "a comparison", files._ours, overwrite=True),
        pytest.raises(LockedError, match="is writing a comparison there"),
    ):
        write_comparison(two, out, overwrite=True)
    less = replace(two, differences=())
    with failing(out, -1, killed) as operations:
        write_comparison(two, out, overwrite=True)
    for n in range(operations.done.index("os.rename comparison.json"), len(operations.done)):
        try:
            with failing(out, n, error(errno.EIO)):
                write_comparison(less, out, overwrite=True)
        except ResourceError:
            assert {path.name: path.read_bytes() for path in out.iterdir()} == whole, n
        else:
            break
    else:
        pytest.fail("every operation could be told")
    assert "difference-1.png" in whole
    assert not (out / "difference-1.png").exists()
