"""Makes a dataset folder of several parts with weights, controls of all kinds, and answers to it."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from made_datasets import list_files

from niah_score.contract import PartEntry

Row = dict[str, Any]
# name: weight, number of needles, metric, share of right answers.
PARTS: Mapping[str, tuple[float, int, str, float]] = {
    "single": (0.4, 12, "keyword_f1", 0.85),
    "chains": (0.25, 10, "keyword_f1", 0.3),
    "lists": (0.35, 10, "keyword_f1", 0.6),
    "anchor": (0.0, 3, "keyword", 1.0),
}
LENGTHS, DEPTHS = (1000, 2000, 4000), (0.0, 50.0, 100.0)


def part_rows(parts: Sequence[str] = tuple(PARTS), repeats: int = 1) -> list[Row]:
    """Rows of each part: every needle at every length, with the depths in rotation."""
    rows = []
    for part in parts:
        _, needles, metric, _ = PARTS[part]
        for repeat in range(repeats):
            for turn in range(needles):
                for across, length in enumerate(LENGTHS):
                    depth = DEPTHS[(across + turn) % len(DEPTHS)]
                    name = f"{part}-n{turn}"
                    values = [f"{part} value {turn} {letter}" for letter in ("a", "b")[: 1 + (part == "lists")]]
                    rows.append(_row(name, length, depth, repeat, part, metric, values))
    return rows


def control_rows() -> list[Row]:
    """Twins of rows of the parts `single` and `anchor`: absent, no_context, conflict and literal."""
    rows = []
    for row in part_rows(("single", "anchor")):
        for control in ("absent", "no_context", "conflict", "literal"):
            if control != "absent" and (row["length"] != LENGTHS[0] or row["part"] == "anchor"):
                continue
            twin: Row = {**row, "id": f"{row['id']}-{control}", "control": control}
            if control == "conflict":
                other = f"other {row['keywords'][0][0]}"
                twin |= {"keywords": [[f"first {row['keywords'][0][0]}"], [other]], "metric": "keyword"}
                twin["needles"] = [f"It is first {row['keywords'][0][0]}.", f"It is {other}."]
            rows.append(twin)
    return rows


def _row(needle: str, length: int, depth: float, repeat: int, part: str, metric: str, values: Sequence[str]) -> Row:
    return {
        "id": f"{needle}-{length}-d{depth:g}-r{repeat}", "task": "multi" if part == "lists" else "single", "part": part,
        "language": "en", "corpus": "essays" if depth else "letters", "length": length, "depth_percent": depth,
        "needle_id": needle,
        "haystack_id": f"h-{needle}-{length}", "repeat": repeat, "question": f"What is said of {needle}?",
        "answers": [", ".join(values)], "keywords": [[value] for value in values], "metric": metric, "control": None,
        "needles": [f"It is {value}." for value in values],
    }  # fmt: skip


def parts_folder(
    folder: Path, rows: Sequence[Row], weights: Mapping[str, float] | None = None, *, listed: bool = True
) -> Path:
    """A dataset folder with these rows; `listed`: whether its manifest lists the parts and their weights."""
    data = folder / "jsonl" / "en-1k" / "test-00000-of-00001.jsonl"
    data.parent.mkdir(parents=True)
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    named = {row["part"]: None for row in rows if row["part"]}
    count = {part: sum(row["part"] == part for row in rows) for part in named}
    weights = {part: PARTS[part][0] for part in count} if weights is None else weights
    parts = tuple(PartEntry(part, weights[part], count[part]) for part in count) if listed else ()
    return list_files(folder, name="parts", rows=len(rows), parts=parts)


def answer_to(row: Row, draw: random.Random) -> str:
    """An answer that is right about as often as its part says."""
    part, values = row["part"], [group[0] for group in row["keywords"]]
    easy = PARTS[part][3]
    if row["control"] == "absent":
        return "Not stated." if draw.random() < 0.7 else f"It is {values[0]}."
    if row["control"] == "no_context":
        return "I cannot tell."
    if row["control"] == "conflict":
        return " or ".join(draw.choice([values, values[:1], values[1:]]))
    if row["control"] == "literal":
        easy = 0.95
    given = [value for value in values if draw.random() < easy]
    if part == "lists" and draw.random() < 0.3:
        given.append("lists value 99 z")
    return f"{', '.join(given)}." if given else "Nothing of that kind."


def answers_file(path: Path, rows: Sequence[Row], seed: int = 1) -> Path:
    """An answer to every row."""
    draw = random.Random(seed)
    lines = [json.dumps({"id": row["id"], "prediction": answer_to(row, draw)}) for row in rows]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path
