"""Joins answers without ids to rows by placement, length, depth, question and needles.

An answer gets a row only if exactly one fits, or if all that fit hold the same prompt.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import orjson

from niah_score.errors import ScoreError
from niah_score.formats.record import Coordinates

if TYPE_CHECKING:
    import polars as pl

    from niah_score.join.rows import Rows

# In percent. Systems write depths with all digits.
_SAME_DEPTH = 1e-6
_SHOWN = 3
_LATIN = frozenset("0123456789abcdefghijklmnopqrstuvwxyz")


def as_json(coordinates: Coordinates) -> str:
    """Coordinates as JSON, which a column of a frame can hold."""
    return orjson.dumps(list(coordinates)).decode()


def _from_json(text: str) -> Coordinates:
    length, depth, needles, *others = orjson.loads(text)
    return Coordinates(length, depth, tuple(needles), *others)


class _GridRow(NamedTuple):
    """A row of a grid. `accepted`: its answers and keywords, case-folded; `prompt`: the sha256 of its prompt."""

    place: int
    id: str
    depth: float
    question: str | None
    needles: tuple[str, ...]
    accepted: tuple[str, ...]
    prompt: str | None
    placement: str | None


class _Fit(NamedTuple):
    """The rows that an answer fits, in the order of their repeats, or why there are none."""

    rows: tuple[_GridRow, ...] = ()
    why_lost: str | None = None


def by_coordinates(asked: pl.DataFrame, rows: Rows, names: Sequence[str]) -> pl.DataFrame:
    """Answers with the `place` of the row that they fit, or with `why_lost`.

    Runs of one cell (seeds, versions) go to the repeats that hold the same prompt, in the order of their numbers; with
    more runs than repeats, the rest are further samples. Raises ScoreError for results of several models.
    """
    import polars as pl

    cells = {text: _from_json(text) for text in asked["coordinates"].unique()}
    _refuse_several_models(asked, cells, names)
    by_length = _rows_by_length(rows)
    answers = [
        (text, tuple(reference or ())) for text, reference in asked.select("coordinates", "reference").iter_rows()
    ]
    fits = {(text, reference): _fit(cells[text], reference, by_length) for text, reference in dict.fromkeys(answers)}
    runs: dict[tuple[_GridRow, ...], set[int]] = defaultdict(set)
    for (text, _), fit in fits.items():
        runs[fit.rows].add(_run(cells[text]))
    order = {fitting: {run: nth for nth, run in enumerate(sorted(group))} for fitting, group in runs.items()}
    places: list[int | None] = []
    samples: list[int] = []
    lost: list[str | None] = []
    for text, reference in answers:
        fit = fits[text, reference]
        nth = order[fit.rows][_run(cells[text])] if fit.rows else 0
        places.append(fit.rows[nth % len(fit.rows)].place if fit.rows else None)
        samples.append(nth // len(fit.rows) if fit.rows else 0)
        lost.append(fit.why_lost)
    return asked.with_columns(
        pl.Series("place", places, dtype=pl.Int64),
        pl.Series("sample", samples, dtype=pl.Int64),
        pl.Series("why_lost", lost, dtype=pl.String),
    )


def _run(cell: Coordinates) -> int:
    return -(2**63) if cell.run is None else cell.run


def _refuse_several_models(asked: pl.DataFrame, cells: Mapping[str, Coordinates], names: Sequence[str]) -> None:
    """Raise ScoreError for several models, whose answers would fit the same rows and be mixed."""
    first: dict[str, str] = {}
    for file, line, text in asked.select("file", "line", "coordinates").iter_rows():
        first.setdefault(cells[text].model, f"{names[file]}:{line}")
    if len(first) > 1:
        (one, _), (other, place) = list(first.items())[:2]
        raise ScoreError(
            f"{place}: a result of the model {other!r} among those of {one!r}; score each model separately: name only "
            "its files, and split files that hold results of several models"
        )


def _rows_by_length(rows: Rows) -> dict[int, list[_GridRow]]:
    """The rows with a length and a depth, except controls, which systems without ids do not have."""
    import polars as pl

    table = rows.whole().with_row_index("place")
    grid = table.filter(
        pl.col("length").is_not_null() & pl.col("depth_percent").is_not_null() & pl.col("control").is_null()
    ).sort("repeat", "order", nulls_last=True)
    by_length: dict[int, list[_GridRow]] = defaultdict(list)
    for row in grid.iter_rows(named=True):
        accepted = [*row["answers"], *(word for group in row["keywords"] for word in group)]
        by_length[row["length"]].append(
            _GridRow(
                row["place"], row["id"], row["depth_percent"], row["question"], _stripped(row["needles"]),
                tuple(text.strip().casefold() for text in accepted if text and text.strip()), row["prompt_sha256"],
                row["placement"],
            )
        )  # fmt: skip
    return by_length


def _stripped(texts: Sequence[str | None]) -> tuple[str, ...]:
    """Texts without surrounding space, sorted."""
    return tuple(sorted(text.strip() for text in texts if text))


def _fit(cell: Coordinates, reference: tuple[str, ...], by_length: Mapping[int, Sequence[_GridRow]]) -> _Fit:
    where = f"length {cell.length} and depth {cell.depth_percent:g}"
    there = [row for row in by_length.get(cell.length, ()) if abs(row.depth - cell.depth_percent) < _SAME_DEPTH]
    if not there:
        return _Fit(why_lost=f"no row has {where}")
    fitting = tuple(row for row in there if not any(_differences(row, cell, reference)))
    if not fitting:
        differs = " and ".join(dict.fromkeys(_differences(there[0], cell, reference)))
        return _Fit(why_lost=f"no row with {where} fits: {there[0].id!r} has {differs}")
    if len(fitting) > 1 and len({row.prompt or row.id for row in fitting}) > 1:
        shown = ", ".join(row.id for row in fitting[:_SHOWN])
        return _Fit(
            why_lost=f"{len(fitting)} rows with {where} fit, but hold different prompts ({shown}); give each answer "
            "the id of its row"
        )
    return _Fit(fitting)


def _differences(row: _GridRow, cell: Coordinates, reference: tuple[str, ...]) -> Iterator[str]:
    """How a row differs from the one that was answered."""
    if row.placement not in (None, cell.placement):
        yield f"the placement {row.placement!r} and not {cell.placement!r}"
    if cell.question is not None and row.question is not None and cell.question.strip() != row.question.strip():
        yield "another question"
    if cell.needles and row.needles:
        if _stripped(cell.needles) != row.needles:
            yield "other needles"
    else:
        known = "\n".join((*cell.needles, *reference)).casefold()
        if not any(_mentions(known, text) for text in row.accepted):
            yield "other answers"


def _mentions(known: str, text: str) -> bool:
    """Whether `text` is in another text, but not inside a longer number or Latin word: 42 does not mention 4."""
    before, after = (r"(?<![0-9a-z])" if text[0] in _LATIN else ""), (r"(?![0-9a-z])" if text[-1] in _LATIN else "")
    return text in known and re.search(before + re.escape(text) + after, known) is not None
