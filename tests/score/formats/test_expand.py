"""Files, folders and patterns expand to answer files, each once, in the order given."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from niah_score.errors import ScoreError
from niah_score.formats import expand, read_answers


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (
        "predictions/m/X_0.json",
        "predictions/m/X_10.json",
        "predictions/m/X_2.json",
        "predictions/m/tmp_Y.json",
        "predictions/m/.hidden/Z.json",
        "predictions/m/run.log",
        "out/results_1.json",
        "out/samples_niah_1.jsonl",
        "out/other/results_1.json",
        "a.jsonl.gz",
        "notes",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def names(paths: list[Path]) -> list[str]:
    return [path.name for path in paths]


def test_shards_are_sorted_by_their_numbers(folder: Path) -> None:
    shards = ["X_0.json", "X_2.json", "X_10.json"]
    assert names(expand([folder / "predictions"])) == [*shards, "tmp_Y.json"]
    assert names(expand([str(folder / "predictions" / "m" / "X_*.json")])) == shards
    assert names(expand([str(folder / "predictions")])) == [*shards, "tmp_Y.json"]


def test_arguments_keep_their_order(folder: Path) -> None:
    shards = [folder / "predictions" / "m" / name for name in ("X_10.json", "X_0.json", "X_2.json")]
    assert expand(shards) == shards
    assert names(expand([folder / "notes", str(folder / "predictions" / "m" / "X_*"), folder / "a.jsonl.gz"])) == [
        "notes", "X_0.json", "X_2.json", "X_10.json", "a.jsonl.gz",
    ]  # fmt: skip
    # A file that is named twice keeps its first place.
    assert names(expand([shards[1], folder / "predictions", shards[0]])) == [
        "X_0.json", "X_2.json", "X_10.json", "tmp_Y.json",
    ]  # fmt: skip


def test_a_dash_is_standard_input_and_a_path_reaches_a_file_of_that_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    Path("-").touch()
    assert expand(["-", "-", "notes"]) == [Path("-"), Path("notes")]
    assert expand(["./-"]) == [folder / "-"]


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need rights there")
def test_circular_links_are_reported_without_a_traceback(folder: Path) -> None:
    one, other = folder / "one.jsonl", folder / "other.jsonl"
    one.symlink_to(other)
    other.symlink_to(one)
    assert set(expand([str(folder / "o*.jsonl")])) == {one, other}
    assert expand([one]) == [one]
    with pytest.raises(ScoreError, match=r"one\.jsonl: cannot be read \(Too many levels of symbolic links\)"):
        list(read_answers(one))
    assert one not in expand([folder])


def test_each_file_is_listed_once(folder: Path) -> None:
    path = folder / "a.jsonl.gz"
    link = folder / "b.jsonl"
    link.symlink_to(path)
    assert expand([path, str(path), folder / "predictions" / ".." / "a.jsonl.gz", link]) == [path]


def test_results_beside_samples_are_not_answers(folder: Path) -> None:
    assert [path.relative_to(folder).as_posix() for path in expand([folder / "out"])] == [
        "out/other/results_1.json",
        "out/samples_niah_1.jsonl",
    ]


def test_a_named_file_may_have_any_name_and_a_pattern_opens_folders(folder: Path) -> None:
    assert names(expand([folder / "notes"])) == ["notes"]
    assert names(expand([str(folder / "predictions" / "*")])) == ["X_0.json", "X_2.json", "X_10.json", "tmp_Y.json"]


def test_arguments_that_match_no_file_are_errors(folder: Path) -> None:
    with pytest.raises(ScoreError, match="no answer files named"):
        expand([])
    with pytest.raises(ScoreError, match=r"none\*.jsonl: no such file"):
        expand([folder / "a.jsonl.gz", str(folder / "none*.jsonl")])
    (folder / "empty").mkdir()
    with pytest.raises(ScoreError, match="no answer files in this folder"):
        expand([folder / "empty"])
    for hostile in ("\0", "x" * 5000):
        with pytest.raises(ScoreError):
            expand([hostile])
