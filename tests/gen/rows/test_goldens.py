"""Rows checked against the published generators, byte for byte: every recorded digest, and a sample of other cells.

The goldens and the corpora that they were made from are not part of the repository; without them these tests are
skipped. Lines are grouped by what one recipe can hold, so each group is one build in memory.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import published
import pytest
from rendering import filled

import niah_gen
from niah_gen.prompts.frame import make_frame
from niah_gen.prompts.templates import template_for
from niah_gen.tokenizers.find import BytePairTokenizer, find_tokenizer
from niah_score.contract import Row

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


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def context_of(row: Row) -> str:
    prompt = row["prompt"]
    return prompt if isinstance(prompt, str) else prompt[row["context_message"]]["content"]


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
        recipe = niah_gen.load_recipe(
            GKAMRADT[first["preset"]],
            {
                "tokenizer": first["tokenizer"],
                # The largest length of the recipe decides how often the corpus is repeated.
                "lengths": sorted({*values(members, "length"), longest}),
                "depths": [float(depth) for depth in values(members, "depth_percent")],
                "reserve": first["buffer"],
                "corpora": [first["corpus"]],
            },
        )
        rows = by_cell(niah_gen.iter_rows(recipe))
        for line in members:
            row = rows[line["length"], float(line["depth_percent"]), 0]
            context = context_of(row)
            assert sha256(context) == line["context_sha256"], line
            assert len(context) == line["context_chars"]
            assert encoding_of(first["tokenizer"]).count(context) == line["context_tokens"]
            assert [span["start"] for span in row["needle_spans"]] == line["needle_char_offsets"]
            assert isinstance(row["prompt"], list)
            others = [message["content"] for n, message in enumerate(row["prompt"]) if n != row["context_message"]]
            count = encoding_of(first["tokenizer"]).count
            assert row["prompt_tokens"] == line["context_tokens"] + sum(map(count, others))
            checked += 1
    assert checked == len(lines) == 42


def test_a_corpus_shorter_than_the_longest_length_is_repeated_as_published(shared: Path, tmp_path: Path) -> None:
    """Two essays must fill 8,000 tokens: bytes go wrong at the seams between copies and at the trimmed end."""
    folder = tmp_path / "two_essays"
    folder.mkdir()
    for name in ("bias.txt", "iflisp.txt"):
        (folder / name).write_bytes((shared / "corpora" / "paul_graham" / name).read_bytes())
    tokenizer = encoding_of("cl100k_base")
    overrides = {"lengths": [2000, 5000, 8000], "depths": [0, 12, 50, 88, 100], "corpora": [str(folder)]}
    passes = set()
    for row in niah_gen.iter_rows("gkamradt-single", overrides):
        expected = published.gkamradt_context(
            tokenizer.encoding, folder, (row["length"] or 0), row["depth_percent"] or 0.0, row["needles"], 200, 8000
        )
        assert context_of(row) == expected
        passes.add(row["haystack_passes"])
    assert max(passes) > 2


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
        recipe = niah_gen.load_recipe(DYNAMIC[first["variant"]], overrides)
        rows = by_cell(niah_gen.iter_rows(recipe))
        for line in members:
            row = rows[line["length"], float(line["depth_percent"]), line["repeat"]]
            prompt = row["prompt"]
            assert isinstance(prompt, str)
            assert sha256(prompt) == row["prompt_sha256"] == line["prompt_sha256"], line
            assert len(prompt) == line["prompt_chars"]
            assert row["prompt_tokens"] == line["prompt_tokens"]
            assert ("\ufffd" in prompt) == line["has_replacement_char"]
            # The published answer of a chain carries its keyword after a star.
            published_answer = [*row["answers"], *(word for group in row["keywords"] for word in group)]
            assert line["answer"] in (row["answers"][0], "*".join(published_answer))
            checked += 1
    assert checked == len(lines) == 118


def test_an_opencompass_corpus_that_is_too_short_ends_as_published(shared: Path, tmp_path: Path) -> None:
    lines = (shared / "corpora" / "cdme" / "zh_tech.jsonl").read_text("utf-8").split("\n")[:4]
    path = tmp_path / "four.jsonl"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    tokenizer = encoding_of("cl100k_base")
    template = template_for("opencompass-zh", "zh")
    assert template is not None
    overrides = {"lengths": [64_000], "depths": [0, 36, 100], "repeats": 2, "corpora": [str(path)]}
    for row in niah_gen.iter_rows("cdme-8k", overrides):
        expected = published.opencompass_context(
            tokenizer.encoding, path, 64_000, row["depth_percent"] or 0.0, row["repeat"], row["needles"]
        )
        assert row["prompt"] == filled(
            make_frame(template, "text", "opencompass", True, row["question"] or ""), expected
        )
        assert row["haystack_tokens"] < 60_000


# OpenCompass, processed ---------------------------------------------------------------------------------------------


def test_every_recorded_processed_prompt_is_reproduced(shared: Path) -> None:
    """A line's file name holds only the whole part of the depth: the schedule says which depth that was."""
    lines = read(shared, "opencompass_processed_prompts.jsonl")
    checked = 0
    for first, members in groups(lines, "corpus", "guided", "interval_type", "intervals", "buffer"):
        recipe = niah_gen.load_recipe(
            "cdme-processed-8k",
            {
                "lengths": values(members, "length"),
                "depths": {
                    "steps": first["intervals"],
                    "spacing": first["interval_type"],
                    "rounding": "none",
                    "keep_ends": False,
                },
                "guide": first["guided"],
                "reserve": first["buffer"],
                "corpora": [corpus_name(first["corpus"])],
            },
        )
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
            assert sha256(prompt) == row["prompt_sha256"] == line["prompt_sha256"], line
            assert len(prompt) == line["prompt_chars"]
            assert row["answers"][0] == line["answer"]
            checked += 1
    assert checked == len(lines) == 38


# The corpora themselves ---------------------------------------------------------------------------------------------
