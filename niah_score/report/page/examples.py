"""Chooses the rows that a report's page shows: of every cell the worst, needles taking turns; long texts are cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from niah_score.contract import needle_kind
from niah_score.report.page.data import cells_of_rows, rows_of, short
from niah_score.report.report import Report

if TYPE_CHECKING:
    import polars as pl


class Step(NamedTuple):
    """How much a page shows: examples per cell, and characters per text."""

    examples: int
    characters: int


LADDER = (
    *(Step(20, characters) for characters in (4000, 2000, 1000, 600)),
    *(Step(examples, 600) for examples in (17, 14, 12, 10, 8)),
    *(Step(examples, 300) for examples in (6, 5, 4, 3, 2, 1)),
    Step(0, 0),
)
# Kinds of answers, from the worst.
_WRONG, _UNANSWERED, _RIGHT = 0, 1, 2
_NAMES = ("part", "language", "corpus", "needle_id", "control", "task", "status", "finding", "metric")
# Bytes of an example besides its texts, at least.
_FRAME = 150
# Accepted answers, needles and keywords shown of a row.
_MOST_LISTED = 50


class Chooser:
    """Chooses examples among a report's rows: the same ones for the same report. `data`: what `data_of` returns."""

    def __init__(self, report: Report, data: dict[str, Any]) -> None:
        import polars as pl

        rows = rows_of(report)
        self._metrics: list[str] = data["metrics"]
        ranked = _ranked(report)
        # Every row that any page could show, with all columns of its scores and of its truth.
        frame = pl.concat([ranked, rows.frame[ranked["_row"]]], how="horizontal")
        truth = pl.DataFrame(schema={"id": pl.String, "_question": pl.String, "_target": pl.Int64})
        if report.rows is not None:
            truth = report.rows.table.select("id", _question="question", _target="target")
        self._frame = frame.join(truth, on="id", how="left", maintain_order="left")
        self._targets = None if report.rows is None else report.rows.targets

    def _shown(self, step: Step) -> pl.DataFrame:
        """The rows to show, by cell, the worst first."""
        import polars as pl

        return self._frame.filter(pl.col("_worst") < step.examples)

    def estimate(self, step: Step) -> int:
        """Roughly how many bytes the examples take: rather too few than too many."""
        import polars as pl

        texts = self._shown(step).select("id", "prediction", "extracted")
        cut = pl.all().str.head(step.characters).str.len_bytes().sum()
        return int(sum(texts.select(cut).fill_null(0).row(0))) + _FRAME * texts.height

    def examples(self, step: Step) -> dict[str, Any]:
        """The examples of all cells, as columns; `truth` is an index into `texts`."""
        import polars as pl

        frame = self._shown(step)
        names: dict[str, list[str | None]] = {name: _column(frame, name) for name in _NAMES}
        names["needle_id"] = [value and needle_kind(value) for value in names["needle_id"]]
        truth, texts = self._truths(frame, step)
        scores = [
            [None if value is None else round(value, 4) for value in frame[name].cast(pl.Float64).to_list()]
            for name in self._metrics
        ]
        columns = {
            "cell": frame["_cell"].to_list(),
            "id": [short(name) for name in frame["id"].to_list()],
            "length": frame["length"].to_list(),
            "depth": frame["depth_percent"].to_list(),
            **{name: [value and short(value) for value in values] for name, values in names.items()},
            "scores": [list(row) for row in zip(*scores, strict=True)],
            "question": [_cut(text, step.characters) for text in frame["_question"]],
            "prediction": [_cut(text, step.characters) for text in frame["prediction"]],
            "extracted": [_cut(text, step.characters) for text in frame["extracted"]],
            "error": [None if text is None else short(text, 1000) for text in frame["error"].to_list()],
            "reasoning": frame["reasoning"].str.len_chars().to_list(),
            "samples": _column(frame, "samples"),
            "hits": _column(frame, "keyword.needles"),
            "truth": truth,
        }
        return {
            "most": step.examples,
            "asked": LADDER[0].examples,
            "characters": step.characters,
            "cut": any(isinstance(text, list) for name in ("prediction", "extracted") for text in columns[name]),
            "texts": texts,
            "columns": columns,
        }

    def _truths(self, frame: pl.DataFrame, step: Step) -> tuple[list[int | None], list[dict[str, Any]] | None]:
        """For each row the index of its texts; then the texts. Without the dataset, None."""
        if self._targets is None:
            return [None] * frame.height, None
        used = frame["_target"].drop_nulls().unique(maintain_order=True)
        texts = [
            {
                "answers": [_cut(text, step.characters) for text in lists["answers"][:_MOST_LISTED]],
                "needles": [_cut(text, step.characters) for text in lists["needles"][:_MOST_LISTED]],
                "keywords": [[short(w) for w in group[:_MOST_LISTED]] for group in lists["keywords"][:_MOST_LISTED]],
            }
            for lists in self._targets[used].iter_rows(named=True)
        ]
        places = {target: place for place, target in enumerate(used)}
        return [places.get(target) for target in frame["_target"]], texts


def _column(frame: pl.DataFrame, name: str) -> list[Any]:
    """The values of a column; null for every row if there is no such column, as in scores of older releases."""
    return frame[name].to_list() if name in frame.columns else [None] * frame.height


def _ranked(report: Report) -> pl.DataFrame:
    """Rows that any page could show, by cell and from the worst: number, cell, and rank from the worst (`_worst`).

    Wrong answers come first, then rows without an answer, then right ones; among equals, needles take turns. A cell's
    controls, and its rows of parts that are in no score, are ranked separately from its other rows.
    """
    import numpy as np
    import polars as pl

    scored, most = rows_of(report), LADDER[0].examples
    values, has = scored.values("score")
    part = scored.factor("part")
    in_no_score = np.array([scored.weight_of(name) == 0 for name in part.values], np.bool_)
    is_control = scored.column("control").is_not_null().to_numpy()
    group = cells_of_rows(scored) * 3 + np.where(is_control, 2, in_no_score[part.codes])
    kind = np.where(scored.unanswered, _UNANSWERED, np.where(has & (values >= 100.0), _RIGHT, _WRONG))
    order = np.lexsort((np.where(has, values, 101.0), kind, group))
    needle, rank = scored.factor("needle_id").codes[order], pl.int_range(pl.len())
    frame = pl.DataFrame({"_row": order, "group": group[order], "kind": kind[order], "needle": needle})
    frame = frame.with_row_index("place").with_columns(turn=rank.over("group", "kind", "needle"))
    frame = frame.sort("group", "kind", "turn", "place").with_columns(_worst=rank.over("group"))
    frame = frame.filter(pl.col("_worst") < most).sort("place")
    return frame.select("_row", "_worst", _cell=pl.col("group") // 3)


def _cut(text: str | None, most: int) -> str | list[str | int] | None:
    """A text; of one longer than `most` its beginning, the number of characters left out, and its end."""
    if text is None or len(text) <= most:
        return text
    half = most // 2
    return [text[:half], len(text) - 2 * half, text[-half:]]
