"""Answers prompts like a perfect reader that sees only the last tokens of each: a picture of truncation.

    python examples/windowed_reader.py DATASET answers.jsonl --window 4000

It is not a model: it knows each row's truth and where its needles are. It understands everything in the window,
including links of chains and common knowledge, and knows nothing of the text before it. If a fact is out of sight it
says that it is not stated; of a list it names the items it has seen. Of a world it answers what the one record that
decides it says, and what takes several records only if it sees all of them. So its heatmap shows the effect of an
engine that truncates long prompts, with nothing else going wrong, and a window as long as the prompts shows that every
question can be answered from them.

Tokens are counted from the end of the prompt, which must be one text or one message, as in the template `niah`; sets of
needles must come from the library, which says how many of a row's texts are asked for.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from niah_gen.tasks.base import not_stated
from niah_gen.tasks.needle_library import needle_library
from niah_score.contract import ContractError, open_dataset
from niah_score.text import fold, holds_group

COLUMNS = [
    "id", "language", "control", "needle_id", "answers", "keywords", "keyword_kinds", "needles", "needle_token_spans",
    "prompt_tokens", "world", "depth_percent",
]  # fmt: skip


def answer(row: Mapping[str, Any], window: int) -> str:
    """The answer of a reader that sees only the last `window` tokens of the prompt."""
    silent = not_stated(row["language"])
    if row["control"] in ("absent", "no_context"):
        return silent
    first = row["prompt_tokens"] - window
    if row["world"]:
        return str(row["answers"][0]) if _sees(row, first) else silent
    known = needle_library().get(row["needle_id"])
    asked = len(known.needles) if known else 1
    needles = zip(row["needles"][:asked], row["needle_token_spans"] or (), strict=False)
    seen = [text for text, span in needles if span["start"] >= first]
    if len(seen) == asked:
        return str(row["answers"][0])
    if len(row["keywords"]) == 1 or not seen:
        return silent  # a fact, or a chain without some of its links
    text = fold("\n".join(seen))
    groups = zip(row["keywords"], row["keyword_kinds"], strict=True)
    return ", ".join(group[0] for group, kind in groups if holds_group(text, group, kind)) or silent


def _sees(row: Mapping[str, Any], first: int) -> bool:
    """Whether all records that decide a row of a world are in a window that begins with token `first`."""
    starts = [span["start"] for span in row["needle_token_spans"] or ()]
    if row["depth_percent"] is not None:
        # The records stand at equally spaced depths.
        starts = [starts[round(row["depth_percent"] / 100 * (len(starts) - 1))]]
    return min(starts, default=first) >= first


def rows(dataset: Path) -> Iterator[dict[str, Any]]:
    """The rows of a dataset folder, in order, without their prompts."""
    for file in open_dataset(dataset).files("parquet"):
        yield from pq.read_table(file.path, columns=COLUMNS).to_pylist()


def main() -> None:
    """Answer every prompt of a dataset, one line per row."""
    parser = argparse.ArgumentParser(description="Answer a dataset's prompts from their last tokens and their truth.")
    parser.add_argument("dataset", type=Path, help="dataset folder with Parquet files")
    parser.add_argument("out", type=Path, help="JSONL file for the answers")
    parser.add_argument("--window", type=int, required=True, metavar="TOKENS", help="tokens read from the prompt's end")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing file")
    options = parser.parse_args()
    if options.window < 1:
        parser.error("--window: expected at least 1")
    try:
        if not any(open_dataset(options.dataset).files("parquet")):
            parser.error(f"{options.dataset}: has no Parquet files; build them with --format parquet")
    except ContractError as error:
        parser.error(str(error))
    if options.out.exists() and not options.overwrite:
        parser.error(f"{options.out}: already exists; choose another file, or use --overwrite")
    try:
        found = [{"id": row["id"], "prediction": answer(row, options.window)} for row in rows(options.dataset)]
        options.out.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in found), "utf-8")
    except OSError as error:
        parser.error(f"{error.filename or options.out}: {error.strerror or error}")
    except (ValueError, LookupError, TypeError) as error:  # including pyarrow's own
        parser.error(f"{options.dataset}: cannot be read ({error}); verify it with `niah-gen verify --full`")
    print(f"{options.out}: {len(found):,} answers")


if __name__ == "__main__":
    main()
