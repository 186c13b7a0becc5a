"""The command `niah-score`: parses, calls one function, prints. Results on stdout, everything else on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, ParamSpec

import typer

from niah_score.cli.plot import plot
from niah_score.text.visible import visible

if TYPE_CHECKING:
    from niah_score.report.results import Report

app = typer.Typer(
    name="niah-score",
    help="Score answers to needle-in-a-haystack prompts, from whatever stack they come.",
    no_args_is_help=True,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Arguments = ParamSpec("Arguments")


def _reported(command: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """A command whose expected errors end in a sentence and their exit code; bugs keep their traceback and exit 1."""

    @wraps(command)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        from niah_score.contract import ContractError
        from niah_score.errors import ScoreError

        try:
            command(*args, **kwargs)
        except ScoreError as error:
            _fail(error, error.exit_code)
        except ContractError as error:
            _fail(error, 4)
        except KeyboardInterrupt:
            _fail("interrupted; nothing was written", 130)
        except MemoryError:
            _fail("not enough memory", 5)
        except BrokenPipeError:
            sys.stderr.close()
            raise typer.Exit(0) from None

    return run


def _fail(error: object, code: int) -> NoReturn:
    typer.echo(f"niah-score: {visible(str(error))}", err=True)
    raise typer.Exit(code)


@app.callback()
def about(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    """Score answers to needle-in-a-haystack prompts, from whatever stack they come."""
    if version:
        from niah_score.contract import VERSION

        typer.echo(f"niah-score {VERSION}")
        raise typer.Exit


@app.command()
@_reported
def score(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder, or a Parquet or JSONL file.")],
    predictions: Annotated[
        list[str],
        typer.Argument(metavar="PREDICTIONS...", help="Answer files, globs or folders; see niah-score formats."),
    ],
    model: Annotated[str | None, typer.Option("--model", help="Name of the model, for tables and titles.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the results.")] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="Metrics beside each row's own; may be given several times.")
    ] = None,
    missing: Annotated[
        str, typer.Option("--missing", help="What rows without an answer count as: error, zero or exclude.")
    ] = "error",
    on_duplicate: Annotated[
        str, typer.Option("--on-duplicate", help="Which of two answers to a row counts: error, first or last.")
    ] = "error",
    samples: Annotated[
        str | None, typer.Option("--samples", help="Several answers to a row are samples: mean, best or majority.")
    ] = None,
    text: Annotated[
        str, typer.Option("--text", help="What all metrics judge: raw or extracted (default: as docs/metrics.md says).")
    ] = "own",
    by_order: Annotated[bool, typer.Option("--by-order", help="Files without ids are in the dataset's order.")] = False,
    id_field: Annotated[
        str | None, typer.Option("--id-field", help="Field that holds the id (dots reach inside).")
    ] = None,
    text_field: Annotated[str | None, typer.Option("--text-field", help="Field that holds the answer.")] = None,
    think_tag: Annotated[
        list[str] | None,
        typer.Option("--think-tag", metavar="OPEN,CLOSE", help="Tags around reasoning; replaces ours."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace scores that --out holds.")] = False,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Processes; default one for each core.")] = None,
) -> None:
    """Join answers to a dataset's rows, score them, and write tables."""
    from niah_score.evaluation import evaluate
    from niah_score.scoring.extract_answer import REASONING_TAGS

    tags = tuple(_tag(pair) for pair in think_tag) if think_tag else REASONING_TAGS
    report = evaluate(
        dataset, list(predictions), model=model, metrics=_names(metric), missing=missing,  # type: ignore[arg-type]
        on_duplicate=on_duplicate, samples=samples, text=text, by_order=by_order,  # type: ignore[arg-type]
        id_field=id_field, text_field=text_field, tags=tags, jobs=jobs or os.cpu_count() or 1,
    )  # fmt: skip
    folder = report.write(out or _folder_for(report), overwrite=overwrite)
    _tell(report)
    _show(report)
    typer.echo(str(folder))
    raise typer.Exit(report.exit_code)


def _names(metric: list[str] | None) -> list[str] | None:
    return [part.strip() for item in metric for part in item.split(",") if part.strip()] if metric else None


def _tag(pair: str) -> tuple[str, str]:
    opening, comma, closing = pair.partition(",")
    if not comma or not opening or not closing:
        raise typer.BadParameter(f"{pair!r}: expected OPEN,CLOSE such as <think>,</think>", param_hint="--think-tag")
    return opening, closing


def _folder_for(report: Report) -> Path:
    """scores/<dataset>-<digest8>/<model>, with nothing in a name that a file system would act on."""
    model = "".join(char if char.isalnum() or char in "-_." else "-" for char in report.model).strip(".") or "model"
    return Path("scores") / f"{report.dataset}-{report.digest8}" / model[:100]


def _tell(report: Report) -> None:
    """The two equations and the overall figures, on stderr."""

    def say(line: str) -> None:
        typer.echo(visible(line), err=True)

    lines = report.lines
    say(
        f"lines read {lines.read:,} = used {lines.used:,} + duplicate {lines.duplicate:,} + unknown {lines.unknown:,} "
        f"+ malformed {lines.malformed:,}"
    )
    say(
        f"rows {report.scores.height:,} = " + " + ".join(f"{name} {count:,}" for name, count in report.statuses.items())
    )
    for problem in [one for one in report.problems if one.kind != "missing"][:20]:
        say(f"  {problem.kind}: {problem}")
    for name, row in _overall(report.summary):
        say(f"{name:20} {row}")


def _show(report: Report) -> None:
    """The heatmap on stderr, where that is a terminal; why there is none, where rows have too many lengths for it."""
    from niah_score.report.charts.grid import grid_of, has_grid, too_fine

    if not has_grid(report.scores):
        return
    grid = grid_of(report)
    if why := too_fine(grid):
        typer.echo(f"no heatmap: {why}", err=True)
    elif sys.stderr.isatty():
        import shutil

        from niah_score.report.charts.terminal import colours_of, heatmap_lines

        width = shutil.get_terminal_size().columns
        typer.echo("\n".join(["", *heatmap_lines(grid, width, colours_of(sys.stderr)), ""]), err=True)


def _overall(summary: dict[str, Any]) -> list[tuple[str, str]]:
    found = []
    for name, figures in summary["metrics"].items():
        rows = figures["overall"]
        if rows["n"]:
            told = f"{rows['mean']:6.2f}  [{rows['low']:.2f}, {rows['high']:.2f}]  n {rows['n']:,}"
            found.append((name, f"{told}  {summary['signatures'].get(name, '')}".rstrip()))
    return found


app.command()(_reported(plot))


@app.command()
@_reported
def formats() -> None:
    """List the formats of answer files that are recognised, with an example line of each."""
    from niah_score.formats import FORMATS

    for form in FORMATS.values():
        typer.echo(f"{form.name}: {form.what}\n    {form.example}")


@app.command()
@_reported
def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="DIR DIR...", help="Folders that niah-score score wrote.")],
    metric: Annotated[str, typer.Option("--metric", help="The metric to compare; score is each row's own.")] = "score",
    fail_if_drop: Annotated[
        float | None,
        typer.Option("--fail-if-drop", metavar="POINTS", help="Exit with 3 if a run is that much below the first."),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="What is printed: text, or tables in markdown or latex.")
    ] = "text",
    out: Annotated[Path | None, typer.Option("--out", help="Folder for tables, figures and heatmaps.")] = None,
    palette: Annotated[
        str, typer.Option("--palette", help="Of the heatmaps: conventional or colourblind.")
    ] = "conventional",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a comparison that --out holds.")] = False,
) -> None:
    """Compare runs over the same rows, side by side and pair by pair, and mark what is noise."""
    from niah_score.errors import ScoreError
    from niah_score.report.comparison.side_by_side import side_by_side
    from niah_score.report.comparison.tables import shown
    from niah_score.report.comparison.write import write
    from niah_score.report.results import read
    from niah_score.statistics.paired import drops

    if len(runs) < 2:
        raise ScoreError("compare: expected two folders or more")
    reports = [read(folder) for folder in runs]
    names = [report.model for report in reports]
    if len(set(names)) < len(names):
        names = [str(folder) for folder in runs]
    found = side_by_side(list(zip(names, reports, strict=True)), metric)
    lines = shown(found, form)
    if out is not None:
        typer.echo(visible(str(write(found, out, palette=palette, overwrite=overwrite))), err=True)
    for line in lines:
        typer.echo(visible(line))
    fallen = drops(found.comparison, fail_if_drop) if fail_if_drop is not None else []
    for line in fallen:
        typer.echo(visible(line), err=True)
    raise typer.Exit(3 if fallen else 0)


judge_app = typer.Typer(
    help="Let a language model judge, offline: export requests, import verdicts.", rich_markup_mode=None
)
app.add_typer(judge_app, name="judge")

DatasetArgument = Annotated[Path, typer.Argument(metavar="DATASET", help="The dataset that was scored.")]
ScoresArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The folder that niah-score score wrote.")]
RubricOption = Annotated[str, typer.Option("--rubric", help="gkamradt, or a rubric file of yours (.toml).")]


@app.command()
@_reported
def report(
    scores: ScoresArgument,
    dataset: Annotated[
        Path | None, typer.Option("--dataset", help="The dataset that was scored, for its questions and needles.")
    ] = None,
) -> None:
    """Write report.html of a folder of scores again."""
    from niah_score.report.results import read, with_texts, write_page

    found = read(scores)
    if dataset is not None:
        found = with_texts(found, dataset)
    else:
        typer.echo("without --dataset the page has no questions, needles and reference answers", err=True)
    typer.echo(visible(str(write_page(found, scores))))


@judge_app.command("export")
@_reported
def judge_export(
    dataset: DatasetArgument,
    scores: ScoresArgument,
    out: Annotated[Path, typer.Option("--out", help="Folder for the request files.")],
    model: Annotated[str, typer.Option("--model", help="The judge, as its service names it.")],
    rubric: RubricOption = "gkamradt",
    form: Annotated[
        str, typer.Option("--format", help="openai-batch, openai-responses, anthropic-batch or gemini-batch.")
    ] = "openai-batch",
    max_requests: Annotated[int, typer.Option("--max-requests", min=1, help="Requests a file.")] = 50_000,
    max_bytes: Annotated[int, typer.Option("--max-bytes", min=1, help="Bytes a file.")] = 200_000_000,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="Tokens a verdict may take.")] = 1024,
    temperature: Annotated[
        float, typer.Option("--temperature", help="Of the judge; below 0 leaves it out, for models that refuse it.")
    ] = 0.0,
) -> None:
    """Write the requests that ask a judge about every answer; prompts are not sent."""
    from niah_score.errors import ResourceError, ScoreError
    from niah_score.join.rows import read_rows
    from niah_score.report.results import read
    from niah_score.scoring.judge_requests import export_requests
    from niah_score.scoring.rubric import find_rubric

    files = export_requests(
        read(scores).scores, read_rows(dataset), find_rubric(rubric), format=form, model=model,
        max_requests=max_requests, max_bytes=max_bytes, max_tokens=max_tokens,
        temperature=None if temperature < 0 else temperature,
    )  # fmt: skip
    for file in files:
        path = out / file.name
        if path.exists():
            raise ScoreError(f"{path}: is there already; choose another --out")
        try:
            out.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.data)
        except OSError as error:
            raise ResourceError(f"{path}: cannot be written ({error.strerror})") from None
        typer.echo(f"{path}  {file.requests:,} requests")


@judge_app.command("import")
@_reported
def judge_import(
    dataset: DatasetArgument,
    scores: ScoresArgument,
    verdicts: Annotated[list[str], typer.Argument(metavar="VERDICTS...", help="The judge's answer files.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the results with the verdicts among them.")],
    rubric: RubricOption = "gkamradt",
    missing: Annotated[str, typer.Option("--missing", help="What unanswered rows count as: zero or exclude.")] = "zero",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace scores that --out holds.")] = False,
) -> None:
    """Join a judge's verdicts to the scores as the metric `judge`, and write all tables with it."""
    from niah_score.evaluation import with_verdicts
    from niah_score.report.results import read
    from niah_score.scoring.rubric import find_rubric

    report = with_verdicts(read(scores), dataset, list(verdicts), find_rubric(rubric), missing=missing)
    folder = report.write(out, overwrite=overwrite)
    _tell(report)
    typer.echo(str(folder))
    raise typer.Exit(report.exit_code)


def main() -> None:
    """Entry point of `niah-score`."""
    app()
