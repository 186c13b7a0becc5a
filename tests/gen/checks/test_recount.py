"""Recounting under another tokenizer: every row is counted once, exactly, and rows that overflow are named."""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import niah_gen
from niah_gen.checks.recount import recount, report
from niah_gen.errors import IntegrityError, TokenizerError
from niah_gen.tokenizers.find import BytePairTokenizer, OffsetTokenizer, find_tokenizer
from niah_score.contract import MANIFEST, ContractError, Row, config_name, read_manifest

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
    recount(dataset, "gpt-4o", csv_file=tmp_path / "counts" / "rows.csv")
    with (tmp_path / "counts" / "rows.csv").open(newline="", encoding="utf-8") as file:
        written = list(csv.reader(file))
    assert written[0] == ["id", "config", "length", "prompt_tokens", "tokens", "output"]
    assert written[1:] == [
        [
            row["id"], config_name(row["language"], row["length"]), str(row["length"]), str(row["prompt_tokens"]),
            str(o200k.count(str(row["prompt"]))), str(row["max_new_tokens"]),
        ]
        for row in rows
    ]  # fmt: skip


def test_the_datasets_own_tokenizer_confirms_the_recorded_counts(dataset: Path, rows: list[Row]) -> None:
    result = recount(dataset, "gpt-4")
    assert list(result.configs) == ["en-700", "en-2k", "en-10k", "zh-700", "zh-2k", "zh-10k"]
    assert all(tally.recorded == tally.tokens for tally in result.configs.values())
    assert result.configs["en-2k"].tokens == [
        row["prompt_tokens"] for row in rows if (row["language"], row["length"]) == ("en", 2000)
    ]
    assert result.over == []


def test_a_chat_prompt_counts_as_the_sum_of_its_message_contents(tmp_path: Path, cl100k: BytePairTokenizer) -> None:
    (row,) = niah_gen.iter_rows(CHAT_RECIPE)
    assert not isinstance(row["prompt"], str)
    assert len(row["prompt"]) > 1
    result = recount(niah_gen.build(CHAT_RECIPE, tmp_path, formats=["jsonl.zst"]), "o200k_base")
    o200k = find_tokenizer("o200k_base")
    assert result.configs["en-900"].tokens == [sum(o200k.count(message["content"]) for message in row["prompt"])]


def test_rows_above_the_limit_are_counted_and_the_first_twenty_named(
    dataset: Path, rows: list[Row], tiny_bpe: OffsetTokenizer, tokenizer_json: Path
) -> None:
    counts = {row["id"]: tiny_bpe.count(str(row["prompt"])) for row in rows}
    result = recount(dataset, str(tokenizer_json))
    over = [row["id"] for row in rows if counts[row["id"]] > (row["length"] or 0)]
    assert over
    assert [row.id for row in result.over] == over[:20]
    assert sum(tally.over for tally in result.configs.values()) == len(over)
    lines = list(report(result))
    assert f"{len(over)} rows are above its length:" in lines
    assert f"  {over[0]} {counts[over[0]]}" in lines


def test_a_limit_applies_to_all_rows_and_may_be_reached_exactly(dataset: Path, rows: list[Row], tmp_path: Path) -> None:
    most = max(row["prompt_tokens"] for row in rows if row["length"] == 2000)
    over = [tally.over for tally in recount(dataset, "gpt-4", limit=most, output=0).configs.values()]
    assert over == [0, 0, 2, 0, 0, 2]
    below = [tally.over for tally in recount(dataset, "gpt-4", limit=most - 1, output=0).configs.values()]
    assert below[1] + below[4] > 0
    many = {**RECIPE, "lengths": [700], "repeats": 6, "languages": ["en"], "depths": [0, 30, 60, 100]}
    lines = list(report(recount(niah_gen.build(many, tmp_path), "gpt-4", limit=1)))
    assert lines[-1] == "  and 4 more"
    assert len(lines) == 1 + 2 + 1 + 1 + 20 + 1


def test_a_limit_covers_the_prompt_and_its_output(dataset: Path, rows: list[Row]) -> None:
    def over(limit: int, output: int | None = None) -> set[str]:
        return {row.id for row in recount(dataset, "gpt-4", limit=limit, output=output).over}

    needs = {row["id"]: row["prompt_tokens"] + row["max_new_tokens"] for row in rows}
    for limit in (900, max(needs.values()) - 1, max(needs.values())):
        assert over(limit) == {row_id for row_id, tokens in needs.items() if tokens > limit}
    assert over(2500, 600) == {row["id"] for row in rows if row["prompt_tokens"] + 600 > 2500}
    limit = max(needs.values()) - 1
    result = recount(dataset, "gpt-4", limit=limit)
    assert result.largest is not None
    assert result.largest.tokens + result.largest.output == max(needs.values())
    printed = list(report(result))
    assert f"over: above {limit} tokens with max_new_tokens of output." in printed[0]
    tokens, output = result.largest.tokens, result.largest.output
    assert f"The largest row needs {tokens + output} tokens, {tokens} of prompt and {output} of output." in printed
    assert f"  {result.over[0].id} {result.over[0].tokens} + {result.over[0].output}" in printed


CHAT = (
    "<s>{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|end|>{% endif %}"
)


@pytest.fixture
def model(tokenizer_json: Path, tmp_path: Path) -> Path:
    """A folder whose tokenizer knows the special tokens of its chat template."""
    import tokenizers

    folder = tmp_path / "my-model"
    folder.mkdir()
    made = tokenizers.Tokenizer.from_file(str(tokenizer_json))
    made.add_special_tokens(["<s>", "<|user|>", "<|assistant|>", "<|system|>", "<|end|>"])
    made.save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text(CHAT)
    return folder


@pytest.mark.slow
def test_the_chat_template_of_the_folder_wraps_a_text_as_one_message(
    dataset: Path, rows: list[Row], model: Path
) -> None:
    plain = find_tokenizer(str(model))
    result = recount(dataset, str(model), jobs=2)
    counted = [tokens for tally in result.configs.values() for tokens in tally.tokens]
    assert counted == [3 + plain.count(str(row["prompt"])) for row in rows]  # <s>, <|user|> and <|end|>
    assert next(report(result)).startswith(
        "Tokens as recorded by cl100k_base, under my-model with chat_template.jinja (min, mean, max)"
    )
    without = recount(dataset, str(model), chat_template=False)
    assert [tokens for tally in without.configs.values() for tokens in tally.tokens] == [n - 3 for n in counted]
    assert without.template is None


def test_the_chat_template_adds_its_tokens_to_every_message_of_a_chat(model: Path, tmp_path: Path) -> None:
    (row,) = niah_gen.iter_rows(CHAT_RECIPE)
    assert not isinstance(row["prompt"], str)
    folder = niah_gen.build(CHAT_RECIPE, tmp_path / "chat", formats=["jsonl"])
    plain = find_tokenizer(str(model))
    expected = 2 + sum(1 + plain.count(message["content"]) for message in row["prompt"])
    assert recount(folder, str(model)).configs["en-900"].tokens == [expected]


def test_a_chat_template_that_refuses_the_messages_is_reported(dataset: Path, model: Path) -> None:
    (model / "chat_template.jinja").write_text("{{ raise_exception('I want a system message') }}")
    with pytest.raises(
        TokenizerError, match=r"chat_template\.jinja.*refuses messages of user: I want a system message"
    ):
        recount(dataset, str(model))


def test_the_table_has_the_counts_and_ratio_of_each_config(dataset: Path) -> None:
    result = recount(dataset, "o200k_base")
    lines = [line.split() for line in report(result)]
    tally = result.configs["zh-2k"]
    assert lines[1] == ["config", "rows", "cl100k_base", "min", "mean", "max", "ratio", "over"]
    (line,) = [line for line in lines if line[0] == "zh-2k"]
    assert line == [
        "zh-2k", "2", str(min(tally.recorded)), "to", str(max(tally.recorded)), str(min(tally.tokens)),
        f"{sum(tally.tokens) / 2:.1f}", str(max(tally.tokens)), f"{sum(tally.tokens) / sum(tally.recorded):.3f}", "0",
    ]  # fmt: skip
    assert lines[-2][:2] == ["all", "12"]


@pytest.mark.slow
def test_two_processes_count_the_same_as_one(dataset: Path, tmp_path: Path) -> None:
    results = [recount(dataset, "o200k_base", jobs=jobs, csv_file=tmp_path / f"{jobs}.csv") for jobs in (1, 2)]
    assert results[0] == results[1]
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()


def test_each_row_is_counted_once_even_if_there_are_two_formats(dataset: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(dataset, tmp_path / "copy"))
    shutil.rmtree(copy / "jsonl")
    assert recount(copy, "gpt-4") == recount(dataset, "gpt-4")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "row 2: Expecting property name"),
        ("[]", "row 2: not a row with a prompt"),
        ('{"id": "a", "length": 1, "max_new_tokens": 1, "prompt_tokens": 1}', "row 2: not a row with a prompt"),
        (
            '{"id": "a", "length": 1, "max_new_tokens": 1, "prompt_tokens": "1", "prompt": "b"}',
            "row 2: not a row with a prompt",
        ),
        (
            '{"id": "a", "length": 1, "max_new_tokens": 1, "prompt_tokens": 1, "prompt": "\\ud800"}',
            "row 2: not a row with a prompt",
        ),
        (
            '{"id": "a", "length": 1, "max_new_tokens": 1, "prompt_tokens": 1, "prompt": [{"role": "b"}]}',
            "row 2: not a row with a prompt",
        ),
    ],
)
def test_an_uncountable_row_is_named_and_no_csv_file_is_left(
    dataset: Path, tmp_path: Path, line: str, words: str
) -> None:
    copy = Path(shutil.copytree(dataset, tmp_path / "copy"))
    shutil.rmtree(copy / "data")
    manifest = read_manifest(copy)
    files = tuple(entry for entry in manifest.files if not entry.path.startswith("data"))
    (copy / MANIFEST).write_bytes(replace(manifest, files=files).to_json())
    path = copy / "jsonl" / "zh-2k" / "test-00000-of-00001.jsonl"
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([lines[0], line]), "utf-8")
    with pytest.raises(IntegrityError, match=words):
        recount(copy, "gpt-4", csv_file=tmp_path / "rows.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]


def test_unknown_tokenizers_missing_manifests_and_missing_files_are_reported(dataset: Path, tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match="did you mean 'gpt-4'"):
        recount(dataset, "gpt4")
    with pytest.raises(ContractError, match=r"no manifest\.json"):
        recount(tmp_path, "gpt-4")
    copy = Path(shutil.copytree(dataset, tmp_path / "copy"))
    shutil.rmtree(copy / "data")
    with pytest.raises(IntegrityError, match="missing"):
        recount(copy, "gpt-4")


@pytest.mark.slow
def test_the_command_exits_with_0_even_if_rows_overflow(dataset: Path, tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("niah-gen")), "recount", str(dataset), "--tokenizer", "gpt-4o"]
    command += ["--limit", "500", "--output", "0", "--csv", str(tmp_path / "r.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "8 rows are above 500 tokens:" in done.stdout
    assert done.stderr == ""
    assert len((tmp_path / "r.csv").read_text("utf-8").splitlines()) == 13
