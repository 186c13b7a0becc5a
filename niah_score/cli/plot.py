"""Parses `niah-score plot`: draws folders of scores as pictures, or in a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from niah_score.text.visible import plain_name, visible_path

if TYPE_CHECKING:
    from niah_score.report.charts.grid import Grid
    from niah_score.report.charts.palette import Palette

_CONVENTIONAL = 'Fact Retrieval Across Context Lengths ("Needle In A Haystack")'


def plot(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders that niah-score score wrote.")],
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the pictures; default: this one.")] = None,
    palette: Annotated[str, typer.Option("--palette", help="conventional or colourblind.")] = "conventional",
    dataset_length: Annotated[
        str | None, typer.Option("--dataset-length", metavar="8k", help="Longest context, for the title.")
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Title of the pictures.")] = None,
    metric: Annotated[str | None, typer.Option("--metric", help="What to draw; default: each row's own.")] = None,
    language: Annotated[str | None, typer.Option("--language", help="Only rows of this language.")] = None,
    form: Annotated[str, typer.Option("--format", help="png, svg, or both with a comma.")] = "png",
    together: Annotated[bool, typer.Option("--together", help="All runs in one picture.")] = False,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Print them; pictures are written only with --out.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace existing pictures.")] = False,
) -> None:
    """Draw heatmaps of scores by length and depth."""
    from niah_score.errors import ScoreError, suggestion
    from niah_score.machine.files import hold
    from niah_score.report.charts.heatmap import PICTURE_FORMATS, draw
    from niah_score.report.charts.palette import find_palette
    from niah_score.report.read import read
    from niah_score.report.report import report_grid

    colours = find_palette(palette)
    formats = [part.strip().lower() for part in form.split(",") if part.strip()]
    for part in formats or [form]:
        if part not in PICTURE_FORMATS:
            raise ScoreError(f"--format: {part!r} is unknown; {suggestion(part, PICTURE_FORMATS)}")
    grids = [report_grid(read(folder), metric or "score", language) for folder in folders]
    if terminal:
        _print(grids, colours)
        if out is None:
            return
    if title is None and dataset_length is not None:
        title = f"{dataset_length.upper()} Context Performance: {_CONVENTIONAL}"
    folder = out or Path()
    # Keeps the pictures of two metrics or languages apart in one folder.
    tail = "".join(f"-{plain_name(part).strip('.-')}" for part in (metric, language) if part)
    named = {"heatmaps" + tail: grids} if together else _named(grids, tail)
    names = {name: [f"{name}.{part}" for part in dict.fromkeys(formats)] for name in named}
    files_of = [file for group in names.values() for file in group]

    def pictures(place: Path) -> list[str]:
        return [file for file in files_of if (place / file).exists()]

    def write(place: Path) -> None:
        for name, drawn in named.items():
            draw(drawn, *(place / file for file in names[name]), palette=colours, title=title)

    with hold(folder, "pictures", pictures, overwrite=overwrite) as replace:
        replace(write)
    for file in files_of:
        typer.echo(visible_path(folder / file))


def _named(grids: list[Grid], tail: str) -> dict[str, list[Grid]]:
    """The grids by file name, all different: the model's name, and the tail."""
    named: dict[str, list[Grid]] = {}
    for grid in grids:
        plain = (plain_name(grid.model).strip(".-") or "model") + tail
        name, number = plain, 1
        while name.casefold() in {taken.casefold() for taken in named}:
            number += 1
            name = f"{plain}-{number}"
        named[name] = [grid]
    return named


def _print(grids: list[Grid], palette: Palette) -> None:
    import shutil
    import sys

    from niah_score.report.charts.terminal import colours_of, heatmap_lines

    width = shutil.get_terminal_size().columns
    for number, grid in enumerate(grids):
        lines = heatmap_lines(grid, width, colours_of(sys.stdout), palette)
        typer.echo("\n".join([*([""] if number else []), *lines]))
