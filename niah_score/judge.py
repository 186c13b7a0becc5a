"""Judges one answer at a time against a dataset's rows, for harnesses that score while they run.

What it says of an answer is what `evaluate` says of it: both score by the same functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from niah_score.contract import METRIC_NAMES, unknown_metric
from niah_score.errors import ScoreError, suggestion
from niah_score.formats.fields import error_line, failure_of, finish_of
from niah_score.join.rows import Rows, read_rows
from niah_score.metrics import METRICS
from niah_score.scoring.score import SCORED_COLUMNS, options_for, score_chunk, targets_of
from niah_score.text.visible import without_surrogates


class Judgement(NamedTuple):
    """What was said of an answer.

    status, finding: as in scores.parquet; finding is None for rows without keywords. score: 0 to 100, by the row's own
    metric; None where this release does not know it. metrics: the scores by every metric asked for, and by the row's.
    """

    id: str
    status: str
    finding: str | None
    score: float | None
    metrics: Mapping[str, float | None]


class Judge:
    """A dataset's truth, called with a row's id and an answer to it.

    `dataset`: a folder, one of its files, or any Parquet or JSONL file with id, answers and keywords. `metrics`: beside
    each row's own. `text`: `raw` or `extracted` makes all metrics judge that. Raises ScoreError and ContractError as
    `evaluate` does.
    """

    def __init__(
        self,
        dataset: str | Path,
        *,
        metrics: Sequence[str] = (),
        text: Literal["own", "raw", "extracted"] = "own",
    ) -> None:
        for name in metrics:
            if name not in METRIC_NAMES:
                raise ScoreError(unknown_metric(name))
        if text not in ("own", "raw", "extracted"):
            raise ScoreError(f"text: {text!r} is unknown; {suggestion(text, ('own', 'raw', 'extracted'))}")
        self.rows: Rows = read_rows(Path(dataset))
        self._options = options_for(self.rows, tuple(dict.fromkeys(metrics)), text=text)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.rows.table["id"])}

    def __call__(
        self,
        id: str,
        answer: str | None,
        *,
        reasoning: str | None = None,
        finish: str | None = None,
        error: str | None = None,
    ) -> Judgement:
        """Judge an answer to the row of an id; None is an answer without text.

        `reasoning`: what the stack gave apart from the answer. `finish`: why the model stopped, as any stack spells it
        (`length`, `max_tokens`, `content_filter`, ...). `error`: what went wrong in place of an answer.
        Raises ScoreError for an id that no row has.
        """
        import polars as pl

        place = self._place(id)
        text, thought, failure = (
            None if said is None else without_surrogates(said)
            for said in (answer, reasoning, error_line(error) or failure_of(finish))
        )
        given = pl.DataFrame(
            {
                "sample": [0], "text": [text], "reasoning": [thought], "error": [failure],
                "finish": [finish_of(finish)],
            },
            schema={
                "sample": pl.Int64, "text": pl.String, "reasoning": pl.String, "error": pl.String, "finish": pl.String,
            },
        )  # fmt: skip
        row = pl.concat([self.rows.table.slice(place, 1), given], how="horizontal")
        scored = score_chunk(row.select(SCORED_COLUMNS), *targets_of(row, self.rows.targets), self._options)
        (found,) = scored.iter_rows(named=True)
        metrics = {name: found[name] for name in found if name in METRICS}
        return Judgement(id, found["status"], found["finding"], found["score"], metrics)

    def headline(self, scores: Iterable[tuple[str, float | None]]) -> float | None:
        """The headline of a run, 0 to 100: the mean score of the rows that are given, those of controls left out.

        `scores`: a row's id and its score, in any order; of a row that comes several times, as samples do, the mean of
        those that are not None or NaN. Parts count as the dataset's manifest weighs them. None where no row has one.
        Raises ScoreError for an id that no row has.
        """
        import polars as pl

        from niah_score.statistics.headline import headline_of
        from niah_score.statistics.scored import Scored

        found = list(scores)
        for name, _ in found:
            self._place(name)
        given = pl.DataFrame(found, schema={"id": pl.String, "score": pl.Float64}, orient="row")
        # Harnesses keep a score that is None as NaN, which would make the mean of a row's samples one.
        means = given.group_by("id").agg(pl.col("score").fill_nan(None).mean())
        frame = self.rows.table.drop("score", strict=False).join(means, on="id", maintain_order="left")
        frame = frame.with_columns(pl.lit("ok").alias("status"))
        weights = {part.name: part.weight for part in self.rows.parts} or None
        mean: float | None = headline_of(Scored(frame, weights).asked)["mean"]
        return mean

    def _place(self, id: str) -> int:
        """The place of an id among the rows. Raises ScoreError."""
        if id not in self._places:
            raise ScoreError(f"{id!r} is no row of {self.rows.name}; answers are judged by the ids of their rows")
        return self._places[id]
