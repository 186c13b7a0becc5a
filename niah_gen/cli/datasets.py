"""Defines the commands about datasets that exist: list, show, page, verify, recount, card, diff."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from niah_gen.cli.reporting import notice


def list_datasets(
    folder: Annotated[
        str, typer.Argument(metavar="[DIR]", help="Folder or address to look in, at any depth.")
    ] = "build",
) -> None:
    """List the datasets below a folder: name, version, digest, rows, tokens, lengths, formats."""
    from niah_gen.dataset.listing import datasets_at, datasets_below, listing_lines
    from niah_score.machine.addresses import is_address

    listing = datasets_at(folder) if is_address(folder) else datasets_below(Path(folder))
    for line in listing_lines(listing.folders):
        typer.echo(line)
    if not listing.folders:
        notice(f"no dataset below {folder}; `niah-gen build` makes one")
    if listing.hidden:
        some = "1 folder whose name begins" if listing.hidden == 1 else f"{listing.hidden} folders whose names begin"
        notice(f"{some} with a dot: not looked into")


def show(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="Dataset folder or address.")],
    row_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="Row id, or its beginning or end.")] = None,
    row: Annotated[int | None, typer.Option("--row", metavar="N", help="The Nth row, from 1.")] = None,
    length: Annotated[str | None, typer.Option("--length", help="First row of this length: 8k or 8000.")] = None,
    depth: Annotated[float | None, typer.Option("--depth", help="First row of this depth, in percent.")] = None,
    language: Annotated[str | None, typer.Option("--language", help="First row of this language.")] = None,
    corpus: Annotated[str | None, typer.Option("--corpus", help="First row over this corpus.")] = None,
    needle: Annotated[str | None, typer.Option("--needle", help="First row of this needle (needle_id).")] = None,
    repeat: Annotated[int | None, typer.Option("--repeat", help="First row of this repeat, from 0.")] = None,
    control: Annotated[
        str | None, typer.Option("--control", help="First row of this control; none: of no control.")
    ] = None,
    part: Annotated[str | None, typer.Option("--part", help="First row of this part; none: of no part.")] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Print the prompt in full.")] = False,
) -> None:
    """Print a row with its needles marked: by id, by number, or the first with given coordinates."""
    from niah_gen.checks.find_row import row_by_coordinates, row_by_id, row_by_number
    from niah_gen.checks.show import describe
    from niah_gen.errors import NiahError
    from niah_gen.recipe.values import WrongValueError, parse_tokens
    from niah_score.machine.fetched import dataset_here

    asked = {
        "part": part, "language": language, "corpus": corpus, "length": None, "needle": needle, "control": control,
        "repeat": repeat, "depth": depth,
    }  # fmt: skip
    try:
        asked["length"] = None if length is None else parse_tokens(length)
    except WrongValueError as error:
        raise NiahError(f"--length: {error}; found {length!r}") from None
    given = [name for name, value in asked.items() if value is not None]
    if (row_id is not None) + (row is not None) + bool(given) > 1:
        named = [word for word, there in (("an id", row_id is not None), ("--row", row is not None)) if there]
        several = " and ".join([*named, *(f"--{name}" for name in given[:1])])
        raise NiahError(f"{several}: give an id, --row, or coordinates such as --length and --depth, not two of these")
    with dataset_here(dataset) as folder:
        if row_id is not None:
            match = row_by_id(folder, row_id)
        elif given:
            match = row_by_coordinates(folder, asked)
        else:
            match = row_by_number(folder, 1 if row is None else row)
    for line in describe(match, whole, sys.stdout.isatty()):
        typer.echo(line)
    if match.others is not None:
        notice(match.others)


def page(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The page; by default NAME-DIGEST.html in this folder.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
) -> None:
    """Draw a dataset as one HTML file: what each cell holds, and prompts with their needles marked."""
    from niah_gen.page.render import write_page
    from niah_gen.progress import ProgressBar

    with ProgressBar() as bar:
        done = write_page(dataset, out, overwrite=overwrite, progress=bar)
    notice(f"{done.shown:,} of {done.rows:,} rows in full, {done.path.stat().st_size:,} bytes; open it in a browser")
    typer.echo(str(done.path))


def verify(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="Dataset folder or address.")],
    full: Annotated[bool, typer.Option("--full", help="Build every row again and compare digests.")] = False,
    tokenizer: Annotated[
        str | None, typer.Option("--tokenizer", help="The dataset's tokenizer, if its name is not found here (--full).")
    ] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option("--corpus", help="A corpus of the dataset, if its name is not found here (--full)."),
    ] = None,
    allow_task_module: Annotated[
        list[str] | None,
        typer.Option("--allow-task-module", metavar="NAME", help="A module that its recipe may import (--full)."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Processes for --full; by default chosen by size.")
    ] = None,
) -> None:
    """Re-hash every file of a dataset; exit code 4 if anything differs from its manifest."""
    from niah_gen.errors import IntegrityError, ResourceError, listed
    from niah_score.machine.addresses import is_address
    from niah_score.machine.fetched import dataset_here

    rebuilt = ""
    remote = is_address(dataset)
    if remote:
        from niah_gen.checks.at_address import verify_at

        manifest, problems = verify_at(dataset, read=not full)
        count = len(problems)
    elif not full:
        from niah_gen.checks.hashes import verify as verify_dataset

        manifest, problems = verify_dataset(Path(dataset))
        count = len(problems)
    if full and not (remote and problems):
        from niah_gen.checks.rebuild import rebuild
        from niah_gen.progress import ProgressBar

        with dataset_here(dataset, everything=True) as folder, ProgressBar() as bar:
            done = rebuild(
                folder, tokenizer=tokenizer, corpora=corpus or (), task_modules=allow_task_module or (), jobs=jobs,
                progress=bar,
            )  # fmt: skip
        manifest, problems, count = done.manifest, done.problems, done.count
        if done.not_rebuilt and not problems:
            raise ResourceError(
                f"{dataset}: all {done.rows} rows as the manifest says, but not built again: {done.not_rebuilt}"
            )
        rebuilt = "; the recipe builds the same rows again"
    if problems:
        kept = f", the first {len(problems)} are kept" if count > len(problems) else ""
        raise IntegrityError(listed(f"{dataset}: {count} problems{kept}", problems))
    typer.echo(f"{dataset}: {len(manifest.files)} files, {manifest.rows} rows, all as the manifest says{rebuilt}")


def recount(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder.")],
    tokenizer: Annotated[
        str, typer.Option("--tokenizer", help="tiktoken model or encoding, a tokenizer.json, or a local model folder.")
    ],
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", min=1, help="Tokens for prompt and answer; by default the length, for the prompt alone."
        ),
    ] = None,
    output: Annotated[
        int, typer.Option("--output", min=0, help="Tokens of an answer that must fit as well; by default none.")
    ] = 0,
    chat_template: Annotated[
        bool,
        typer.Option(
            "--chat-template/--no-chat-template", help="Apply the model folder's chat template, if it has one."
        ),
    ] = True,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write the count of every row to a CSV file.")
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Processes; by default chosen by size.")] = None,
) -> None:
    """Count a dataset under a model's tokenizer and chat template: each config's lengths, and what does not fit."""
    from niah_gen.checks.recount import recount as recount_dataset
    from niah_gen.checks.recount import report
    from niah_gen.progress import ProgressBar

    with ProgressBar() as bar:
        counts = recount_dataset(
            dataset, tokenizer, limit=limit, output=output, chat_template=chat_template, csv_file=csv, jobs=jobs,
            progress=bar,
        )  # fmt: skip
    for line in report(counts):
        typer.echo(line)


def card(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder.")],
    word_overlap: Annotated[
        list[Path] | None,
        typer.Option(
            "--word-overlap", metavar="DIR", help="Scores of a system that only matches words, for the card to state."
        ),
    ] = None,
) -> None:
    """Rewrite the dataset card, keeping the figures of word overlap that it states."""
    from niah_gen.dataset.card import rewrite_card

    typer.echo(str(rewrite_card(dataset, *(word_overlap or ()))))


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="Dataset folder.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Dataset folder of a later version.")],
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Processes; by default chosen by size.")] = None,
) -> None:
    """Show in which rows and columns two versions of a dataset differ, and what that means for the version."""
    from niah_gen.checks.diff import compare, difference_lines
    from niah_gen.progress import ProgressBar

    with ProgressBar() as bar:
        difference = compare(old, new, jobs=jobs, progress=bar)
    for line in difference_lines(difference):
        typer.echo(line)
