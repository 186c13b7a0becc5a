"""Parses `niah-score judge`: exports the requests for a judge, and imports its verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from niah_score.cli.score import Overwrite, print_lines, print_path

Dataset = Annotated[Path, Argument(metavar="DATASET", help="The dataset that was scored.")]
Scores = Annotated[Path, Argument(metavar="DIR", help="The folder that niah-score score wrote.")]
RubricOption = Annotated[str, Option("--rubric", help="gkamradt, or your own rubric file (.toml).")]
_FORMATS = "openai-batch, openai-responses, anthropic-batch or gemini-batch."


def judge_export(
    dataset: Dataset,
    scores: Scores,
    out: Annotated[Path, Option(help="Folder for the request files.")],
    model: Annotated[str, Option(help="The judge, as its service names it.")],
    rubric: RubricOption = "gkamradt",
    form: Annotated[str, Option("--format", help=_FORMATS)] = "openai-batch",
    max_tokens: Annotated[int, Option(min=1, help="Tokens that a reply may have.")] = 1024,
    temperature: Annotated[float | None, Option(min=0, help="Of the judge. Unset: the model's own.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write requests that ask a judge about every answer; the prompts of the dataset are not in them."""
    import glob

    from niah_score.join.rows import read_rows
    from niah_score.machine.files import hold
    from niah_score.report.read import read
    from niah_score.scoring.judge_requests import export_requests
    from niah_score.scoring.rubric import find_rubric

    judged_by = find_rubric(rubric)
    files = export_requests(
        read(scores).scores, read_rows(dataset), judged_by, format=form, model=model, max_tokens=max_tokens,
        temperature=temperature,
    )  # fmt: skip
    written: list[tuple[str, int]] = []

    def write(place: Path) -> None:
        for file in files:
            (place / file.name).write_bytes(file.data)
            written.append((file.name, file.requests))

    def requests(place: Path) -> list[str]:
        return sorted(path.name for path in place.glob(f"judge-{glob.escape(judged_by.name)}-{'[0-9]' * 5}.jsonl"))

    with hold(out, "requests", requests, overwrite=overwrite) as replace:
        replace(write)
    for name, count in written:
        print_path(f"{out / name}  {count:,} requests")


def judge_import(
    dataset: Dataset,
    scores: Scores,
    verdicts: Annotated[list[str], Argument(metavar="VERDICTS...", help="The judge's answer files.")],
    out: Annotated[Path, Option(help="Folder for the results, verdicts included.")],
    rubric: RubricOption = "gkamradt",
    missing: Annotated[str, Option(help="What unanswered rows count as: zero or exclude.")] = "zero",
    overwrite: Overwrite = False,
) -> None:
    """Add a judge's verdicts to the scores as the metric `judge`, and write all tables again."""
    from niah_score.evaluation import with_verdicts
    from niah_score.report.read import read
    from niah_score.report.write import hold_scores, write_held
    from niah_score.scoring.rubric import find_rubric

    with hold_scores(out, overwrite=overwrite) as replace:
        report = with_verdicts(read(scores), dataset, list(verdicts), find_rubric(rubric), missing=missing)
        folder = write_held(report, replace)
    print_lines(report.overview(), err=True)
    print_path(folder)
    raise typer.Exit(report.exit_code)
