"""Parses `niah-score judge`: exports the requests for a judge, and imports its verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from niah_score.cli.overview import print_overview
from niah_score.text.visible import visible_path

DatasetArgument = Annotated[Path, typer.Argument(metavar="DATASET", help="The dataset that was scored.")]
ScoresArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The folder that niah-score score wrote.")]
RubricOption = Annotated[str, typer.Option("--rubric", help="gkamradt, or your own rubric file (.toml).")]


def judge_export(
    dataset: DatasetArgument,
    scores: ScoresArgument,
    out: Annotated[Path, typer.Option("--out", help="Folder for the request files.")],
    model: Annotated[str, typer.Option("--model", help="The judge, as its service names it.")],
    rubric: RubricOption = "gkamradt",
    form: Annotated[
        str, typer.Option("--format", help="openai-batch, openai-responses, anthropic-batch or gemini-batch.")
    ] = "openai-batch",
    max_requests: Annotated[int, typer.Option("--max-requests", min=1, help="Requests per file.")] = 50_000,
    max_bytes: Annotated[int, typer.Option("--max-bytes", min=1, help="Bytes per file.")] = 200_000_000,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="Tokens that a reply may have.")] = 1024,
    temperature: Annotated[
        float | None, typer.Option("--temperature", min=0, help="Of the judge. Unset: the model's own.")
    ] = None,
) -> None:
    """Write requests that ask a judge about every answer; the prompts of the dataset are not in them."""
    import glob

    from niah_score.errors import ScoreError
    from niah_score.join.rows import read_rows
    from niah_score.machine.files import hold
    from niah_score.report.read import read
    from niah_score.scoring.judge_requests import export_requests
    from niah_score.scoring.rubric import find_rubric

    judged_by = find_rubric(rubric)
    files = export_requests(
        read(scores).scores, read_rows(dataset), judged_by, format=form, model=model,
        max_requests=max_requests, max_bytes=max_bytes, max_tokens=max_tokens,
        temperature=temperature,
    )  # fmt: skip
    # Refused below: another export in this folder would mix with this one.
    pattern = f"judge-{glob.escape(judged_by.name)}-*.jsonl"

    def requests(place: Path) -> list[str]:
        return sorted(path.name for path in place.glob(pattern))

    written: list[tuple[str, int]] = []

    def write(place: Path) -> None:
        for file in files:
            (place / file.name).write_bytes(file.data)
            written.append((file.name, file.requests))

    with hold(out, "requests", requests, overwrite=True) as replace:
        if there := requests(out):
            raise ScoreError(f"{out / there[0]}: already exists; choose another --out")
        replace(write)
    for name, count in written:
        typer.echo(f"{visible_path(out / name)}  {count:,} requests")


def judge_import(
    dataset: DatasetArgument,
    scores: ScoresArgument,
    verdicts: Annotated[list[str], typer.Argument(metavar="VERDICTS...", help="The judge's answer files.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the results, verdicts included.")],
    rubric: RubricOption = "gkamradt",
    missing: Annotated[str, typer.Option("--missing", help="What unanswered rows count as: zero or exclude.")] = "zero",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the scores in --out.")] = False,
) -> None:
    """Add a judge's verdicts to the scores as the metric `judge`, and write all tables again."""
    from niah_score.evaluation import with_verdicts
    from niah_score.report.read import read
    from niah_score.report.write import hold_scores, write_held
    from niah_score.scoring.rubric import find_rubric

    with hold_scores(out, overwrite=overwrite) as held:
        report = with_verdicts(read(scores), dataset, list(verdicts), find_rubric(rubric), missing=missing)
        folder = write_held(report, held)
    print_overview(report)
    typer.echo(visible_path(folder))
    raise typer.Exit(report.exit_code)
