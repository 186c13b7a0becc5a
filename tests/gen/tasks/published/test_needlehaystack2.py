"""needlehaystack 2's tasks: published prompts reproduced byte for byte, and the options that users may change."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from each import each
from proved import prove
from recipes import problems

import niah_gen
from niah_gen.tokenizers.find import BytePairTokenizer
from niah_score.contract import Row
from niah_score.metrics import METRICS, target_of

NAMES = ("single", "multi", "uuid", "uuid-chain")
SMALL: dict[str, Any] = {"lengths": [400, 900], "depths": [0, 30, 100], "corpora": ["en_essays"]}


def rows_of(name: str, **overrides: Any) -> list[Row]:
    return list(niah_gen.iter_rows(f"needlehaystack2-{name}", {**SMALL, **overrides}))


def message(row: Row) -> str:
    """The text of the only message, which is the user's."""
    assert isinstance(row["prompt"], list)
    (only,) = row["prompt"]
    assert only["role"] == "user"
    return only["content"]


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
            assert hashlib.sha256(message(row).encode()).hexdigest() == line["user_sha256"], line
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


@each("name", NAMES)
def test_each_seed_makes_one_repeat_in_every_task(name: str) -> None:
    rows = rows_of(name, **{"options.seeds": [2, 1]})
    assert len(rows) == 2 * 3 * 2
    alone = rows_of(name, repeats=1)  # without seeds, repeats use the seeds from 1 on
    assert [message(row) for row in alone] == [message(row) for row in rows if row["repeat"] == 1]
    drawn = name in ("uuid", "uuid-chain")
    assert len({tuple(row["answers"]) for row in rows}) == (2 if drawn else 1)


@each("length", [2, 3, 9])
def test_a_chain_has_one_link_fewer_than_members(length: int) -> None:
    for row in rows_of("uuid-chain", **{"options.chain_length": length}):
        members = [row["needles"][0].split(" maps to ")[0]]
        for needle in row["needles"]:
            left, right = needle.removesuffix(".").split(" maps to ")
            assert left == members[-1]
            members.append(right)
        assert len(set(members)) == length
        assert row["answers"] == [members[-1]]
        assert members[0] in (row["question"] or "")
        assert members[-1] not in (row["question"] or "")


@pytest.mark.slow
@each("name", NAMES)
def test_rows_are_proved_and_their_own_answers_score_100(name: str, tmp_path: Path) -> None:
    folder = niah_gen.build(
        f"needlehaystack2-{name}", tmp_path, overrides={**SMALL, "repeats": 2, "controls": ["absent", "no_context"]}
    )
    assert prove(folder).problems == ()
    rows = rows_of(name, repeats=2)
    metric = "nh2_chain" if name == "uuid-chain" else "nh2_match"
    for row in rows:
        assert row["metric"] == metric
        own = METRICS[metric].judge(", ".join(group[0] for group in row["keywords"]), target_of(row))
        assert own.value == 100
    if name in ("uuid", "uuid-chain"):
        other = METRICS[metric].judge(rows[-1]["answers"][0], target_of(rows[0]))
        assert other.value == 0


def test_invalid_options_are_reported() -> None:
    for overrides, problem in (
        ({"options.chain_length": 1}, "options: chain_length is 1; expected 2 to 1000 members"),
        ({"options.seeds": [1, 1]}, "options: seeds are [1, 1]; expected no seed twice"),
        ({"options.seed": 1}, "options.seed: unknown field; did you mean 'seeds'?"),
        ({"options.snap": "no"}, "options.snap: expected true or false; found 'no'"),
    ):
        assert problem in problems("needlehaystack2-uuid-chain", {**SMALL, **overrides})
