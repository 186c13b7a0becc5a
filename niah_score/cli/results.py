"""Parses `niah-score compare`, `diagnose`, `plot` and `report`, which read folders that `niah-score score` wrote."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from niah_score.cli.score import Overwrite, print_lines, print_path

# The exit codes if a run dropped too far, and with --strict if that cannot be told.
GATE_FAILED, UNDECIDED = 6, 7
_SCORES = "Folders that niah-score score wrote."
_DROP = "Exit with 6 if a run dropped against the first, as niah-score gate --drop POINTS judges it."
_STRICT = "Exit with 7 where the answers do not decide it; without it, with 0."
Palette = Annotated[str, Option(help="Colours of the heatmaps: conventional or colourblind.")]


def compare(
    runs: Annotated[list[Path], Argument(metavar="DIR DIR...", help=_SCORES)],
    metric: Annotated[str, Option(help="Metric to compare; score is each row's own.")] = "score",
    fail_if_drop: Annotated[float | None, Option(metavar="POINTS", min=0, max=100, help=_DROP)] = None,
    form: Annotated[str, Option("--format", help="What is printed: text or markdown.")] = "text",
    out: Annotated[Path | None, Option(help="Folder for tables, figures and heatmaps.")] = None,
    palette: Palette = "conventional",
    overwrite: Overwrite = False,
) -> None:
    """Compare runs over the same rows, side by side and each with the first, and mark what is noise."""
    from niah_score.report.compare import compare_named, named_runs, write_comparison
    from niah_score.report.gate import ALARM, gate_named
    from niah_score.statistics.gate import FAILED

    named = named_runs(runs, metric)
    found = compare_named(named, metric)
    lines = found.lines(form)
    gates = []
    if fail_if_drop is not None:
        alarm = ALARM / (len(named) - 1)
        gates = [gate_named(named[0], other, drop=fail_if_drop, alarm=alarm, metric=metric) for other in named[1:]]
    if out is not None:
        print_path(write_comparison(found, out, palette=palette, overwrite=overwrite), err=True)
    print_lines(lines)
    print_lines((f"{verdict}: {sentence}" for one in gates for verdict, sentence in one.sentences()), err=True)
    raise typer.Exit(GATE_FAILED if any(one.verdict == FAILED for one in gates) else 0)


def gate(
    baseline: Annotated[Path, Argument(metavar="BASELINE", help="Folder of scores to hold the candidate to.")],
    candidate: Annotated[Path, Argument(metavar="CANDIDATE", help="Folder of scores, perhaps of some answers so far.")],
    drop: Annotated[float, Option(metavar="POINTS", help="The drop that must be found.")] = 5.0,
    alarm: Annotated[float, Option(help="Share of gates of equally good runs that may fail.")] = 0.01,
    power: Annotated[float, Option(help="Share of gates that must find such a drop.")] = 0.9,
    metric: Annotated[str, Option(help="Metric to judge; score is each row's own.")] = "score",
    strict: Annotated[bool, Option("--strict", help=_STRICT)] = False,
    form: Annotated[str, Option("--format", help="What is printed: text or markdown.")] = "text",
    junit: Annotated[Path | None, Option(metavar="FILE", help="Write it as JUnit XML, too.")] = None,
) -> None:
    """Fail if a run dropped against another, and not by chance; may look again while answers come in."""
    from niah_score.report.gate import gate as judged
    from niah_score.report.gate import write_junit
    from niah_score.statistics.gate import FAILED, PASSED

    found = judged(baseline, candidate, drop=drop, alarm=alarm, power=power, metric=metric)
    lines = found.lines(form)
    if junit is not None:
        write_junit(found, junit)
    print_lines(lines)
    codes = {FAILED: GATE_FAILED, PASSED: 0}
    raise typer.Exit(codes.get(found.verdict, UNDECIDED if strict else 0))


def plot(
    folders: Annotated[list[Path], Argument(metavar="DIR...", help=_SCORES)],
    out: Annotated[Path | None, Option(help="Folder for the picture; default: this one.")] = None,
    palette: Palette = "conventional",
    title: Annotated[str | None, Option(help="Title of the picture.")] = None,
    metric: Annotated[str | None, Option(help="What to draw; default: each row's own.")] = None,
    language: Annotated[str | None, Option(help="Only rows of this language.")] = None,
    terminal: Annotated[bool, Option("--terminal", help="Print it; files are written only with --out.")] = False,
    overwrite: Overwrite = False,
) -> None:
    """Draw heatmaps of scores by length and depth, several runs side by side."""
    from niah_score.machine.files import hold
    from niah_score.report.charts.grid import find_palette
    from niah_score.report.charts.heatmap import PICTURE_FORMATS
    from niah_score.report.charts.terminal import has_colours, heatmap_lines
    from niah_score.report.read import read
    from niah_score.report.report import report_grids
    from niah_score.report.write import plot as drawn
    from niah_score.text.visible import plain_name

    colours = find_palette(palette)
    reports = [read(folder) for folder in folders]
    if terminal:
        width = shutil.get_terminal_size().columns
        grids = [grid for one in reports for grid in report_grids(one, metric or "score", language)]
        each = (heatmap_lines(grid, width, colours=has_colours(sys.stdout), palette=colours) for grid in grids)
        typer.echo("\n\n".join(map("\n".join, each)))
        if out is None:
            return
    name = plain_name(reports[0].model).strip(".-") or "model" if len(reports) == 1 else "heatmaps"
    # Keeps the pictures of two metrics or languages apart in one folder.
    name += "".join(f"-{plain_name(part).strip('.-')}" for part in (metric, language) if part)
    folder, files = out or Path(), [f"{name}.{part}" for part in PICTURE_FORMATS]

    def write(place: Path) -> None:
        paths = [place / file for file in files]
        drawn(*reports, metric=metric or "score", language=language, palette=palette, title=title, out=paths)

    def pictures(place: Path) -> list[str]:
        return [file for file in files if (place / file).exists()]

    with hold(folder, "pictures", pictures, overwrite=overwrite) as replace:
        replace(write)
    for file in files:
        print_path(folder / file)


def diagnose(
    scores: Annotated[Path, Argument(metavar="DIR", help="The folder that niah-score score wrote.")],
) -> None:
    """Name the likeliest faults behind the wrong answers of a run, with the evidence and what to do."""
    from niah_score.diagnosis.diagnose import FAULTS, FEWEST, title_of
    from niah_score.errors import ScoreError
    from niah_score.report.read import read

    report = read(scores)
    found = report.diagnosed
    if found is None:
        raise ScoreError(f"{scores}: was scored by a release without diagnoses; score again with --overwrite")
    wrong = report.scored.frame["score"].fill_nan(None).drop_nulls().lt(50).sum()
    if wrong < FEWEST:
        print_lines([f"{wrong} answers are wrong; a diagnosis needs {FEWEST}"])
    elif not found:
        print_lines(["none of these faults explains the wrong answers:", *(f"  {what}" for what in FAULTS.values())])
    for number, fault in enumerate(found, 1):
        lines = (
            f"{number}. {title_of(fault)}: {fault.explains:,} of {fault.wrong:,} wrong answers",
            f"   evidence: {fault.evidence}",
            f"   what to do: {fault.advice}",
        )
        print_lines(lines)


def report(
    scores: Annotated[Path, Argument(metavar="DIR", help="The folder that niah-score score wrote.")],
    dataset: Annotated[Path | None, Option(help="The dataset that was scored, for its questions and needles.")] = None,
) -> None:
    """Write the report.html of a folder of scores again, and its other files with it."""
    from niah_score.errors import ScoreError
    from niah_score.report import PAGE
    from niah_score.report.read import read, with_texts
    from niah_score.report.write import hold_scores, write_held

    page = scores / PAGE
    with hold_scores(scores, overwrite=True) as replace:
        scored = read(scores)
        if dataset is not None:
            scored = with_texts(scored, dataset)
        elif page.exists():
            raise ScoreError(
                f"{page}: may have the dataset's questions, needles and reference answers, and a page written without "
                f"--dataset lacks them; pass --dataset with the folder of {scored.dataset} ({scored.digest8}), or "
                "remove the page first"
            )
        else:
            typer.echo("without --dataset the page has no questions, needles or reference answers", err=True)
        write_held(scored, replace)
    print_path(page)
