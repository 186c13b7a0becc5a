"""Scores answer files against a dataset: reads, joins and judges them, and returns a Report."""

from __future__ import annotations

import gc
import glob
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from niah_score.contract import METRIC_NAMES, VERSION, unknown_metric
from niah_score.errors import ResourceError, ScoreError, check_choice
from niah_score.formats.plain import ID_FIELDS, TEXT_FIELDS
from niah_score.join.join import NO_ANSWERS, ON_DUPLICATE, Lines, Problem, join
from niah_score.join.reading import AnswerFiles
from niah_score.join.rows import read_rows, stacked
from niah_score.join.samples import WAYS, samples_type
from niah_score.machine.processes import processes
from niah_score.metrics import METRICS, check_metrics, default_metrics
from niah_score.report.report import Report
from niah_score.scoring.extract_answer import LONGEST, REASONING_TAGS
from niah_score.scoring.score import ScoringOptions, one_line_a_row, score_rows
from niah_score.scoring.statuses import STATUSES
from niah_score.text.visible import without_surrogates

if TYPE_CHECKING:
    import polars as pl

    from niah_score.formats import AnswerFile
    from niah_score.scoring.rubric import Rubric

MISSING = ("error", "zero", "exclude")
_SHOWN_MISSING = 3
# Below this size, one process scores the answers before workers have started.
PARALLEL_BYTES = 30_000_000


def evaluate(
    dataset: str | Path,
    predictions: str | Path | Sequence[str | Path],
    *,
    model: str | None = None,
    metrics: Sequence[str] | None = None,
    missing: Literal["error", "zero", "exclude"] = "error",
    on_duplicate: Literal["error", "first", "last"] = "error",
    samples: Literal["mean", "best", "majority"] | None = None,
    text: Literal["own", "raw", "extracted"] = "own",
    by_order: bool = False,
    id_field: str | None = None,
    text_field: str | None = None,
    tags: Sequence[tuple[str, str]] = REASONING_TAGS,
    jobs: int = 1,
) -> Report:
    """Score answers against a dataset's rows.

    `dataset`: a folder, one of its files, or any Parquet or JSONL file with id, answers and keywords.
    `predictions`: files, globs or folders in any format that `niah-score formats` lists; `-` is standard input.
    `metrics`: in addition to each row's own; by default keyword, exact, edit, char_f1 and the three of CDME.
    `missing`: what rows without an answer count as; `error` refuses to score.
    `samples`: repeated ids are samples, and how to combine them (mean for formats that have samples themselves).
    `text`: `raw` or `extracted` makes all metrics judge that text.
    `by_order`: allow files without ids and prompts, joined by order.
    `jobs`: processes, used if there are enough answers.

    Raises ScoreError, ContractError and their subclasses, naming file and line.
    """
    check_choice("missing", missing, MISSING)
    check_choice("on_duplicate", on_duplicate, ON_DUPLICATE)
    check_choice("samples", samples or "mean", WAYS)
    check_choice("text", text, ("own", "raw", "extracted"))
    names = tuple(dict.fromkeys(metrics if metrics is not None else default_metrics()))
    check_metrics(names)
    files = _answer_files(predictions, id_field, text_field)
    size = sum(file.state().size for file in files)
    model = without_surrogates(model or _model_of(predictions))
    with _workers(jobs, size) as pool:
        answers = AnswerFiles(files, pool, ahead=2 * jobs)
        rows = read_rows(Path(dataset))
        options = ScoringOptions(
            tuple(names), text=text, missing="exclude" if missing == "exclude" else "zero", tags=tuple(tags)
        )
        joined = join(
            rows, answers.names, answers, on_duplicate=on_duplicate, repeats_are_samples=samples is not None,
            by_order=by_order,
        )  # fmt: skip
        _refuse_missing(joined.missing, missing, rows.table.height, joined.lines, joined.problems)
        scores, of_samples = _collected(score_rows(rows, joined, options, pool, ahead=2 * jobs), samples or "mean")
    named: dict[str, int] = dict(rows.table["metric"].value_counts().sort("metric").iter_rows())
    known = [*names, *sorted({name for name in named if name in METRICS} - set(names))]
    report = Report(
        dataset=rows.name,
        digest8=rows.digest8,
        model=model,
        metrics=tuple(known),
        table=scores,
        sample_table=of_samples,
        statuses={},
        lines=joined.lines,
        problems=[*joined.problems, *_left_out(answers), *_missing(joined.missing), *_unknown_metrics(named)],
        signatures={},
        parts=rows.parts,
        rows=rows,
    )
    return _with_counts(report, {name: _signature_of(name, rows.digest8, options, missing) for name in known})


def _with_counts(report: Report, signatures: dict[str, Callable[[int], str]]) -> Report:
    """A report with its statuses and signatures, after checking that rows and lines add up."""
    every = report.every_row
    counted = every.counts("status")
    statuses = {status: counted.get(status, 0) for status in STATUSES}
    if sum(statuses.values()) != report.height:
        raise AssertionError(f"statuses {statuses} do not add up to {report.height} rows")
    if report.lines.read != sum(report.lines[1:]):
        raise AssertionError(f"lines do not add up: {report.lines}")
    signed = {name: sign(int(every.values(name)[1].sum())) for name, sign in signatures.items()}
    problems = [*report.problems, *_capped(every.counts("capped").get(True, 0))]
    return replace(report, statuses=statuses, signatures=signed, problems=problems)


def _capped(count: int) -> list[Problem]:
    """A problem for answers that were judged only in part."""
    only = f"longer than {LONGEST:,} characters; only its last part is judged"
    several = f"{count:,} answers are longer than {LONGEST:,} characters; only their last parts are judged"
    return [Problem("capped", "", None, None, several if count > 1 else f"1 answer is {only}")] if count else []


def with_verdicts(
    report: Report,
    dataset: str | Path,
    verdicts: str | Path | Sequence[str | Path],
    rubric: Rubric,
    *,
    missing: str = "zero",
) -> Report:
    """A report with a judge's verdicts as the metric `judge`; lines without a verdict become problems.

    Raises the same as `niah_score.scoring.verdicts.import_verdicts`.
    """
    from niah_score.scoring.verdicts import add_verdicts, import_verdicts

    check_choice("missing", missing, ("zero", "exclude"))
    files = [(str(file.name), file) for file in _answer_files(verdicts, None, None)]
    rows = read_rows(Path(dataset))
    imported = import_verdicts(files, rubric, rows)
    scores = add_verdicts(report.scores, imported.frame, missing=missing)  # type: ignore[arg-type]
    count = scores.height - scores["judge"].null_count()
    signature = (
        f"niah|ds:{report.digest8}|metric:judge/{rubric.name}-{rubric.digest8}|text:{rubric.text}|missing:{missing}"
        f"|n:{count}|v:{VERSION}"
    )
    return replace(
        report,
        table=scores,
        metrics=(*report.metrics, "judge"),
        problems=[*report.problems, *imported.problems],
        signatures={**report.signatures, "judge": signature},
        rows=rows,
    )


def _workers(jobs: int, size: int) -> AbstractContextManager[Executor | None]:
    """Worker processes for answers of `size` bytes; None if one process is as fast."""
    if jobs < 2 or size < PARALLEL_BYTES:
        return nullcontext()
    return processes(jobs, _begin_worker, raising=ResourceError)


def _begin_worker() -> None:
    """Use one thread, as every core has a worker, and no garbage collection, as workers create no reference cycles."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    gc.disable()


def _answer_files(
    predictions: str | Path | Sequence[str | Path], id_field: str | None, text_field: str | None
) -> list[AnswerFile]:
    from niah_score.formats import expand, read_answers

    listed = [predictions] if isinstance(predictions, str | Path) else list(predictions)
    return [read_answers(path, id_field=id_field, text_field=text_field) for path in expand(listed)]


def _refuse_missing(absent: Sequence[str], missing: str, rows: int, lines: Lines, problems: Sequence[Problem]) -> None:
    """Raise ScoreError if rows have no answer and the user has not chosen what they count as.

    The message mentions lines that may have held the missing answers.
    """
    if not absent or missing != "error":
        return
    shown = ", ".join(absent[:_SHOWN_MISSING]) + (", ..." if len(absent) > _SHOWN_MISSING else "")
    message = f"{len(absent):,} of {rows:,} rows have no answer ({shown})"
    for kind, count in (("malformed", lines.malformed), ("unknown", lines.unknown)):
        if count:
            first = next(problem for problem in problems if problem.kind == kind)
            message += f"; {lines.read:,} lines read, {count:,} {kind}, the first: {first}"
    if lines.malformed:
        message += (
            f"; ids are read from {', '.join(ID_FIELDS)}, texts from {', '.join(TEXT_FIELDS)}, and from the fields "
            "given by --id-field and --text-field"
        )
    raise ScoreError(f"{message}; answer them, or choose what they count as: --missing zero or --missing exclude")


def _left_out(answers: AnswerFiles) -> list[Problem]:
    """A problem for each answer file that holds no answers."""
    return [
        Problem(NO_ANSWERS, answers.names[number], None, None, f"left out: {why.message}")
        for number, why in answers.empty.items()
    ]


def _missing(ids: Sequence[str]) -> list[Problem]:
    """A problem for each row without an answer."""
    return [Problem("missing", "", None, id, f"{id!r} has no answer") for id in ids]


def _unknown_metrics(metrics: Mapping[str, int]) -> list[Problem]:
    """A problem for each metric that rows name and this release does not know; these rows have no score."""
    return [
        Problem(
            "unknown_metric",
            "",
            None,
            None,
            f"{count:,} {'row has' if count == 1 else 'rows have'} no score: {unknown_metric(name)}",
        )
        for name, count in metrics.items()
        if name not in METRIC_NAMES
    ]


def _collected(chunks: Iterator[pl.DataFrame], way: str) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """All chunks as one table of rows, and another one of samples if any row has several."""
    import polars as pl

    tables, every = [], []
    for chunk in chunks:
        tables.append(one_line_a_row(chunk, way))
        every.append(chunk)
    several = any(len(chunk) > len(rows) for chunk, rows in zip(every, tables, strict=True))
    # Sample counts have the same type in all chunks, even in those where every row has one sample.
    kind = samples_type(several=several)
    table = stacked([rows.with_columns(pl.col("samples").cast(kind)) for rows in tables])
    return table, pl.concat(every, how="diagonal", rechunk=False) if several else None


def _model_of(predictions: str | Path | Sequence[str | Path]) -> str:
    """The model's name if none is given: the name of the first answer file."""
    first = predictions if isinstance(predictions, str | Path) else next(iter(predictions), "model")
    name = Path(str(first)).name.partition(".")[0]
    return name if name.strip("-") and not glob.has_magic(name) else "model"


def _signature_of(name: str, digest8: str, options: ScoringOptions, missing: str) -> Callable[[int], str]:
    """A function from a metric's number of scores to its signature: one line that says how they were computed."""
    kind = METRICS[name].kind
    text = options.text if options.text != "own" else "raw" if kind == "compat" else "extracted"

    def signed(count: int) -> str:
        return f"niah|ds:{digest8}|metric:{name}/{kind}|text:{text}|missing:{missing}|n:{count}|v:{VERSION}"

    return signed
