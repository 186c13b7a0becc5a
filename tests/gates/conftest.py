"""Makes a small dataset by hand: two parts, two languages, near misses, a list, and a control."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

FILLER = {"en": "Rain fell on the hills.", "zh": "山上下了雨。"}
ASKED = {"en": "Question: ", "zh": "问题："}


def make_row(name: str, part: str, language: str, question: str, texts: list[str], **fields: Any) -> dict[str, Any]:
    """A row with `texts`, the asked ones first; `placed` is their order in the context, by default the same."""
    placed = fields.pop("placed", range(len(texts)))
    spans: dict[int, dict[str, int]] = {}
    context = ""
    for place in placed:
        context += f"{FILLER[language]} "
        spans[place] = {"start": len(context), "end": len(context) + len(texts[place])}
        context += f"{texts[place]} "
    row = {
        "id": name, "task": "single", "part": part, "language": language, "control": None, "metric": "correct",
        "question": question, "needles": texts, "needle_spans": [spans[place] for place in range(len(texts))],
        "needle_id": name.rpartition("-")[0], "length": 1000, "depth_percent": 50.0,
        "prompt": f"{context}{FILLER[language]}\n\n{ASKED[language]}{question}",
    }  # fmt: skip
    return {**row, **fields}


def facts(answer: str, *decoys: str) -> dict[str, Any]:
    """The fields of a row that asks for one word: what it accepts, and its decoys."""
    return {"answers": [f"{answer}."], "keywords": [[answer]], "decoys": [[word] for word in decoys]}


MILL = [
    "Ann Orr grinds the corn at Oxley.",
    "Who runs the mill at Oxford is Bob Prell.",
    "The inn at Oxley is Zed Moss's.",
]
LOCK = ["Joss Hend kept the lock.", "The lock was Edda Marl's.", "Who has kept the lock-up is Nat Grew."]
SHOP = [
    "At Wick the bread is from Una Skeen.",
    "Who sells cakes in Wick is Ivo Trask.",
    "A shop in Ware is Eli Stope's.",
]


@pytest.fixture(scope="session")
def rows() -> list[dict[str, Any]]:
    """Six rows, and the twin of the first without its needle."""
    mill = facts("Orr", "Prell", "Moss")
    return [
        make_row("mill-1", "near", "en", "Who runs the mill at Oxley?", MILL, placed=(1, 0, 2), **mill),
        make_row("mill-2", "near", "en", "Who runs the mill at Oxley?", MILL, placed=(2, 0, 1), **mill),
        make_row("shop-1", "near", "en", "Who sells bread in Wick?", SHOP, **facts("Skeen", "Trask", "Stope")),
        make_row("bell-1", "near", "zh", "谁铸了甲镇的钟？", ["甲镇大钟出自邵渡生之手。", "谁铸了乙镇的钟？是郗问津。"],
             **facts("邵渡生", "郗问津")),
        make_row("drum-1", "near", "zh", "谁会打丙镇的鼓？", ["丙镇鼓声来自晏棹平。", "谁会打丁镇的鼓？是嵇伯潮。"],
             **facts("晏棹平", "嵇伯潮")),
        make_row("keepers-1", "list", "en", "Who has kept the lock?", LOCK, placed=(1, 2, 0),
             metric="keyword_f1", answers=["Hend and Marl."], keywords=[["Hend"], ["Marl"]], decoys=[["Grew"]]),
        make_row("mill-1", "near", "en", "Who runs the mill at Oxley?", MILL[1:], id="mill-1-absent", control="absent",
             **{**mill, "answers": ["Not stated."]}),
    ]  # fmt: skip


@pytest.fixture(scope="session")
def dataset(rows: list[Mapping[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("gates") / "rows.jsonl"
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return file
