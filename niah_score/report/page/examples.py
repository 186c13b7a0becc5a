"""Chooses the rows that a report's page shows: of every cell the worst and a spread of the others, long texts cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from niah_score.contract import needle_kind
from niah_score.report.page.data import cells_of_rows, rows_of, short
from niah_score.report.report import Report
from niah_score.text import fold

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from niah_score.join.rows import Rows
    from niah_score.statistics.scored import Scored


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
_FRAME = 100
# Accepted answers, needles and keywords shown of a row.
_MOST_LISTED = 50


class Chooser:
    """Chooses examples among a report's rows: the same ones for the same report. `data`: what `data_of` returns."""

    def __init__(self, report: Report, data: dict[str, Any]) -> None:
        self._report = report
        self._rows = rows_of(report)
        self._metrics: list[str] = data["metrics"]
        self._filters = {one["name"]: one["values"] for one in data["filters"]}
        self._ranked = _ranked(report)
        self._of_ranked = _lines_of(report, self._ranked["row"])
        self._truth = None if report.rows is None else _truth(report.rows, self._of_ranked["id"], self._ranked["row"])

    def _chosen(self, step: Step) -> pl.DataFrame:
        """The rows to show, by cell, the worst first."""
        import polars as pl

        worst = round(step.examples * _WORST)
        kept = (pl.col("worst") < worst) | (pl.col("rest") < step.examples - worst)
        # A cell with no more rows than that is shown whole.
        return self._ranked.filter(kept | (pl.col("rows") <= step.examples) if step.examples else pl.lit(False))

    def _shown(self, step: Step) -> pl.DataFrame:
        """All columns of the rows to show, in the order of `_chosen`."""
        import polars as pl

        places = self._ranked.select("row").with_row_index("place").join(
            self._chosen(step).select("row"), on="row", how="semi", maintain_order="left"
        )  # fmt: skip
        return self._of_ranked[places["place"].cast(pl.Int64)]

    def estimate(self, step: Step) -> int:
        """Roughly how many bytes the examples take: rather too few than too many."""
        import polars as pl

        texts = self._shown(step).select("id", "prediction", "extracted")
        cut = pl.all().str.head(step.characters).str.len_bytes().sum()
        return int(sum(texts.select(cut).fill_null(0).row(0))) + _FRAME * texts.height

    def examples(self, step: Step) -> dict[str, Any]:
        """The examples of all cells, as columns; codes are indices into `tables`, `truth` is an index into `texts`."""
        import polars as pl

        chosen, frame = self._chosen(step), self._shown(step)
        tables = {name: _NameTable(self._filters.get(name)) for name in _NAMES}
        codes = {name: tables[name].codes(self._report, name, frame) for name in _NAMES}
        truth, texts = self._truths(chosen["row"], step)
        words = [self._words(row) for row in chosen["row"].to_list()]
        scores = [
            [None if value is None else round(value, 4) for value in frame[name].cast(pl.Float64).to_list()]
            for name in self._metrics
        ]
        columns = {
            "cell": chosen["cell"].to_list(),
            "id": [short(name) for name in frame["id"].to_list()],
            "length": frame["length"].to_list(),
            "depth": frame["depth_percent"].to_list(),
            **codes,
            "scores": [list(row) for row in zip(*scores, strict=True)],
            "prediction": [_cut(t, step.characters, w) for t, w in zip(frame["prediction"], words, strict=True)],
            "extracted": [_cut(t, step.characters, w) for t, w in zip(frame["extracted"], words, strict=True)],
            "error": [None if text is None else short(text, 1000) for text in frame["error"].to_list()],
            "reasoning": frame["reasoning"].str.len_chars().to_list(),
            "samples": _column(frame, "samples", 1),
            "hits": _column(frame, "keyword.needles", None),
            "truth": truth,
        }
        return {
            "most": step.examples,
            "asked": LADDER[0].examples,
            "characters": step.characters,
            "cut": any(isinstance(text, list) for name in ("prediction", "extracted") for text in columns[name]),
            "tables": {name: table.values for name, table in tables.items()},
            "texts": texts,
            "columns": columns,
        }

    def _truths(self, rows: pl.Series, step: Step) -> tuple[list[int | None], list[dict[str, Any]] | None]:
        """For each row the index of its texts, and those texts; without the dataset, nothing but None."""
        if self._truth is None:
            return [None] * len(rows), None
        places: dict[tuple[int, str | None], int] = {}
        of_rows: list[int | None] = []
        texts: list[dict[str, Any]] = []
        for row in rows.to_list():
            key = self._truth.keys.get(row)
            if key is not None and key not in places:
                places[key] = len(texts)
                lists = self._truth.lists[key[0]]
                cut = {name: [_cut(text, step.characters, []) for text in lists[name][:_MOST_LISTED]]
                       for name in ("answers", "needles")}  # fmt: skip
                keywords = [
                    [short(word) for word in group[:_MOST_LISTED]] for group in lists["keywords"][:_MOST_LISTED]
                ]
                texts.append({"question": _cut(key[1], step.characters, []), **cut, "keywords": keywords})
            of_rows.append(None if key is None else places[key])
        return of_rows, texts

    def _words(self, row: int) -> list[str]:
        """The folded keywords of a row, which stay in sight when its answer is cut."""
        if self._truth is None or (key := self._truth.keys.get(row)) is None:
            return []
        return [fold(word) for group in self._truth.lists[key[0]]["keywords"] for word in group]


class _NameTable:
    """The distinct values that examples have in a column; all values where the page filters by it."""

    def __init__(self, values: list[str | None] | None) -> None:
        self.values = values

    def codes(self, report: Report, name: str, frame: pl.DataFrame) -> list[int]:
        own = _column(frame, name, None)  # scores of older releases have no parts
        if name == "needle_id":
            own = [value and needle_kind(value) for value in own]
        if self.values is not None:
            known = {value: place for place, value in enumerate(rows_of(report).factor(name).values)}
        else:
            several = sorted({value for value in own if value is not None})
            known = {value: place for place, value in enumerate([*several, None])}
            self.values = [*map(short, several), None]
        return [known[value] for value in own]


class _RowTexts(NamedTuple):
    """`keys`: by row number, the index of a row's lists and its question. `lists`: answers, needles and keywords."""

    keys: dict[int, tuple[int, str | None]]
    lists: list[dict[str, Any]]


def _column(frame: pl.DataFrame, name: str, missing: object) -> list[Any]:
    """The values of a column; `missing` for every row if there is no such column."""
    return frame[name].to_list() if name in frame.columns else [missing] * frame.height


def _lines_of(report: Report, rows: pl.Series) -> pl.DataFrame:
    """All columns of some of the page's rows."""
    return rows_of(report).frame[rows]


def _truth(dataset: Rows, ids: pl.Series, rows: pl.Series) -> _RowTexts:
    """What rows ask for. `rows`: the page's numbers of the rows with those `ids`."""
    import polars as pl

    texts = dataset.table.select("id", "question", "target").join(
        pl.DataFrame([ids, rows.alias("row")]), on="id", how="inner"
    )
    targets = texts["target"].unique().sort()
    place = {target: number for number, target in enumerate(targets.to_list())}
    keys = {
        row: (place[target], question)
        for row, question, target in texts.select("row", "question", "target").iter_rows()
    }
    return _RowTexts(keys, dataset.targets[targets].select(pl.all()).to_dicts())


def _ranked(report: Report) -> pl.DataFrame:
    """Rows that any page could show, by cell and from the worst: their number, cell, the cell's rows and ranks.

    Wrong answers come first, then rows without an answer, then right ones; among equals, needles take turns. A cell's
    controls, and its rows of parts that are in no score, are ranked separately from its other rows.
    """
    import numpy as np
    import polars as pl

    scored = rows_of(report)
    values, has = scored.values("score")
    needle = scored.factor("needle_id").codes
    group = _groups(scored)
    right = np.where(has & (values >= 100.0), np.int8(_RIGHT), np.int8(_WRONG))
    kind = np.where(scored.unanswered, np.int8(_UNANSWERED), right)
    most = LADDER[0].examples

    def candidates(rows: NDArray[np.int64]) -> pl.DataFrame:
        """Some rows, sorted by group, kind and score, each with its turn among those of its needle, up to `most`."""
        order = np.lexsort((np.where(has[rows], values[rows], 101.0), kind[rows], group[rows]))
        rows = rows[order]
        frame = pl.DataFrame({"row": rows, "group": group[rows], "kind": kind[rows], "needle": needle[rows]})
        turn = pl.int_range(pl.len()).over("group", "kind", "needle").alias("turn")
        return frame.with_row_index("place").with_columns(turn).filter(pl.col("turn") < most)

    rows = np.arange(len(values))
    groups, sizes = np.unique(group, return_counts=True)
    size_of = pl.DataFrame({"group": groups, "rows": sizes.astype(np.uint32)})
    frame = candidates(rows).join(size_of, on="group", how="left", maintain_order="left")
    return (
        _with_ranks(frame, most)
        .sort("place")
        .select("row", (pl.col("group") // 3).alias("cell"), "rows", "worst", "rest")
    )


def _groups(scored: Scored) -> NDArray[np.int64]:
    """For each row the number of its group: cell * 3, + 2 for controls, + 1 for parts that are in no score."""
    import numpy as np

    part = scored.factor("part")
    in_no_score = np.array([scored.weight_of(name) == 0 for name in part.values], np.bool_)
    is_control = scored.column("control").is_not_null().to_numpy()
    groups: NDArray[np.int64] = cells_of_rows(scored) * 3 + np.where(is_control, 2, in_no_score[part.codes])
    return groups


def _with_ranks(frame: pl.DataFrame, most: int) -> pl.DataFrame:
    """The candidates that have a rank below `most`.

    `worst`: the rank in the group, from the worst. `rest`: the rank among those beyond the worst, right answers first.
    """
    import polars as pl

    rank = pl.int_range(pl.len())
    frame = frame.sort("group", "kind", "turn", "place").with_columns(worst=rank.over("group"))
    frame = frame.with_columns(beyond=pl.col("worst") >= round(most * _WORST), order=(pl.col("kind") + 1) % 3)
    frame = frame.sort("group", "beyond", "order", "turn", "place")
    rest = pl.when("beyond").then(rank.over("group", "beyond")).otherwise(most)
    return frame.with_columns(rest=rest).filter((pl.col("worst") < most) | (pl.col("rest") < most))


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
