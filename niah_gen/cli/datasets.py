"""Defines the commands about datasets that exist: show, verify, recount, card."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from niah_gen.cli.reporting import notice


def show(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder.")],
    row_id: Annotated[str, typer.Argument(metavar="ID", help="Row id.")],
    whole: Annotated[bool, typer.Option("--whole", help="Print the prompt in full.")] = False,
) -> None:
    """Print a row with its needles marked."""
    from niah_gen.checks.show import describe, find_row

    for line in describe(find_row(dataset, row_id), whole, sys.stdout.isatty()):
        typer.echo(line)


def verify(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder.")],
    full: Annotated[
        bool, typer.Option("--full", help="Prove every row anew: needles, depths, counts, digests.")
    ] = False,
    tokenizer: Annotated[
        str | None, typer.Option("--tokenizer", help="The dataset's own, where its name is not found here (--full).")
    ] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option("--corpus", help="One of the dataset's own, where its name is not found here (--full)."),
    ] = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild/--no-rebuild", help="Build the rows again where corpora are here (--full).")
    ] = True,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Processes for --full; by default as the size asks.")
    ] = None,
) -> None:
    """Re-hash every file of a dataset; exit code 4 if anything is not as its manifest says."""
    from niah_gen.errors import IntegrityError, listed

    proved = ""
    if full:
        from niah_gen.checks.prove import prove
        from niah_gen.progress import ProgressBar

        with ProgressBar() as bar:
            proof = prove(dataset, tokenizer=tokenizer, corpora=corpus or (), rebuild=rebuild, jobs=jobs, progress=bar)
        manifest, problems, count = proof.manifest, list(proof.problems), proof.count
        proved = f"; {proof.figures}"
        if proof.not_rebuilt is None:
            proved += "; the recipe builds the same rows again"
        elif rebuild:
            notice(f"the rows were not built again: {proof.not_rebuilt}")
    else:
        from niah_gen.checks.hashes import verify as verify_dataset

        manifest, problems = verify_dataset(dataset)
        count = len(problems)
    if problems:
        kept = f", the first {len(problems)} are kept" if count > len(problems) else ""
        raise IntegrityError(listed(f"{dataset}: {count} problems{kept}", problems))
    typer.echo(f"{dataset}: {len(manifest.files)} files, {manifest.rows} rows, all as the manifest says{proved}")


def recount(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder.")],
    tokenizer: Annotated[
        str, typer.Option("--tokenizer", help="tiktoken model or encoding, a tokenizer.json, or a local model folder.")
    ],
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Tokens that no row should exceed; by default its length.")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write the count of every row to a CSV file.")
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Processes; by default as the size asks.")] = None,
) -> None:
    """Count a dataset under another tokenizer: each config's lengths, and the rows that overflow a limit."""
    from niah_gen.checks.recount import recount as recount_dataset
    from niah_gen.checks.recount import report
    from niah_gen.progress import ProgressBar

    with ProgressBar() as bar:
        found = recount_dataset(dataset, tokenizer, limit=limit, csv_file=csv, jobs=jobs, progress=bar)
    for line in report(found):
        typer.echo(line)


def card(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder.")],
    word_overlap: Annotated[
        Path | None,
        typer.Option("--word-overlap", metavar="DIR", help="Scores of a system that only matches words, to be stated."),
    ] = None,
) -> None:
    """Write the dataset card anew; a figure of word overlap that it states already stays."""
    from niah_gen.dataset.card import rewrite_card

    typer.echo(str(rewrite_card(dataset, word_overlap)))
