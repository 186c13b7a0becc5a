"""Answers rows by rules that know the truth and read no prompt; their scores are bounds for models.

The oracle and the answers of other rows show that scoring distinguishes right from wrong. Constants are what a model
can say without reading the context; positions what it can say if it sees which texts were inserted, but not what is
asked.
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

    Raises ContractError if a folder is not a dataset, NiahError if a file cannot be read.
    """
    files = [file.path for file in open_dataset(dataset).files()] if dataset.is_dir() else [dataset]
    return [row for file in files for row in rows_in(file)]


def group_of(row: Row) -> Group:
    """The part of a row, or its task if it has no part, and its language."""
    return row["part"] or row["task"], row["language"]


def by_group(rows: Sequence[Row]) -> dict[Group, list[Row]]:
    """The rows of each part and language, in order of first appearance; controls are left out."""
    groups: dict[Group, list[Row]] = {}
    for row in rows:
        if row["control"] is None:
            groups.setdefault(group_of(row), []).append(row)
    return groups


def oracle(rows: Sequence[Row]) -> Answers:
    """The reference of every row, controls included."""
    return {row["id"]: row["answers"][0] for row in rows}


def another_rows_answers(rows: Sequence[Row], seed: int = 0) -> Answers:
    """For each row, the reference of one with another needle of its part and language, drawn by seed and id.

    Rows without another needle in their part and language are not answered.
    """
    answers: Answers = {}
    for group in by_group(rows).values():
        for row in group:
            others = [other["answers"][0] for other in group if other["needle_id"] != row["needle_id"]]
            if others:
                answers[row["id"]] = random.Random(f"{seed}/{row['id']}").choice(others)
    return answers


def constants(rows: Sequence[Row]) -> dict[str, Answers]:
    """The texts that many rows of a part and language accept, each as the answer to all of these rows.

    Many means at least half as many as accept the most common one: a text hardly scores where it is not accepted.
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
    """For every row, all references of its part and language, one after another."""
    answers: Answers = {}
    for group in by_group(rows).values():
        text = " ".join(dict.fromkeys(row["answers"][0] for row in group))
        answers.update((row["id"], text) for row in group)
    return answers


def everything(rows: Sequence[Row]) -> Answers:
    """For every row, all texts that were inserted into its context, near misses and decoys included."""
    return {row["id"]: " ".join(inserted(row)) for group in by_group(rows).values() for row in group}


def positions(rows: Sequence[Row]) -> dict[str, Answers]:
    """Every rule that goes by place: the k-th of a row's inserted texts, counted from the start or from the end.

    Rows that ask for facts from several texts are answered with all texts; rows with fewer than k texts have no answer.
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
    """The expected score of each row for picking an inserted text blindly: the mean of the scores of its texts.

    `scores`: by rule of `positions` and by id. For facts from several texts, it is the score of all texts.
    """
    expected: dict[str, float] = {}
    for group in by_group(rows).values():
        for row in group:
            rules = [ALL_TEXTS] if is_set(row) else [f"text {k}" for k in range(1, len(row["needles"]) + 1)]
            expected[row["id"]] = sum(scores[rule][row["id"]] for rule in rules) / max(len(rules), 1)
    return expected


def inserted(row: Row) -> list[str]:
    """The texts that were inserted into a row's context, asked ones and distractors, in the order of the context."""
    placed = zip(row["needle_spans"], row["needles"], strict=True)
    return [text for _, text in sorted(placed, key=lambda each: each[0]["start"])]


def is_set(row: Row) -> bool:
    """Whether no single inserted text contains all facts that are asked for."""
    groups = row["keywords"]
    return len(groups) > 1 and not any(
        all(any(word in text for word in group) for group in groups) for text in row["needles"]
    )
