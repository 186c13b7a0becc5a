"""Makes small datasets by hand, and answers to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CONTRACT = ROOT / "tests" / "contract" / "v1"

Record = dict[str, Any]
WriteLines = Callable[[str, Sequence[Record]], Path]


def made(count: int) -> list[Record]:
    """Rows of a hand-made dataset: id row-000 has the answer word-000, and so on."""
    return [
        {
            "id": f"row-{number:03}", "answers": [f"It is word{number:03}."], "keywords": [[f"word{number:03}"]],
            "length": 1000 * (1 + number % 2), "depth_percent": 50.0 * (number // 2 % 3),
            "needle_id": f"needle-{number % 4}", "language": "en",
        }
        for number in range(count)
    ]  # fmt: skip


def written(path: Path, records: Iterable[object]) -> Path:
    """Write records as JSON Lines to a file, and return it."""
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), "utf-8")
    return path


def right(rows: Sequence[Record]) -> list[Record]:
    """A right answer to every row."""
    return [{"id": row["id"], "prediction": f"I think {row['answers'][0]}"} for row in rows]


# The least that a rubric needs.
RUBRIC: Record = {
    "name": "x",
    "scale": {"0": 0, "1": 50, "2": 100},
    "pattern": "number",
    "prompt": "{reference} {answer}",
}
