"""Chooses the rows that a report's page shows: the worst and a spread of every cell, long texts cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from niah_score.contract import needle_kind
from niah_score.join.rows_on_disk import RowsOnDisk
from niah_score.report.page.data import cells_of_rows, rows_of, short
from niah_score.report.report import Report
from niah_score.report.scores_file import ScoresFile
from niah_score.text import fold

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from niah_score.join.rows import Rows


class Step(NamedTuple):
    """How much a page shows: examples of a cell, and characters of a text."""

    examples: int
    characters: int


LADDER = (
    *(Step(20, characters) for characters in (4000, 2000, 1000, 600)),
    *(Step(examples, 600) for examples in (17, 14, 12, 10, 8)),
    *(Step(examples, 300) for examples in (6, 5, 4, 3, 2, 1)),
    Step(0, 0),
)
# Of a cell's examples, those that are its worst; the others are spread over the rest, right answers first.
_WORST = 0.7
_NAMES = ("part", "language", "corpus", "needle_id", "control", "task", "status", "finding", "metric")
# Bytes of an example beside its texts, at the least.
_FRAME = 100
# Rows that are sorted at once: of more, those that could be shown are found in parts.
_SORTED_TOGETHER = 1_000_000
# Lists of a row's truth that are shown.
_MOST_LISTED = 50


class Chooser:
    """Chooses examples among a report's rows, the same ones for the same report. `data`: as `data_of` returns it."""

    def __init__(self, report: Report, data: dict[str, Any]) -> None:
        self._report = report
        self._rows = rows_of(report)
        self._metrics: list[str] = data["metrics"]
        self._filters = {one["name"]: one["values"] for one in data["filters"]}
        self._ranked = _ranked(report)
        self._of_ranked = _lines_of(report, self._ranked["row"])
        self._truth = None if report.rows is None else _truth(report.rows, self._of_ranked["id"], self._ranked["row"])

    def _chosen(self, step: Step) -> pl.DataFrame:
        """Rows that are shown, by cell, the worst first."""
        import polars as pl

        worst = round(step.examples * _WORST)
        kept = (pl.col("worst") < worst) | (pl.col("rest") < step.examples - worst)
        # A cell that has no more than are shown is shown whole.
        return self._ranked.filter(kept | (pl.col("rows") <= step.examples) if step.examples else pl.lit(False))

    def _shown(self, step: Step) -> pl.DataFrame:
        """The lines of the rows that are shown, in the order of `_chosen`."""
        import polars as pl

        places = self._ranked.select("row").with_row_index("place").join(
            self._chosen(step).select("row"), on="row", how="semi", maintain_order="left"
        )  # fmt: skip
        return self._of_ranked[places["place"].cast(pl.Int64)]

    def estimate(self, step: Step) -> int:
        """About how many bytes the examples take; too few rather than too many."""
        import polars as pl

        texts = self._shown(step).select("id", "prediction", "extracted")
        cut = pl.all().str.head(step.characters).str.len_bytes().sum()
        return int(sum(texts.select(cut).fill_null(0).row(0))) + _FRAME * texts.height

    def examples(self, step: Step) -> dict[str, Any]:
        """The examples of all cells, as columns; codes are places in `tables`, and `truth` is a place in `texts`."""
        import polars as pl

        chosen, frame = self._chosen(step), self._shown(step)
        tables = {name: _NameTable(self._filters.get(name)) for name in _NAMES}
        codes = {name: tables[name].codes(self._report, name, frame) for name in _NAMES}
        truth, texts = self._truths(chosen["row"], step)
        hits = frame["keyword.needles"].to_list() if "keyword.needles" in frame.columns else [None] * frame.height
        words = [self._words(place) for place in truth]
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
            "samples": frame["samples"].to_list() if "samples" in frame.columns else [1] * frame.height,
            "hits": hits,
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
        """For each row the place of its texts among the second, which is null where the dataset is not at hand."""
        if self._truth is None:
            return [None] * len(rows), None
        places: dict[tuple[int, str | None], int] = {}
        found: list[int | None] = []
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
            found.append(None if key is None else places[key])
        self._known = {place: key[0] for key, place in places.items()}
        return found, texts

    def _words(self, place: int | None) -> list[str]:
        """The keywords, folded, that a cut leaves in sight."""
        if place is None or self._truth is None:
            return []
        return [fold(word) for group in self._truth.lists[self._known[place]]["keywords"] for word in group]


class _NameTable:
    """The different values of a name that examples have; all of them where the page filters by it."""

    def __init__(self, values: list[str | None] | None) -> None:
        self.values = values

    def codes(self, report: Report, name: str, frame: pl.DataFrame) -> list[int]:
        # Scores of older releases have no parts.
        own = frame[name].to_list() if name in frame.columns else [None] * frame.height
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
    """`keys`: for rows by number, which lists and question are theirs; `lists`: answers, needles, keywords of each."""

    keys: dict[int, tuple[int, str | None]]
    lists: list[dict[str, Any]]


def _lines_of(report: Report, rows: pl.Series) -> pl.DataFrame:
    """All columns of some of the rows that the page knows."""
    known = rows_of(report)
    if isinstance(report.table, ScoresFile):
        return report.table.rows(known.numbers_among_all(rows))
    return known.frame[rows]


def _truth(dataset: Rows | RowsOnDisk, ids: pl.Series, rows: pl.Series) -> _RowTexts:
    """What the rows of some ids ask for; the page calls them by the numbers `rows`."""
    import polars as pl

    if isinstance(dataset, RowsOnDisk):
        dataset = dataset.of_ids(ids)
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
    """Rows that any page could show, ordered by cell and from the worst: their number, cell, the cell's rows and ranks.

    Wrong answers come first, then rows without one, then right ones; among equals every needle has its turn. The rows
    of a cell's controls, and those of parts that are in no score, are ranked apart from the others.
    """
    import numpy as np
    import polars as pl

    scored = rows_of(report)
    cells = cells_of_rows(scored)
    values, has = scored.values("score")
    part, needle = scored.factor("part"), scored.factor("needle_id").codes
    in_no_score = np.array([scored.weight_of(name) == 0 for name in part.values], np.bool_)
    is_control, unanswered = ~scored.where("control", None), scored.unanswered
    most = LADDER[0].examples

    def first_turns(rows: NDArray[np.int64]) -> pl.DataFrame:
        """Of some rows those that any page could show, sorted: of one needle, nothing beyond so many turns."""
        own, there = values[rows], has[rows]
        kind = np.where(unanswered[rows], 1, np.where(there & (own >= 100.0), 2, 0))
        apart = cells[rows] * 3 + np.where(is_control[rows], 2, in_no_score[part.codes[rows]])
        order = np.lexsort((np.where(there, own, 101.0), kind, apart))
        frame = pl.DataFrame(
            {
                "row": rows[order],
                "cell": cells[rows][order],
                "apart": apart[order],
                "kind": kind[order].astype(np.int8),
                "needle": needle[rows][order],
            }
        ).with_row_index("place")
        turn = pl.int_range(pl.len()).over("apart", "kind", "needle").alias("turn")
        return frame.with_columns(turn).filter(pl.col("turn") < most)

    starts = range(0, len(values), _SORTED_TOGETHER)
    rows = [
        np.sort(first_turns(np.arange(start, min(start + _SORTED_TOGETHER, len(values))))["row"].to_numpy())
        for start in (starts if len(starts) > 1 else ())
    ]
    frame = first_turns(np.concatenate(rows) if rows else np.arange(len(values)))
    counts = np.unique(cells * 3 + np.where(is_control, 2, in_no_score[part.codes]), return_counts=True)
    of_apart = pl.DataFrame({"apart": counts[0], "rows": counts[1].astype(np.uint32)})
    frame = frame.join(of_apart, on="apart", how="left", maintain_order="left")
    frame = frame.sort("apart", "kind", "turn", "place")
    frame = frame.with_columns(pl.int_range(pl.len()).over("apart").alias("worst"))
    # The rest, right answers first: what is beyond the worst in the order 2, 0, 1.
    beyond = (pl.col("worst") >= round(most * _WORST)).cast(pl.Int8)
    frame = frame.with_columns((pl.col("kind") + 1).mod(3).alias("other"), beyond.alias("beyond"))
    frame = frame.sort("apart", "beyond", "other", "turn", "place")
    rest = pl.when(pl.col("beyond") == 1).then(pl.int_range(pl.len()).over("apart", "beyond")).otherwise(most)
    frame = frame.with_columns(rest.alias("rest"))
    kept = (pl.col("worst") < most) | (pl.col("rest") < most)
    return frame.filter(kept).sort("place").select("row", "cell", "rows", "worst", "rest")


def _cut(text: str | None, most: int, words: list[str]) -> str | list[str | int] | None:
    """A text, or where it is longer, pieces of it with the number of characters between them.

    Its beginning and its end are kept, and what stands around the first of the words (folded) that it holds.
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
