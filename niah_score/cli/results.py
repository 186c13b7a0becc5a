"""Parses `niah-score compare`, `plot` and `report`, which read folders that `niah-score score` wrote."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from niah_score.cli.score import Overwrite, print_lines, print_path

if TYPE_CHECKING:
    from niah_score.report.charts.grid import Grid

# The exit code if a run dropped too far.
GATE_FAILED = 6
_CONVENTIONAL = 'Fact Retrieval Across Context Lengths ("Needle In A Haystack")'
_SCORES = "Folders that niah-score score wrote."
_DROP = "Exit with 6 if a run is this far below the first, and not by chance."
Palette = Annotated[str, Option(help="Colours of the heatmaps: conventional or colourblind.")]


def compare(
    runs: Annotated[list[Path], Argument(metavar="DIR DIR...", help=_SCORES)],
    metric: Annotated[str, Option(help="Metric to compare; score is each row's own.")] = "score",
    fail_if_drop: Annotated[float | None, Option(metavar="POINTS", help=_DROP)] = None,
    form: Annotated[str, Option("--format", help="What is printed: text or markdown.")] = "text",
    out: Annotated[Path | None, Option(help="Folder for tables, figures and heatmaps.")] = None,
    palette: Palette = "conventional",
    overwrite: Overwrite = False,
) -> None:
    """Compare runs over the same rows, side by side and each with the first, and mark what is noise."""
    from niah_score.report.compare import compare as compared
    from niah_score.report.compare import write_comparison
    from niah_score.statistics.paired import drops

    found = compared(*runs, metric=metric)
    lines = found.lines(form)
    if out is not None:
        print_path(write_comparison(found, out, palette=palette, overwrite=overwrite), err=True)
    print_lines(lines)
    if fail_if_drop is not None:
        failed, noise = drops(found.record, fail_if_drop)
        print_lines((*failed, *noise), err=True)
        raise typer.Exit(GATE_FAILED if failed else 0)


def plot(
    folders: Annotated[list[Path], Argument(metavar="DIR...", help=_SCORES)],
    out: Annotated[Path | None, Option(help="Folder for the pictures; default: this one.")] = None,
    palette: Palette = "conventional",
    dataset_length: Annotated[str | None, Option(metavar="8k", help="Longest context, for the title.")] = None,
    title: Annotated[str | None, Option(help="Title of the pictures.")] = None,
    metric: Annotated[str | None, Option(help="What to draw; default: each row's own.")] = None,
    language: Annotated[str | None, Option(help="Only rows of this language.")] = None,
    form: Annotated[str, Option("--format", help="png, svg, or both with a comma.")] = "png",
    together: Annotated[bool, Option("--together", help="All runs in one picture.")] = False,
    terminal: Annotated[bool, Option("--terminal", help="Print them; files are written only with --out.")] = False,
    overwrite: Overwrite = False,
) -> None:
    """Draw heatmaps of scores by length and depth."""
    from niah_score.errors import check_choice
    from niah_score.machine.files import hold
    from niah_score.report.charts.grid import find_palette
    from niah_score.report.charts.heatmap import PICTURE_FORMATS, draw
    from niah_score.report.charts.terminal import colours_of, heatmap_lines
    from niah_score.report.read import read
    from niah_score.report.report import report_grid
    from niah_score.text.visible import plain_name

    colours = find_palette(palette)
    formats = [part.strip().lower() for part in form.split(",") if part.strip()]
    for part in formats or [form]:
        check_choice("--format", part, PICTURE_FORMATS)
    grids = [report_grid(read(folder), metric or "score", language) for folder in folders]
    if terminal:
        width = shutil.get_terminal_size().columns
        drawn = ("\n".join(heatmap_lines(grid, width, colours_of(sys.stdout), colours)) for grid in grids)
        typer.echo("\n\n".join(drawn))
        if out is None:
            return
    if title is None and dataset_length is not None:
        title = f"{dataset_length.upper()} Context Performance: {_CONVENTIONAL}"
    folder = out or Path()
    # Keeps the pictures of two metrics or languages apart in one folder.
    tail = "".join(f"-{plain_name(part).strip('.-')}" for part in (metric, language) if part)
    named = {"heatmaps" + tail: grids} if together else _named(grids, tail)
    files = {f"{name}.{part}": shown for name, shown in named.items() for part in dict.fromkeys(formats)}

    def write(place: Path) -> None:
        for shown in named.values():
            paths = (place / file for file in files if files[file] is shown)
            draw(shown, *paths, palette=colours, title=title)

    def pictures(place: Path) -> list[str]:
        return [file for file in files if (place / file).exists()]

    with hold(folder, "pictures", pictures, overwrite=overwrite) as replace:
        replace(write)
    for file in files:
        print_path(folder / file)


def _named(grids: list[Grid], tail: str) -> dict[str, list[Grid]]:
    """The grids by file name, all different: the model's name, and the tail."""
    from niah_score.text.visible import plain_name

    named: dict[str, list[Grid]] = {}
    for grid in grids:
        plain = (plain_name(grid.model).strip(".-") or "model") + tail
        taken = {name.casefold() for name in named}
        names = (plain, *(f"{plain}-{number}" for number in range(2, len(grids) + 1)))
        named[next(name for name in names if name.casefold() not in taken)] = [grid]
    return named


def report(
    scores: Annotated[Path, Argument(metavar="DIR", help="The folder that niah-score score wrote.")],
    dataset: Annotated[Path | None, Option(help="The dataset that was scored, for its questions and needles.")] = None,
) -> None:
    """Write the report.html of a folder of scores again."""
    from niah_score.errors import ScoreError
    from niah_score.report import PAGE
    from niah_score.report.page.render import has_texts
    from niah_score.report.read import read, with_texts
    from niah_score.report.write import write_page

    scored, page = read(scores), scores / PAGE
    if dataset is not None:
        scored = with_texts(scored, dataset)
    elif page.is_file() and has_texts(page.read_bytes()):
        raise ScoreError(
            f"{page}: has the dataset's questions, needles and reference answers, and a page written without --dataset "
            f"would lack them; pass --dataset with the folder of {scored.dataset} ({scored.digest8}), or remove the "
            "page first"
        )
    else:
        typer.echo("without --dataset the page has no questions, needles or reference answers", err=True)
    print_path(write_page(scored, scores))
