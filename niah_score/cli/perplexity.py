"""Parses `niah-score perplexity` and `niah-score gain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from niah_score.text.visible import visible, visible_path

if TYPE_CHECKING:
    from niah_score.logprobs.report import Report

DatasetArgument = Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder, or one of its data files.")]
LogProbsArgument = Annotated[
    list[str],
    typer.Argument(metavar="LOGPROBS...", help="Files of log-probabilities, globs, folders; see docs/perplexity.md."),
]
ModelOption = Annotated[str | None, typer.Option("--model", help="Name of the model, for tables.")]
OutOption = Annotated[Path | None, typer.Option("--out", help="Folder for the results; without it they are printed.")]
PerOption = Annotated[str, typer.Option("--per", help="token, or byte if the model's tokenizer is not the dataset's.")]
TokenizerOption = Annotated[
    str | None, typer.Option("--tokenizer", help="The tokenizer of records that do not name theirs.")
]
FormatOption = Annotated[
    str | None, typer.Option("--format", help="tokens, sum, lm-eval, openai-echo or vllm; default: by the fields.")
]
DuplicateOption = Annotated[
    str, typer.Option("--on-duplicate", help="Which of two records for a row counts: error, first or last.")
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace the scores in --out.")]


def perplexity(
    dataset: DatasetArgument,
    log_probs: LogProbsArgument,
    model: ModelOption = None,
    out: OutOption = None,
    missing: Annotated[
        str,
        typer.Option("--missing", help="Missing log-probabilities: error, exclude (the row) or partial (the token)."),
    ] = "error",
    per: PerOption = "token",
    tokenizer: TokenizerOption = None,
    form: FormatOption = None,
    on_duplicate: DuplicateOption = "error",
    overwrite: OverwriteOption = False,
) -> None:
    """Score the log-probabilities of a perplexity set: nats per token, perplexity and bits per byte, by length."""
    from niah_score.logprobs.perplexity import perplexity as scored
    from niah_score.logprobs.targets import Asked

    asked = Asked(per, tokenizer, form, missing, on_duplicate)
    _finish(scored(dataset, log_probs, model=model, asked=asked), out, overwrite)


def gain(
    dataset: DatasetArgument,
    log_probs: LogProbsArgument,
    model: ModelOption = None,
    out: OutOption = None,
    missing: Annotated[
        str, typer.Option("--missing", help="Rows without all log-probabilities: error or exclude.")
    ] = "error",
    per: PerOption = "token",
    tokenizer: TokenizerOption = None,
    form: FormatOption = None,
    on_duplicate: DuplicateOption = "error",
    overwrite: OverwriteOption = False,
) -> None:
    """Score how much likelier a context makes gold answers than the question alone, and compare that with an oracle."""
    from niah_score.logprobs.gain import gain as scored
    from niah_score.logprobs.targets import Asked

    asked = Asked(per, tokenizer, form, missing, on_duplicate)
    _finish(scored(dataset, log_probs, model=model, asked=asked), out, overwrite)


def _finish(report: Report, out: Path | None, overwrite: bool) -> None:
    from niah_score.logprobs.report import printed, write

    folder = write(report, out, overwrite=overwrite) if out else None
    for line in printed(report):
        typer.echo(visible(line), err=folder is not None)
    if folder is not None:
        typer.echo(visible_path(folder))
    raise typer.Exit(report.exit_code)
