"""Result files of other projects are read as those projects mean them; anything else is refused with file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import real_answers
from each import each
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from made import Record
from properties import examples

from niah_score.errors import ScoreError
from niah_score.report.charts.cell_results import VERDICT
from niah_score.report.charts.foreign_results import read_foreign
from niah_score.report.charts.grid import Grid, grid_of
from niah_score.report.charts.labels import TABLE

HEAD = "dataset,version,metric,mode,qwen,internlm\n"


def mean(grid: Grid, length: float, depth: float) -> float | None:
    return grid.cells[grid.lengths.index(length), grid.depths.index(depth)].mean


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_an_opencompass_summary_has_a_grid_for_each_model(tmp_path: Path) -> None:
    file = written(
        tmp_path / "summary.csv",
        HEAD
        + "--------- NeedleBench ---------,-,-,-,-,-\n"
        + "Length8000Depth0_origin_zh_8k,c1d2,score,gen,90.00,-\n"
        + "Length1000Depth0_origin_zh_8k,c1d2,score,gen,100.00,20\n"
        + "Length1000Depth0_origin_en_8k,c1d2,score,gen,50.00,\n"
        + "Length1000Depth33_origin_zh_8k,c1d2,score,gen,0,0\n"
        + "mmlu,x,accuracy,gen,70,80\n",
    )
    qwen, internlm = read_foreign(file)
    assert (qwen.model, qwen.lengths, qwen.depths, qwen.metric) == ("qwen", (1000, 8000), (0, 33), "score")
    assert (mean(qwen, 1000, 0), mean(qwen, 8000, 0)) == (75, 90)
    assert [figure and figure.mean for figure in qwen.means] == [37.5, 90]
    assert qwen.overall is not None
    assert qwen.overall.mean == 63.75  # the mean of the lengths' means
    assert internlm.means[1] is None
    silent = internlm.cells[1, 0]
    assert (silent.mean, silent.unanswered, silent.method) == (None, 1, TABLE)
    assert internlm.cells[0, 0][:3] == (2, 1, 1)


@each(
    ("text", "message"),
    [
        ("", ":1: expected the columns dataset, version, metric, mode and one for each model; found nothing"),
        ("dataset,version,metric,mode\n", ":1: expected the columns"),
        ("id,prediction\n1,x\n", ":1: expected the columns"),
        ("dataset,version,metric,mode,a,a\n", ":1: two columns are named 'a'"),
        (HEAD + "mmlu,-,score,gen,1,2\n", ": no line's dataset is named like Length1000Depth50"),
        (HEAD + "Length1000Depth0,-,score,gen,1\n", ":2: 5 fields, expected 6"),
        (HEAD + "\nLength1000Depth0,-,score,gen,1,x\n", ":3: internlm: 'x' is not a score of 0 to 100"),
        (HEAD + "Length1000Depth0,-,score,gen,1,100.5\n", ":2: internlm: '100.5' is not a score"),
        (HEAD + "Length1000Depth0,-,score,gen,nan,1\n", ":2: qwen: 'nan' is not a score"),
        (HEAD + "Length1000Depth101,-,score,gen,1,1\n", ":2: dataset: 'Length1000Depth101' is not a length"),
        (HEAD + f"Length{'9' * 5000}Depth1,-,score,gen,1,1\n", ":2: dataset: 'Length9999"),
        (HEAD + "Length0Depth1,-,score,gen,1,1\n", ":2: dataset: 'Length0Depth1' is not a length"),
        (HEAD + 'Length1Depth1,-,score,gen,1,"1\n', ":2: is not CSV"),
        (HEAD.encode() + b"Length1Depth1,-,score,gen,1,\xff\n", ":2: is not UTF-8"),
        (HEAD + "Length1Depth1,-,a,gen,1,1\nLength1Depth1,-,b,gen,1,1\n", ": has several metrics (a, b)"),
    ],
)
def test_a_malformed_opencompass_summary_is_refused_with_its_line(
    text: str | bytes, message: str, tmp_path: Path
) -> None:
    file = written(tmp_path / "s.csv", text)
    with pytest.raises(ScoreError) as caught:
        read_foreign(file)
    assert f"{file}{message}" in str(caught.value)


def test_one_of_several_metrics_is_chosen_by_name(tmp_path: Path) -> None:
    file = written(tmp_path / "s.csv", HEAD + "Length1Depth1,-,a,gen,1,1\nLength1Depth1,-,b,gen,2,3\n")
    assert [mean(grid, 1, 1) for grid in read_foreign(file, "b")] == [2, 3]
    with pytest.raises(ScoreError, match="has no metric 'c'; it has a, b"):
        read_foreign(file, "c")


def result(**more: object) -> Record:
    return {"model": "m", "context_length": 1000, "depth_percent": 50.0, "version": 1, "score": 10, **more}


def test_a_folder_of_gkamradts_results_has_a_grid_for_each_model(tmp_path: Path) -> None:
    results = [
        result(), result(version=2, score=1), result(context_length=2000, score=7), result(model="other", score=3),
        result(context_length=2000, depth_percent=0, score=None),
    ]  # fmt: skip
    for number, one in enumerate(results):
        written(tmp_path / f"r{number}_results.json", json.dumps(one))
    written(tmp_path / "notes.txt", "mine")
    first, other = read_foreign(tmp_path)
    assert (first.model, first.lengths, first.depths, first.metric) == ("m", (1000, 2000), (0, 50), VERDICT)
    assert (mean(first, 1000, 50), mean(first, 2000, 50), mean(first, 2000, 0)) == (55, 70, None)
    assert first.cells[0, 1].n == 2
    assert (first.cells[1, 0].unanswered, (0, 0) in first.cells) == (1, False)
    assert (other.model, mean(other, 1000, 50)) == ("other", 30)
    assert first.means[0] is not None
    assert first.means[0].low is not None


def test_results_as_json_lines_and_as_a_json_list_make_the_same_grid(tmp_path: Path) -> None:
    results = [result(), result(score=1), result(depth_percent=0)]
    lines = written(tmp_path / "a.jsonl", "\n".join(json.dumps(one) for one in reversed(results)) + "\n\n")
    listed = written(tmp_path / "a.json", json.dumps(results))
    one, other = read_foreign(lines)[0], read_foreign(listed)[0]
    assert one.cells == other.cells
    assert one.means == other.means


@each(
    ("text", "message"),
    [
        ('{"model": "m"', ":1: is not JSON"),
        ("5", ":1: expected an object with context_length"),
        (json.dumps(result(context_length="x")), ":1: context_length: is 'x'; expected a number of 1 to 1e+09, tokens"),
        (json.dumps(result()) + "\n" + json.dumps(result(depth_percent=101)), ":2: depth_percent: is '101'"),
        (json.dumps(result(score=0)), ":1: score: is '0'; expected a number of 1 to 10"),
        (json.dumps(result(score=True)), ":1: score: is 'True'"),
        (json.dumps(result(context_length=1.5)), ":1: context_length: 1.5 is not a whole number"),
        (json.dumps(result(model=3)), ":1: model: is '3'; expected a text"),
        (json.dumps({"model": "m"}), ":1: context_length: is missing"),
        ("[" * 100_000, ":1: is not JSON"),
        ("", ": has no results"),
    ],
)
def test_a_malformed_result_is_refused_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    file = written(tmp_path / "r.jsonl", text)
    with pytest.raises(ScoreError) as caught:
        read_foreign(file)
    assert f"{file}{message}" in str(caught.value)


def test_paths_without_results_are_refused_with_the_reason(tmp_path: Path) -> None:
    for path, reason in (
        (tmp_path / "nothing", "no such file or folder"),
        (written(tmp_path / "a.txt", "x"), "expected an OpenCompass summary"),
        (tmp_path, "has no results"),
    ):
        with pytest.raises(ScoreError, match=reason):
            read_foreign(path)


@examples(60, HealthCheck.function_scoped_fixture)
@given(st.binary(max_size=200), st.sampled_from(["s.csv", "r.json", "r.jsonl"]), st.booleans())
def test_any_bytes_yield_either_grids_or_an_error_that_names_the_file(
    tmp_path: Path, data: bytes, name: str, with_head: bool
) -> None:
    file = written(tmp_path / name, (HEAD.encode() + b"Length1000Depth5_x," if with_head else b"") + data)
    message, grids = "", []
    try:
        grids = read_foreign(file)
    except ScoreError as error:
        message = str(error)
    assert (str(file) in message) != bool(grids)


needs_answers = pytest.mark.skipif(
    not real_answers.ANSWERS.exists(), reason="the real answers of Claude 2.1 are not beside the project"
)


@needs_answers
def test_claude_2_1_fails_in_the_upper_middle_depths_beyond_60k_tokens() -> None:
    (grid,) = read_foreign(real_answers.ANSWERS)
    assert (grid.model, len(grid.lengths), len(grid.depths)) == ("claude-2.1", 35, 35)
    assert sum(cell.rows for cell in grid.cells.values()) == 1376

    def region(lengths: tuple[float, float], depths: tuple[float, float]) -> float:
        means = [
            cell.mean
            for (column, row), cell in grid.cells.items()
            if lengths[0] <= grid.lengths[column] < lengths[1] and depths[0] <= grid.depths[row] <= depths[1]
        ]
        return sum(mean for mean in means if mean is not None) / len(means)

    everywhere = (0.5, 99.5)
    upper_middle = region((60_000, 200_001), (1, 60))
    assert upper_middle == pytest.approx(35.9, abs=0.1)
    assert region((0, 20_000), everywhere) > 97
    assert region((60_000, 200_001), (0, 0)) == 100
    assert region((60_000, 200_001), (100, 100)) == 100
    assert region((60_000, 200_001), (90, 99.5)) > upper_middle + 30
    assert region((0, 60_000), (1, 60)) > upper_middle + 30
    assert grid.overall is not None
    assert grid.overall.mean == pytest.approx(60.2, abs=0.05)


@needs_answers
def test_keyword_scores_draw_nearly_the_same_picture_as_the_judge() -> None:
    import polars as pl

    answers = real_answers.read_answers()
    scored = real_answers.judged(answers, ["keyword"], real_answers.BOTH)
    none = pl.Series([None] * len(answers), dtype=pl.String)
    frame = pl.DataFrame(
        {
            "id": [f"{number:05}" for number in range(len(answers))],
            "length": [answer["context_length"] for answer in answers],
            "depth_percent": [float(answer["depth_percent"]) for answer in answers],
            "language": none,
            "needle_id": none,
            "haystack_id": none,
            "status": scored["status"],
            "keyword": scored["keyword"],
        }
    )
    ours = grid_of(frame, "keyword")
    (theirs,) = read_foreign(real_answers.ANSWERS)
    assert ours.cells.keys() == theirs.cells.keys()
    disagreeing = [
        place
        for place, cell in ours.cells.items()
        if ((cell.mean or 0) >= 70) != ((theirs.cells[place].mean or 0) >= 70)
    ]
    assert len(disagreeing) < 12
