"""A comparison as a folder: reproducible bytes, nothing replaced unasked, no spreadsheet formulas or stale pictures."""

from __future__ import annotations

import csv
import errno
import unicodedata
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from failing_disk import error, failing, killed
from hostile_signs import EVERY
from made_comparisons import TABLES, pictures
from made_runs import reports

from niah_score.errors import LockedError, ResourceError, ScoreError
from niah_score.machine.files import hold
from niah_score.report.comparison import write as written
from niah_score.report.comparison.compare import RunComparison, compare_named
from niah_score.report.comparison.write import write_comparison
from niah_score.report.tables import TABLE_FORMATS, in_latex
from niah_score.text.visible import in_markdown


@pytest.fixture(scope="module")
def two() -> RunComparison:
    return compare_named([reports()[0], reports()[2]])


def test_the_same_runs_are_written_as_the_same_bytes(two: RunComparison, tmp_path: Path) -> None:
    one, other = write_comparison(two, tmp_path / "one"), write_comparison(two, tmp_path / "other")
    names = {path.name for path in one.iterdir()}
    assert names == TABLES | pictures("heatmaps", "difference-1")
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    bare = write_comparison(replace(two, grids=(), differences=()), tmp_path / "bare")
    assert {path.name for path in bare.iterdir()} == TABLES
    assert "![" not in (bare / "comparison.md").read_text("utf-8")


@cache
def named(name: str) -> RunComparison:
    """Two runs; the first one, its dataset and its signature carry the name."""
    _, report = reports()[0]
    small = replace(report, table=report.scores.head(6))
    strange = replace(small, dataset=name, signatures={"keyword": f"niah|{name}"})
    return compare_named([(name, strange), ("other", small)])


def test_hostile_names_of_models_and_datasets_stay_plain_text(tmp_path: Path) -> None:
    plain = named("plain")
    for name in EVERY[::11]:
        hostile, shown = named(name), name.encode("utf-8", "backslashreplace").decode()
        assert hostile.record["runs"][0]["name"] == hostile.frame["run"][0] == shown
        for form in TABLE_FORMATS:
            lines = hostile.lines(form)
            assert len(lines) == len(plain.lines(form)), (form, name)
            for line in lines:
                assert not {char for char in line if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}, form
        assert f"| {in_markdown(shown)} | " in "\n".join(hostile.lines("markdown"))
        assert f"\n    {in_latex(shown)} & " in "\n".join(hostile.lines("latex"))


@pytest.mark.slow
def test_names_in_the_csv_table_cannot_become_spreadsheet_formulas(tmp_path: Path) -> None:
    runs = [(name, report) for name, (_, report) in zip(("=1+1", "@x"), reports(), strict=False)]
    folder = write_comparison(compare_named(runs), tmp_path / "out")
    cells = [cell for line in csv.reader((folder / "comparison.csv").open(encoding="utf-8")) for cell in line]
    assert "'=1+1" in cells
    texts = [cell for cell in cells if cell[:1] in ("=", "+", "-", "@")]
    assert all(float(cell) < 0 for cell in texts)


def test_an_unusable_folder_and_an_unknown_palette_are_reported(two: RunComparison, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(ScoreError, match="is a file; --out takes a folder"):
        write_comparison(two, file)
    with pytest.raises(ResourceError, match="Not a directory"):
        write_comparison(two, file / "below")
    with pytest.raises(ScoreError, match="rainbow"):
        write_comparison(two, tmp_path / "out", palette="rainbow")
    assert not (tmp_path / "out").exists()


def test_a_comparison_is_replaced_on_request_and_whole_or_not_at_all(
    two: RunComparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(written, "draw", lambda grids, *paths, **how: [path.write_bytes(b"drawn") for path in paths])
    out = write_comparison(two, tmp_path / "out")
    (out / "difference-notes.png").write_text("mine")
    whole = {path.name: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(ScoreError, match=r"already holds a comparison \(comparison\.csv\); choose another --out"):
        write_comparison(two, out)
    with (
        hold(out, "a comparison", written._ours, overwrite=True),
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
    left = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    assert left == TABLES | pictures("heatmaps") | {"difference-notes.png"}
