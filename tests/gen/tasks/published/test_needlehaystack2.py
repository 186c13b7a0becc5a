"""needlehaystack 2's tasks: published prompts reproduced byte for byte, and the options that users may change."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import niah_gen
from niah_gen.tokenizers.find import BytePairTokenizer
from niah_score.contract import sha256_hex


def test_every_recorded_prompt_and_placement_is_reproduced(
    shared: Path, monkeypatch: pytest.MonkeyPatch, cl100k: BytePairTokenizer
) -> None:
    monkeypatch.setenv("NIAH_CORPORA", str(shared / "corpora"))
    lines = (shared / "golden" / "needlehaystack2_prompts.jsonl").read_text("utf-8").splitlines()
    recorded = [json.loads(line) for line in lines[1:]]
    groups: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for line in recorded:
        groups[line["variant"], line["context_length"]].append(line)
    checked = 0
    for (variant, length), members in groups.items():
        name, _, kind = variant.partition("-")
        seeds = sorted({line["seed"] for line in members} - {None})
        overrides = {
            "lengths": [length], "depths": sorted({line["depth_percent"] for line in members}),
            "corpora": ["paul_graham"], "options.seeds": seeds, "options.snap": kind != "nosnap",
            **({"options.chain_length": int(kind)} if kind.isdecimal() else {}),
        }  # fmt: skip
        rows = {
            (row["depth_percent"], row["repeat"]): row
            for row in niah_gen.iter_rows(f"needlehaystack2-{name.replace('_', '-')}", overrides)
        }
        for line in members:
            row = rows[line["depth_percent"], seeds.index(line["seed"]) if seeds else 0]
            (message,) = (message for message in row["prompt"] if not isinstance(message, str))
            assert message["role"] == "user"
            assert sha256_hex(message["content"].encode()) == line["user_sha256"], line
            assert row["prompt_tokens"] == line["user_tokens"]
            assert (row["placement"], row["question"]) == ("needlehaystack2", line["question"])
            sizes = [cl100k.count(needle) for needle in row["needles"]]
            indexes = [
                round(depth * length / 100) + sum(sizes[:number]) for number, depth in enumerate(row["needle_depths"])
            ]
            assert [list(pair) for pair in zip(indexes, row["needle_depths"], strict=True)] == line["placements"]
            assert [group[0] for group in row["keywords"]] == line["expected_answer"].split(" / ")
            checked += 1
    assert checked == len(recorded) == 116
