"""Defines the commands that make datasets: build, merge, plan."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from niah_gen.cli.recipe_options import recipe_of, takes_recipe
from niah_gen.cli.reporting import notice


@takes_recipe
def build(
    flags: dict[str, Any],
    format_: Annotated[
        str, typer.Option("--format", help="parquet, jsonl, jsonl.gz, jsonl.zst, separated by commas.")
    ] = "parquet",
    out: Annotated[
        str, typer.Option("--out", help="Folder to make dataset folders in, or an address such as s3://b/niah.")
    ] = "build",
    jobs: Annotated[int | None, typer.Option("--jobs", help="Worker processes; by default chosen by size.")] = None,
    engine: Annotated[
        str,
        typer.Option(
            "--engine", help="processes (on this machine) or ray (tasks on a Ray cluster; needs niah-kit[ray])."
        ),
    ] = "processes",
    ray_address: Annotated[
        str | None,
        typer.Option(
            "--ray-address",
            metavar="HOST:PORT",
            help="The Ray cluster, or auto; by default $RAY_ADDRESS, or one started for the build.",
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option("--shard", metavar="I/N", help="Write only every Nth file; run merge once all are written."),
    ] = None,
) -> None:
    """Build a dataset folder and print its path."""
    from niah_gen.dataset.build import build as build_dataset
    from niah_gen.dataset.build import build_at
    from niah_gen.progress import ProgressBar
    from niah_score.machine.addresses import is_address

    formats = [part.strip() for part in format_.split(",") if part.strip()]
    with ProgressBar() as bar:
        make = build_at if is_address(out) else build_dataset
        folder = make(
            recipe_of(flags, notice), out, formats=formats, jobs=jobs, engine=engine, ray_address=ray_address,
            shard=_shard(shard), progress=bar, notice=notice,
        )  # fmt: skip
    if shard:
        notice(f"shard {shard} is written; once all are, run `niah-gen merge {folder}`")
    typer.echo(str(folder))


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    part, slash, of = text.partition("/")
    # ASCII digits alone, at most nine of them: more shards than anybody has.
    if not (slash and (part + of).isascii() and all(digits.isdigit() and len(digits) < 10 for digits in (part, of))):
        raise typer.BadParameter(f"{text!r}: expected I/N, such as 1/4", param_hint="--shard")
    return int(part), int(of)


def merge(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The folder or address that `build --shard` printed.")],
) -> None:
    """Check all parts that build --shard wrote, and complete the dataset."""
    from niah_gen.dataset.at_address import merge_at
    from niah_gen.dataset.complete import merge as merge_parts
    from niah_score.machine.addresses import is_address

    typer.echo(str((merge_at if is_address(folder) else merge_parts)(folder, notice=notice)))


@takes_recipe
def plan(flags: dict[str, Any]) -> None:
    """Show what build would make: rows, tokens, bytes, time. Builds nothing."""
    from niah_gen.rows.assemble import check_fit
    from niah_gen.rows.forecast import forecast, foreseen
    from niah_gen.rows.plan import make_plan

    notes: list[str] = []
    planned = make_plan(recipe_of(flags, notes.append))
    check_fit(planned)
    notes += foreseen(planned)
    for line in forecast(planned, notes):
        typer.echo(line)
