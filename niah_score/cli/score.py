"""Parses `niah-score score` and `niah-score formats`."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from niah_score.cli.overview import print_heatmap, print_overview
from niah_score.contract import is_safe_path
from niah_score.text.visible import plain_name, visible, visible_path

if TYPE_CHECKING:
    from niah_score.formats import FetchedAnswers
    from niah_score.join.join import Problem
    from niah_score.report.report import Report


def score(
    dataset: Annotated[
        str, typer.Argument(metavar="DATASET", help="Dataset folder, Parquet or JSONL file, or its address.")
    ],
    predictions: Annotated[
        list[str],
        typer.Argument(
            metavar="PREDICTIONS...",
            help="Answer files, globs, folders, addresses, or - for standard input; see niah-score formats.",
        ),
    ],
    model: Annotated[str | None, typer.Option("--model", help="Name of the model, for tables and titles.")] = None,
    out: Annotated[str | None, typer.Option("--out", help="Folder or address for the results.")] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="Metrics besides each row's own; may be given several times.")
    ] = None,
    missing: Annotated[
        str, typer.Option("--missing", help="What rows without an answer count as: error, zero or exclude.")
    ] = "error",
    on_duplicate: Annotated[
        str, typer.Option("--on-duplicate", help="Which of two answers to a row counts: error, first or last.")
    ] = "error",
    samples: Annotated[
        str | None, typer.Option("--samples", help="How several answers to a row count: mean, best or majority.")
    ] = None,
    text: Annotated[
        str, typer.Option("--text", help="What all metrics judge: raw or extracted (default: see docs/metrics.md).")
    ] = "own",
    by_order: Annotated[bool, typer.Option("--by-order", help="Files without ids are in the dataset's order.")] = False,
    id_field: Annotated[
        str | None, typer.Option("--id-field", help="Field that holds the id (dots for nested fields).")
    ] = None,
    text_field: Annotated[str | None, typer.Option("--text-field", help="Field that holds the answer.")] = None,
    think_tag: Annotated[
        list[str] | None,
        typer.Option("--think-tag", metavar="OPEN,CLOSE", help="Tags around reasoning, instead of the default ones."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the scores in --out.")] = False,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Processes; default: one for each core.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print the signature of each metric.")] = False,
) -> None:
    """Join answers to a dataset's rows, score them, and write tables."""
    from niah_score.evaluation import evaluate
    from niah_score.formats import answers_here
    from niah_score.machine.stores import dataset_here, is_address, parse_address
    from niah_score.report.at_address import scores_for
    from niah_score.report.write import hold_scores, write, write_held
    from niah_score.scoring.extract_answer import REASONING_TAGS

    tags = tuple(_tag(pair) for pair in think_tag) if think_tag else REASONING_TAGS
    with ExitStack() as stack:
        place = stack.enter_context(dataset_here(dataset))
        answers = stack.enter_context(answers_here(predictions))
        far = parse_address(out) if out and is_address(out) else None
        results = stack.enter_context(scores_for(far, overwrite=overwrite)) if far else Path(out) if out else None
        # Held while answers are scored, so that a second run into the same folder ends before it starts scoring.
        held = stack.enter_context(hold_scores(results, overwrite=overwrite)) if results else None
        report = evaluate(
            place, answers.named, model=model, metrics=_names(metric), missing=missing,  # type: ignore[arg-type]
            on_duplicate=on_duplicate, samples=samples, text=text, by_order=by_order,  # type: ignore[arg-type]
            id_field=id_field, text_field=text_field, tags=tags, jobs=jobs or os.cpu_count() or 1,
        )  # fmt: skip
        if answers.fetched:
            report = replace(report, problems=[_with_address(problem, answers) for problem in report.problems])
        # The figures first: drawing takes longer than all that comes before.
        print_overview(report, verbose=verbose)
        folder = write_held(report, held) if held else write(report, _folder_for(report), overwrite=overwrite)
    print_heatmap(report)
    typer.echo(visible_path(str(far) if far else folder))
    raise typer.Exit(report.exit_code)


def _with_address(problem: Problem, answers: FetchedAnswers) -> Problem:
    """A problem that names the address of a fetched file instead of its local path."""
    return problem._replace(file=answers.said(problem.file), message=answers.said(problem.message))


def _names(metric: list[str] | None) -> list[str] | None:
    return [part.strip() for item in metric for part in item.split(",") if part.strip()] if metric else None


def _tag(pair: str) -> tuple[str, str]:
    opening, comma, closing = pair.partition(",")
    if not comma or not opening or not closing:
        raise typer.BadParameter(f"{pair!r}: expected OPEN,CLOSE such as <think>,</think>", param_hint="--think-tag")
    return opening, closing


def _folder_for(report: Report) -> Path:
    """scores/<dataset>-<digest8>/<model>, without characters that a file system would act on.

    A dataset's name stays as it is if it cannot lead to another folder.
    """
    dataset = f"{report.dataset}-{report.digest8}"
    if not is_safe_path(dataset) or "/" in dataset or visible(dataset) != dataset:
        dataset = f"{plain_name(report.dataset)}-{report.digest8}"
    return Path("scores") / dataset / (plain_name(report.model) or "model")


def formats() -> None:
    """List the formats of answer files that are recognised, with an example line for each."""
    from niah_score.formats import FORMATS

    for form in FORMATS.values():
        typer.echo(f"{form.name}: {form.what}\n    {form.example}")
