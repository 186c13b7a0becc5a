"""Measures guess rates on a coreference dataset: what can be scored without counting, to compare scores with.

    PYTHONPATH=.:tests/oracle python tests/benchmarks/coreference.py DATASET

The table has a line for each language and number of like requests, in points of the rows' metric, without controls.

    like         a random one of the like replies, the asked one included: finding the group and guessing
    first, last  the first, or the last, of the like replies
    any          a random reply of the conversation: knowing the places and reading no text
    place        the reply at the best fixed place, as a share of the turns
    BM25         examples/lexical_retriever.py: the sentence that fits the question best, after the prefix
    another      the reference of another row
    oracle       the row's own reference
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from conversations import read_conversation
from gates import Row, rows_of

from examples.lexical_retriever import answer
from niah_gen.errors import NiahError
from niah_score.contract import ContractError, needle_kind
from niah_score.metrics import METRICS, target_of

COLUMNS = ("like", "first", "last", "any", "place", "BM25", "another", "oracle")
PLACES = [step / 20 for step in range(21)]
# How many replies of the conversation are tried for `any`.
TRIED = 20

Group = tuple[str, str]  # a language and a needle_id


def points(row: Row, text: str) -> float:
    """What an answer scores by the row's metric."""
    value = METRICS[row["metric"]].judge(text, target_of(row)).value
    return value or 0.0


def measured(rows: Sequence[Row]) -> dict[Group, dict[str, float]]:
    """The mean points of each solver, by language and number of like requests."""
    asked = [row for row in rows if row["control"] is None]
    groups: dict[Group, list[dict[str, Any]]] = defaultdict(list)
    for row, other in zip(asked, [*asked[1:], *asked[:1]], strict=True):
        groups[row["language"], needle_kind(row["needle_id"])].append(solved(row, other))
    return {
        group: {
            name: max(map(fmean, zip(*(one[name] for one in results), strict=True)))
            if name == "place"
            else fmean(one[name] for one in results)
            for name in COLUMNS
        }
        for group, results in groups.items()
    }


def solved(row: Row, other: Row) -> dict[str, Any]:
    """What each solver scores on a row; for `place`, the points at every place."""
    conversation = read_conversation(row)  # type: ignore[arg-type]
    prefix, replies = row["answer_prefix"], conversation.replies
    request = conversation.requests[replies.index(row["needles"][0])]
    like = [points(row, prefix + one) for one, to in zip(replies, conversation.requests, strict=True) if to == request]
    tried = random.Random(row["id"]).sample(replies, min(TRIED, len(replies)))
    return {
        "like": fmean(like),
        "first": like[0],
        "last": like[-1],
        "any": fmean(points(row, prefix + one) for one in tried),
        "place": [points(row, prefix + replies[round(place * (len(replies) - 1))]) for place in PLACES],
        "BM25": points(row, prefix + re.sub(r"^(User|Assistant): ?|^(用户|助手)：", "", answer(row["prompt"]))),
        "another": points(row, other["answers"][0]),
        "oracle": points(row, row["answers"][0]),
    }


def table(by_group: Mapping[Group, Mapping[str, float]]) -> str:
    """The table of docs/coreference.md."""
    lines = [f"| language | requests | {' | '.join(COLUMNS)} |", "|---|---|" + "---:|" * len(COLUMNS)]
    for (language, needle), figures in sorted(by_group.items()):
        lines.append(f"| {language} | {needle} | {' | '.join(f'{figures[name]:.1f}' for name in COLUMNS)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table of a dataset."""
    parser = argparse.ArgumentParser(description="Measure what guessing scores on a coreference dataset.")
    parser.add_argument("dataset", type=Path, help="dataset folder, or one of its files")
    try:
        print(table(measured(rows_of(parser.parse_args().dataset))))
    except (ContractError, NiahError) as error:
        sys.exit(f"coreference: {error}")


if __name__ == "__main__":
    main()
