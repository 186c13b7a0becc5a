"""Rows checked against the published generators, byte for byte: every recorded digest, and a sample of other cells.

The goldens and the corpora that they were made from are not part of the repository; without them these tests are
skipped. Lines are grouped by what one recipe can hold, so each group is one build in memory.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contexts import context_of

import niah_gen
from niah_gen.tokenizers.find import BytePairTokenizer, find_tokenizer
from niah_score.contract import Row, sha256_hex

Line = dict[str, Any]


@pytest.fixture(autouse=True)
def _corpora(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIAH_CORPORA", str(shared / "corpora"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def read(shared: Path, name: str) -> list[Line]:
    lines = (shared / "golden" / name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def groups(lines: list[Line], *fields: str) -> Iterator[tuple[Line, list[Line]]]:
    """Groups of lines that agree in some fields, each with its first line."""
    grouped: dict[tuple[object, ...], list[Line]] = defaultdict(list)
    for line in lines:
        grouped[tuple(line.get(field) for field in fields)].append(line)
    return ((members[0], members) for members in grouped.values())


def values(lines: list[Line], field: str) -> list[Any]:
    return sorted({line[field] for line in lines})


def encoding_of(name: str) -> BytePairTokenizer:
    tokenizer = find_tokenizer(name)
    assert isinstance(tokenizer, BytePairTokenizer)
    return tokenizer


def corpus_name(file: str) -> str:
    return "cdme/" + file.removesuffix(".jsonl")


def by_cell(rows: Iterator[Row]) -> dict[tuple[int, float, int], Row]:
    return {((row["length"] or 0), row["depth_percent"] or 0.0, row["repeat"]): row for row in rows}


# gkamradt -----------------------------------------------------------------------------------------------------------

GKAMRADT = {"gkamradt.single": "gkamradt-single", "gkamradt.multi": "gkamradt-multi"}


def test_every_recorded_gkamradt_context_is_reproduced(shared: Path) -> None:
    lines = read(shared, "gkamradt_contexts.jsonl")
    checked = 0
    for first, members in groups(lines, "preset", "tokenizer", "buffer", "corpus", "corpus_repeated_until_tokens"):
        longest = first["corpus_repeated_until_tokens"]
        overrides = {
            # The largest length of the recipe decides how often the corpus is repeated.
            "lengths": sorted({*values(members, "length"), longest}), "corpora": [first["corpus"]],
            "depths": [float(depth) for depth in values(members, "depth_percent")], "reserve": first["buffer"],
            "tokenizer": first["tokenizer"],
        }  # fmt: skip
        rows = by_cell(niah_gen.iter_rows(GKAMRADT[first["preset"]], overrides))
        for line in members:
            row = rows[line["length"], float(line["depth_percent"]), 0]
            context = context_of(row)
            assert sha256_hex(context.encode()) == line["context_sha256"], line
            assert len(context) == line["context_chars"]
            assert encoding_of(first["tokenizer"]).count(context) == line["context_tokens"]
            assert [span["start"] for span in row["needle_spans"]] == line["needle_char_offsets"]
            assert isinstance(row["prompt"], list)
            others = [message["content"] for n, message in enumerate(row["prompt"]) if n != row["context_message"]]
            count = encoding_of(first["tokenizer"]).count
            assert row["prompt_tokens"] == line["context_tokens"] + sum(map(count, others))
            checked += 1
    assert checked == len(lines) == 42


# OpenCompass --------------------------------------------------------------------------------------------------------

DYNAMIC = {"single": "cdme-8k", "cot2_italy": "cdme-8k-cot2-italy", "cot3_italy": "cdme-8k-cot3-italy"}


def test_every_recorded_opencompass_prompt_is_reproduced(shared: Path) -> None:
    lines = read(shared, "opencompass_dynamic_prompts.jsonl")
    checked = 0
    for first, members in groups(lines, "variant", "tokenizer", "corpus", "guide", "diff", "buffer"):
        overrides = {
            "tokenizer": first["tokenizer"], "lengths": values(members, "length"),
            "depths": [float(depth) for depth in values(members, "depth_percent")],
            "repeats": max(values(members, "repeat")) + 1, "guide": first["guide"], "reserve": first["buffer"],
            "corpora": [corpus_name(first["corpus"])],
        }  # fmt: skip
        if first["diff"] is not None:
            overrides["diff"] = first["diff"]
        rows = by_cell(niah_gen.iter_rows(DYNAMIC[first["variant"]], overrides))
        for line in members:
            row = rows[line["length"], float(line["depth_percent"]), line["repeat"]]
            prompt = row["prompt"]
            assert isinstance(prompt, str)
            assert sha256_hex(prompt.encode()) == row["prompt_sha256"] == line["prompt_sha256"], line
            assert len(prompt) == line["prompt_chars"]
            assert row["prompt_tokens"] == line["prompt_tokens"]
            assert ("\ufffd" in prompt) == line["has_replacement_char"]
            # The published answer of a chain carries its keyword after a star.
            published_answer = [*row["answers"], *(word for group in row["keywords"] for word in group)]
            assert line["answer"] in (row["answers"][0], "*".join(published_answer))
            checked += 1
    assert checked == len(lines) == 118


# OpenCompass, processed ---------------------------------------------------------------------------------------------


def test_every_recorded_processed_prompt_is_reproduced(shared: Path) -> None:
    """A line's file name holds only the whole part of the depth: the schedule says which depth that was."""
    lines = read(shared, "opencompass_processed_prompts.jsonl")
    checked = 0
    for first, members in groups(lines, "corpus", "guided", "interval_type", "intervals", "buffer"):
        steps = {"steps": first["intervals"], "spacing": first["interval_type"], "rounding": "none", "keep_ends": False}
        recipe = niah_gen.load_recipe("cdme-processed-8k", {
            "lengths": values(members, "length"), "depths": steps, "guide": first["guided"],
            "reserve": first["buffer"], "corpora": [corpus_name(first["corpus"])],
        })  # fmt: skip
        assert len(recipe.parts[0].depths) == first["intervals"]
        stem = first["corpus"].removesuffix(".jsonl")
        rows = {}
        for row in niah_gen.iter_rows(recipe):
            cell = f"Length{row['length']}Depth{int(row['depth_percent'] or 0)}"
            name = f"{cell}/{stem}_{cell.replace('Depth', '_Depth')}.jsonl"
            rows[name, row["repeat"]] = row
        for line in members:
            row = rows[line["file"], line["record"]]
            prompt = row["prompt"]
            assert isinstance(prompt, str)
            assert sha256_hex(prompt.encode()) == row["prompt_sha256"] == line["prompt_sha256"], line
            assert len(prompt) == line["prompt_chars"]
            assert row["answers"][0] == line["answer"]
            checked += 1
    assert checked == len(lines) == 38
