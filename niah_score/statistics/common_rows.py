"""Reduces scored runs to their common rows, and refuses runs of different datasets or metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from niah_score.errors import IntegrityError, ScoreError
from niah_score.statistics.scored import Scored

if TYPE_CHECKING:
    import polars as pl

# The coordinates of a row; they are the same in all runs of one dataset.
_PLACE = ("task", "part", "language", "length", "depth_percent", "needle_id", "haystack_id", "repeat")
# The columns of a run that are read in addition to its scores.
COMPARED = ("id", *_PLACE, "control", "metric", "status")


class CommonRows(NamedTuple):
    """Runs reduced to their common rows. `rows`: how many each had. `notes`: sentences on the rows left out."""

    metric: str
    names: tuple[str, ...]
    rows: tuple[int, ...]
    kept: tuple[Scored, ...]
    notes: tuple[str, ...]


def common_rows(
    runs: Sequence[tuple[str, pl.DataFrame]], metric: str = "score", weights: Mapping[str, float] | None = None
) -> CommonRows:
    """Reduce runs, given as (name, scored frame with one line per row), to the ids that all of them have.

    `weights`: of the parts, as in `Scored`.

    Raises ScoreError if there are fewer than two runs, two share a name, a run lacks the metric, or runs score a row by
    different metrics; IntegrityError if they are of different datasets.
    """
    names = [name for name, _ in runs]
    if len(names) < 2:
        raise ScoreError(f"a comparison needs two runs or more, found {len(names)}")
    if len(set(names)) < len(names):
        again = next(name for name in names if names.count(name) > 1)
        raise ScoreError(f"two runs are called {again!r}; give each its own name")
    lacking = [name for name, frame in runs if metric not in frame.columns]
    if lacking:
        raise ScoreError(f"{lacking[0]}: its scores have no column {metric!r}; score every run with the same metrics")
    known = {*COMPARED, "score", metric}
    scored = [Scored(frame.select(name for name in frame.columns if name in known), weights) for _, frame in runs]
    ids = _shared(names, scored)
    kept = [
        run
        if run.height == ids.height
        else Scored(run.frame.join(ids, on="id", how="semi", maintain_order="left"), weights)
        for run in scored
    ]
    _placed_alike(names, kept)
    if metric == "score":
        _judged_alike(names, kept)
    notes = []
    for name, whole in zip(names, scored, strict=True):
        left_out = whole.frame.height - ids.height
        if left_out:
            strange = whole.frame.join(ids, on="id", how="anti", maintain_order="left")["id"][0]
            notes.append(
                f"{name}: {left_out} of its {whole.frame.height} rows are not in every run and are left out, "
                f"such as {strange!r}"
            )
    return CommonRows(metric, tuple(names), tuple(run.frame.height for run in scored), tuple(kept), tuple(notes))


def _shared(names: Sequence[str], scored: Sequence[Scored]) -> pl.DataFrame:
    """The ids that all runs have, sorted."""
    ids = scored[0].frame.select("id")
    for name, run in zip(names[1:], scored[1:], strict=True):
        if run.frame["id"].equals(ids["id"]):
            continue
        rest = ids.join(run.frame.select("id"), on="id", how="semi", maintain_order="left")
        if not rest.height:
            if not (run.frame.height and ids.height):
                raise ScoreError(f"{name} and {names[0]}: no rows to compare")
            raise IntegrityError(
                f"{name}: has no row in common with {names[0]}: its ids begin with {run.frame['id'][0][:8]!r}, not "
                f"{ids['id'][0][:8]!r}; only runs of the same dataset can be compared"
            )
        ids = rest
    return ids


def _placed_alike(names: Sequence[str], kept: Sequence[Scored]) -> None:
    """Raise IntegrityError if the rows of an id differ between two runs."""
    first = kept[0].frame
    for name, run in zip(names[1:], kept[1:], strict=True):
        for column in _PLACE:
            if column not in first.columns or column not in run.frame.columns:
                continue
            differs = first[column].ne_missing(run.frame[column]).arg_true()
            if len(differs):
                place = differs[0]
                raise IntegrityError(
                    f"{first['id'][place]!r} has {column} {first[column][place]!r} in {names[0]} and "
                    f"{run.frame[column][place]!r} in {name}; only runs of the same dataset can be compared"
                )


def _judged_alike(names: Sequence[str], kept: Sequence[Scored]) -> None:
    """Raise ScoreError if two runs judge a row by different metrics."""
    first = kept[0].frame["metric"]
    for name, run in zip(names[1:], kept[1:], strict=True):
        differs = first.ne_missing(run.frame["metric"]).arg_true()
        if len(differs):
            place = differs[0]
            raise ScoreError(
                f"{run.frame['id'][place]!r} is judged by {first[place]} in {names[0]} and by "
                f"{run.frame['metric'][place]} in {name}; name a metric that both have"
            )
