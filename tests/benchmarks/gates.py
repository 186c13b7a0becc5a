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

Below the table are these best answers and rules, and the rates of the solvers that answer controls.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from solvers import (
    Answers,
    Group,
    Row,
    all_answers,
    another_rows_answers,
    by_group,
    chances,
    constants,
    everything,
    oracle,
    positions,
    rows_of,
)

from examples.lexical_retriever import answer
from niah_gen.errors import NiahError
from niah_score import ContractError, Report, ScoreError, evaluate

Points = Mapping[str, float]  # by the ids of rows

SEARCHES = {"BM25": 1, "5 hops": 5}  # how often each searches
CONSTANT, ONE_CONSTANT, POSITION, BLIND = "constant", "one constant", "position", "blind"
ALL_ANSWERS, EVERYTHING, ANOTHER, ORACLE = "all answers", "everything", "another row's", "oracle"
SOLVERS = (*SEARCHES, CONSTANT, ONE_CONSTANT, POSITION, BLIND, ALL_ANSWERS, EVERYTHING, ANOTHER, ORACLE)
HEADLINE: Group = ("headline", "")


class Gates(NamedTuple):
    """The points of each solver. `rows`: the number of rows of each part and language; `means`: by solver, for each
    part and language and for HEADLINE.

    `best`: for CONSTANT, ONE_CONSTANT and POSITION, the answer or rule that is best there. `controls`: by solver and
    control, the name of its rate and the rate, in percent.
    """

    rows: dict[Group, int]
    means: dict[str, dict[Group, float]]
    best: dict[str, dict[Group, str]]
    controls: dict[str, dict[str, tuple[str, float]]]


def measured(dataset: Path) -> Gates:
    """The figures of a dataset folder or file. Raises ContractError, NiahError or ScoreError if it cannot be read."""
    rows = rows_of(dataset)
    groups = by_group(rows)
    by_solver = {name: {row["id"]: answer(row["prompt"], hops=n) for row in rows} for name, n in SEARCHES.items()}
    by_solver[ORACLE] = oracle(rows)
    reading = tuple(by_solver)
    by_solver |= {ALL_ANSWERS: all_answers(rows), EVERYTHING: everything(rows), ANOTHER: another_rows_answers(rows)}
    rules = {CONSTANT: constants(rows), POSITION: positions(rows)}
    points = {name: points_of_rules(dataset, by_rule) for name, by_rule in rules.items()}
    best = {name: best_rules(groups, points[name]) for name in rules}
    for name, by_rule in rules.items():
        by_solver[name] = {
            row["id"]: by_rule[rule][row["id"]]
            for group, rule in best[name].items()
            for row in groups[group]
            if row["id"] in by_rule[rule]
        }
    reports = {name: evaluated(dataset, answers.items()) for name, answers in by_solver.items()}
    one = max(rules[CONSTANT], key=lambda text: weighed(rows, points[CONSTANT][text], reports[ORACLE]))
    best[ONE_CONSTANT] = {HEADLINE: one}
    reports[ONE_CONSTANT] = evaluated(dataset, ((row["id"], one) for members in groups.values() for row in members))
    means = {name: {**means_of(groups, points_of(each)), HEADLINE: headline(each)} for name, each in reports.items()}
    blind = chances(rows, points[POSITION])
    means[BLIND] = {**means_of(groups, blind), HEADLINE: weighed(rows, blind, reports[ORACLE])}
    return Gates(
        {group: len(members) for group, members in groups.items()},
        {name: means[name] for name in SOLVERS},
        best,
        {name: controls_of(reports[name]) for name in reading},
    )


def evaluated(dataset: Path, answers: Iterable[tuple[str, str]]) -> Report:
    """The report on answers, pairs of row id and text; several of one id are samples, and rows without any score 0."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answers.jsonl"
        with file.open("w", encoding="utf-8") as out:
            out.writelines(json.dumps({"id": key, "prediction": text}) + "\n" for key, text in answers)
        return evaluate(dataset, file, metrics=[], missing="zero", samples="mean")


def points_of(report: Report) -> Points:
    """The score of every row that has one."""
    scores = report.scores.drop_nulls("score")
    return dict(zip(scores["id"], scores["score"], strict=True))


def points_of_rules(dataset: Path, rules: Mapping[str, Answers]) -> dict[str, Points]:
    """The score that each rule gets for every row that it answers; an answer of several rules is scored once."""
    pairs = dict.fromkeys((key, text) for answers in rules.values() for key, text in answers.items())
    report = evaluated(dataset, pairs)
    samples = report.scores if report.samples is None else report.samples.sort("id", "sample", maintain_order=True)
    scores: dict[str, list[float]] = defaultdict(list)
    for key, score in zip(samples["id"], samples["score"], strict=True):
        scores[key].append(score)
    turns = {key: iter(of_row) for key, of_row in scores.items()}
    points = {(key, text): next(turns[key]) for key, text in pairs}
    return {name: {key: points[key, text] for key, text in answers.items()} for name, answers in rules.items()}


def best_rules(groups: Mapping[Group, Sequence[Row]], points: Mapping[str, Points]) -> dict[Group, str]:
    """The rule that gets the most points in each part and language; of equal ones, the first."""
    best = {}
    for group, rows in groups.items():
        totals = {rule: sum(of_rule.get(row["id"], 0.0) for row in rows) for rule, of_rule in points.items()}
        best[group] = max(totals, key=totals.__getitem__)
    return best


def means_of(groups: Mapping[Group, Sequence[Row]], points: Points) -> dict[Group, float]:
    """The mean of each part and language."""
    return {group: fmean(points[row["id"]] for row in rows) for group, rows in groups.items()}


def headline(report: Report) -> float:
    """The headline score of a run, whatever parts it has."""
    return float(report.summary["headline"]["mean"])


def weighed(rows: Sequence[Row], points: Points, report: Report) -> float:
    """The headline of some points, by the weights that a report gives to parts; a row without points counts 0."""
    parts: dict[str | None, list[float]] = defaultdict(list)
    for row in rows:
        if row["control"] is None:
            parts[row["part"]].append(points.get(row["id"], 0.0))
    made_of = report.summary["headline"]["parts"]
    return math.fsum(part["weight"] * fmean(parts[part["name"]]) for part in made_of if part["name"] in parts)


def controls_of(report: Report) -> dict[str, tuple[str, float]]:
    """The rate of each control, by the control's name."""
    about = {"n", "rows", "unanswered", "low", "high", "low_these", "high_these"}
    return {
        control: next((name, float(value)) for name, value in sorted(figures.items()) if name not in about)
        for control, figures in report.summary["controls"].items()
    }


def table(gates: Gates) -> str:
    """The figures as Markdown: a line for each part and language, the headline last."""
    lines = [f"| part | language | rows | {' | '.join(gates.means)} |", "|---|---|" + "---:|" * (1 + len(gates.means))]
    counts = {**gates.rows, HEADLINE: sum(gates.rows.values())}
    for group, count in counts.items():
        figures = " | ".join(f"{means[group]:.1f}" for means in gates.means.values())
        lines.append(f"| {group[0]} | {group[1]} | {count:,} | {figures} |")
    return "\n".join(lines)


def notes(gates: Gates) -> str:
    """The best answers and rules, and the rates of controls, a line each."""
    lines = [
        f"{name}, {' '.join(filter(None, group))}: {rule}"
        for name, rules in gates.best.items()
        for group, rule in rules.items()
    ]
    lines += [
        f"{control}, {solver}: {name} {value:.1f} %"
        for solver, controls in gates.controls.items()
        for control, (name, value) in controls.items()
    ]
    return "\n".join(lines)


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
