"""Defines the commands about datasets that exist: list, show, page, verify, recount, card, diff, export, publish."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option, echo

from niah_gen.cli.reporting import notice
from niah_gen.errors import IntegrityError, NiahError, ResourceError, listed
from niah_gen.progress import ProgressBar
from niah_score.machine.stores import is_address
from niah_score.text.visible import visible

Dataset = Annotated[Path, Argument(metavar="DATASET", help="Dataset folder.")]
AnyDataset = Annotated[str, Argument(metavar="DATASET", help="Dataset folder or address.")]
Jobs = Annotated[int | None, Option(min=1, help="Processes; by default chosen by size.")]
Overwrite = Annotated[bool, Option("--overwrite", help="Replace what an earlier run wrote.")]
OwnTokenizer = Annotated[str | None, Option(help="The dataset's tokenizer, if its name is not found here.")]
OwnCorpus = Annotated[list[str] | None, Option(help="A corpus of the dataset, if its name is not found here.")]
TaskModules = Annotated[list[str] | None, Option(metavar="NAME", help="A module that its recipe may import.")]
_BODY = "A field of every request, such as temperature=0 or thinking.type=adaptive."
_ONLY_MISSING = "Leave out rows that have an answer there; errors do not count."
_FITS = "Leave out rows that need more tokens than this with their answer."
_SUBSET = "length=8k,16k, depth=50, part=..., control=none, every=10."
_CONTEXT_FILE = "Contexts as text files beside the prompts, which name them: for agents that read files."
_ORDERS = "as-is, prefix (for a server's prefix cache), balanced (for niah-score gate), shuffled."
_RIGHTS = "State that you may publish these corpora; the card will say so."
_EXPORTS = (
    "openai-batch, vllm, anthropic, gemini, vertex, langsmith, text, kvpress, scbench, openai-sessions, load-test, "
    "load-test-chat, sft, ruler, lm-eval, inspect, lighteval, opencompass, opencompass-length-depth, verifiers, "
    "loglikelihood"
)


def list_datasets(
    folder: Annotated[str, Argument(metavar="[DIR]", help="Folder or address to look in, at any depth.")] = "build",
) -> None:
    """List the datasets below a folder: name, version, digest, rows, tokens, lengths, formats."""
    from niah_gen.dataset.listing import datasets_at, datasets_below, listing_lines

    found, hidden = (datasets_at(folder), 0) if is_address(folder) else datasets_below(Path(folder))
    if found:
        echo("\n".join(listing_lines(found)))
    else:
        notice(f"no dataset below {folder}; `niah-gen build` makes one")
    if hidden:
        some = "1 folder whose name begins" if hidden == 1 else f"{hidden} folders whose names begin"
        notice(f"{some} with a dot: not looked into")


def show(
    dataset: AnyDataset,
    row_id: Annotated[str | None, Argument(metavar="[ID]", help="Row id, or its beginning or end.")] = None,
    row: Annotated[int | None, Option(metavar="N", help="The Nth row, from 1.")] = None,
    length: Annotated[str | None, Option(help="First row of this length: 8k or 8000.")] = None,
    depth: Annotated[float | None, Option(help="First row of this depth, in percent.")] = None,
    language: Annotated[str | None, Option(help="First row of this language.")] = None,
    corpus: Annotated[str | None, Option(help="First row over this corpus.")] = None,
    needle: Annotated[str | None, Option(help="First row of this needle (needle_id).")] = None,
    repeat: Annotated[int | None, Option(help="First row of this repeat, from 0.")] = None,
    control: Annotated[str | None, Option(help="First row of this control; none: of no control.")] = None,
    part: Annotated[str | None, Option(help="First row of this part; none: of no part.")] = None,
    whole: Annotated[bool, Option("--whole", help="Print the prompt in full.")] = False,
) -> None:
    """Print a row with its needles marked: by id, by number, or the first with given coordinates."""
    from niah_gen.checks.show import describe, row_by_coordinates, row_by_id, row_by_number
    from niah_gen.fields import WrongValueError
    from niah_gen.recipe.recipe import parse_tokens
    from niah_score.machine.stores import dataset_here

    try:
        tokens = None if length is None else parse_tokens(length)
    except WrongValueError as error:
        raise NiahError(f"--length: {error}; found {length!r}") from None
    asked = {
        "part": part, "language": language, "corpus": corpus, "length": tokens, "needle": needle, "control": control,
        "repeat": repeat, "depth": depth,
    }  # fmt: skip
    by_coordinates = any(value is not None for value in asked.values())
    if (row_id is not None) + (row is not None) + by_coordinates > 1:
        raise NiahError("give an id, --row, or coordinates such as --length and --depth, not two of these")
    with dataset_here(dataset) as folder:
        if row_id is not None:
            match = row_by_id(folder, row_id)
        elif by_coordinates:
            match = row_by_coordinates(folder, asked)
        else:
            match = row_by_number(folder, 1 if row is None else row)
    echo("\n".join(describe(match, whole, sys.stdout.isatty())))
    if match.others is not None:
        notice(match.others)


def page(
    dataset: Dataset,
    out: Annotated[Path | None, Option(metavar="FILE", help="The page; by default NAME-DIGEST.html here.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Draw a dataset as one HTML file: what each cell holds, and prompts with their needles marked."""
    from niah_gen.page.render import write_page

    path, shown, rows = write_page(dataset, out, overwrite=overwrite)
    notice(f"{shown:,} of {rows:,} rows in full, {path.stat().st_size:,} bytes; open it in a browser")
    echo(str(path))


def verify(
    dataset: AnyDataset,
    full: Annotated[bool, Option("--full", help="Build every row again and compare digests.")] = False,
    tokenizer: OwnTokenizer = None,
    corpus: OwnCorpus = None,
    allow_task_module: TaskModules = None,
    jobs: Jobs = None,
) -> None:
    """Re-hash every file of a dataset; exit code 4 if anything differs from its manifest."""
    from niah_gen.checks.hashes import verify as verify_here
    from niah_gen.checks.hashes import verify_at
    from niah_score.machine.stores import dataset_here

    problems: Sequence[str] = ()
    if not full or is_address(dataset):
        manifest, problems = verify_at(dataset, read=not full) if is_address(dataset) else verify_here(Path(dataset))
    count, rebuilt = len(problems), ""
    if full and not problems:
        from niah_gen.checks.rebuild import rebuild

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
    echo(f"{dataset}: {len(manifest.files)} files, {manifest.rows} rows, all as the manifest says{rebuilt}")


def recount(
    dataset: Dataset,
    tokenizer: Annotated[str, Option(help="tiktoken model or encoding, a tokenizer.json, or a local model folder.")],
    limit: Annotated[int | None, Option(min=1, help="Tokens for prompt and answer; else the prompt's length.")] = None,
    output: Annotated[int, Option(min=0, help="Tokens of an answer that must fit as well; by default none.")] = 0,
    chat_template: Annotated[bool, Option(help="Apply the model folder's chat template, if it has one.")] = True,
    csv: Annotated[Path | None, Option(metavar="FILE", help="Write the count of every row to a CSV file.")] = None,
    jobs: Jobs = None,
) -> None:
    """Count a dataset under a model's tokenizer and chat template: each config's lengths, and what does not fit."""
    from niah_gen.checks import recount as counted

    with ProgressBar() as bar:
        counts = counted.recount(
            dataset, tokenizer, limit=limit, output=output, chat_template=chat_template, csv_file=csv, jobs=jobs,
            progress=bar,
        )  # fmt: skip
    echo("\n".join(counted.report(counts)))


def card(dataset: Dataset) -> None:
    """Rewrite the dataset card."""
    from niah_gen.dataset.complete import rewrite_card

    echo(str(rewrite_card(dataset)))


def diff(
    old: Annotated[Path, Argument(metavar="OLD", help="Dataset folder.")],
    new: Annotated[Path, Argument(metavar="NEW", help="Dataset folder of a later version.")],
    jobs: Jobs = None,
) -> None:
    """Show in which rows and columns two versions of a dataset differ, and what that means for the version."""
    from niah_gen.checks.diff import compare, difference_lines

    with ProgressBar() as bar:
        difference = compare(old, new, jobs=jobs, progress=bar)
    echo("\n".join(difference_lines(difference)))


def export(
    dataset: Dataset,
    to: Annotated[str, Option(metavar="FORMAT", help=f"One of {_EXPORTS}.")],
    out: Annotated[Path, Option(metavar="DIR", help="Folder to write into.")],
    model: Annotated[str | None, Option(help="Model, as the service spells it.")] = None,
    body: Annotated[list[str] | None, Option(metavar="KEY=VALUE", help=_BODY)] = None,
    system: Annotated[str | None, Option(metavar="TEXT", help="A system message before every prompt.")] = None,
    api: Annotated[str | None, Option(help="For openai-batch: chat (default) or responses.")] = None,
    max_tokens: Annotated[str | None, Option(metavar="N|+N", help="Limit of a reply: this, or so much more.")] = None,
    only_missing: Annotated[list[Path] | None, Option(metavar="ANSWERS", help=_ONLY_MISSING)] = None,
    subset: Annotated[list[str] | None, Option(metavar="NAME=VALUES", help=_SUBSET)] = None,
    order: Annotated[str, Option(help=_ORDERS)] = "as-is",
    fits: Annotated[str | None, Option(metavar="N", help=_FITS)] = None,
    tokenizer: Annotated[str | None, Option(help="With --fits: the model's tokenizer, as build takes it.")] = None,
    max_requests: Annotated[int | None, Option(min=1, help="Requests per file, if fewer than usual.")] = None,
    max_bytes: Annotated[int | None, Option(min=1, help="Bytes per file, if fewer than the service takes.")] = None,
    context_file: Annotated[bool, Option("--context-file", help=_CONTEXT_FILE)] = False,
    allow_task_module: TaskModules = None,
    overwrite: Overwrite = False,
) -> None:
    """Write prompts as the files of a service, engine or platform, or tasks for a harness, and print their paths."""
    from niah_gen.export.base import ExportOptions
    from niah_gen.export.export import export as export_dataset
    from niah_gen.export.requests import read_fields

    limit, more = _limit(max_tokens)
    options = ExportOptions(
        model, read_fields(body or ()), system, api, limit, more, max_requests, max_bytes,
        tuple(allow_task_module or ()), context_file,
    )  # fmt: skip
    done = export_dataset(
        dataset, to, out, options, only_missing=only_missing or (), conditions=subset or (), order=order,
        fits=None if fits is None else _most_tokens(fits), tokenizer=tokenizer,
        overwrite=overwrite,
    )  # fmt: skip
    for sentence in done.notices:
        notice(sentence)
    for path, rows, size in done.files:
        echo(path)
        notice(f"{path}: {f'{rows:,} rows, ' if rows else ''}{size:,} bytes")


def _most_tokens(text: str) -> int:
    from niah_gen.recipe.recipe import parse_tokens

    try:
        return parse_tokens(text)
    except ValueError as error:
        raise NiahError(f"--fits: {error}; found {text!r}") from None


def _limit(text: str | None) -> tuple[int | None, int]:
    """The limit that replaces each row's (`2000`), and the tokens to add to each row's (`+2000`)."""

    if text is None:
        return None, 0
    match = re.fullmatch(r"(\+?)(0*[1-9][0-9]{0,8})", text)
    if not match:
        raise NiahError(f"--max-tokens {text!r}: expected a number such as 2000, or +2000 on top of each row's own")
    return (None, int(match[2])) if match[1] else (int(match[2]), 0)


def publish(
    dataset: Dataset,
    repo: Annotated[str, Argument(metavar="USER/NAME", help="Dataset repository on the Hub.")],
    private: Annotated[bool, Option("--private", help="Make the repository private.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Show the files, their sizes and the card; no request.")] = False,
    tag: Annotated[bool, Option("--tag", help="Tag the commit with the dataset's version, such as v1.0.0.")] = False,
    i_hold_the_rights: Annotated[bool, Option("--i-hold-the-rights", help=_RIGHTS)] = False,
    tokenizer: OwnTokenizer = None,
    corpus: OwnCorpus = None,
    allow_task_module: TaskModules = None,
) -> None:
    """Publish a dataset on the Hub: verify it, and upload it in one commit."""
    from niah_gen.export.publish import publish as publish_folder

    with ProgressBar() as bar:
        done = publish_folder(
            dataset, repo, private=private, dry_run=dry_run, tag=tag, holds_rights=i_hold_the_rights,
            tokenizer=tokenizer, corpora=corpus or (), task_modules=allow_task_module or (), say=notice, progress=bar,
        )  # fmt: skip
    echo(visible(done))
