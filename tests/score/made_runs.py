"""Makes three runs without a model: an answer is right if a number drawn from the row's name is below a chance."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from made import Record, written

from niah_score.evaluation import evaluate
from niah_score.report.report import Report

LENGTHS = {1000: 0.99, 4000: 0.98, 16000: 0.95, 64000: 0.9, 128000: 0.8}
RUNS = ("steady", "steady-again", "lost_in_the_middle")
# What a comparison of them writes, besides pictures.
TABLES = {"comparison.md", "comparison.json", "comparison.csv"}


def pictures(*names: str) -> set[str]:
    return {f"{name}.{kind}" for name in names for kind in ("png", "svg")}


def rows() -> list[Record]:
    """5 lengths x 11 depths x 6 needles."""
    return [
        {
            "id": f"made-{length}-{depth}-{needle}", "answers": [f"It is word{needle}."],
            "keywords": [[f"word{needle}"]], "length": length, "depth_percent": float(depth),
            "needle_id": f"needle-{needle}", "haystack_id": f"haystack-{(needle + depth // 10) % 4}", "language": "en",
        }
        for length in LENGTHS
        for depth in range(0, 101, 10)
        for needle in range(6)
    ]  # fmt: skip


def answers(name: str) -> list[Record]:
    """The answers of a run; the last run is worse in the middle, the more so the longer the text, and skips a row."""
    records = []
    for row in rows():
        chance = LENGTHS[row["length"]]
        if name == RUNS[2] and 20 <= row["depth_percent"] <= 80:
            chance **= 5
        drawn = int(sha256(f"{name} {row['id']}".encode()).hexdigest()[:8], 16) / 2**32
        records.append({"id": row["id"], "prediction": row["answers"][0] if drawn < chance else "I do not know."})
    return records[:-1] if name == RUNS[2] else records


@cache
def reports() -> tuple[tuple[str, Report], ...]:
    """The three runs, scored; a row without an answer counts as 0."""
    with TemporaryDirectory() as folder:
        dataset = written(Path(folder) / "made.jsonl", rows())
        files = [(name, written(Path(folder) / f"{name}.jsonl", answers(name))) for name in RUNS]
        return tuple((name, evaluate(dataset, file, model=name, missing="zero", jobs=1)) for name, file in files)
