"""The CSV that is written for OpenCompass, read back as OpenCompass's own plot tool reads it."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given
from made_scores import Record, frame, grid, records, steady

from niah_score.report.tables import opencompass_summary
from niah_score.statistics.figures import cells, of_lengths
from niah_score.statistics.scored import Scored


def plotted(text: str) -> dict[str, tuple[dict[tuple[float, int], float], float]]:
    """What OpenCompass's plot tool makes of a CSV: for each model its cells and the overall score."""
    header, *lines = csv.reader(text.splitlines())
    assert header[:4] == ["dataset", "version", "metric", "mode"]
    models = {}
    for column, model in list(enumerate(header))[4:]:
        collected: dict[tuple[float, int], list[float]] = {}
        for line in lines:
            length = int(line[0].split("Length")[1].split("Depth")[0])
            depth = float(line[0].split("Depth")[1].split("_")[0])
            if line[column]:
                collected.setdefault((depth, length), []).append(float(line[column]))
        table = {place: sum(values) / len(values) for place, values in collected.items()}
        columns = [
            [score for (_, of), score in table.items() if of == length] for length in sorted({of for _, of in table})
        ]
        models[model] = (table, sum(sum(scores) / len(scores) for scores in columns) / len(columns))
    return models


def test_opencompass_plots_our_cells_and_our_overall_score() -> None:
    rows = grid([[100, 0, 41.234], [60, 70, 10]], repeats=3)
    rows[-1]["depth_percent"] = 33.5
    scores = frame(rows)
    text = opencompass_summary(Scored(scores), "a model")
    header, first, *_ = text.splitlines()
    assert header == "dataset,version,metric,mode,a model"
    assert first == "Length1000Depth0_origin_zh_2k,-,score,gen,100.00"
    assert "Length2000Depth33.5_origin_zh_2k,-,score,gen,10.00" in text.splitlines()
    table, score = plotted(text)["a model"]
    ours = {(line["depth_percent"], line["length"]): line["mean"] for line in cells(Scored(scores)).to_dicts()}
    # Two decimals, as OpenCompass writes.
    assert table == pytest.approx(ours, abs=0.005)
    assert score == pytest.approx(of_lengths(Scored(scores)).mean, abs=0.005)


@steady
@given(rows=records)
def test_opencompass_computes_our_overall_score_for_any_mix_of_languages_and_tasks(rows: list[Record]) -> None:
    placed = [row for row in rows if row["length"] is not None and row["depth_percent"] is not None]
    scores = frame(placed)
    ours = of_lengths(Scored(scores)).mean
    if ours is not None:
        _, score = plotted(opencompass_summary(Scored(scores), "m"))["m"]
        assert score == pytest.approx(ours, abs=1e-6)


def test_cells_without_scores_are_empty_fields_and_rows_without_a_length_are_left_out() -> None:
    rows: list[Record] = [
        {"length": 1500, "depth_percent": 0.0, "language": "en", "task": "multi", "score": None},
        {"length": 1500, "depth_percent": 50.0, "language": None, "score": 7.0},
        {"length": 1500, "depth_percent": 100.0, "language": "zh", "task": "multi", "score": 1.0},
        {"length": 1500, "depth_percent": 100.0, "language": "zh", "score": 100.0},
        {"length": None, "depth_percent": 50.0, "score": 8.0},
    ]
    lines = opencompass_summary(Scored(frame(rows)), "m").splitlines()
    assert lines[1:] == [
        "Length1500Depth0_multi_en_1500,-,score,gen,",
        "Length1500Depth50_origin_1500,-,score,gen,7.00",
        "Length1500Depth100_zh_1500,-,score,gen,50.50",
    ]


def test_a_mean_that_two_decimals_would_round_is_written_with_six() -> None:
    rows: list[Record] = [{"length": 1000, "depth_percent": 0.0, "score": score} for score in (0, 0, 100)]
    assert opencompass_summary(Scored(frame(rows)), "m").endswith(",33.333333\n")


NAMES = {
    "plain": "plain", 'with, comma and "quotes"': 'with, comma and "quotes"', "Length and Depth_": "Length and Depth_",
    "中文": "中文", "meta-llama/Llama-3-8B": "meta-llama-Llama-3-8B", "a\\b": "a-b", "two\nlines\0": "two-lines-",
    "m $\\frac{$": "m --frac{-", "": "model", "中" * 100: "中" * 66, "=HYPERLINK(1)": "'=HYPERLINK(1)",
}  # fmt: skip


def test_a_model_name_is_read_back_without_what_a_file_name_or_a_spreadsheet_would_act_on() -> None:
    for model, column in NAMES.items():
        text = opencompass_summary(Scored(frame(grid([[1.0]]))), model)
        assert next(csv.reader(text.splitlines(keepends=True)))[4] == column, model
