"""Reads other systems' results that come cell by cell, with the scores that those systems gave.

gkamradt's test writes one JSON object to a file, with model, context_length, depth_percent and the judge's score of 1
to 10, which is drawn times ten. needlehaystack 2 writes one line per cell, with a score of 0 to 1. A row of a LangSmith
experiment has the scores of its evaluators, 0 to 1, and length and depth_percent in the metadata of its example, where
our export puts them. Objects may be lines of a .jsonl file, entries of a list, or separate files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from niah_score.errors import ScoreError
from niah_score.machine.refusals import reading
from niah_score.report.charts.grid import Grid, grid_of
from niah_score.text.visible import without_surrogates

LONGEST = 10**9  # tokens
VERDICT = "verdict x 10"
# The scorers of needlehaystack 2, by the tasks that use them.
_SCORERS = {"single": "exact_match", "multi": "exact_match", "uuid": "exact_match", "uuid_chain": "chain_match"}


class _Run(NamedTuple):
    """What the results in one picture have in common."""

    model: str
    task: str = ""
    name: str = ""


class _Result(NamedTuple):
    """One result: its cell in tokens and percent, and its scores in points, None if there is no answer."""

    run: _Run
    length: int
    depth: float
    scores: dict[str, float | None]


def text_of(path: Path) -> str:
    """The text of a file. Raises ScoreError if it cannot be read, or is not UTF-8."""
    try:
        with reading(path):
            return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ScoreError(f"{path}:{line}: is not UTF-8; save it as UTF-8") from None


def read_cells(path: Path, metric: str | None = None) -> list[Grid]:
    """The grids of a file or folder of results: one for each model, task and run, sorted by name.

    `metric`: which score, if results have several. Raises ScoreError, with file and line, for anything but a result.
    """
    runs: dict[_Run, list[_Result]] = {}
    for place, record in _records(path):
        result = _result(place, record)
        runs.setdefault(result.run, []).append(result)
    if not runs:
        raise ScoreError(
            f"{path}: has no results; expected JSON objects with context_length and depth_percent (gkamradt's test), "
            "with context_length and target_depth_percent (needlehaystack 2), or rows of a LangSmith experiment"
        )
    metrics = sorted({name for results in runs.values() for result in results for name in result.scores})
    if not metrics:
        raise ScoreError(f"{path}: its results have no scores; score their answers with niah-score score")
    if metric is not None and metric not in metrics:
        raise ScoreError(f"{path}: has no metric {metric!r}; it has {', '.join(metrics)}")
    names = _names(list(runs))
    grids = []
    for run in sorted(runs):
        scores = sorted({name for result in runs[run] for name in result.scores})
        if metric is None and len(scores) > 1:
            raise ScoreError(f"{path}: has several metrics ({', '.join(scores)}); choose one with --metric")
        if metric in (None, *scores) and scores:
            grids.append(_grid(runs[run], metric or scores[0], names[run], path.name))
    return grids


def _names(runs: list[_Run]) -> dict[_Run, str]:
    """A name for each run: its model, then its task and its name if those differ between runs."""
    differing = [field for field in ("task", "name") if len({getattr(run, field) for run in runs}) > 1]
    return {
        run: ", ".join(dict.fromkeys([run.model, *filter(None, (getattr(run, field) for field in differing))]))
        for run in runs
    }


def _grid(results: list[_Result], metric: str, model: str, dataset: str) -> Grid:
    import polars as pl

    cells = [(result.length, result.depth, result.scores.get(metric)) for result in results]
    # Numbered in this order, so that intervals do not depend on the names of the files.
    ordered = sorted(cells, key=lambda cell: (cell[0], cell[1], -1.0 if cell[2] is None else cell[2]))
    none = pl.Series([None] * len(ordered), dtype=pl.String)
    frame = pl.DataFrame(
        {
            "id": [f"{number:09}" for number in range(len(ordered))],
            "length": pl.Series([length for length, _, _ in ordered], dtype=pl.Int64),
            "depth_percent": pl.Series([depth for _, depth, _ in ordered], dtype=pl.Float64),
            "language": none,
            "needle_id": none,
            "haystack_id": none,
            "status": ["missing" if score is None else "ok" for _, _, score in ordered],
            # Not under the metric's own name, which may clash with another column.
            "score": pl.Series([score for _, _, score in ordered], dtype=pl.Float64),
        }
    )
    return replace(grid_of(frame, model=model, dataset=dataset), metric=metric)


def _records(path: Path) -> Iterator[tuple[str, Any]]:
    """(where, JSON value) of every result; lists give one for each entry."""
    files = sorted((*path.glob("*.json"), *path.glob("*.jsonl"))) if path.is_dir() else [path]
    for file in files:
        if file.suffix.lower() == ".jsonl":
            lines = text_of(file).split("\n")
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield f"{file}:{number}", _parsed(f"{file}:{number}", line)
            continue
        value = _parsed(str(file), text_of(file))
        if isinstance(value, list):
            yield from ((f"{file}: entry {number}", entry) for number, entry in enumerate(value, 1))
        else:
            yield str(file), value


def _parsed(place: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ScoreError(f"{place}: is not JSON ({error})") from None


def _result(place: str, record: Any) -> _Result:
    if not isinstance(record, dict):
        raise ScoreError(f"{place}: expected an object with context_length, depth_percent and score")
    if "target_depth_percent" in record:
        return _of_needlehaystack2(place, record)
    if isinstance(record.get("example"), dict) or isinstance(record.get("runs"), list):
        return _of_langsmith(place, record)
    if any(name.partition(".")[0] == "inputs" for name in record):
        raise ScoreError(
            f"{place}: a LangSmith run without its example, whose metadata has length and depth_percent; export the "
            "rows of the experiment (run, example, evaluation_results), or score it with niah-score score"
        )
    length, depth = _cell(place, record, "context_length", "depth_percent")
    score = None if record.get("score") is None else _number(place, record, "score", 1, 10, "as the judge gives it")
    return _Result(
        _Run(_text(place, record, "model", "model")), length, depth, {VERDICT: None if score is None else 10 * score}
    )


def _of_needlehaystack2(place: str, record: dict[str, Any]) -> _Result:
    length, depth = _cell(place, record, "context_length", "target_depth_percent")
    task = _text(place, record, "task_type", "")
    run = _Run(_text(place, record, "model_id", "model"), task, _text(place, record, "run_name", ""))
    score = record.get("score")
    if score is None:
        points = None
    elif isinstance(score, dict):
        points = 100 * _number(f"{place}: score", score, "value", 0, 1, "a share")
    else:
        raise ScoreError(f"{place}: score: is {str(score)[:40]!r}; expected an object with `value`, or null")
    return _Result(run, length, depth, {_SCORERS.get(task, "score"): points})


def _of_langsmith(place: str, record: dict[str, Any]) -> _Result:
    """A row of an experiment, or an example with its run."""
    run = record.get("run")
    if not isinstance(run, dict):
        runs = [entry for entry in _list(place, record, "runs") if isinstance(entry, dict)]
        if len(runs) > 1:
            raise ScoreError(f"{place}: runs: found {len(runs)}, expected one; export the rows of the experiment")
        run = runs[0] if runs else {}
    example = record["example"] if isinstance(record.get("example"), dict) else record
    metadata = example.get("metadata")
    if not isinstance(metadata, dict):
        raise ScoreError(f"{place}: its example has no metadata; expected length and depth_percent in it")
    length, depth = _cell(f"{place}: metadata", metadata, "length", "depth_percent")
    extra = run.get("extra")
    about_run = extra.get("metadata") if isinstance(extra, dict) else None
    model = _text(place, about_run, "ls_model_name", "model") if isinstance(about_run, dict) else "model"
    failed = run.get("error") is not None or not run
    scores: dict[str, float | None] = {}
    for name, feedback, field in _feedback(place, record, run):
        if name in scores:
            raise ScoreError(f"{place}: evaluation_results: two have the key {name!r}; expected one score per key")
        value = feedback.get(field)
        scores[name] = None if failed or value is None else 100 * _share(f"{place}: {name}", feedback, field)
    return _Result(_Run(model), length, depth, scores)


def _feedback(place: str, record: dict[str, Any], run: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """For every score its name, the object that holds it, and the field that it is in."""
    evaluated = record.get("evaluation_results")
    if isinstance(evaluated, dict):
        for result in _list(f"{place}: evaluation_results", evaluated, "results"):
            if not isinstance(result, dict) or not isinstance(result.get("key"), str):
                raise ScoreError(f"{place}: evaluation_results: expected objects with `key` and `score`")
            yield without_surrogates(result["key"]), result, "score"
        return
    stats = run.get("feedback_stats")
    for name, stat in (stats if isinstance(stats, dict) else {}).items():
        if isinstance(stat, dict):
            yield without_surrogates(name), stat, "avg"


def _share(place: str, feedback: dict[str, Any], field: str) -> float:
    value = feedback[field]
    return float(value) if isinstance(value, bool) else _number(place, feedback, field, 0, 1, "a share")


def _cell(place: str, record: dict[str, Any], length: str, depth: str) -> tuple[int, float]:
    tokens = _number(place, record, length, 1, LONGEST, "tokens")
    if tokens != int(tokens):
        raise ScoreError(f"{place}: {length}: {tokens} is not a whole number of tokens")
    return int(tokens), _number(place, record, depth, 0, 100, "percent")


def _text(place: str, record: dict[str, Any], name: str, missing: str) -> str:
    value = record.get(name)
    if value is None:
        return missing
    if not isinstance(value, str):
        raise ScoreError(f"{place}: {name}: is {str(value)[:40]!r}; expected a text, or null")
    return without_surrogates(value)


def _list(place: str, record: dict[str, Any], name: str) -> list[Any]:
    value = record.get(name)
    if value is not None and not isinstance(value, list):
        raise ScoreError(f"{place}: {name}: is {str(value)[:40]!r}; expected a list, or null")
    return value or []


def _number(place: str, record: dict[str, Any], name: str, low: float, high: float, unit: str) -> float:
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        found = "is missing" if name not in record else f"is {str(value)[:40]!r}"
        raise ScoreError(f"{place}: {name}: {found}; expected a number of {low:g} to {high:g}, {unit}")
    return float(value)
