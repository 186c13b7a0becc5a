"""Chooses the rows that a report's page shows: of every cell the worst and a spread of the others, long texts cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from niah_score.contract import needle_kind
from niah_score.report.page.data import cells_of_rows, rows_of, short
from niah_score.report.report import Report
from niah_score.text import fold

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
# The share of a cell's examples that are its worst; the others are spread over the rest, right answers first.
_WORST = 0.7
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
        self._frame = pl.concat([ranked, rows.frame[ranked["_row"]]], how="horizontal")
        self._targets: dict[int, dict[str, Any]] | None = None
        if report.rows is not None:
            truth = report.rows.table.select("id", _question="question", _target="target")
            self._frame = self._frame.join(truth, on="id", how="left", maintain_order="left")
            used = self._frame["_target"].drop_nulls().unique()
            lists = report.rows.targets[used].to_dicts()
            self._targets = dict(zip(used.to_list(), lists, strict=True))

    def _shown(self, step: Step) -> pl.DataFrame:
        """The rows to show, by cell, the worst first."""
        import polars as pl

        worst = round(step.examples * _WORST)
        kept = (pl.col("_worst") < worst) | (pl.col("_rest") < step.examples - worst)
        # A cell with no more rows than that is shown whole.
        return self._frame.filter(kept | (pl.col("_rows") <= step.examples) if step.examples else pl.lit(False))

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
        truth, words, texts = self._truths(frame, step)
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
            "prediction": [_cut(t, step.characters, w) for t, w in zip(frame["prediction"], words, strict=True)],
            "extracted": [_cut(t, step.characters, w) for t, w in zip(frame["extracted"], words, strict=True)],
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

    def _truths(
        self, frame: pl.DataFrame, step: Step
    ) -> tuple[list[int | None], list[list[str]], list[dict[str, Any]] | None]:
        """For each row the index of its texts, and its folded keywords, which stay in sight when its answer is cut.

        Then the texts; without the dataset, None.
        """
        if self._targets is None:
            return [None] * frame.height, [[]] * frame.height, None
        texts: dict[tuple[int, str | None], dict[str, Any]] = {}
        words: list[list[str]] = []
        for target, question in frame.select("_target", "_question").iter_rows():
            lists = self._targets.get(target, {"keywords": ()})
            words.append([fold(word) for group in lists["keywords"] for word in group])
            if target is not None and (target, question) not in texts:
                texts[target, question] = {
                    "question": _cut(question, step.characters, []),
                    **{
                        name: [_cut(text, step.characters, []) for text in lists[name][:_MOST_LISTED]]
                        for name in ("answers", "needles")
                    },
                    "keywords": [
                        [short(w) for w in group[:_MOST_LISTED]] for group in lists["keywords"][:_MOST_LISTED]
                    ],
                }
        places = {key: place for place, key in enumerate(texts)}
        return [places.get(key) for key in frame.select("_target", "_question").iter_rows()], words, [*texts.values()]


def _column(frame: pl.DataFrame, name: str) -> list[Any]:
    """The values of a column; null for every row if there is no such column, as in scores of older releases."""
    return frame[name].to_list() if name in frame.columns else [None] * frame.height


def _ranked(report: Report) -> pl.DataFrame:
    """Rows that any page could show, by cell and from the worst: number, cell, how many rows its group has, two ranks.

    Wrong answers come first, then rows without an answer, then right ones; among equals, needles take turns. A cell's
    controls, and its rows of parts that are in no score, are ranked separately from its other rows. `_worst`: the rank
    in the group, from the worst. `_rest`: from the other end, where right answers are.
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
    frame = frame.with_row_index("place").with_columns(
        rank.over("group", "kind", "needle").alias("turn"), pl.len().over("group").alias("_rows")
    )
    # No page shows more of a needle than of a cell. Right answers are taken from the end, so their turns begin there.
    turn = pl.when(pl.col("kind") == _RIGHT).then(-pl.col("turn")).otherwise(pl.col("turn"))
    frame = frame.filter(pl.col("turn") < most).sort("group", "kind", turn, "place")
    frame = frame.with_columns(_worst=rank.over("group"), _rest=(pl.len() - 1 - rank).over("group"))
    frame = frame.filter((pl.col("_worst") < most) | (pl.col("_rest") < most)).sort("place")
    return frame.select("_row", "_rows", "_worst", "_rest", _cell=pl.col("group") // 3)


def _cut(text: str | None, most: int, words: list[str]) -> str | list[str | int] | None:
    """A text, or, if it is longer than `most`, pieces of it with the number of characters left out between them.

    The pieces are its beginning, its end, and what surrounds the first of the words (folded) in it.
    """
    if text is None or len(text) <= most:
        return text
    head, tail, around = most // 2, most // 4, most // 8
    spans = [(0, head), (len(text) - tail, len(text))]
    lowered = text.lower()
    places = [place for place in (lowered.find(word) for word in words if word) if place >= 0]
    if places and len(lowered) == len(text):
        spans.insert(1, (max(min(places) - around, 0), min(min(places) + around, len(text))))
    pieces: list[str | int] = []
    end = 0
    for start, stop in spans:
        start = max(start, end)
        if start >= stop:
            continue
        if start > end:
            pieces.append(start - end)
        pieces.append(text[start:stop])
        end = stop
    return pieces
