"""Perplexity of windows equals a direct computation from the model's numbers, and never averages over missing ones."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest
from each import each
from made_log_probs import LENGTHS, direct, ids_of, log_probs, offsets_of, rows_of, token_records, windows, written

from niah_score.errors import IntegrityError, ScoreError
from niah_score.report.logprobs.measure import Asked
from niah_score.report.logprobs.perplexity import LengthFigure, PerplexityReport, perplexity


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return windows(tmp_path_factory.mktemp("cl100k"))


@pytest.fixture(scope="module")
def every(dataset: Path) -> list[dict[str, Any]]:
    return token_records(dataset)


@pytest.fixture
def records(every: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records that a test may damage."""
    return copy.deepcopy(every)


def figure(report: PerplexityReport, language: str, length: int) -> LengthFigure:
    (chosen,) = (one for one in report.figures if (one.language, one.length) == (language, length))
    return chosen


def nll(measured: LengthFigure) -> float:
    assert measured.nll.value is not None
    return measured.nll.value


def bits(measured: LengthFigure) -> float:
    assert measured.bits.value is not None
    return measured.bits.value


@pytest.mark.slow
@each("tokenizer", ["cl100k_base", "o200k_base"])
def test_the_figures_of_every_length_equal_a_direct_computation_over_documents(tokenizer: str, tmp_path: Path) -> None:
    dataset = windows(tmp_path, tokenizer)
    report = perplexity(dataset, written(tmp_path / "probs.jsonl", token_records(dataset, tokenizer)))
    scored = set()
    for language in ("en", "zh"):
        for length in LENGTHS:
            actual, expected = figure(report, language, length), direct(dataset, language, length, tokenizer)
            assert (actual.tokens, actual.bytes) == (expected.tokens, expected.bytes)
            assert nll(actual) == pytest.approx(expected.nats / expected.tokens, abs=1e-9)
            assert bits(actual) == pytest.approx(expected.nats / math.log(2) / expected.bytes, abs=1e-9)
            scored.add((language, actual.tokens, actual.bytes))
    assert len(scored) == 2, "all lengths score the same tokens"


@pytest.mark.slow
def test_one_window_over_a_whole_document_scores_the_document(
    dataset: Path, every: list[dict[str, Any]], tmp_path: Path
) -> None:
    actual = figure(perplexity(dataset, written(tmp_path / "p.jsonl", every)), "en", 640)
    rows = [row for row in rows_of(dataset) if (row["language"], row["length"]) == ("en", 640)]
    assert len(rows) == 4
    values = [value for row in rows for value in log_probs(ids_of(row["prompt"], "cl100k_base"))]
    assert nll(actual) == pytest.approx(-sum(values) / len(values), abs=1e-9)
    assert (actual.rows, actual.tokens, actual.nll.clusters) == (4, len(values), 4)


def test_an_interval_is_that_of_a_ratio_estimated_over_documents(
    dataset: Path, every: list[dict[str, Any]], tmp_path: Path
) -> None:
    actual = figure(perplexity(dataset, written(tmp_path / "p.jsonl", every)), "en", 640)
    sums = [-sum(record["token_logprobs"][1:]) for record, row in zip(every, rows_of(dataset), strict=True)
            if (row["language"], row["length"]) == ("en", 640)]  # fmt: skip
    sizes = [row["prompt_tokens"] - 1 for row in rows_of(dataset) if (row["language"], row["length"]) == ("en", 640)]
    mean = sum(sums) / sum(sizes)
    residuals = sum((one - mean * size) ** 2 for one, size in zip(sums, sizes, strict=True))
    error = math.sqrt(4 / 3 * residuals) / sum(sizes)
    assert actual.nll.low is not None
    assert actual.nll.high is not None
    assert (actual.nll.high - actual.nll.low) / 2 == pytest.approx(3.182446 * error, rel=1e-3)
    assert actual.nll.method == "t: 4 documents, rough"


def test_a_token_before_the_text_such_as_bos_is_skipped(
    dataset: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    plain = perplexity(dataset, written(tmp_path / "p.jsonl", records))
    for record in records:
        # The first token of the text has a log-probability now, given BOS; it is in no target.
        record["token_logprobs"] = [None, -7.0, *record["token_logprobs"][1:]]
    with_bos = perplexity(dataset, written(tmp_path / "bos.jsonl", records))
    assert [one.nll for one in with_bos.figures] == [one.nll for one in plain.figures]


def test_missing_tokens_are_refused_unless_the_user_says_how_they_count(
    dataset: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    records[0]["token_logprobs"][50] = None
    file = written(tmp_path / "p.jsonl", records)
    with pytest.raises(ScoreError, match=r"1 of \d+ rows lack some tokens' .*--missing exclude"):
        perplexity(dataset, file)
    row = rows_of(dataset)[0]
    expected = direct(dataset, "en", 200)
    own = log_probs(ids_of(row["prompt"], "cl100k_base"))
    left_out = figure(perplexity(dataset, file, asked=Asked(missing="exclude")), "en", 200)
    assert left_out.tokens == expected.tokens - len(own)
    assert nll(left_out) == pytest.approx((expected.nats + sum(own)) / left_out.tokens, abs=1e-9)
    assert (left_out.rows, left_out.of, left_out.missing_tokens) == (left_out.of - 1, left_out.of, 1)
    partly = figure(perplexity(dataset, file, asked=Asked(missing="partial")), "en", 200)
    assert partly.tokens == expected.tokens - 1
    assert nll(partly) == pytest.approx((expected.nats + own[49]) / partly.tokens, abs=1e-9)
    assert partly.bits.value is None, "nothing says how many bytes the known tokens have"


def test_a_missing_token_outside_the_target_does_not_matter(
    dataset: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    place = next(n for n, row in enumerate(rows_of(dataset)) if row["repeat"] == 1)
    records[place]["token_logprobs"][3] = None
    assert perplexity(dataset, written(tmp_path / "p.jsonl", records)).statuses["incomplete"] == 0


def test_rows_without_a_record_are_counted(dataset: Path, records: list[dict[str, Any]], tmp_path: Path) -> None:
    file = written(tmp_path / "p.jsonl", records[2:])
    with pytest.raises(ScoreError, match=r"2 of \d+ rows have no log-probabilities"):
        perplexity(dataset, file)
    report = perplexity(dataset, file, asked=Asked(missing="exclude"))
    assert report.statuses == {"scored": len(records) - 2, "incomplete": 0, "missing": 2}
    shortest = figure(report, "en", 200)
    assert shortest.missing_rows == 2
    assert shortest.missing_tokens > 100
    assert report.exit_code == 0


def test_log_probabilities_from_another_tokenizer_are_refused(dataset: Path, tmp_path: Path) -> None:
    file = written(tmp_path / "p.jsonl", token_records(dataset, "o200k_base"))
    with pytest.raises(ScoreError, match=r"p.jsonl:\d+: row .* tokens for a prompt of .*'cl100k_base'.*--per byte"):
        perplexity(dataset, file)


def test_a_record_that_names_another_tokenizer_is_refused_even_where_counts_agree(
    dataset: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    file = written(tmp_path / "p.jsonl", [{**record, "tokenizer": "llama"} for record in records])
    with pytest.raises(ScoreError, match="its tokenizer is 'llama', the dataset's is 'cl100k_base'"):
        perplexity(dataset, file)
    with pytest.raises(ScoreError, match="its tokenizer is 'llama'"):
        perplexity(dataset, written(tmp_path / "q.jsonl", records), asked=Asked(tokenizer="llama"))


@pytest.mark.slow
@pytest.mark.parametrize("places", ["offsets", "texts"])
def test_log_probabilities_from_another_tokenizer_can_be_scored_by_bytes(
    dataset: Path, places: str, tmp_path: Path
) -> None:
    rows = [row for row in rows_of(dataset) if places == "offsets" or row["language"] == "en"]
    records, nats = [], dict.fromkeys([("en", length) for length in LENGTHS], 0.0)
    for row in rows:
        ids = ids_of(row["prompt"], "o200k_base")
        values = log_probs(ids)
        begins = offsets_of(row["prompt"], "o200k_base")
        record: dict[str, Any] = {"id": row["id"], "token_logprobs": [None, *values], "tokenizer": "o200k_base"}
        record |= {"text_offset": begins} if places == "offsets" else {"tokens": _texts(row["prompt"], begins)}
        records.append(record)
        for value, begin in zip(values, begins[1:], strict=True):
            if row["language"] == "en" and row["target_span"]["start"] <= begin:
                nats["en", row["length"]] -= value
    asked = Asked(per="byte", missing="exclude")
    report = perplexity(dataset, written(tmp_path / "p.jsonl", records), asked=asked)
    for length in LENGTHS:
        actual = figure(report, "en", length)
        assert actual.nll.value is None, "tokens of two tokenizers are no unit"
        assert bits(actual) == pytest.approx(nats["en", length] / math.log(2) / actual.bytes, abs=1e-9)
    assert actual.bytes == direct(dataset, "en", 640).bytes


def _texts(text: str, begins: list[int]) -> list[str]:
    return [text[start:end] for start, end in zip(begins, [*begins[1:], len(text)], strict=True)]


def test_offsets_in_bytes_are_refused(dataset: Path, tmp_path: Path) -> None:
    row = next(row for row in rows_of(dataset) if row["language"] == "zh")
    count = len(ids_of(row["prompt"], "o200k_base"))
    step = len(row["prompt"].encode()) // count
    record = {
        "id": row["id"],
        "token_logprobs": [None] + [-1.0] * (count - 1),
        "text_offset": [step * n for n in range(count)],
    }
    with pytest.raises(ScoreError, match="expected places in characters, not in bytes"):
        perplexity(dataset, written(tmp_path / "p.jsonl", [record]), asked=Asked(per="byte"))


def test_offsets_that_end_before_the_target_ends_are_refused(dataset: Path, tmp_path: Path) -> None:
    for row in (one for one in rows_of(dataset) if one["length"] == 640):
        begins = offsets_of(row["prompt"], "o200k_base")
        begins = [begin for begin in begins if begin < row["target_span"]["end"] - 300]
        if len(begins) < 2:
            continue
        record = {"id": row["id"], "token_logprobs": [None] + [-1.0] * (len(begins) - 1), "text_offset": begins}
        with pytest.raises(ScoreError, match="did the server cut the prompt"):
            perplexity(dataset, written(tmp_path / "p.jsonl", [record]), asked=Asked(per="byte", missing="exclude"))


def test_a_response_that_counts_no_prompt_tokens_is_refused(dataset: Path, tmp_path: Path) -> None:
    row = rows_of(dataset)[0]
    logprobs = {"token_logprobs": [None, -1.0], "tokens": ["It", " is"], "text_offset": [0, 2]}
    body = {"choices": [{"text": "It is", "logprobs": logprobs}], "usage": {"prompt_tokens": 0}}
    file = written(tmp_path / "p.jsonl", [{"custom_id": row["id"], "response": {"body": body}}])
    for per in ("byte", "token"):
        with pytest.raises(ScoreError, match="it has 0 tokens for a prompt of"):
            perplexity(dataset, file, asked=Asked(per=per))


def test_naming_a_tokenizer_is_suggested_only_where_nothing_contradicts_it(
    dataset: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    records[0]["token_logprobs"].pop()
    with pytest.raises(ScoreError) as caught:
        perplexity(dataset, written(tmp_path / "p.jsonl", records))
    assert "pass --tokenizer" not in str(caught.value)
    row = rows_of(dataset)[0]
    unstated = {"id": row["id"], "logprob_sum": -3.0}
    with pytest.raises(ScoreError, match="pass --tokenizer cl100k_base"):
        perplexity(dataset, written(tmp_path / "p.jsonl", [unstated]))


def test_without_offsets_or_texts_another_tokenizer_is_refused_even_by_bytes(dataset: Path, tmp_path: Path) -> None:
    file = written(tmp_path / "p.jsonl", token_records(dataset, "o200k_base"))
    with pytest.raises(ScoreError, match="nothing says where each begins: add their texts"):
        perplexity(dataset, file, asked=Asked(per="byte"))


def test_sums_over_the_target_lead_to_the_same_figures_as_their_tokens(
    dataset: Path, every: list[dict[str, Any]], tmp_path: Path
) -> None:
    sums = []
    for record, row in zip(every, rows_of(dataset), strict=True):
        span = row["target_token_span"]
        values = record["token_logprobs"][span["start"] : span["end"]]
        sums.append({"id": row["id"], "logprob_sum": sum(values), "token_count": len(values)})
    plain = perplexity(dataset, written(tmp_path / "p.jsonl", every))
    summed = perplexity(dataset, written(tmp_path / "s.jsonl", sums))
    assert [one.nll.value for one in summed.figures] == pytest.approx(
        [one.nll.value for one in plain.figures], abs=1e-12
    )
    over_all = [{**record, "token_count": record["token_count"] + 1} for record in sums]
    with pytest.raises(ScoreError, match=r"its sum is over \d+ tokens, the row's target has"):
        perplexity(dataset, written(tmp_path / "t.jsonl", over_all))
    uncounted = [{"id": record["id"], "logprob_sum": record["logprob_sum"]} for record in sums]
    with pytest.raises(ScoreError, match="neither how many tokens"):
        perplexity(dataset, written(tmp_path / "n.jsonl", uncounted))
    with pytest.raises(ScoreError, match="add byte_count"):
        perplexity(dataset, written(tmp_path / "n.jsonl", uncounted), asked=Asked(per="byte"))


def test_rows_of_another_dataset_are_refused(dataset: Path, records: list[dict[str, Any]], tmp_path: Path) -> None:
    strangers = [{**record, "id": f"00000000-{number}"} for number, record in enumerate(records)]
    with pytest.raises(IntegrityError, match="belongs to dataset"):
        perplexity(dataset, written(tmp_path / "p.jsonl", strangers))


def test_duplicate_unknown_and_malformed_records_are_counted_and_reported(
    dataset: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    again = [*records, records[0], {"id": "someone-else", "token_logprobs": [None, -1.0]}, {"id": records[1]["id"]}]
    file = written(tmp_path / "p.jsonl", again)
    with pytest.raises(ScoreError, match=r"answer the same row again: use --on-duplicate first or last(\n|$)"):
        perplexity(dataset, file)
    report = perplexity(dataset, file, asked=Asked(on_duplicate="first"))
    assert tuple(report.lines) == (len(again), len(records), 1, 1, 1)
    assert report.exit_code == 3
    assert [problem.kind for problem in report.problems] == ["malformed", "unknown", "duplicate"]


HOSTILE: list[tuple[str, str]] = [
    ('{"id":"%s","token_logprobs":[null,NaN]}', "is NaN"),
    ('{"id":"%s","token_logprobs":[null,-Infinity]}', "probability 0"),
    ('{"id":"%s","token_logprobs":[null,Infinity]}', "at most 0"),
    ('{"id":"%s","token_logprobs":[null,1e999]}', "at most 0"),
    ('{"id":"%s","token_logprobs":[null,0.5]}', "are these probabilities"),
    ('{"id":"%s","token_logprobs":[null,"-1.0"]}', "expected a log-probability"),
    ('{"id":"%s","token_logprobs":[null,true]}', "expected a log-probability"),
    ('{"id":"%s","token_logprobs":[null,[-1.0]]}', "expected a log-probability"),
    ('{"id":"%s","token_logprobs":[]}', "expected a list of log-probabilities"),
    ('{"id":"%s","token_logprobs":"-1"}', "expected a list of log-probabilities"),
    ('{"id":"%s","token_logprobs":[null,-1.0],"tokens":["a"]}', "tokens has 1 items"),
    ('{"id":"%s","token_logprobs":[null,-1.0],"text_offset":[5,2]}', "ascending order"),
    ('{"id":"%s","token_logprobs":[null,-1.0],"token_logprobs":[null,-2.0]}', "appears twice"),
    ('{"id":"%s","token_logprobs":[null,-1.0],"tokenizer":7}', "tokenizer is 7"),
    ('{"id":"%s","token_logprobs":[null,-1.0],"condition":"alone"}', "but perplexity sets have no conditions"),
    ('{"id":"%s","logprob_sum":-1.0,"token_count":-4}', "whole number"),
    ('{"id":"%s","logprob_sum":-1.0,"token_count":1,"byte_count":3}', "is over 3 bytes"),
    ('{"id":"%s","text":"It is 42."}', "no log-probabilities in it"),
    ('{"id":"%s","token_logprobs":[null,-1.0]', "not JSON"),
    ("[1, 2]", "JSON value|not a JSON object"),
    ('"%s"', "not a JSON object"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("line", "message"), HOSTILE)
def test_hostile_records_count_as_malformed_and_their_numbers_are_not_used(
    dataset: Path, records: list[dict[str, Any]], line: str, message: str, tmp_path: Path
) -> None:
    name = str(records[0]["id"])
    file = tmp_path / "p.jsonl"
    lines = [json.dumps(record) for record in records[1:]] + [line.replace("%s", name)]
    file.write_text("\n".join(lines) + "\n")
    report = perplexity(dataset, file, asked=Asked(missing="exclude"))
    assert report.lines.malformed == 1
    assert report.statuses["missing"] == 1
    assert report.exit_code == 3
    (problem,) = (problem for problem in report.problems if problem.kind == "malformed")
    assert any(part in problem.message for part in message.split("|")), problem.message
    assert figure(report, "en", 200).missing_rows == 1


@pytest.mark.slow
def test_unreadable_files_are_refused_with_the_reason(dataset: Path, tmp_path: Path) -> None:
    for name, data, reason in (
        ("empty.jsonl", b"", "no log-probabilities"), ("noise.jsonl", bytes(range(256)), "UTF-8"),
        ("none.parquet", b"PAR1 nothing PAR1", "Parquet"),
        ("gone.jsonl", None, "no such file.*expected files of log-probabilities"),
        ("prose.jsonl", b"It is 42.\n", "none of 1 records can be read"),
    ):  # fmt: skip
        if data is not None:
            (tmp_path / name).write_bytes(data)
        with pytest.raises(ScoreError, match=reason):
            perplexity(dataset, tmp_path / name)


def test_parquet_and_gzipped_files_are_read_like_json_lines(
    dataset: Path, every: list[dict[str, Any]], tmp_path: Path
) -> None:
    import gzip

    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(every), tmp_path / "p.parquet")
    packed = tmp_path / "p.jsonl.gz"
    packed.write_bytes(gzip.compress(written(tmp_path / "p.jsonl", every).read_bytes()))
    plain = perplexity(dataset, tmp_path / "p.jsonl")
    for file in (tmp_path / "p.parquet", packed):
        assert perplexity(dataset, file).figures == plain.figures


def test_the_order_of_records_does_not_matter(dataset: Path, records: list[dict[str, Any]], tmp_path: Path) -> None:
    plain = perplexity(dataset, written(tmp_path / "p.jsonl", records))
    backwards = perplexity(dataset, written(tmp_path / "q.jsonl", records[::-1]))
    assert backwards.figures == plain.figures


def test_a_dataset_of_questions_is_referred_to_the_gain_command(tmp_path: Path) -> None:
    import niah_gen

    dataset = niah_gen.build("smoke", tmp_path, overrides={"lengths": [1000], "depths": [50]})
    with pytest.raises(ScoreError, match=r"have no target_span.*niah-score gain"):
        perplexity(dataset, written(tmp_path / "p.jsonl", [{"id": "a", "logprob_sum": -1.0}]))


def test_a_file_without_any_log_probability_scores_nothing_and_exits_with_3(dataset: Path, tmp_path: Path) -> None:
    nothing = [{"id": row["id"], "token_logprobs": [None] * row["prompt_tokens"]} for row in rows_of(dataset)]
    report = perplexity(dataset, written(tmp_path / "p.jsonl", nothing), asked=Asked(missing="exclude"))
    assert not any(score.counts for score in report.scores)
    assert report.exit_code == 3
