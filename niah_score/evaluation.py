"""Scores answer files against a dataset: reads, joins and judges them, and returns a Report."""

from __future__ import annotations

import gc
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from niah_score.contract import METRIC_NAMES, VERSION, unknown_metric
from niah_score.errors import ResourceError, ScoreError, check_choice
from niah_score.formats import AnswerFile, expand, model_of, read_answers
from niah_score.formats.plain import ID_FIELDS, TEXT_FIELDS
from niah_score.formats.record import NoAnswersError
from niah_score.join.join import NO_ANSWERS, ON_DUPLICATE, WAYS, Joined, Problem, join, lines_of, one_line_each
from niah_score.join.reading import LONGEST, read_files
from niah_score.join.rows import Rows, read_rows
from niah_score.machine.processes import processes
from niah_score.metrics import METRICS, check_metrics, default_metrics
from niah_score.report.report import TOOLS_GIVEN, WITH_TOOLS, Report
from niah_score.scoring.extract_answer import REASONING_TAGS
from niah_score.scoring.findings import SHORTENED, STATUSES
from niah_score.scoring.score import SCORED_COLUMNS, ScoringOptions, score_chunk, score_columns, targets_of, with_scores
from niah_score.scoring.usage import shortened, shortening, with_shortened
from niah_score.text.visible import without_surrogates

if TYPE_CHECKING:
    import polars as pl

    from niah_score.scoring.rubric import Rubric

MISSING = ("error", "zero", "exclude")
_SHOWN_MISSING = 3
# Lines that are judged together: so many, or as many as have about so many bytes of text.
_CHUNK_ROWS = 16_384
_CHUNK_BYTES = 64_000_000


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
    tools: bool = False,
    jobs: int = 1,
) -> Report:
    """Score answers against a dataset's rows.

    `dataset`: a folder, one of its files, or any Parquet or JSONL file with id, answers and keywords.
    `predictions`: files, globs or folders in any format that `niah-score formats` lists.
    `metrics`: in addition to each row's own; by default keyword, exact, edit, char_f1 and the three of CDME.
    `missing`: what rows without an answer count as; `error` refuses to score.
    `samples`: repeated ids are samples, and how to combine them (mean for formats that have samples themselves).
    `text`: `raw` or `extracted` makes all metrics judge that text.
    `by_order`: allow files without ids and prompts, joined by order.
    `tools`: the model had tools, such as reading files; also if a plain record's field `tools` says so.
    `jobs`: processes, used if there are enough answers.

    Raises ScoreError, ContractError and their subclasses, naming file and line.
    """
    check_choice("missing", missing, MISSING)
    check_choice("on_duplicate", on_duplicate, ON_DUPLICATE)
    check_choice("samples", samples or "mean", WAYS)
    check_choice("text", text, ("own", "raw", "extracted"))
    asked = tuple(dict.fromkeys(metrics if metrics is not None else default_metrics()))
    check_metrics(asked)
    files = _answer_files(predictions, id_field, text_field)
    options = ScoringOptions(asked, text, "exclude" if missing == "exclude" else "zero", tuple(tags))

    rows = read_rows(Path(dataset))
    empty: list[NoAnswersError] = []
    joined = join(
        rows, read_files(files, empty), on_duplicate=on_duplicate, repeats_are_samples=samples is not None,
        by_order=by_order,
    )  # fmt: skip
    _refuse_missing(joined, missing, rows.table.height)
    every = _judged(lines_of(rows, joined.answers), rows.targets, options, jobs)
    tools = tools or joined.tools
    # A model with tools may read the rest of a prompt from a file.
    cut = shortened(every) & (not tools)
    every, why_cut = with_shortened(every, cut), shortening(every, cut)
    table = one_line_each(every, samples or "mean", [name for name in every.columns if name in ("score", *METRICS)])

    named: dict[str, int] = dict(rows.table["metric"].value_counts().sort("metric").iter_rows())
    known = (*asked, *(name for name in named if name in METRICS and name not in asked))
    counted: dict[str, int] = dict(table["status"].value_counts().iter_rows())
    report = Report(
        dataset=rows.name,
        digest8=rows.digest8,
        model=model_of(model, predictions) + WITH_TOOLS * tools,
        metrics=known,
        scores=table,
        samples=every if every.height > table.height else None,
        statuses={status: counted.get(status, 0) for status in STATUSES},
        lines=joined.lines,
        problems=[*joined.problems, *_problems(empty, joined.missing, named, int(table["capped"].sum()), why_cut)],
        signatures={name: _signature(name, rows, table, options, missing, tools) for name in known},
        parts=rows.parts,
        rows=rows,
    )
    if sum(report.statuses.values()) != rows.table.height:
        raise AssertionError(f"statuses {report.statuses} do not add up to {rows.table.height} rows")
    if report.lines.read != sum(report.lines[1:]):
        raise AssertionError(f"lines do not add up: {report.lines}")
    return report


def _judged(lines: pl.DataFrame, targets: pl.DataFrame, options: ScoringOptions, jobs: int) -> pl.DataFrame:
    """The scores of all lines, judged in chunks; where there are several, by `jobs` processes at once."""
    import polars as pl

    size = int(lines["text"].str.len_bytes().sum())
    rows = max(1, min(_CHUNK_ROWS, _CHUNK_BYTES * lines.height // max(size, 1)))
    scored: list[pl.DataFrame] = []
    begun: deque[Future[pl.DataFrame]] = deque()
    several = jobs > 1 and lines.height > 2 * rows
    workers = processes(jobs, _begin_worker, raising=ResourceError) if several else nullcontext()
    with workers as pool:
        for chunk in lines.iter_slices(rows):
            case = chunk.select(SCORED_COLUMNS), *targets_of(chunk, targets), options
            if pool is None:
                scored.append(score_chunk(*case))
                continue
            begun.append(pool.submit(score_chunk, *case))
            # No more chunks than these are held in memory, in the order in which they were begun.
            if len(begun) > 2 * jobs:
                scored.append(begun.popleft().result())
        scored += [future.result() for future in begun]
    # A chunk has only the metrics of its own rows.
    together = pl.concat(scored, how="diagonal", rechunk=False)
    return with_scores(lines, together.select(score_columns(options, lines["metric"].unique())))


def _begin_worker() -> None:
    """Use one thread, as every core has a worker, and no garbage collection, as workers create no reference cycles."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    gc.disable()


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
    text = rubric.text + TOOLS_GIVEN * report.tools
    signature = (
        f"niah|ds:{report.digest8}|metric:judge/{rubric.name}-{rubric.digest8}|text:{text}|missing:{missing}"
        f"|n:{count}|v:{VERSION}"
    )
    return replace(
        report,
        scores=scores,
        metrics=tuple(dict.fromkeys((*report.metrics, "judge"))),
        problems=[*report.problems, *imported.problems],
        signatures={**report.signatures, "judge": signature},
        rows=rows,
    )


def _answer_files(
    predictions: str | Path | Sequence[str | Path], id_field: str | None, text_field: str | None
) -> list[AnswerFile]:
    listed = [predictions] if isinstance(predictions, str | Path) else list(predictions)
    return [read_answers(path, id_field=id_field, text_field=text_field) for path in expand(listed)]


def _refuse_missing(joined: Joined, missing: str, rows: int) -> None:
    """Raise ScoreError if rows have no answer and the user has not chosen what they count as.

    The message mentions lines that may have held the missing answers.
    """
    absent, lines = joined.missing, joined.lines
    if not absent or missing != "error":
        return
    shown = ", ".join(absent[:_SHOWN_MISSING]) + (", ..." if len(absent) > _SHOWN_MISSING else "")
    message = f"{len(absent):,} of {rows:,} rows have no answer ({shown})"
    for kind, count in (("malformed", lines.malformed), ("unknown", lines.unknown)):
        if count:
            first = next(problem for problem in joined.problems if problem.kind == kind)
            message += f"; {lines.read:,} lines read, {count:,} {kind}, the first: {first}"
    if lines.malformed:
        message += (
            f"; ids are read from {', '.join(ID_FIELDS)}, texts from {', '.join(TEXT_FIELDS)}, and from the fields "
            "given by --id-field and --text-field"
        )
    raise ScoreError(f"{message}; answer them, or choose what they count as: --missing zero or --missing exclude")


def _problems(
    empty: Sequence[NoAnswersError], missing: Sequence[str], metrics: Mapping[str, int], capped: int, cut: str | None
) -> Iterator[Problem]:
    """Problems of files, of rows without an answer or a known metric, of answers judged in part, and of cut prompts."""
    for why in empty:
        yield Problem(NO_ANSWERS, without_surrogates(why.path), None, None, f"left out: {why.message}")
    for name in missing:
        yield Problem("missing", "", None, name, f"{name!r} has no answer")
    for metric, count in metrics.items():
        if metric not in METRIC_NAMES:
            rows = "row has" if count == 1 else "rows have"
            message = f"{count:,} {rows} no score: {unknown_metric(metric)}"
            yield Problem("unknown_metric", "", None, None, message)
    if capped:
        message = f"answers longer than {LONGEST:,} characters, of which only the last part is judged: {capped:,}"
        yield Problem("capped", "", None, None, message)
    if cut is not None:
        yield Problem(SHORTENED, "", None, None, cut)


def _signature(name: str, rows: Rows, table: pl.DataFrame, options: ScoringOptions, missing: str, tools: bool) -> str:
    """One line that says how a metric's scores were computed, and how many rows have one."""
    kind = METRICS[name].kind
    text = options.text if options.text != "own" else "raw" if kind == "compat" else "extracted"
    count = table.height - table[name].null_count()
    judged = f"metric:{name}/{kind}|text:{text}{TOOLS_GIVEN * tools}"
    return f"niah|ds:{rows.digest8}|{judged}|missing:{missing}|n:{count}|v:{VERSION}"
