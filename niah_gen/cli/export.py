"""Defines the command that exports prompts for other programs: export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from niah_gen.cli.reporting import notice

_FORMATS = (
    "openai-batch, vllm, anthropic, gemini, vertex, langsmith, text, lm-eval, inspect, lighteval, opencompass, "
    "opencompass-length-depth, loglikelihood"
)


def export(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder.")],
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help=f"One of {_FORMATS}.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder to write into.")],
    model: Annotated[str | None, typer.Option("--model", help="Model, as the service spells it.")] = None,
    body: Annotated[
        list[str] | None,
        typer.Option(
            "--body",
            metavar="KEY=VALUE",
            help="A field of every request, such as temperature=0 or thinking.type=adaptive.",
        ),
    ] = None,
    system: Annotated[
        str | None, typer.Option("--system", metavar="TEXT", help="A system message before every prompt.")
    ] = None,
    api: Annotated[str | None, typer.Option("--api", help="For openai-batch: chat (default) or responses.")] = None,
    max_tokens: Annotated[
        str | None,
        typer.Option(
            "--max-tokens", metavar="N|+N", help="Limit of a reply: instead of the row's own, or on top of it."
        ),
    ] = None,
    only_missing: Annotated[
        list[Path] | None,
        typer.Option(
            "--only-missing", metavar="ANSWERS", help="Leave out rows that have an answer there; errors do not count."
        ),
    ] = None,
    subset: Annotated[
        list[str] | None,
        typer.Option(
            "--subset", metavar="NAME=VALUES", help="length=8k,16k, depth=50, part=..., control=none, every=10."
        ),
    ] = None,
    order: Annotated[
        str, typer.Option("--order", help="as-is, prefix (for a server's prefix cache), shuffled (against it).")
    ] = "as-is",
    max_requests: Annotated[
        int | None, typer.Option("--max-requests", min=1, help="Requests per file, if fewer than the service takes.")
    ] = None,
    max_bytes: Annotated[
        int | None, typer.Option("--max-bytes", min=1, help="Bytes per file, if fewer than the service takes.")
    ] = None,
    allow_task_module: Annotated[
        list[str] | None,
        typer.Option("--allow-task-module", metavar="NAME", help="A module that its recipe may import."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the files of an earlier export.")] = False,
) -> None:
    """Write prompts as the files of a service, engine or platform, or tasks for a harness, and print their paths."""
    from niah_gen.export.base import ExportOptions
    from niah_gen.export.export import export as export_dataset
    from niah_gen.export.requests import read_fields

    limit, more = _limit(max_tokens)
    options = ExportOptions(
        model, read_fields(body or ()), system, api, limit, more, max_requests, max_bytes,
        tuple(allow_task_module or ()),
    )  # fmt: skip
    done = export_dataset(
        dataset, to, out, options, only_missing=only_missing or (), conditions=subset or (), order=order,
        overwrite=overwrite,
    )  # fmt: skip
    for sentence in done.notices:
        notice(sentence)
    for file in done.files:
        typer.echo(file.path)
        rows = f"{file.rows:,} rows, " if file.rows else ""
        notice(f"{file.path}: {rows}{file.bytes:,} bytes")


def _limit(text: str | None) -> tuple[int | None, int]:
    """The limit that replaces each row's (`2000`), and the tokens to add to each row's (`+2000`)."""
    from niah_gen.errors import NiahError

    if text is None:
        return None, 0
    digits = text.removeprefix("+")
    if not (digits.isascii() and digits.isdigit() and 1 <= int(digits) <= 10**9):
        raise NiahError(f"--max-tokens {text!r}: expected a number such as 2000, or +2000 on top of each row's own")
    return (None, int(digits)) if text.startswith("+") else (int(digits), 0)
