"""MRCR's published files: their rows become ours, and problems are named by file, row and column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from each import each

import niah_gen
from niah_gen.errors import RecipeError
from niah_gen.recipe.read import load_recipe
from niah_gen.tokenizers.find import find_tokenizer
from niah_score.contract import Row, needle_kind
from niah_score.metrics import METRICS, target_of

FORMATS = ("poem", "email", "essay", "riddle")
FEW_SHOT = (
    "Here are some examples:\n=== EXAMPLE 1 ===\nUser: Write a poem about lions in gothic style.\n\nAssistant: One.\n"
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
        "random_string_to_prepend": prefix, "n_needles": 2, "desired_msg_index": asked_at, **changes,
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
    table = pl.DataFrame(rows)
    (table.write_parquet if path.suffix == ".parquet" else table.write_csv)(path)
    return path


def rows_of(path: Path, form: str = "chat", **changes: Any) -> list[Row]:
    recipe = {"name": "m", "task": "mrcr", "form": form, "lengths": [8192], "options": {"file": str(path)}, **changes}
    return list(niah_gen.iter_rows(recipe))


def assert_alone(rows: list[Row], given: list[dict[str, Any]], metric: str, kind: str) -> None:
    """Each row has the answer of its line, by the metric of its file the only one of all answers that scores."""
    for row, own in zip(rows, given, strict=True):
        assert (row["answers"], row["metric"], needle_kind(row["needle_id"] or "")) == ([own["answer"]], metric, kind)
        scores = [METRICS[metric].judge(other["answer"], target_of(row)).value for other in given]
        assert scores == [100 * (other is own) for other in given]


def problem_of(path: Path, **changes: Any) -> str:
    with pytest.raises(RecipeError) as caught:
        rows_of(path, **changes)
    return str(caught.value)


def test_a_row_of_openais_file_keeps_its_prompt_and_its_answer(tmp_path: Path) -> None:
    given = [chat_row(number) for number in range(3)]
    rows = rows_of(write(tmp_path / "2needle.parquet", given))
    assert_alone(rows, given, "mrcr", "2-needles")
    count = find_tokenizer("cl100k_base").count
    for number, (row, one) in enumerate(zip(rows, given, strict=True)):
        assert row["prompt"] == json.loads(one["prompt"])
        assert row["answer_prefix"] == one["random_string_to_prepend"]
        assert (row["length"], row["repeat"]) == (8192, number)
        texts = [message["content"] for message in json.loads(one["prompt"])]
        at = row["context_message"]
        assert (row["needles"], row["answers"]) == ([texts[at]], [(row["answer_prefix"] or "") + texts[at]])
        assert row["needle_spans"] == [{"start": 0, "end": len(texts[at])}]
        before, after = (sum(map(count, part)) for part in (texts[:at], texts[at + 1 : -1]))
        assert row["haystack_tokens"] == before + after
        assert row["needle_depths"] == pytest.approx([100 * before / (before + after)])
        assert row["depth_percent"] == round(row["needle_depths"][0] / 10) * 10


def test_lengths_choose_rows_by_o200k_tokens_of_prompt_and_answer(tmp_path: Path) -> None:
    given = [chat_row(0), chat_row(1, turns=300), chat_row(2)]
    count = find_tokenizer("o200k_base").count
    size = sum(count(one["content"]) for one in json.loads(given[1]["prompt"])) + count(given[1]["answer"])
    assert 8192 < size <= 16384
    path = write(tmp_path / "2needle.parquet", given)
    (longer,) = rows_of(path, lengths=[16384])
    assert longer["answers"] == [given[1]["answer"]]
    together = rows_of(path, lengths=[8192, 16384])
    assert [row["answers"] for row in together] == [[given[number]["answer"]] for number in (0, 2, 1)]
    assert together == [*rows_of(path), longer]
    assert [row["answers"] for row in rows_of(path, options={"file": str(path), "rows": 1})] == [[given[0]["answer"]]]
    assert "2needle.parquet have 8192, 16384; ask for those" in problem_of(path, lengths=[8000])


@each("suffix", [".csv", ".parquet"])
@each(("extras", "needles", "length"), [
    ({}, 2, 8192),
    # A bin ends at a power of two and includes it.
    ({"num_relevant": 8, "context_len": 65_536}, 8, 65_536), ({"num_relevant": 8, "context_len": 65_537}, 8, 131_072),
])  # fmt: skip
def test_a_row_of_mrcr_v2_is_one_text_with_its_own_grader(
    tmp_path: Path, suffix: str, extras: dict[str, int], needles: int, length: int
) -> None:
    given = [text_row(number, **extras) for number in range(3)]
    path = write(tmp_path / f"v2{suffix}", given)
    rows = rows_of(path, "text", lengths=[8192, 65536, 131072])
    assert_alone(rows, given, "mrcr_v2", f"{needles}-needles")
    for number, row in enumerate(rows):
        assert (row["prompt"], row["length"]) == (given[number]["queries"], length)
        assert row["needles"] == [f"Another duck of row {number} flies."]
        (span,) = row["needle_spans"]
        assert row["prompt"][span["start"] : span["end"]] == row["needles"][0]
        assert (row["question"] or "").startswith(f"Prepend b6Yath1qpb{number:02d} to the second riddle")
    assert rows_of(path, lengths=[length])[0]["prompt"] == [{"role": "user", "content": given[0]["queries"]}]


def test_mrcr_v2_has_rows_with_eight_needles_unless_others_are_asked_for(tmp_path: Path) -> None:
    given = [text_row(number, num_relevant=(2, 4, 8)[number % 3], context_len=5000) for number in range(6)]
    path = write(tmp_path / "v2.csv", given)

    def built(**options: object) -> list[Row]:
        changes = {f"options.{name}": option for name, option in options.items()}
        return list(niah_gen.iter_rows(load_recipe("mrcr-v2", {"options.file": str(path), **changes})))

    rows = built()
    assert_alone(rows, [given[2], given[5]], "mrcr_v2", "8-needles")
    assert [row["prompt"] for row in rows] == [[{"role": "user", "content": given[at]["queries"]}] for at in (2, 5)]
    both = built(needles=[2, 8], rows=1)
    assert [needle_kind(str(row["needle_id"])) for row in both] == ["2-needles", "8-needles"]
    assert len(built(needles=[2, 4, 8])) == len(rows_of(path)) == 6
    for lacking in ([3], [3, 8]):
        with pytest.raises(RecipeError, match=r"v2.csv .* have 2-needles, 4-needles, 8-needles, but none has 3-n"):
            built(needles=lacking)


def test_a_wrong_value_is_named_by_file_row_and_column(tmp_path: Path) -> None:
    value: Any
    for name, column, value, expected in (
        ("a.parquet", "prompt", '["a"]', "prompt is ['a']; expected a list of messages, at least three"),
        ("a.parquet", "answer", "A poem", "answer is 'A poem'; expected a text that begins with 'aYooSG8C01'"),
        ("a.parquet", "n_needles", None, "n_needles is None; expected a whole number"),
        ("a.parquet", "desired_msg_index", 3, "desired_msg_index is 3; expected the message before the one that"),
        ("a.csv", "answer", "b6Yath1qpb01 ", "answer is 'b6Yath1qpb01'; expected 12 characters and a text"),
        ("a.csv", "context_len", "long", "context_len is 'long'; expected a whole number"),
    ):
        rows = [chat_row(0), chat_row(1)]
        if name == "a.csv":
            rows = [text_row(number, context_len="60000.0", num_relevant="2") for number in range(2)]
        path = write(tmp_path / name, [rows[0], {**rows[1], column: value}])
        assert f"{name}, row 2: {expected}" in problem_of(path)


def test_unreadable_unknown_and_missing_files_are_refused(tmp_path: Path) -> None:
    for name, data, problem in (
        ("a.parquet", b"PAR1 no parquet", "a.parquet, row 1: cannot be read"),
        ("c.csv", b"queries,answer\none,two,three\n", "c.csv, row 1: cannot be read (it has more fields than"),
        ("e.csv", b"a,b\n1,2\n", "e.csv has the columns a, b; expected prompt, answer"),
        ("a.json", b"{}", "a.json is neither a .parquet nor a .csv file"),
    ):
        (tmp_path / name).write_bytes(data)
        assert problem in problem_of(tmp_path / name)
    assert "nowhere.csv': no such file" in problem_of(tmp_path / "nowhere.csv")
    assert "options.file: expected a file of openai/mrcr or MRCR v2" in problem_of(tmp_path, options={})
