"""Measures how large report.html is, how long it takes to make, and how soon a browser shows its heatmap.

.venv/bin/python tests/benchmarks/page.py [ROWS]

The dataset has ROWS rows (100,000) over 40 lengths, 21 depths and 30 needles in two languages; answers are 60 to 400
characters. The time to the heatmap is that of the page's own mark, from the start of its loading, in headless Chromium:
the median of five.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from niah_score import evaluate
from niah_score.report.page.render import page_of

sys.path.insert(0, str(Path(__file__).parents[1] / "score"))
from chromium import Chromium, find_chromium

TIMES = 5
_WORDS = {
    "en": "the river carried lanterns past every quiet harbour of that long cold year ",
    "zh": "河水带着灯笼流过每一座安静的港口，那一年又长又冷。",
}


def make(folder: Path, count: int) -> tuple[Path, Path]:
    """A dataset and answers to it."""
    rng = random.Random(11)
    rows, answers = [], []
    for number in range(count):
        language = "en" if number % 2 else "zh"
        word = f"word{number % 30:02}"
        length, depth = 1000 * (1 + number % 40), 5.0 * (number // 40 % 21)
        row = {
            "id": f"{number:012}",
            "language": language,
            "corpus": f"{language}_texts",
            "length": length,
            "depth_percent": depth,
            "needle_id": word,
            "haystack_id": f"h{number % 997}",
            "question": f"Which word did the keeper number {number % 30} write down?",
            "answers": [f"It was {word}."],
            "keywords": [[word]],
            "needles": [f"The keeper wrote down {word}."],
        }
        rows.append(row)
        filler = (_WORDS[language] * 40)[: rng.randint(60, 400)]
        text = f"{filler} {word} {filler}" if rng.random() > length / 60_000 else filler
        answers.append({"id": row["id"], "prediction": text})
    dataset, file = folder / "rows.parquet", folder / "answers.jsonl"
    pl.DataFrame(rows).write_parquet(dataset)
    pl.DataFrame(answers).write_ndjson(file)
    return dataset, file


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as name:
        report = evaluate(*make(Path(name), count))
        _ = report.summary, report.cells  # which score computes for its tables anyway
        began = time.perf_counter()
        page = page_of(report)
        taken = time.perf_counter() - began
        path = Path(name) / "report.html"
        path.write_bytes(page)
        print(f"rows {count:,}: {len(page) / 1e6:.2f} MB, made in {taken:.2f} s")
        program = find_chromium()
        if program is None:
            print("no Chromium here: not opened")
            return
        browser = Chromium(program)
        try:
            drawn = []
            for _ in range(TIMES):
                with browser.page(path) as shown:
                    drawn.append(shown.run("performance.getEntriesByName('drawn')[0].startTime") / 1000)
            print(f"heatmap drawn {statistics.median(drawn):.2f} s after loading began, in {browser.version}")
        finally:
            browser.close()


if __name__ == "__main__":
    main()
