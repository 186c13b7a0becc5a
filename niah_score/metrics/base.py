"""Defines metrics: a function that judges one answer, the types of its parts, and a fast version for many rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from niah_score.metrics.chunk import Chunk, ScoreColumns
from niah_score.metrics.target import Target

PartType = type[int] | type[float] | type[bool] | type[list[bool]]


class Score(NamedTuple):
    """A metric's judgement of one answer.

    `value`: 0 to 100, or None if the metric does not apply to the target. `parts`: the components of the value, with
    the names and types that the metric declares; None if a part does not apply.
    """

    value: float | None
    parts: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: how it judges an answer, and the parts of its scores.

    `kind`: `compat` metrics are those of published systems, bug for bug, for raw answers; `strict` metrics are ours,
    for extracted answers. `judge`: scores one text, which it folds and trims itself. `parts`: the types of the parts by
    name. `default`: whether it is computed for every row without being asked for. `many`: a faster function that gives
    the same scores as `judge` for many rows at once; None if mapping `judge` is fast enough.
    """

    name: str
    kind: Literal["compat", "strict"]
    judge: Callable[[str, Target], Score]
    parts: Mapping[str, PartType] = field(default_factory=dict)
    default: bool = False
    many: Callable[[Chunk], ScoreColumns] | None = None


def judge_all(metric: Metric, chunk: Chunk) -> ScoreColumns:
    """The scores of all rows of a chunk: by the metric's fast version if it has one, else row by row."""
    if metric.many is not None:
        return chunk.shared(metric.many)
    scores = [metric.judge(text, target) for text, target in zip(chunk.texts, chunk.targets, strict=True)]
    return ScoreColumns(
        [score.value for score in scores], {name: [score.parts[name] for score in scores] for name in metric.parts}
    )
