"""MRCR's published files: their rows become ours, and problems are named by file, row and column."""

from __future__ import annotations

import csv
import errno
import json
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from each import each
from family_checks import check_mrcr
from proved import prove

import niah_gen
from niah_gen.errors import RecipeError
from niah_gen.tasks.published.mrcr import bin_of
from niah_gen.tasks.published.mrcr_files import read_mrcr
from niah_gen.tasks.records import Item
from niah_gen.tokenizers.find import find_tokenizer
from niah_score.contract import Row, needle_kind
from niah_score.metrics import METRICS, target_of

FORMATS = ("poem", "email", "essay", "riddle")
FEW_SHOT = (
    "Here are some examples of conversations succeeded by a follow-up question answered correctly:\n"
    "======== EXAMPLE 1 ========\nUser: Write a poem about lions in gothic style.\n\nAssistant: A lion sleeps.\n\n"
    "User: Prepend Q0Q0Q0Q0Q0Q0 to the first poem about lions in a gothic style. Do not include any other text in your "
    "response.\n\nAssistant: Q0Q0Q0Q0Q0Q0 A lion sleeps.\n\n======== END EXAMPLE 1 ========\n"
)


def chat_row(number: int, *, turns: int = 12, **changes: Any) -> dict[str, Any]:
    """A row in the form of openai/mrcr: two poems about tapirs among other turns."""
    messages = [{"role": "user", "content": "Here are some examples of conversations:\n\n======END EXAMPLE======\n"}]
    for turn in range(turns):
        like = turn in (1, turns - 2)
        asked = "write a poem about tapirs" if like else f"write a {FORMATS[turn % 4]} about subject {turn}"
        reply = f"Reply {turn} of row {number}. " + "It goes on for some words. " * (turn % 5 + 1)
        messages += [{"role": "user", "content": asked}, {"role": "assistant", "content": reply}]
    prefix = f"aYooSG8C{number:02d}"
    question = (
        f"Prepend {prefix} to the 2nd (1 indexed) poem about tapirs. Do not include any other text in your response."
    )
    messages.append({"role": "user", "content": question})
    asked_at = 1 + 2 * (turns - 2)
    return {
        "prompt": json.dumps(messages), "answer": prefix + messages[asked_at + 1]["content"],
        "random_string_to_prepend": prefix, "n_needles": 2, "desired_msg_index": asked_at,
        "total_messages": len(messages), "n_chars": sum(len(message["content"]) for message in messages), **changes,
    }  # fmt: skip


def text_row(number: int, **changes: Any) -> dict[str, Any]:
    """A row in the form of MRCR v2: two formal riddles about ducks among other turns."""
    replies = [f"A duck of row {number} swims.", f"A short tale {number}.", f"Another duck of row {number} flies."]
    asked = ["riddle about ducks in formal style", "short story about dreams in archaic style"]
    turns = "".join(f"User: Write a {asked[turn % 2]}.\n\nAssistant: {text}\n\n" for turn, text in enumerate(replies))
    prefix = f"b6Yath1qpb{number:02d}"
    question = (
        f"User: Prepend {prefix} to the second riddle about ducks in a formal style. Do not include any other text in "
        "your response."
    )
    return {"queries": f"{FEW_SHOT}{turns}{question}\n\nAssistant:", "answer": prefix + replies[2], **changes}


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows in the format of the file's suffix."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
    return path


def recipe(path: Path, form: str = "chat", **changes: Any) -> dict[str, Any]:
    return {
        "name": "m", "task": "mrcr", "form": form, "lengths": [8192], "languages": ["en"],
        "options": {"file": str(path)}, **changes,
    }  # fmt: skip


def rows_of(path: Path, form: str = "chat", **changes: Any) -> list[Row]:
    return list(niah_gen.iter_rows(recipe(path, form, **changes)))


def problem_of(path: Path, form: str = "chat", **changes: Any) -> str:
    with pytest.raises(RecipeError) as caught:
        rows_of(path, form, **changes)
    return str(caught.value)


def problems_in(row: Any) -> list[str]:
    """The problems that the family finds in a row; its item plays no part."""
    return list(check_mrcr(row, cast(Item, None)))


def test_a_row_of_openais_file_keeps_its_prompt_and_its_answer(tmp_path: Path) -> None:
    given = [chat_row(number) for number in range(3)]
    rows = rows_of(write(tmp_path / "2needle.parquet", given))
    assert [row["prompt"] for row in rows] == [json.loads(one["prompt"]) for one in given]
    assert [row["answers"] for row in rows] == [[one["answer"]] for one in given]
    assert [row["answer_prefix"] for row in rows] == [one["random_string_to_prepend"] for one in given]
    assert {(needle_kind(row["needle_id"] or ""), row["metric"], row["length"]) for row in rows} == {
        ("2-needles", "mrcr", 8192)
    }
    assert [row["repeat"] for row in rows] == [0, 1, 2]


def test_the_needle_is_the_requested_reply_at_its_depth(tmp_path: Path) -> None:
    (row,) = rows_of(write(tmp_path / "2needle.parquet", [chat_row(0)]))
    count = find_tokenizer("cl100k_base").count
    texts = [message["content"] for message in row["prompt"] if not isinstance(message, str)]
    at = row["context_message"]
    assert row["needles"] == [texts[at]]
    assert row["answers"] == [(row["answer_prefix"] or "") + texts[at]]
    assert row["needle_spans"] == [{"start": 0, "end": len(texts[at])}]
    others = [*texts[:at], *texts[at + 1 : -1]]
    assert row["haystack_tokens"] == sum(map(count, others))
    assert row["needle_depths"] == pytest.approx([100 * sum(map(count, texts[:at])) / sum(map(count, others))])
    assert row["depth_percent"] == round(row["needle_depths"][0] / 10) * 10


@each(("tokens", "upper"), [(1, 8192), (8192, 8192), (8193, 16384), (131072, 131072), (131073, 262144)])
def test_a_bin_ends_at_a_power_of_two_and_includes_it(tokens: int, upper: int) -> None:
    assert bin_of(tokens) == upper


def test_lengths_choose_rows_by_o200k_tokens_of_prompt_and_answer(tmp_path: Path) -> None:
    given = [chat_row(0), chat_row(1, turns=300), chat_row(2)]
    count = find_tokenizer("o200k_base").count
    size = sum(count(one["content"]) for one in json.loads(given[1]["prompt"])) + count(given[1]["answer"])
    assert 8192 < size <= 16384
    path = write(tmp_path / "2needle.parquet", given)
    (longer,) = rows_of(path, lengths=[16384])
    assert longer["answers"] == [given[1]["answer"]]
    assert [row["answers"] for row in rows_of(path, lengths=[8192, 16384])] == [
        [given[number]["answer"]] for number in (0, 2, 1)
    ]
    assert [row["answers"] for row in rows_of(path, options={"file": str(path), "rows": 1})] == [[given[0]["answer"]]]
    assert "2needle.parquet have 8192, 16384; ask for those" in problem_of(path, lengths=[8000])


@each("suffix", [".csv", ".parquet"])
@each("extras", [{}, {"num_relevant": 8, "context_len": 60_000}])
def test_a_row_of_mrcr_v2_is_one_text_with_its_own_grader(tmp_path: Path, suffix: str, extras: dict[str, int]) -> None:
    given = [text_row(number, **extras) for number in range(3)]
    path = write(tmp_path / f"v2{suffix}", given)
    rows = rows_of(path, "text", lengths=[8192, 65536])
    assert [row["prompt"] for row in rows] == [one["queries"] for one in given]
    assert [row["answers"] for row in rows] == [[one["answer"]] for one in given]
    length, needles = (65536, "8-needles") if extras else (8192, "2-needles")
    assert {(row["length"], needle_kind(row["needle_id"] or ""), row["metric"]) for row in rows} == {
        (length, needles, "mrcr_v2")
    }
    for number, row in enumerate(rows):
        assert row["needles"] == [f"Another duck of row {number} flies."]
        (span,) = row["needle_spans"]
        assert row["prompt"][span["start"] : span["end"]] == row["needles"][0]
        assert (row["question"] or "").startswith(f"Prepend b6Yath1qpb{number:02d} to the second riddle")
    chats = rows_of(path, lengths=[length])
    assert chats[0]["prompt"] == [{"role": "user", "content": given[0]["queries"]}]


def test_a_files_answers_score_100_by_its_grader_and_other_rows_answers_0(tmp_path: Path) -> None:
    for path, form in (
        (write(tmp_path / "chat.parquet", [chat_row(number) for number in range(3)]), "chat"),
        (write(tmp_path / "text.csv", [text_row(number) for number in range(3)]), "text"),
    ):
        rows = rows_of(path, form)
        for row, other in zip(rows, [*rows[1:], rows[0]], strict=True):
            metric, target = METRICS[row["metric"]], target_of(row)
            assert metric.judge(row["answers"][0], target).value == 100
            assert metric.judge(other["answers"][0], target).value == 0


def test_a_dataset_built_from_a_file_is_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIAH_CORPORA", str(tmp_path))
    for path, form in (
        (write(tmp_path / "chat.parquet", [chat_row(number) for number in range(3)]), "chat"),
        (write(tmp_path / "text.csv", [text_row(number) for number in range(3)]), "text"),
    ):
        assert prove(niah_gen.build(recipe(path, form), tmp_path / form)).problems == ()


def test_a_row_whose_needle_is_another_reply_is_refused(tmp_path: Path) -> None:
    (row,) = rows_of(write(tmp_path / "2needle.parquet", [chat_row(0)]))
    assert problems_in(row) == []
    prompt = [message for message in row["prompt"] if not isinstance(message, str)]
    first = {**row, "needles": [prompt[4]["content"]], "answers": [f"{row['answer_prefix']}{prompt[4]['content']}"]}
    assert any("the needle is a different one" in problem for problem in problems_in(first))
    assert problems_in({**row, "needles": ["A poem"]}) == ["the needle is not what the answer repeats"]
    assert any("expected a text that begins with" in problem for problem in problems_in({**row, "answers": ["A poem"]}))


def test_rows_of_a_length_are_the_same_alone_and_with_other_lengths(tmp_path: Path) -> None:
    given = [chat_row(number, turns=300 if number % 2 else 12) for number in range(5)]
    path = write(tmp_path / "2needle.parquet", given)
    together = rows_of(path, lengths=[8192, 16384])
    assert {row["id"]: row["answers"] for row in together} == {
        row["id"]: row["answers"] for length in (16384, 8192) for row in rows_of(path, lengths=[length])
    }


@each(
    ("column", "value", "expected"),
    [
        ("prompt", "[", "a JSON list of messages"),
        ("prompt", '{"role": "user"}', "a JSON list of messages"),
        ("prompt", '[{"role": "user", "content": 1}]', "a JSON list of messages"),
        ("prompt", "[" * 100_000, "a JSON list of messages"),
        ("answer", "A poem", "a text that begins with 'aYooSG8C01'"),
        ("answer", None, "a text; found None"),
        ("random_string_to_prepend", " ", "a text"),
        ("n_needles", None, "a whole number"),
        ("desired_msg_index", 900, "0 to 23"),
        ("desired_msg_index", 3, "the message before the one that the answer repeats"),
    ],
)
def test_a_wrong_value_is_named_by_file_row_and_column(
    tmp_path: Path, column: str, value: object, expected: str
) -> None:
    changes: dict[str, Any] = {column: value}
    path = write(tmp_path / "2needle.parquet", [chat_row(0), chat_row(1, **changes)])
    problem = problem_of(path)
    assert f"2needle.parquet, row 2, column {column}: expected {expected}" in problem


@each(
    ("column", "value", "expected"),
    [
        ("queries", "", "a text"),
        ("answer", "b6Yath1qpb01 ", "12 characters and a text"),
        ("context_len", "long", "a whole number"),
        ("num_relevant", "2.5", "a whole number"),
    ],
)
def test_a_wrong_value_of_mrcr_v2_is_named_too(tmp_path: Path, column: str, value: object, expected: str) -> None:
    whole = {"context_len": "60000.0", "num_relevant": "2"}
    path = write(tmp_path / "v2.csv", [text_row(0, **whole), text_row(1, **{**whole, column: value})])
    assert f"v2.csv, row 2, column {column}: expected {expected}" in problem_of(path, "text")


@each("error", [pa.ArrowMemoryError("malloc of size 64 failed"), OSError(errno.EIO, "I/O error")])
def test_a_system_error_is_not_reported_as_a_broken_parquet_file(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "2needle.parquet", [chat_row(0)])
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", Mock(side_effect=error))
    if isinstance(error, MemoryError):
        with pytest.raises(MemoryError):
            list(read_mrcr(path))
    else:
        with pytest.raises(RecipeError, match=r"2needle\.parquet cannot be read \(I/O error\)"):
            list(read_mrcr(path))


def test_unreadable_unknown_and_missing_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no parquet")
    assert "a.parquet is not a readable Parquet file" in problem_of(tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_bytes(b"queries,answer\n\xff\xfe,x\n")
    assert "a.csv, row 1: not UTF-8" in problem_of(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("queries,answer\none\n")
    assert "b.csv, row 1, column answer: expected 2 fields; found 1" in problem_of(tmp_path / "b.csv")
    (tmp_path / "c.csv").write_text('queries,answer\n"one,two\n')
    assert "c.csv, row 1: not readable as CSV" in problem_of(tmp_path / "c.csv")
    (tmp_path / "d.csv").write_text("a,b\n1,2\n")
    assert "d.csv has the columns a, b; expected prompt, answer" in problem_of(tmp_path / "d.csv")
    (tmp_path / "a.json").write_text("{}")
    assert "a.json is neither a .parquet nor a .csv file" in problem_of(tmp_path / "a.json")
    assert "options.file" in problem_of(tmp_path / "nowhere.csv")


def test_a_recipe_without_a_file_is_refused(tmp_path: Path) -> None:
    assert "options.file: expected a file of openai/mrcr or MRCR v2" in problem_of(tmp_path, options={})


def test_a_reply_that_occurs_twice_in_a_text_has_no_depth(tmp_path: Path) -> None:
    one = text_row(0)
    one["queries"] = one["queries"].replace("A short tale 0.", "Another duck of row 0 flies.")
    (row,) = rows_of(write(tmp_path / "v2.csv", [one]), "text")
    assert (row["needles"], row["needle_depths"], row["depth_percent"]) == ([], [], None)


def test_reading_stops_at_the_first_invalid_row(tmp_path: Path) -> None:
    rows = read_mrcr(write(tmp_path / "2needle.parquet", [chat_row(0), chat_row(1, answer=None)]))
    assert next(rows).number == 1
    with pytest.raises(RecipeError, match="row 2, column answer"):
        next(rows)
