"""Recounting under another tokenizer: every row is counted once, exactly, and rows that overflow are named."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import niah_gen
from niah_gen.checks.recount import recount, report
from niah_gen.errors import IntegrityError, TokenizerError
from niah_gen.tokenizers.find import OffsetTokenizer, find_tokenizer
from niah_score.contract import ContractError, Row, config_name

RECIPE: dict[str, Any] = {
    "name": "r", "lengths": [700, 2000, 10000], "depths": [0, 50], "needles": ["velden-archive", "heyuan-archive"],
}  # fmt: skip
# One row whose prompt is several messages.
CHAT_RECIPE = {
    "name": "chat", "lengths": [900], "depths": [50], "placement": "gkamradt", "corpora": ["en_essays"],
    "needles": ["sf-dolores-park"],
}  # fmt: skip


@pytest.fixture(scope="module")
def dataset(built_once: Callable[..., Path]) -> Path:
    return built_once(RECIPE, ["parquet", "jsonl"])


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return list(niah_gen.iter_rows(RECIPE))


def test_every_row_is_counted_once_in_row_order(dataset: Path, rows: list[Row], tmp_path: Path) -> None:
    o200k = find_tokenizer("o200k_base")
    expected = [
        (
            row["id"], config_name(row["language"], row["length"]), row["length"], row["prompt_tokens"],
            o200k.count(str(row["prompt"])), row["max_new_tokens"],
        )
        for row in rows
    ]  # fmt: skip
    result = recount(dataset, "gpt-4o", csv_file=tmp_path / "counts" / "rows.csv")
    assert result.rows == expected
    with (tmp_path / "counts" / "rows.csv").open(newline="", encoding="utf-8") as file:
        written = list(csv.reader(file))
    assert written == [["id", "config", "length", "prompt_tokens", "tokens", "output"]] + [
        list(map(str, row)) for row in expected
    ]
    lines = [line.split() for line in report(result)]
    of_config = [row for row in result.rows if row.config == "zh-2k"]
    recorded, tokens = [row.prompt_tokens for row in of_config], [row.tokens for row in of_config]
    assert lines[1] == ["config", "rows", "cl100k_base", "min", "mean", "max", "ratio", "over"]
    assert [
        "zh-2k", "2", str(min(recorded)), "to", str(max(recorded)), str(min(tokens)), f"{sum(tokens) / 2:.1f}",
        str(max(tokens)), f"{sum(tokens) / sum(recorded):.3f}", "0",
    ] in lines  # fmt: skip
    assert lines[-2][:2] == ["all", "12"]
    assert all(row.prompt_tokens == row.tokens for row in recount(dataset, "gpt-4").rows)


def test_rows_above_the_limit_are_counted_and_the_first_twenty_named(
    dataset: Path, rows: list[Row], tiny_bpe: OffsetTokenizer, tokenizer_json: Path, tmp_path: Path
) -> None:
    counts = {row["id"]: tiny_bpe.count(str(row["prompt"])) for row in rows}
    over = [row["id"] for row in rows if counts[row["id"]] > (row["length"] or 0)]
    assert over
    lines = list(report(recount(dataset, str(tokenizer_json))))
    assert f"{len(over)} rows are above its length:" in lines
    assert f"  {over[0]} {counts[over[0]]}" in lines
    many = {**RECIPE, "lengths": [700], "repeats": 6, "languages": ["en"], "depths": [0, 30, 60, 100]}
    lines = list(report(recount(niah_gen.build(many, tmp_path), "gpt-4", limit=1)))
    assert lines[-1] == "  and 4 more"
    assert len(lines) == 1 + 2 + 1 + 1 + 20 + 1


CHAT = (
    "<s>{% for m in messages %}<|im_start|>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|im_end|>{% endif %}"
)


def test_the_chat_template_adds_its_tokens_to_every_message_of_a_chat(model: Path, tmp_path: Path) -> None:
    (model / "chat_template.jinja").write_text(CHAT)
    (row,) = niah_gen.iter_rows(CHAT_RECIPE)
    assert not isinstance(row["prompt"], str)
    folder = niah_gen.build(CHAT_RECIPE, tmp_path / "chat", formats=["jsonl"])
    for spec, of_prompt, of_message in ((str(model), 2, 1), ("o200k_base", 0, 0)):
        count = find_tokenizer(spec).count
        expected = of_prompt + sum(of_message + count(message["content"]) for message in row["prompt"])
        assert [row.tokens for row in recount(folder, spec).rows] == [expected]
    (model / "chat_template.jinja").write_text("{{ raise_exception('I want a system message') }}")
    with pytest.raises(TokenizerError, match=r"chat_template\.jinja.*refuses messages of .*: I want a system message"):
        recount(folder, str(model))


def test_an_uncountable_row_is_named_and_no_csv_file_is_left(built_once: Callable[..., Path], tmp_path: Path) -> None:
    copy = Path(shutil.copytree(built_once(RECIPE, ["jsonl"]), tmp_path / "copy"))
    path = copy / "jsonl" / "zh-2k" / "test-00000-of-00001.jsonl"
    first = path.read_text("utf-8").splitlines()[0]
    counted = '"id": "a", "length": 1, "max_new_tokens": 1'
    for line, words in (
        ("{", r":2: not a JSON object \(Expecting property name"), ("[]", ":2: not a JSON object"),
        (f'{{{counted}, "prompt_tokens": 1}}', "row 2: not a row with a prompt"),
        (f'{{{counted}, "prompt_tokens": "1", "prompt": "b"}}', "row 2: not a row with a prompt"),
        (f'{{{counted}, "prompt_tokens": 1, "prompt": "\\ud800"}}', "lone surrogate"),
        (f'{{{counted}, "prompt_tokens": 1, "prompt": [{{"role": "b"}}]}}', "row 2: not a row with a prompt"),
    ):  # fmt: skip
        path.write_text(f"{first}\n{line}", "utf-8")
        with pytest.raises(IntegrityError, match=words):
            recount(copy, "gpt-4", csv_file=tmp_path / "rows.csv")
        assert [path.name for path in tmp_path.iterdir()] == ["copy"]
    path.unlink()
    with pytest.raises(IntegrityError, match="cannot be read"):
        recount(copy, "gpt-4")
    with pytest.raises(TokenizerError, match="did you mean 'gpt-4'"):
        recount(copy, "gpt4")
    with pytest.raises(ContractError, match=r"no manifest\.json"):
        recount(tmp_path, "gpt-4")
