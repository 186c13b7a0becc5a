"""Scores how much likelier a context makes gold answers than the question alone, and compares that with an oracle.

gain = (log p(answer | prompt) - log p(answer | question alone)) / tokens of the answer, in nats per token. The oracle's
gain is the same with only the needles as context, and recovery = gain / oracle gain, both summed over the rows whose
oracle gains anything: the share of what the needles are worth that survives in the haystack. Intervals are by needle.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from niah_score.errors import ScoreError
from niah_score.formats import model_of
from niah_score.join.join import Problem
from niah_score.logprobs.records import CONDITIONS
from niah_score.logprobs.report import Ratio, Report, ends_of, missing_problems, ratio
from niah_score.logprobs.targets import USUAL, Asked, Target, answer_of, measure, read_targets

# Of rows: the prompt's and the question's log-probabilities are known, or not; twins of others; without an answer.
STATUSES = ("scored", "incomplete", "control", "no_answer")
_GROUPS = {"language": "language", "length": "length", "depth": "depth_percent"}


def gain(
    dataset: str | Path, log_probs: Sequence[str | Path], *, model: str | None = None, asked: Asked = USUAL
) -> Report:
    """Score log-probabilities of gold answers under the conditions that `niah-gen export --to loglikelihood` writes.

    Raises ScoreError, ContractError and subclasses, also if a row lacks a condition, unless `asked` leaves it out.
    """
    asked.check()
    if asked.missing == "partial":
        raise ScoreError("missing: 'partial' is only for windows; the gain of an answer needs all of its tokens")
    targets, rows = read_targets(Path(dataset))
    if all(row.control is not None or row.answer is None for row in targets):
        raise ScoreError(f"{dataset}: no row has an accepted answer; to score windows, run niah-score perplexity")
    measured, lines, problems = measure(targets, rows, log_probs, asked, answer_of)
    scores = []
    for row in targets:
        asks = row.control is None and row.answer is not None
        known = [measured.get((row.id, condition)) for condition in CONDITIONS if asks]
        # A missing sum may come without its number of tokens.
        stated = [one.tokens if asked.per == "token" else one.bytes for one in known if one is not None]
        sizes = sorted({size for size in stated if size is not None})
        if len(sizes) > 1:
            what = f"{row.id!r}: its answer has {', '.join(map(str, sizes))} tokens under its conditions"
            problems.append(Problem("other_tokens", "", None, row.id, what))
            known, sizes = [], []
        scores.append(_score(row, [None if one is None or one.missing else one.total for one in known], sum(sizes)))
    asking = [one for one in scores if one["status"] in ("scored", "incomplete")]
    lacks = {one["id"]: [name for name in CONDITIONS if one[f"log_prob_{name}"] is None] for one in asking}
    lacking = {name: f"lacks {', '.join(conditions)}" for name, conditions in lacks.items() if conditions}
    problems += missing_problems(lacking, len(asking), asked, problems)
    statuses = {status: sum(one["status"] == status for one in scores) for status in STATUSES}
    conditions = {name: len(asking) - sum(name in conditions for conditions in lacks.values()) for name in CONDITIONS}
    return Report(
        "gain", rows.name, rows.digest8, model_of(model, log_probs), asked, scores, _figures(asking),
        statuses, statuses["scored"], lines, problems, conditions=conditions,
    )  # fmt: skip


def _score(row: Target, log_probs: Sequence[float | None], size: int) -> dict[str, Any]:
    """The line of a row, as scores.parquet has it. `log_probs`: by condition. `size`: tokens or bytes of the answer."""
    full, alone, needle = log_probs or (None, None, None)
    status = "control" if row.control is not None else "incomplete"
    if row.answer is None:
        status = "no_answer"
    elif full is not None and alone is not None and size:
        status = "scored"
    gained = oracle = None
    if status == "scored":
        gained, oracle = full - alone, None if needle is None else needle - alone  # type: ignore[operator]
    return {
        **row.about, "status": status, "log_prob_full": full, "log_prob_alone": alone, "log_prob_needle": needle,
        "size": size or None, "gain": _over(gained, size), "oracle_gain": _over(oracle, size),
        "recovery": _over(gained, oracle),
    }  # fmt: skip


def _over(above: float | None, below: float | None) -> float | None:
    """A quotient; None if either number is missing, or the lower one is not above 0."""
    return None if above is None or below is None or below <= 0 else above / below


def _figures(scores: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The figures over all rows that ask for an answer, and by language, length and depth if rows have any."""
    figures = [_figure("all", None, scores)]
    for group, column in _GROUPS.items():
        values = {score[column] for score in scores}
        for value in sorted(values - {None}) if values - {None, 0} else []:
            of_value = [score for score in scores if score[column] == value]
            figures.append(_figure(group, f"{value:g}" if isinstance(value, float) else str(value), of_value))
    return figures


def _figure(group: str, value: str | None, scores: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The figure of a group. `value`: what its rows share, as text. `rows`: how many count, out of `of`.

    `no_needle`: those of them without a log-probability for the needles alone; `no_oracle_gain`: those whose needles
    alone gain nothing. Neither are in `recovery`, a share, which may exceed 1.
    """
    counted = [score for score in scores if score["status"] == "scored"]
    with_needle = [score for score in counted if score["log_prob_needle"] is not None]
    gaining = [score for score in with_needle if score["oracle_gain"] > 0]

    def gained(rows: Sequence[dict[str, Any]], condition: str) -> list[float]:
        return [row[f"log_prob_{condition}"] - row["log_prob_alone"] for row in rows]

    def over(rows: Sequence[dict[str, Any]], condition: str, below: Sequence[float]) -> Ratio:
        needles, haystacks = ([(row["corpus"], row[name]) for row in rows] for name in ("needle_id", "haystack_id"))
        return ratio(gained(rows, condition), below, needles, haystacks, what="needles")

    gain = over(counted, "full", [score["size"] for score in counted])
    return {
        "group": group, "value": value, "rows": len(counted), "of": len(scores),
        "no_needle": len(counted) - len(with_needle), "no_oracle_gain": len(with_needle) - len(gaining),
        **ends_of("gain", gain), **ends_of("oracle", over(with_needle, "needle", [one["size"] for one in with_needle])),
        **ends_of("recovery", over(gaining, "full", gained(gaining, "needle"))), "needles": gain.clusters,
        "method": gain.method,
    }  # fmt: skip
