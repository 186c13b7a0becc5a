"""Answers rows by rules that know the truth and read no prompt: what their scores bound is said with each of them.

The oracle and the answers of other rows show that scoring tells right from wrong. Constants are what a model can say
that never reads the context; positions what it can say that sees which texts were inserted, but not what is asked.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from niah_gen.dataset.read import rows_in
from niah_score.contract import open_dataset

Row = Mapping[str, Any]
Answers = dict[str, str]  # by the ids of the rows that are answered
Group = tuple[str, str]  # a part and a language

ALL_TEXTS = "all texts"


def rows_of(dataset: Path) -> list[Row]:
    """The rows of a dataset folder in their order, or of one file.

    Raises ContractError where a folder is no dataset, NiahError where a file cannot be read.
    """
    files = [file.path for file in open_dataset(dataset).files()] if dataset.is_dir() else [dataset]
    return [row for file in files for row in rows_in(file)]


def group_of(row: Row) -> Group:
    """The part and the language of a row; where rows are of no part, the task stands for it."""
    return row["part"] or row["task"], row["language"]


def by_group(rows: Sequence[Row]) -> dict[Group, list[Row]]:
    """The rows of each part and language, in the order of the first of each; controls are left out."""
    found: dict[Group, list[Row]] = {}
    for row in rows:
        if row["control"] is None:
            found.setdefault(group_of(row), []).append(row)
    return found


def oracle(rows: Sequence[Row]) -> Answers:
    """The reference of every row, controls included."""
    return {row["id"]: row["answers"][0] for row in rows}


def another_rows_answers(rows: Sequence[Row], seed: int = 0) -> Answers:
    """For each row the reference of one that asks for another needle of its part and language, drawn by seed and id.

    Rows whose part has no other needle of their language are not answered.
    """
    found: Answers = {}
    for group in by_group(rows).values():
        for row in group:
            others = [other["answers"][0] for other in group if other["needle_id"] != row["needle_id"]]
            if others:
                found[row["id"]] = random.Random(f"{seed}/{row['id']}").choice(others)
    return found


def constants(rows: Sequence[Row]) -> dict[str, Answers]:
    """The texts that many rows of a part and language accept, each as the answer to all of these rows.

    Many are half as many as accept the most common one: a text is worth hardly anything where it is not accepted.
    """
    rules: dict[str, Answers] = {}
    for group in by_group(rows).values():
        accepting = Counter(text for row in group for text in dict.fromkeys(row["answers"]))
        most = max(accepting.values(), default=0)
        for text, count in accepting.items():
            if 2 * count >= most:
                rules.setdefault(text, {}).update((row["id"], text) for row in group)
    return rules


def all_answers(rows: Sequence[Row]) -> Answers:
    """Every row of a part and language is answered with all references that its rows have, one after the other."""
    found: Answers = {}
    for group in by_group(rows).values():
        text = " ".join(dict.fromkeys(row["answers"][0] for row in group))
        found.update((row["id"], text) for row in group)
    return found


def everything(rows: Sequence[Row]) -> Answers:
    """Every row is answered with all texts that were put into its context, near misses and decoys included."""
    return {row["id"]: " ".join(inserted(row)) for group in by_group(rows).values() for row in group}


def positions(rows: Sequence[Row]) -> dict[str, Answers]:
    """Every rule that goes by place: the k-th of a row's inserted texts, counted from the front or from the end.

    Rows that ask for facts of several texts are answered with all of them; a row with fewer texts than k is not.
    """
    rules: dict[str, Answers] = {}
    for group in by_group(rows).values():
        for row in group:
            texts = inserted(row)
            if is_set(row):
                rules.setdefault(ALL_TEXTS, {})[row["id"]] = " ".join(texts)
                continue
            for k, text in enumerate(texts, 1):
                rules.setdefault(f"text {k}", {})[row["id"]] = text
                rules.setdefault(f"text {len(texts) + 1 - k} from the end", {})[row["id"]] = text
    return rules


def chances(rows: Sequence[Row], scores: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """What each row is worth to one who picks an inserted text blindly: the mean of the scores of all of them.

    `scores`: by rule of `positions` and by id. Where facts of several texts are asked for, the score of all texts.
    """
    found: dict[str, float] = {}
    for group in by_group(rows).values():
        for row in group:
            rules = [ALL_TEXTS] if is_set(row) else [f"text {k}" for k in range(1, len(row["needles"]) + 1)]
            found[row["id"]] = sum(scores[rule][row["id"]] for rule in rules) / max(len(rules), 1)
    return found


def inserted(row: Row) -> list[str]:
    """The texts that were put into a row's context, asked ones and distractors, in the order in which they stand."""
    placed = zip(row["needle_spans"], row["needles"], strict=True)
    return [text for _, text in sorted(placed, key=lambda each: each[0]["start"])]


def is_set(row: Row) -> bool:
    """Whether no single inserted text holds all facts that are asked for."""
    groups = row["keywords"]
    return len(groups) > 1 and not any(
        all(any(word in text for word in group) for group in groups) for text in row["needles"]
    )
