"""The gain of a context and its share of the oracle's gain follow their formulas, and what is missing is counted."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from each import each
from made_log_probs import ids_of, log_probs, rows_of, written

import niah_gen
from niah_gen.export.export import export
from niah_score.errors import ScoreError
from niah_score.logprobs.gain import gain
from niah_score.logprobs.report import Report
from niah_score.logprobs.targets import Asked

Record = dict[str, Any]
RECIPE: dict[str, Any] = {"lengths": [500, 900], "depths": [0, 50, 100], "repeats": 2, "controls": ["absent"]}


@pytest.fixture(scope="module", params=["text", "chat"])
def dataset(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return niah_gen.build("smoke", tmp_path_factory.mktemp("set"), overrides={**RECIPE, "form": request.param})


@pytest.fixture(scope="module")
def requests(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    exported = export(dataset, "loglikelihood", tmp_path_factory.mktemp("requests"))
    return [json.loads(line) for line in Path(exported.files[0][0]).read_text("utf-8").splitlines()]


def tokens_of(request: Record) -> tuple[list[int], int]:
    """The tokens of a request and its continuation, and how many of the last are the continuation's."""
    before = request.get("context") or "".join(message["content"] for message in request["messages"])
    own = ids_of(request["continuation"], "cl100k_base")
    return [*ids_of(before, "cl100k_base"), *own], len(own)


@pytest.fixture(scope="module")
def every(requests: list[Record]) -> list[Record]:
    """The sums of the tests' model over the continuation of each request."""
    records = []
    for request in requests:
        ids, count = tokens_of(request)
        about = {"id": request["id"], "condition": request["condition"]}
        records.append({**about, "logprob_sum": sum(log_probs(ids)[-count:]), "token_count": count})
    return records


@pytest.fixture
def records(every: list[Record]) -> list[Record]:
    """Records that a test may damage."""
    return copy.deepcopy(every)


def scored(dataset: Path, records: list[Record], tmp_path: Path, **asked: Any) -> Report:
    return gain(dataset, [written(tmp_path / "probs.jsonl", records)], asked=Asked(**asked))


def test_gain_and_recovery_follow_their_formulas(dataset: Path, records: list[Record], tmp_path: Path) -> None:
    report = scored(dataset, records, tmp_path)
    sums = {(one["id"], one["condition"]): one["logprob_sum"] for one in records}
    tokens = {one["id"]: one["token_count"] for one in records}
    gains = {name: sums[name, "full"] - sums[name, "alone"] for name in tokens}
    oracle = {name: sums[name, "needle"] - sums[name, "alone"] for name in tokens}
    some = [name for name in tokens if oracle[name] > 0]
    figure = report.figures[0]
    assert 0 < len(some) < len(tokens)
    assert (figure["rows"], figure["no_oracle_gain"]) == (len(tokens), len(tokens) - len(some))
    assert figure["gain"] == pytest.approx(sum(gains.values()) / sum(tokens.values()), abs=1e-12)
    assert figure["oracle"] == pytest.approx(sum(oracle.values()) / sum(tokens.values()), abs=1e-12)
    expected = sum(gains[name] for name in some) / sum(oracle[name] for name in some)
    assert figure["recovery"] == pytest.approx(expected, abs=1e-12)
    lines = {line["id"]: line for line in report.rows}
    for name, count in tokens.items():
        assert lines[name]["gain"] == pytest.approx(gains[name] / count)
        assert (lines[name]["recovery"] is None) == (oracle[name] <= 0)
    controls = sum(row["control"] is not None for row in rows_of(dataset))
    assert controls > 0
    assert report.statuses == {"scored": len(tokens), "incomplete": 0, "control": controls, "no_answer": 0}
    assert [(one["group"], one["value"]) for one in report.figures] == [
        ("all", None), ("language", "en"), ("language", "zh"), ("length", "500"), ("length", "900"), ("depth", "0"),
        ("depth", "50"), ("depth", "100"),
    ]  # fmt: skip
    assert sum(one["rows"] for one in report.figures if one["group"] == "depth") == figure["rows"]


@each(("condition", "status"), [("full", "incomplete"), ("alone", "incomplete"), ("needle", "scored")])
def test_a_missing_condition_is_counted_and_never_averaged_over(
    dataset: Path, every: list[Record], condition: str, status: str, tmp_path: Path
) -> None:
    records = [*every]
    first = next(n for n, record in enumerate(records) if record["condition"] == condition)
    name = records[first]["id"]
    fewer = [*records[:first], *records[first + 1 :]]
    with pytest.raises(ScoreError, match=r"1 of \d+ rows lack log-probabilities") as caught:
        scored(dataset, fewer, tmp_path)
    assert f"{name!r} lacks {condition}" in str(caught.value)
    report = scored(dataset, fewer, tmp_path, missing="exclude")
    # A null sum needs no count.
    records[first] = {"id": name, "condition": condition, "logprob_sum": None}
    assert scored(dataset, records, tmp_path, missing="exclude").figures == report.figures
    assert report.conditions is not None
    assert report.conditions[condition] == len(records) // 3 - 1
    (line,) = (line for line in report.rows if line["id"] == name)
    assert line["status"] == status
    assert report.figures[0]["rows"] == len(records) // 3 - (status == "incomplete")
    assert report.figures[0]["no_needle"] == int(status == "scored")
    assert [(problem.kind, problem.message) for problem in report.problems] == [
        ("missing", f"{name!r} lacks {condition}")
    ]


def test_sums_without_a_token_count_can_be_scored_by_bytes(
    dataset: Path, records: list[Record], tmp_path: Path
) -> None:
    bare = [{name: value for name, value in record.items() if name != "token_count"} for record in records]
    with pytest.raises(ScoreError, match="neither how many tokens its sum is over"):
        scored(dataset, bare, tmp_path)
    by_byte, by_token = scored(dataset, bare, tmp_path, per="byte"), scored(dataset, records, tmp_path)
    assert by_byte.figures[0]["gain"] != by_token.figures[0]["gain"]
    assert by_byte.figures[0]["recovery"] == pytest.approx(by_token.figures[0]["recovery"])


def test_another_answer_and_missing_partial_and_rows_without_an_answer_are_refused(
    dataset: Path, records: list[Record], tmp_path: Path
) -> None:
    records[0] = {"id": records[0]["id"], "token_logprobs": [-1.0, -2.0], "tokens": ["not", " it"]}
    report = scored(dataset, records, tmp_path, missing="exclude")
    assert report.lines.malformed == 1
    assert "the last tokens are not the row's answer" in report.problems[0].message
    with pytest.raises(ScoreError, match="needs all of its tokens"):
        scored(dataset, records, tmp_path, missing="partial")
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"id": "a", "answers": [], "prompt": "?"}))
    with pytest.raises(ScoreError, match="to score windows, run niah-score perplexity"):
        scored(file, records, tmp_path)
