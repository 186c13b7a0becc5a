"""The gain of a context and its share of the oracle's gain follow their formulas, and what is missing is counted."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from made_log_probs import encoding, ids_of, log_probs, rows_of, windows, written

import niah_gen
from niah_gen.export.export import export
from niah_score.errors import ScoreError
from niah_score.report.logprobs.gain import GainReport, gain, gain_rows
from niah_score.report.logprobs.measure import Asked

RECIPE: dict[str, Any] = {"lengths": [500, 900], "depths": [0, 50, 100], "repeats": 2, "controls": ["absent"]}


@pytest.fixture(scope="module", params=["text", "chat"])
def dataset(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return niah_gen.build("smoke", tmp_path_factory.mktemp("set"), overrides={**RECIPE, "form": request.param})


@pytest.fixture(scope="module")
def requests(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    exported = export(dataset, "loglikelihood", tmp_path_factory.mktemp("requests"))
    return [json.loads(line) for line in Path(exported.files[0][0]).read_text("utf-8").splitlines()]


def answered(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers of the tests' model: for each request, the sum over its continuation."""
    records = []
    for request in requests:
        before = request.get("context") or "".join(message["content"] for message in request["messages"])
        count = len(ids_of(request["continuation"], "cl100k_base"))
        values = log_probs([*ids_of(before, "cl100k_base"), *ids_of(request["continuation"], "cl100k_base")])[-count:]
        records.append(
            {"id": request["id"], "condition": request["condition"], "logprob_sum": sum(values), "token_count": count}
        )
    return records


@pytest.fixture(scope="module")
def every(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return answered(requests)


@pytest.fixture
def records(every: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records that a test may damage."""
    return copy.deepcopy(every)


def scored(dataset: Path, records: list[dict[str, Any]], tmp_path: Path, **asked: Any) -> GainReport:
    return gain(dataset, written(tmp_path / "probs.jsonl", records), asked=Asked(**asked))


@pytest.mark.slow
def test_gain_and_recovery_follow_their_formulas(dataset: Path, records: list[dict[str, Any]], tmp_path: Path) -> None:
    report = scored(dataset, records, tmp_path)
    sums = {(one["id"], one["condition"]): one for one in records}
    names = [row["id"] for row in rows_of(dataset) if row["control"] is None]
    gains = {name: sums[name, "full"]["logprob_sum"] - sums[name, "alone"]["logprob_sum"] for name in names}
    oracle = {name: sums[name, "needle"]["logprob_sum"] - sums[name, "alone"]["logprob_sum"] for name in names}
    tokens = {name: sums[name, "full"]["token_count"] for name in names}
    every = report.figures[0]
    assert every.gain.value == pytest.approx(sum(gains.values()) / sum(tokens.values()), abs=1e-12)
    assert every.oracle.value == pytest.approx(sum(oracle.values()) / sum(tokens.values()), abs=1e-12)
    some = [name for name in names if oracle[name] > 0]
    assert 0 < len(some) < len(names)
    assert every.no_oracle_gain == len(names) - len(some)
    expected = sum(gains[name] for name in some) / sum(oracle[name] for name in some)
    assert every.recovery.value == pytest.approx(expected, abs=1e-12)
    for line in gain_rows(report):
        if line["status"] == "scored":
            name = line["id"]
            assert line["gain"] == pytest.approx(gains[name] / tokens[name])
            assert (line["recovery"] is None) == (oracle[name] <= 0)


def test_a_null_sum_needs_no_token_count(dataset: Path, records: list[dict[str, Any]], tmp_path: Path) -> None:
    first = records[0]
    records[0] = {"id": first["id"], "condition": first["condition"], "logprob_sum": None}
    report = scored(dataset, records, tmp_path, missing="exclude")
    assert report.statuses["incomplete"] == 1
    assert [(problem.kind, problem.message) for problem in report.problems] == [
        ("missing", f"{first['id']!r} lacks {first['condition']}")
    ]


def test_a_refusal_counts_the_missing_conditions(dataset: Path, records: list[dict[str, Any]], tmp_path: Path) -> None:
    rest = [one for one in records if one["condition"] != "needle"]
    count = len(records) // 3
    with pytest.raises(ScoreError, match=f"{count} of {count} rows lack a log-probability: needle in {count} "):
        scored(dataset, rest, tmp_path)


def test_a_dataset_of_windows_is_referred_to_the_perplexity_command(tmp_path: Path) -> None:
    file = written(tmp_path / "p.jsonl", [{"id": "x", "logprob_sum": -1.0, "token_count": 1}])
    with pytest.raises(ScoreError, match="to score windows, run niah-score perplexity"):
        gain(windows(tmp_path / "set"), file)


def test_control_rows_need_no_log_probabilities_and_are_counted_separately(
    dataset: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    report = scored(dataset, records, tmp_path)
    controls = sum(row["control"] is not None for row in rows_of(dataset))
    assert report.statuses == {"scored": len(records) // 3, "incomplete": 0, "control": controls, "no_answer": 0}
    assert controls > 0


def test_there_are_figures_by_language_length_and_depth(
    dataset: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    report = scored(dataset, records, tmp_path)
    named = [(one.group, one.value) for one in report.figures]
    assert named == [
        ("all", None), ("language", "en"), ("language", "zh"), ("length", "500"), ("length", "900"), ("depth", "0"),
        ("depth", "50"), ("depth", "100"),
    ]  # fmt: skip
    assert sum(one.rows for one in report.figures if one.group == "depth") == report.figures[0].rows


def test_a_missing_condition_is_counted_and_never_averaged_over(
    dataset: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    whole = scored(dataset, records, tmp_path)
    for condition, status in (("full", "incomplete"), ("alone", "incomplete"), ("needle", "scored")):
        first = next(n for n, record in enumerate(records) if record["condition"] == condition)
        fewer = [*records[:first], *records[first + 1 :]]
        with pytest.raises(ScoreError, match=r"1 of \d+ rows lack a log-probability"):
            scored(dataset, fewer, tmp_path)
        report = scored(dataset, fewer, tmp_path, missing="exclude")
        assert report.conditions[condition] == whole.conditions[condition] - 1
        (line,) = (line for line in gain_rows(report) if line["id"] == records[first]["id"])
        assert line["status"] == status
        assert report.figures[0].rows == whole.figures[0].rows - (status == "incomplete")
        assert report.figures[0].no_needle == int(status == "scored")


def test_token_counts_that_differ_between_conditions_are_a_problem(
    dataset: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    records[1]["token_count"] += 1
    with pytest.raises(ScoreError, match="tokens under its conditions"):
        scored(dataset, records, tmp_path)
    report = scored(dataset, records, tmp_path, missing="exclude")
    assert report.statuses["incomplete"] == 1
    assert report.exit_code == 3


def test_sums_without_a_token_count_can_be_scored_by_bytes(
    dataset: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    bare = [{name: value for name, value in record.items() if name != "token_count"} for record in records]
    with pytest.raises(ScoreError, match="how many tokens its sum is over"):
        scored(dataset, bare, tmp_path)
    report = scored(dataset, bare, tmp_path, per="byte")
    by_token = scored(dataset, records, tmp_path)
    assert report.figures[0].gain.value != by_token.figures[0].gain.value
    assert report.figures[0].recovery.value == pytest.approx(by_token.figures[0].recovery.value)


@pytest.mark.slow
def test_log_probabilities_of_tokens_lead_to_the_same_gain_as_sums(
    dataset: Path, requests: list[dict[str, Any]], records: list[dict[str, Any]], tmp_path: Path
) -> None:
    listed = []
    for request, record in zip(requests, records, strict=True):
        before = request.get("context") or "".join(message["content"] for message in request["messages"])
        ids = [*ids_of(before, "cl100k_base"), *ids_of(request["continuation"], "cl100k_base")]
        texts = [encoding("cl100k_base").decode_single_token_bytes(token).decode("utf-8", "replace") for token in ids]
        whole = all("\ufffd" not in text for text in texts[-record["token_count"] :])
        listed.append({"id": record["id"], "condition": record["condition"], "token_logprobs": [None, *log_probs(ids)],
                      "tokens": texts} if whole else record)  # fmt: skip
    expected, actual = scored(dataset, records, tmp_path), scored(dataset, listed, tmp_path)
    assert sum("tokens" in record for record in listed) > len(listed) / 2
    assert actual.figures[0].gain.value == pytest.approx(expected.figures[0].gain.value, abs=1e-12)


def test_tokens_of_another_answer_are_refused(dataset: Path, records: list[dict[str, Any]], tmp_path: Path) -> None:
    records[0] = {"id": records[0]["id"], "token_logprobs": [-1.0, -2.0], "tokens": ["not", " it"]}
    report = scored(dataset, records, tmp_path, missing="exclude")
    assert report.lines.malformed == 1
    assert "are not the row's answer" in report.problems[0].message


def test_gain_refuses_missing_partial_because_it_needs_all_tokens(
    dataset: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    with pytest.raises(ScoreError, match="needs all of its tokens"):
        scored(dataset, records, tmp_path, missing="partial")
