"""NeedleBench v2's tasks: recorded prompts reproduced byte for byte, and rows proved from their own text."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from each import each
from needlebench import write_names, write_needles

import niah_gen
from niah_score.contract import Row, sha256_hex

KINDS = {"atc": "atc", "single": "single", "multi_reasoning": "reasoning", "multi_retrieval": "retrieval"}
CODES = {"English": "en", "Chinese": "zh"}
CORPORA = {"en": "en_essays", "zh": "zh_articles/zh_finance"}


@pytest.fixture
def own(tmp_path: Path) -> dict[str, Any]:
    """The options that name the user's two files."""
    return {"options.names": str(write_names(tmp_path)), "options.needles": str(write_needles(tmp_path))}


def rows_of(task: str, own: dict[str, Any], language: str = "en", **changes: Any) -> list[Row]:
    overrides: dict[str, Any] = {
        **own, "lengths": [2000], "depths": [0, 50, 100], "repeats": 2, "languages": [language], "options.count": 3,
        "corpora": [CORPORA[language]], **changes,
    }  # fmt: skip
    return list(niah_gen.iter_rows(f"needlebench2-{task}", overrides))


@pytest.mark.slow
def test_every_recorded_prompt_is_reproduced(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIAH_CORPORA", str(shared / "corpora"))
    lines = (shared / "golden" / "needlebench_v2_prompts.jsonl").read_text("utf-8").splitlines()
    stub = shared / "golden" / "needlebench_stub_needles.jsonl"
    recorded = [json.loads(line) for line in lines[1:]]
    assert write_needles(tmp_path).read_bytes() == stub.read_bytes()
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for line in recorded:
        sizes = (line.get(name) for name in ("length", "num_needles", "length_buffer"))
        groups[(line["kind"], CODES[line["language"]], *sizes)].append(line)
    checked = 0
    for (kind, language, length, count, buffer), members in groups.items():
        changes: dict[str, Any] = {
            "options.names": str(write_names(tmp_path)), "options.needles": str(stub), "languages": [language],
            "corpora": ["paul_graham" if language == "en" else "cdme/zh_finance"], "repeats": 3,
            "options.count": count, "options.buffer": buffer, "lengths": length,
            "depths": [0, 50, 100] if kind in ("single", "multi_reasoning") else None,
        }  # fmt: skip
        asked = {name: value for name, value in changes.items() if value is not None}
        rows = list(niah_gen.iter_rows(f"needlebench2-{KINDS[kind]}", asked))
        for line in members:
            if kind == "atc":
                row = rows[line["row"]]
            else:
                place = (line["repeat"], line.get("depth"))
                (row,) = (row for row in rows if (row["repeat"], row["depth_percent"]) == place)
            assert sha256_hex(str(row["prompt"]).encode()) == line["prompt_sha256"], line
            assert row["prompt_tokens"] == line["tokens"]
            # The texts that an answer must contain, as a published row packs them.
            packed = str(line["answer"]).partition("#")[0].split("*")
            assert [group[0] for group in row["keywords"]] == packed[line["kind"] == "single" :]
            checked += 1
    assert checked == len(recorded) == 94


@each("language", ["en", "zh"])
@each("task", ["single", "retrieval"])
def test_the_question_can_come_before_the_document(task: str, language: str, own: dict[str, Any]) -> None:
    start: dict[str, Any] = {"options.position": "start"}
    for row in rows_of(task, own, language, **start):
        assert str(row["prompt"]).index(row["question"] or "") < row["needle_spans"][0]["start"]
        assert str(row["prompt"]).endswith("</文档>\n\n" if language == "zh" else "</Document>\n\n")
