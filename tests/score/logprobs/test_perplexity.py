"""Perplexity of windows equals a direct computation from a model's numbers, and never averages over missing ones."""

from __future__ import annotations

import copy
import gzip
import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from each import each
from made_log_probs import LENGTHS, direct, ids_of, log_probs, offsets_of, rows_of, token_records, windows, written

from niah_score.errors import ScoreError
from niah_score.logprobs.perplexity import perplexity
from niah_score.logprobs.report import Report
from niah_score.logprobs.targets import Asked

Record = dict[str, Any]
OPTIONS = {"tokens": 300, "documents": 3, "stride": 96}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return windows(tmp_path_factory.mktemp("set"), lengths=[200, 300], languages=["en", "zh"], options=OPTIONS)


@pytest.fixture(scope="module")
def rows(dataset: Path) -> list[Record]:
    return rows_of(dataset)


@pytest.fixture(scope="module")
def every(dataset: Path) -> list[Record]:
    return token_records(dataset)


@pytest.fixture(scope="module")
def plain(dataset: Path, every: list[Record], tmp_path_factory: pytest.TempPathFactory) -> Report:
    return perplexity(dataset, [written(tmp_path_factory.mktemp("plain") / "p.jsonl", every)])


@pytest.fixture
def records(every: list[Record]) -> list[Record]:
    """Records that a test may damage."""
    return copy.deepcopy(every)


def scored(dataset: Path, records: list[Record], tmp_path: Path, **asked: Any) -> Report:
    return perplexity(dataset, [written(tmp_path / "p.jsonl", records)], asked=Asked(**asked))


def figure(report: Report, language: str, length: int) -> Record:
    (chosen,) = (one for one in report.figures if (one["language"], one["length"]) == (language, length))
    return chosen


def texts_of(row: Record, tokenizer: str = "cl100k_base") -> list[str]:
    begins = offsets_of(row["prompt"], tokenizer)
    return [row["prompt"][start:end] for start, end in zip(begins, [*begins[1:], len(row["prompt"])], strict=True)]


def echo(row: Record, values: list[float | None]) -> Record:
    """OpenAI's completions response to `echo` with `max_tokens` 1, which has one token more than the prompt."""
    offsets = [*offsets_of(row["prompt"], "cl100k_base"), len(row["prompt"])]
    logprobs = {"tokens": [*texts_of(row), "!"], "token_logprobs": [*values, -0.5], "text_offset": offsets}
    choice = {"text": row["prompt"] + "!", "index": 0, "logprobs": logprobs, "finish_reason": "length"}
    usage = {"prompt_tokens": row["prompt_tokens"], "completion_tokens": 1}
    return {"id": "cmpl-1", "object": "text_completion", "choices": [choice], "usage": usage}


def batch_of_echo(row: Record, values: list[float | None]) -> Record:
    return {"id": "batch_req", "custom_id": row["id"], "response": {"status_code": 200, "body": echo(row, values)}}


def vllm(row: Record, values: list[float | None]) -> Record:
    ids = ids_of(row["prompt"], "cl100k_base")
    items = [
        {str(token): {"logprob": value, "decoded_token": "?"}, "-1": {"logprob": -0.1}}
        for token, value in zip(ids[1:], values[1:], strict=True)
    ]
    return {"prompt": row["prompt"], "prompt_token_ids": ids, "prompt_logprobs": [None, *items]}


def lm_eval(row: Record, values: list[float | None]) -> Record:
    start, tokens = row["target_span"]["start"], row["target_token_span"]
    total = str(sum(value or 0.0 for value in values[tokens["start"] : tokens["end"]]))
    asked = {"arg_0": row["prompt"][:start], "arg_1": row["prompt"][start:]}
    filtered = [[total, "False"]]
    return {"doc_id": 0, "doc": {"id": row["id"]}, "arguments": {"gen_args_0": asked}, "filtered_resps": filtered}


def summed(row: Record, values: list[float | None]) -> Record:
    tokens = row["target_token_span"]
    own = values[tokens["start"] : tokens["end"]]
    return {"id": row["id"], "logprob_sum": sum(value or 0.0 for value in own), "token_count": len(own)}


@pytest.mark.slow
@each("tokenizer", ["cl100k_base", "o200k_base"])
def test_the_figures_of_every_length_equal_a_direct_computation_over_documents(tokenizer: str, tmp_path: Path) -> None:
    dataset = windows(tmp_path, tokenizer)
    report = scored(dataset, token_records(dataset, tokenizer), tmp_path)
    sizes = set()
    for language in ("en", "zh"):
        for length in LENGTHS:
            actual, expected = figure(report, language, length), direct(dataset, language, length, tokenizer)
            assert (actual["tokens"], actual["bytes"]) == (expected.tokens, expected.bytes)
            assert actual["nll"] == pytest.approx(expected.nats / expected.tokens, abs=1e-9)
            assert actual["perplexity"] == pytest.approx(math.exp(expected.nats / expected.tokens))
            assert actual["bits_per_byte"] == pytest.approx(expected.nats / math.log(2) / expected.bytes, abs=1e-9)
            sizes.add((language, actual["tokens"], actual["bytes"]))
    assert len(sizes) == 2, "all lengths score the same tokens"


def test_an_interval_is_that_of_a_ratio_estimated_over_documents(
    plain: Report, rows: list[Record], every: list[Record]
) -> None:
    actual = figure(plain, "en", 300)
    own = [place for place, row in enumerate(rows) if (row["language"], row["length"]) == ("en", 300)]
    sums, sizes = (
        [-sum(every[place]["token_logprobs"][1:]) for place in own],
        [rows[n]["prompt_tokens"] - 1 for n in own],
    )
    mean = sum(sums) / sum(sizes)
    residuals = sum((one - mean * size) ** 2 for one, size in zip(sums, sizes, strict=True))
    error = math.sqrt(3 / 2 * residuals) / sum(sizes)
    assert actual["nll"] == pytest.approx(mean, abs=1e-12)
    assert (actual["nll_high"] - actual["nll_low"]) / 2 == pytest.approx(4.302653 * error, rel=1e-3)
    assert (actual["rows"], actual["documents"], actual["method"]) == (3, 3, "t: 3 documents, rough")


def test_every_format_and_container_and_order_leads_to_the_same_figures(
    dataset: Path, rows: list[Record], every: list[Record], plain: Report, tmp_path: Path
) -> None:
    pairs = [(row, record["token_logprobs"]) for row, record in zip(rows, every, strict=True)]
    made = [[make(*pair) for pair in pairs] for make in (echo, batch_of_echo, vllm, lm_eval, summed)]
    files = [written(tmp_path / f"{n}.jsonl", one) for n, one in enumerate([*made, every[::-1]])]
    files += [tmp_path / "p.jsonl.gz", tmp_path / "p.parquet"]
    files[-2].write_bytes(gzip.compress(files[-3].read_bytes()))
    pq.write_table(pa.Table.from_pylist(every), files[-1])
    for file in files:
        report = perplexity(dataset, [file], asked=Asked(tokenizer="cl100k_base"))
        assert (report.statuses, report.lines) == (plain.statuses, plain.lines)
        for one, other in zip(report.figures, plain.figures, strict=True):
            assert one == {name: pytest.approx(value, abs=1e-9) if isinstance(value, float) else value
                           for name, value in other.items()}  # fmt: skip


def test_a_token_before_the_text_such_as_bos_is_skipped(
    dataset: Path, records: list[Record], plain: Report, tmp_path: Path
) -> None:
    for record in records:
        # The first token of the text has a log-probability now, given BOS; it is in no target.
        record["token_logprobs"] = [None, -7.0, *record["token_logprobs"][1:]]
    assert scored(dataset, records, tmp_path).figures == plain.figures


def test_missing_tokens_are_refused_unless_the_user_says_how_they_count(
    dataset: Path, rows: list[Record], records: list[Record], tmp_path: Path
) -> None:
    own = log_probs(ids_of(rows[0]["prompt"], "cl100k_base"))
    records[0]["token_logprobs"][50] = None
    # A missing token outside the target does not matter.
    later = next(n for n, row in enumerate(rows) if row["repeat"] == 1)
    records[later]["token_logprobs"][3] = None
    with pytest.raises(ScoreError, match=r"1 of \d+ rows lack log-probabilities: .*--missing exclude") as caught:
        scored(dataset, records, tmp_path)
    assert "lacks the log-probabilities of 1 tokens" in str(caught.value)
    expected = direct(dataset, "en", 200)
    left_out = figure(scored(dataset, records, tmp_path, missing="exclude"), "en", 200)
    assert left_out["tokens"] == expected.tokens - len(own)
    assert left_out["nll"] == pytest.approx((expected.nats + sum(own)) / left_out["tokens"], abs=1e-9)
    assert (left_out["rows"], left_out["of"] - 1, left_out["missing_tokens"]) == (left_out["rows"],) * 2 + (1,)
    partly = figure(scored(dataset, records, tmp_path, missing="partial"), "en", 200)
    assert partly["tokens"] == expected.tokens - 1
    assert partly["nll"] == pytest.approx((expected.nats + own[49]) / partly["tokens"], abs=1e-9)
    assert partly["bits_per_byte"] is None, "nothing says how many bytes the known tokens have"


def test_rows_without_a_record_and_records_without_a_number_are_counted(
    dataset: Path, rows: list[Record], records: list[Record], tmp_path: Path
) -> None:
    with pytest.raises(ScoreError, match=r"2 of \d+ rows lack log-probabilities") as caught:
        scored(dataset, records[2:], tmp_path)
    assert f"{records[0]['id']!r} lacks the log-probabilities of all tokens" in str(caught.value)
    report = scored(dataset, records[2:], tmp_path, missing="exclude")
    assert (report.statuses, report.exit_code) == ({"scored": len(records) - 2, "incomplete": 0, "missing": 2}, 0)
    shortest = figure(report, "en", 200)
    assert shortest["missing_rows"] == 2
    assert shortest["missing_tokens"] > 100
    nothing = [{"id": row["id"], "token_logprobs": [None] * row["prompt_tokens"]} for row in rows]
    report = scored(dataset, nothing, tmp_path, missing="partial")
    assert (report.counted, report.exit_code) == (0, 3)


def test_tokens_of_another_tokenizer_are_refused(
    dataset: Path, rows: list[Record], records: list[Record], every: list[Record], tmp_path: Path
) -> None:
    others = token_records(dataset, "o200k_base")
    uncounted = [batch_of_echo(row, record["token_logprobs"]) for row, record in zip(rows, every, strict=True)]
    for record in uncounted:
        del record["response"]["body"]["usage"]
    sums = [summed(row, record["token_logprobs"]) for row, record in zip(rows, every, strict=True)]
    over_all = [{**record, "token_count": record["token_count"] + 1} for record in sums]
    bare = [{"id": record["id"], "logprob_sum": record["logprob_sum"]} for record in sums]
    named = [{**record, "tokenizer": "llama"} for record in records]
    records[0]["token_logprobs"].pop()
    none = {"choices": [{"text": "It is", "logprobs": {"token_logprobs": [None, -1.0]}}], "usage": {"prompt_tokens": 0}}
    cases: list[tuple[list[Record], dict[str, str], str]] = [
        (others, {}, r"p.jsonl:\d+: row .* tokens for a prompt of .*'cl100k_base'.*--per byte\)$"),
        (others, {"per": "byte"}, "nothing says where each begins: add their texts"),
        (records, {}, r"--per byte\)$"), (named, {}, "its tokenizer is 'llama', the dataset's is 'cl100k_base'"),
        (every, {"tokenizer": "llama"}, "its tokenizer is 'llama'"),
        (uncounted, {}, r"without usage\.prompt_tokens none of them can be told"),
        (uncounted, {"per": "byte"}, "in characters, not in bytes"),
        ([{"custom_id": rows[0]["id"], "response": {"body": none}}], {}, "it has 0 tokens for a prompt of"),
        ([{"custom_id": rows[0]["id"], "response": {"body": none}}], {"per": "byte"}, "it has 0 tokens for a prompt"),
        (over_all, {}, r"its sum is over \d+ tokens, the row's target has"),
        (bare, {}, r"neither how many tokens .* pass --tokenizer cl100k_base"),
        (bare, {"per": "byte"}, "add byte_count"),
    ]  # fmt: skip
    for given, asked, message in cases:
        with pytest.raises(ScoreError, match=message):
            scored(dataset, given, tmp_path, **asked)


@pytest.mark.slow
@each("places", ["offsets", "texts"])
def test_tokens_of_another_tokenizer_can_be_scored_by_bytes(
    dataset: Path, rows: list[Record], places: str, tmp_path: Path
) -> None:
    records, nats = [], dict.fromkeys([200, 300], 0.0)
    for row in rows:
        if places == "texts" and row["language"] == "zh":
            continue
        values, begins = log_probs(ids_of(row["prompt"], "o200k_base")), offsets_of(row["prompt"], "o200k_base")
        where = {"text_offset": begins} if places == "offsets" else {"tokens": texts_of(row, "o200k_base")}
        records.append({"id": row["id"], "token_logprobs": [None, *values], "tokenizer": "o200k_base", **where})
        if row["language"] == "en":
            pairs = zip(values, begins[1:], strict=True)
            nats[row["length"]] -= sum(value for value, begin in pairs if row["target_span"]["start"] <= begin)
    report = scored(dataset, records, tmp_path, per="byte", missing="exclude")
    for length, total in nats.items():
        actual = figure(report, "en", length)
        assert actual["nll"] is None, "tokens of two tokenizers are no unit"
        assert actual["bits_per_byte"] == pytest.approx(total / math.log(2) / actual["bytes"], abs=1e-9)


def test_places_and_texts_that_are_not_the_targets_are_refused(
    dataset: Path, rows: list[Record], every: list[Record], tmp_path: Path
) -> None:
    row = next(row for row in rows if row["language"] == "zh")
    step = len(row["prompt"].encode()) // (len(row["prompt"]) // 2)
    bytewise = [step * n for n in range(len(row["prompt"]) // 2)]
    begins = offsets_of(rows[-1]["prompt"], "o200k_base")
    early = [begin for begin in begins if begin < rows[-1]["target_span"]["end"] - 300] or begins[:1]
    other, shifted = (lm_eval(rows[0], every[0]["token_logprobs"]) for _ in range(2))
    other["arguments"]["gen_args_0"]["arg_1"] += "!"
    shifted["arguments"]["gen_args_0"]["arg_0"] = "Another beginning"
    rolling = {**other, "filtered_resps": ["-5.0"], "arguments": {"gen_args_0": {"arg_0": rows[0]["prompt"]}}}
    size = {"id": rows[0]["id"], "logprob_sum": -1.0, "token_count": 1, "byte_count": 3}
    cases: list[tuple[Record, str]] = [
        ({"id": row["id"], "text_offset": bytewise}, "in characters, not in bytes"),
        ({"id": rows[-1]["id"], "text_offset": early}, "did the server cut the prompt"),
        (other, "not over the row's target"), (shifted, "not over the row's target"), (rolling, "options.score=window"),
        (size, "is over 3 bytes"), ({**every[0], "condition": "alone"}, "but perplexity sets have no conditions"),
    ]  # fmt: skip
    for record, message in cases:
        if set(record) == {"id", "text_offset"}:
            record["token_logprobs"] = [None] + [-1.0] * (len(record["text_offset"]) - 1)
        with pytest.raises(ScoreError, match=message):
            scored(dataset, [record], tmp_path, per="byte", missing="exclude")


def test_windows_that_are_scored_whole_take_rolling_sums_and_a_token_before_the_text(tmp_path: Path) -> None:
    options = {"tokens": 300, "documents": 3, "score": "window"}
    dataset = windows(tmp_path, lengths=[100], languages=["en"], options=options)
    sums, lists = [], []
    for row in rows_of(dataset):
        # The harness puts the end-of-text token before the text, so that its first token is scored too.
        values = log_probs([100257, *ids_of(row["prompt"], "cl100k_base")])
        asked = {"gen_args_0": {"arg_0": row["prompt"]}}
        sums.append({"doc_id": 0, "doc": {"id": row["id"]}, "arguments": asked, "filtered_resps": [str(sum(values))]})
        lists.append({"id": row["id"], "token_logprobs": [None, *values]})
    nats = -sum(value for record in lists for value in record["token_logprobs"][1:])
    (by_byte,) = scored(dataset, sums, tmp_path, per="byte").figures
    assert by_byte["bits_per_byte"] == pytest.approx(nats / math.log(2) / by_byte["bytes"], abs=1e-12)
    assert by_byte["bytes"] == sum(len(row["prompt"].encode()) for row in rows_of(dataset))
    (by_token,) = scored(dataset, lists, tmp_path).figures
    assert by_token["nll"] == pytest.approx(nats / by_token["tokens"], abs=1e-12)


def test_duplicate_unknown_and_malformed_records_are_counted_and_reported(
    dataset: Path, records: list[Record], plain: Report, tmp_path: Path
) -> None:
    later = {**records[0], "token_logprobs": [None, *[-1.0] * (len(records[0]["token_logprobs"]) - 1)]}
    again = [*records, later, {"id": "someone-else", "token_logprobs": [None, -1.0]}, {"id": records[1]["id"]}]
    with pytest.raises(ScoreError, match=r"answer the same row again: use --on-duplicate first or last(\n|$)"):
        scored(dataset, again, tmp_path)
    first, last = (scored(dataset, again, tmp_path, on_duplicate=which) for which in ("first", "last"))
    for report, chosen, other in ((first, 1, len(again) - 2), (last, len(again) - 2, 1)):
        assert (tuple(report.lines), report.exit_code) == ((len(again), len(records), 1, 1, 1), 3)
        assert [problem.kind for problem in report.problems] == ["malformed", "unknown", "duplicate"]
        assert report.problems[2].line == other
        assert report.problems[2].message.endswith(f"p.jsonl:{chosen}")
    assert first.figures == plain.figures
    assert last.rows[0]["nll_sum"] == last.rows[0]["tokens"]


def test_unreadable_files_are_refused_with_the_reason(dataset: Path, tmp_path: Path) -> None:
    for name, data, reason in (
        ("empty.jsonl", b"", "no log-probabilities"), ("noise.jsonl", bytes(range(256)), "UTF-8"),
        ("none.parquet", b"PAR1 nothing PAR1", "Parquet"),
        ("gone.jsonl", None, "no such file.*expected files of log-probabilities"),
        ("prose.jsonl", b"It is 42.\n", "none of 1 records can be read"), ("array.json", b"[1, 2", "not JSON"),
    ):  # fmt: skip
        if data is not None:
            (tmp_path / name).write_bytes(data)
        with pytest.raises(ScoreError, match=reason):
            perplexity(dataset, [tmp_path / name])


def test_a_dataset_of_questions_is_referred_to_the_gain_command(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"id": "a", "answers": ["42"], "keywords": [["42"]], "prompt": "?"}))
    with pytest.raises(ScoreError, match=r"1 of 1 rows have no target_span.*niah-score gain"):
        scored(file, [{"id": "a", "logprob_sum": -1.0}], tmp_path)
