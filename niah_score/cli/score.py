"""Parses `niah-score score`, `perplexity` and `gain`, and prints what they found."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

if TYPE_CHECKING:
    from niah_score.report.report import Report

Overwrite = Annotated[bool, Option("--overwrite", help="Replace the results in --out.")]
_ANSWERS = "Answer files, globs, folders or addresses; see niah-score formats."
_LOG_PROBS = "Files of log-probabilities, globs, folders; see docs/perplexity.md."
_TAGS = "Tags around reasoning, instead of the default ones."


def score(
    dataset: Annotated[str, Argument(metavar="DATASET", help="Dataset folder, Parquet or JSONL file, or its address.")],
    predictions: Annotated[list[str], Argument(metavar="PREDICTIONS...", help=_ANSWERS)],
    model: Annotated[str | None, Option(help="Name of the model, for tables and titles.")] = None,
    out: Annotated[str | None, Option(help="Folder or address for the results.")] = None,
    metric: Annotated[list[str] | None, Option(help="Metrics besides each row's own; may be repeated.")] = None,
    missing: Annotated[str, Option(help="What rows without an answer count as: error, zero or exclude.")] = "error",
    on_duplicate: Annotated[str, Option(help="Which of two answers to a row counts: error, first or last.")] = "error",
    samples: Annotated[str | None, Option(help="How several answers to a row count: mean, best or majority.")] = None,
    text: Annotated[str, Option(help="What all metrics judge: raw or extracted; see docs/metrics.md.")] = "own",
    by_order: Annotated[bool, Option("--by-order", help="Files without ids are in the dataset's order.")] = False,
    id_field: Annotated[str | None, Option(help="Field that holds the id (dots for nested fields).")] = None,
    text_field: Annotated[str | None, Option(help="Field that holds the answer.")] = None,
    think_tag: Annotated[list[str] | None, Option(metavar="OPEN,CLOSE", help=_TAGS)] = None,
    tools: Annotated[
        bool, Option("--tools", help="The model had tools, such as reading files; results say so.")
    ] = False,
    overwrite: Overwrite = False,
    jobs: Annotated[int | None, Option(min=1, help="Processes; default: one for each core.")] = None,
    verbose: Annotated[bool, Option("--verbose", help="Print the signature of each metric.")] = False,
) -> None:
    """Join answers to a dataset's rows, score them, and write tables."""
    from niah_score.evaluation import evaluate
    from niah_score.formats import answers_here
    from niah_score.machine.stores import dataset_here, is_address, parse_address
    from niah_score.report.write import hold_scores, scores_for, write, write_held
    from niah_score.scoring.extract_answer import REASONING_TAGS

    names = [part.strip() for item in metric or () for part in item.split(",") if part.strip()]
    with ExitStack() as stack:
        place = stack.enter_context(dataset_here(dataset))
        answers, said = stack.enter_context(answers_here(predictions))
        far = parse_address(out) if out and is_address(out) else None
        results = stack.enter_context(scores_for(far, overwrite=overwrite)) if far else Path(out) if out else None
        # Held while answers are scored, so that a second run into the same folder ends before it starts scoring.
        held = stack.enter_context(hold_scores(results, overwrite=overwrite)) if results else None
        report = evaluate(
            place, answers, model=model, metrics=names or None, missing=missing,  # type: ignore[arg-type]
            on_duplicate=on_duplicate, samples=samples, text=text, by_order=by_order,  # type: ignore[arg-type]
            id_field=id_field, text_field=text_field, tools=tools, jobs=jobs or os.cpu_count() or 1,
            tags=tuple(map(_tag, think_tag)) if think_tag else REASONING_TAGS,
        )  # fmt: skip
        # Problems name the addresses of fetched files.
        problems = [one._replace(file=said(one.file), message=said(one.message)) for one in report.problems]
        report = replace(report, problems=problems)
        # The figures first: drawing takes longer than all that comes before.
        print_lines(report.overview(verbose=verbose), err=True)
        folder = write_held(report, held) if held else write(report, _folder_for(report), overwrite=overwrite)
    _print_heatmap(report)
    print_path(far or folder)
    raise typer.Exit(report.exit_code)


def print_path(path: str | Path, *, err: bool = False) -> None:
    """Print a path, so that nothing in it acts on a terminal."""
    from niah_score.text.visible import visible_path

    typer.echo(visible_path(path), err=err)


def print_lines(lines: Iterable[str], *, err: bool = False) -> None:
    """Print lines, so that nothing in them acts on a terminal."""
    from niah_score.text.visible import visible

    for line in lines:
        typer.echo(visible(line), err=err)


def _tag(pair: str) -> tuple[str, str]:
    opening, comma, closing = pair.partition(",")
    if not comma or not opening or not closing:
        raise typer.BadParameter(f"{pair!r}: expected OPEN,CLOSE such as <think>,</think>", param_hint="--think-tag")
    return opening, closing


def _folder_for(report: Report) -> Path:
    """scores/<dataset>-<digest8>/<model>, without characters that a file system would act on."""
    from niah_score.text.visible import plain_name

    return Path("scores", f"{plain_name(report.dataset)}-{report.digest8}", plain_name(report.model) or "model")


def _print_heatmap(report: Report) -> None:
    """Print the heatmap if stderr is a terminal; say why there is none if rows have too many lengths or depths."""
    from niah_score.report.charts.terminal import has_colours, heatmap_lines

    grids, why = report.drawable
    if why is not None:
        typer.echo(f"no heatmap: {why}", err=True)
    elif grids and sys.stderr.isatty():
        width, colours = shutil.get_terminal_size().columns, has_colours(sys.stderr)
        lines = [line for grid in grids for line in ("", *heatmap_lines(grid, width, colours=colours))]
        typer.echo("\n".join([*lines, ""]), err=True)


def log_probs(
    context: typer.Context,
    dataset: Annotated[Path, Argument(metavar="DATASET", help="Dataset folder, or one of its data files.")],
    files: Annotated[list[str], Argument(metavar="LOGPROBS...", help=_LOG_PROBS)],
    model: Annotated[str | None, Option(help="Name of the model, for tables.")] = None,
    out: Annotated[Path | None, Option(help="Folder for the results; without it they are printed.")] = None,
    missing: Annotated[
        str, Option(help="Missing log-probabilities: error, exclude (the row); of perplexity sets partial (the token).")
    ] = "error",
    per: Annotated[str, Option(help="token, or byte if the model's tokenizer is not the dataset's.")] = "token",
    tokenizer: Annotated[str | None, Option(help="The tokenizer of records that do not name theirs.")] = None,
    form: Annotated[str | None, Option("--format", help="tokens, sum, lm-eval, openai-echo, vllm.")] = None,
    on_duplicate: Annotated[str, Option(help="Which of two records for a row counts: error, first or last.")] = "error",
    overwrite: Overwrite = False,
) -> None:
    """Score log-probabilities: of a perplexity set (`perplexity`), of answers with and without context (`gain`).

    One function is both commands: they differ in what is computed, and in nothing that is asked.
    """
    from niah_score.logprobs.gain import gain
    from niah_score.logprobs.perplexity import perplexity
    from niah_score.logprobs.report import printed, write
    from niah_score.logprobs.targets import Asked

    scored = gain if context.info_name == "gain" else perplexity
    report = scored(dataset, files, model=model, asked=Asked(per, tokenizer, form, missing, on_duplicate))
    folder = write(report, out, overwrite=overwrite) if out else None
    print_lines(printed(report), err=folder is not None)
    if folder is not None:
        print_path(folder)
    raise typer.Exit(report.exit_code)
