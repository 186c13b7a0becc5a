"""Joins answers without ids to rows by placement, length, depth, question and needles.

An answer gets a row only if exactly one fits, or if all that fit hold the same prompt.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from niah_score.errors import ScoreError
from niah_score.formats.record import Coordinates

if TYPE_CHECKING:
    import polars as pl

    from niah_score.join.rows import Rows

# In percent. Systems write depths with all digits.
_SAME_DEPTH = 1e-6
_SHOWN = 3
_PLACE = ("file", "line", "coordinates")
_LATIN = frozenset("0123456789abcdefghijklmnopqrstuvwxyz")
# The rows with a length and a depth, by length, as dicts.
_Grid = Mapping[int, Sequence[Mapping[str, Any]]]


def as_json(coordinates: Coordinates) -> str:
    """Coordinates as JSON, which a column of a frame can hold."""
    return orjson.dumps(list(coordinates)).decode()


def _from_json(text: str) -> Coordinates:
    length, depth, needles, *others = orjson.loads(text)
    return Coordinates(length, depth, tuple(needles), *others)


def by_coordinates(asked: pl.DataFrame, rows: Rows) -> pl.DataFrame:
    """Answers with the `place` of the row that they fit, or with `why_lost`.

    Runs of one cell (seeds, versions) go to the repeats that hold the same prompt, in the order of their numbers; with
    more runs than repeats, the rest are further samples. Raises ScoreError for results of several models.
    """
    import polars as pl

    cells = {text: _from_json(text) for text in asked["coordinates"].unique()}
    _refuse_several_models(asked, cells)
    grid = _grid(rows)
    answers = [(text, tuple(known or ())) for text, known in asked.select("coordinates", "reference").iter_rows()]
    fits = {(text, known): _fit(cells[text], known, grid) for text, known in dict.fromkeys(answers)}
    runs: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for (text, _), (fitting, _) in fits.items():
        runs[fitting].add(_run(cells[text]))
    order = {fitting: {run: nth for nth, run in enumerate(sorted(group))} for fitting, group in runs.items()}
    placed: list[tuple[int | None, int, str | None]] = []
    for text, known in answers:
        fitting, why_lost = fits[text, known]
        sample, turn = divmod(order[fitting][_run(cells[text])], len(fitting)) if fitting else (0, 0)
        placed.append((fitting[turn] if fitting else None, sample, why_lost))
    kinds = {"place": pl.Int64, "sample": pl.Int64, "why_lost": pl.String}
    return asked.with_columns(pl.DataFrame(placed, kinds, orient="row"))


def _run(cell: Coordinates) -> int:
    return -(2**63) if cell.run is None else cell.run


def _refuse_several_models(asked: pl.DataFrame, cells: Mapping[str, Coordinates]) -> None:
    """Raise ScoreError for several models, whose answers would fit the same rows and be mixed."""
    models = {cells[text].model: f"{file}:{line}" for file, line, text in asked.select(_PLACE).reverse().iter_rows()}
    if len(models) > 1:
        shown = ", ".join(f"{model!r} ({place})" for model, place in list(models.items())[:_SHOWN])
        raise ScoreError(f"results of several models: {shown}; score each separately")


def _grid(rows: Rows) -> _Grid:
    """The rows except controls, which systems without ids do not have, in the order of their repeats.

    `needles` are stripped and sorted; `accepted`: answers and keywords, case-folded.
    """
    import polars as pl

    is_cell = pl.all_horizontal(pl.col("length", "depth_percent").is_not_null()) & pl.col("control").is_null()
    table = rows.whole().with_row_index("place").filter(is_cell).sort("repeat", "order", nulls_last=True)
    by_length: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in table.iter_rows(named=True):
        texts = [*row["answers"], *(word for group in row["keywords"] for word in group)]
        accepted = [text.strip().casefold() for text in texts if text and text.strip()]
        by_length[row["length"]].append({**row, "needles": _stripped(row["needles"]), "accepted": accepted})
    return by_length


def _stripped(texts: Sequence[str | None]) -> list[str]:
    """Texts without surrounding space, sorted."""
    return sorted(text.strip() for text in texts if text)


def _fit(cell: Coordinates, known: tuple[str, ...], grid: _Grid) -> tuple[tuple[int, ...], str | None]:
    """The places of the rows that an answer fits, or why there are none. `known`: the answer's references."""
    where = f"length {cell.length} and depth {cell.depth_percent:g}"
    there = [row for row in grid.get(cell.length, ()) if abs(row["depth_percent"] - cell.depth_percent) < _SAME_DEPTH]
    fitting = [row for row in there if _is_asked(row, cell, known)]
    if not fitting:
        return (), f"no row has {where}" + (", its placement, question, and needles or answer" if there else "")
    if len({row["prompt_sha256"] or row["id"] for row in fitting}) > 1:
        shown = ", ".join(row["id"] for row in fitting[:_SHOWN])
        return (), (
            f"{len(fitting)} rows with {where} fit, but hold different prompts ({shown}); give each answer the id of "
            "its row"
        )
    return tuple(row["place"] for row in fitting), None


def _is_asked(row: Mapping[str, Any], cell: Coordinates, known: tuple[str, ...]) -> bool:
    """Whether a row of the same length and depth may be the one that was answered."""
    if row["placement"] not in (None, cell.placement):
        return False
    if cell.question is not None and row["question"] is not None and cell.question.strip() != row["question"].strip():
        return False
    if cell.needles and row["needles"]:
        return bool(_stripped(cell.needles) == row["needles"])
    told = "\n".join((*cell.needles, *known)).casefold()
    return any(_mentions(told, text) for text in row["accepted"])


def _mentions(known: str, text: str) -> bool:
    """Whether `text` is in another text, but not inside a longer number or Latin word: 42 does not mention 4."""
    before, after = (r"(?<![0-9a-z])" if text[0] in _LATIN else ""), (r"(?![0-9a-z])" if text[-1] in _LATIN else "")
    return text in known and re.search(before + re.escape(text) + after, known) is not None
