"""Measures how much of a dataset is solved without understanding it: by search, by a constant, by position.

    python tests/benchmarks/gates.py DATASET

The table has a line for each part and language and one for the headline, in points, each row judged by its own metric.

    BM25, 5 hops           examples/lexical_retriever.py: the best sentence; what five searches find one after another
    constant               the one answer that is best for the part and language
    one constant           the one answer that is best for the headline
    position, blind        the best rule that picks an inserted text by its place; what picking one blindly is worth
    all answers            all references of the part and language, whatever is asked
    everything             all texts that were put into the row's context
    another row's, oracle  the reference of a row of another needle; the row's own reference

Below the table are these best answers and rules. Controls are left out.

The solvers know the truth and read no prompt. The oracle and the answers of other rows show that scoring distinguishes
right from wrong. Constants are what a model can say without reading the context; positions what it can say if it sees
which texts were inserted, but not what is asked.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from examples.lexical_retriever import answer
from niah_gen.dataset.read import rows_in
from niah_gen.errors import NiahError
from niah_score import ContractError, Judge, ScoreError
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


Points = Mapping[str, float]  # by the ids of rows; a row without points has 0

SEARCHES = {"BM25": 1, "5 hops": 5}  # how often each searches
CONSTANT, ONE_CONSTANT, POSITION, BLIND = "constant", "one constant", "position", "blind"
ALL_ANSWERS, EVERYTHING, ANOTHER, ORACLE = "all answers", "everything", "another row's", "oracle"
SOLVERS = (*SEARCHES, CONSTANT, ONE_CONSTANT, POSITION, BLIND, ALL_ANSWERS, EVERYTHING, ANOTHER, ORACLE)
HEADLINE: Group = ("headline", "")


class Gates(NamedTuple):
    """The points of each solver. `rows`: the number of rows of each part and language; `means`: by solver, for each
    part and language and for HEADLINE.

    `best`: for CONSTANT, ONE_CONSTANT and POSITION, the answer or rule that is best there.
    """

    rows: dict[Group, int]
    means: dict[str, dict[Group, float]]
    best: dict[str, dict[Group, str]]


def measured(dataset: Path) -> Gates:
    """The figures of a dataset folder or file. Raises ContractError, NiahError or ScoreError if it cannot be read."""
    rows = [row for row in rows_of(dataset) if row["control"] is None]
    groups, judge = by_group(rows), Judge(dataset)
    score = cache(lambda name, text: judge(name, text).score or 0.0)

    def points_of(answers: Answers) -> Points:
        return {name: score(name, text) for name, text in answers.items()}

    def headline(points: Points) -> float:
        return judge.headline((row["id"], points.get(row["id"], 0.0)) for row in rows) or 0.0

    ruled = {
        name: {rule: points_of(answers) for rule, answers in rules.items()}
        for name, rules in ((CONSTANT, constants(rows)), (POSITION, positions(rows)))
    }
    best = {name: best_rules(groups, by_rule) for name, by_rule in ruled.items()}
    one = max(ruled[CONSTANT], key=lambda text: headline(ruled[CONSTANT][text]))
    solved = {
        name: points_of({row["id"]: answer(row["prompt"], hops=n) for row in rows}) for name, n in SEARCHES.items()
    }
    for name, by_rule in ruled.items():
        solved[name] = {
            row["id"]: by_rule[best[name][group]].get(row["id"], 0.0) for group in groups for row in groups[group]
        }
    solved |= {
        ONE_CONSTANT: points_of({row["id"]: one for row in rows}),
        BLIND: chances(rows, ruled[POSITION]),
        ALL_ANSWERS: points_of(all_answers(rows)),
        EVERYTHING: points_of(everything(rows)),
        ANOTHER: points_of(another_rows_answers(rows)),
        ORACLE: points_of({row["id"]: row["answers"][0] for row in rows}),
    }
    return Gates(
        {group: len(members) for group, members in groups.items()},
        {name: {**means_of(groups, solved[name]), HEADLINE: headline(solved[name])} for name in SOLVERS},
        {**best, ONE_CONSTANT: {HEADLINE: one}},
    )


def best_rules(groups: Mapping[Group, Sequence[Row]], points: Mapping[str, Points]) -> dict[Group, str]:
    """The rule that gets the most points in each part and language; of equal ones, the first."""
    best = {}
    for group, rows in groups.items():
        totals = {rule: sum(of_rule.get(row["id"], 0.0) for row in rows) for rule, of_rule in points.items()}
        best[group] = max(totals, key=totals.__getitem__)
    return best


def means_of(groups: Mapping[Group, Sequence[Row]], points: Points) -> dict[Group, float]:
    """The mean of each part and language."""
    return {group: fmean(points.get(row["id"], 0.0) for row in rows) for group, rows in groups.items()}


def table(gates: Gates) -> str:
    """The figures as Markdown: a line for each part and language, the headline last."""
    lines = [f"| part | language | rows | {' | '.join(gates.means)} |", "|---|---|" + "---:|" * (1 + len(gates.means))]
    counts = {**gates.rows, HEADLINE: sum(gates.rows.values())}
    for group, count in counts.items():
        figures = " | ".join(f"{means[group]:.1f}" for means in gates.means.values())
        lines.append(f"| {group[0]} | {group[1]} | {count:,} | {figures} |")
    return "\n".join(lines)


def notes(gates: Gates) -> str:
    """The best answers and rules, a line each."""
    return "\n".join(
        f"{name}, {' '.join(filter(None, group))}: {rule}"
        for name, rules in gates.best.items()
        for group, rule in rules.items()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Print what solvers that understand nothing score on a dataset.")
    parser.add_argument("dataset", type=Path, help="dataset folder, or a file of rows")
    try:
        gates = measured(parser.parse_args().dataset)
    except (ContractError, NiahError, ScoreError) as error:
        print(f"gates: {error}", file=sys.stderr)
        sys.exit(2)
    print(table(gates), notes(gates), sep="\n\n")


if __name__ == "__main__":
    main()
