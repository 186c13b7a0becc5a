"""Judges one answer at a time against a dataset's rows, for harnesses that score while they run.

`evaluate` would score the same answers alike: both use the same functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from niah_score.errors import ScoreError, check_choice
from niah_score.formats.fields import error_line, failure_of, finish_of
from niah_score.join.rows import Rows, read_rows
from niah_score.metrics import METRICS, Target, check_metrics
from niah_score.scoring.score import SCORED_COLUMNS, ScoringOptions, score_chunk, targets_of
from niah_score.text.visible import without_surrogates

if TYPE_CHECKING:
    import polars as pl


class Judgement(NamedTuple):
    """How one answer scored.

    status, finding: as in scores.parquet; finding is None for rows without keywords. score: 0 to 100, by the row's own
    metric; None if this release does not know it. metrics: the scores by that metric and every metric asked for.
    """

    id: str
    status: str
    finding: str | None
    score: float | None
    metrics: Mapping[str, float | None]


class Judge:
    """A dataset's truth; call it with a row's id and an answer.

    `dataset`: a folder, one of its files, or any Parquet or JSONL file with id, answers and keywords. `metrics`: in
    addition to each row's own. `text`: `raw` or `extracted` makes all metrics judge that text. Raises ScoreError and
    ContractError as `evaluate` does.
    """

    def __init__(
        self, dataset: str | Path, *, metrics: Sequence[str] = (), text: Literal["own", "raw", "extracted"] = "own"
    ) -> None:
        check_metrics(metrics)
        check_choice("text", text, ("own", "raw", "extracted"))
        self.rows: Rows = read_rows(Path(dataset))
        self._options = ScoringOptions(tuple(dict.fromkeys(metrics)), text=text)

    @cached_property
    def _targets(self) -> tuple[pl.Series, list[Target]]:
        return targets_of(self.rows.table, self.rows.targets)

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
        """Judge an answer to the row with an id; None is an answer without text.

        `reasoning`: what the stack returned separately from the answer. `finish`: why the model stopped, in any stack's
        spelling (`length`, `max_tokens`, `content_filter`, ...). `error`: what went wrong, if there is no answer.
        Raises ScoreError if no row has the id.
        """
        import polars as pl

        place = self._place(id)
        text, thought, failure = (
            None if said is None else without_surrogates(said)
            for said in (answer, reasoning, error_line(error) or failure_of(finish))
        )
        line = (0, text, thought, finish_of(finish), failure, self.rows.table["metric"][place])
        kinds = {name: pl.Int64 if name == "sample" else pl.String for name in SCORED_COLUMNS}
        codes, targets = self._targets
        frame = pl.DataFrame([line], kinds, orient="row")
        scored = score_chunk(frame, codes.slice(place, 1), targets, self._options)
        (values,) = scored.iter_rows(named=True)
        metrics = {name: value for name, value in values.items() if name in METRICS}
        return Judgement(id, values["status"], values["finding"], values["score"], metrics)

    def headline(self, scores: Iterable[tuple[str, float | None]]) -> float | None:
        """The headline of a run, 0 to 100: the mean score of the given rows except controls; None without scores.

        `scores`: pairs of a row's id and a score, in any order; scores of the same row (samples) are averaged, leaving
        out None and NaN. Parts have the weights of the dataset's manifest.
        Raises ScoreError for an id that no row has.
        """
        import polars as pl

        from niah_score.statistics.figures import headline_of
        from niah_score.statistics.scored import Scored

        pairs = list(scores)
        for name, _ in pairs:
            self._place(name)
        given = pl.DataFrame(pairs, schema={"id": pl.String, "score": pl.Float64}, orient="row")
        # Harnesses store None as NaN, which would make the mean of a row's samples NaN.
        means = given.group_by("id", maintain_order=True).agg(pl.col("score").fill_nan(None).mean())
        frame = self.rows.table.drop("score", strict=False).join(means, on="id", maintain_order="left")
        frame = frame.with_columns(pl.lit("ok").alias("status"))
        weights = {part.name: part.weight for part in self.rows.parts} or None
        mean: float | None = headline_of(Scored(frame, weights))["mean"]
        return mean

    def _place(self, id: str) -> int:
        """The index of the row with an id. Raises ScoreError."""
        if id not in self._places:
            raise ScoreError(f"{self.rows.name} has no row with the id {id!r}; judge each answer by the id of its row")
        return self._places[id]
