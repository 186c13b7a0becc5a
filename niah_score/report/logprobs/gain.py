"""Scores how much likelier a context makes gold answers than the question alone, and compares that with an oracle.

gain = (log p(answer | prompt) - log p(answer | question alone)) / tokens of the answer, in nats per token. The oracle's
gain is the same with only the needles as context, and recovery = gain / oracle gain, both summed over the rows whose
oracle gains anything: the share of what the needles are worth that survives in the haystack. Intervals are by needle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from niah_score.contract import VERSION
from niah_score.errors import ScoreError
from niah_score.formats.logprobs.record import CONDITIONS, LogProbRecord
from niah_score.formats.record import UnreadableError
from niah_score.join.join import ACCEPTED_PROBLEMS, Lines, Problem
from niah_score.join.target_rows import TargetRow, read_targets
from niah_score.report.logprobs.measure import USUAL, Asked, Measures, check_asked, measures
from niah_score.report.logprobs.perplexity import model_of
from niah_score.scoring.target_tokens import Measured, answer_of
from niah_score.statistics.ratios import Ratio, ratio
from niah_score.text.visible import without_surrogates

STATUSES = ("scored", "incomplete", "control", "no_answer")
_SHOWN = 3


class GainScore(NamedTuple):
    """A row's log-probabilities by condition, None if missing. `size`: tokens of the answer, or its bytes.

    `status`: scored if both the prompt's and the question's are known; control for rows that are twins of others.
    """

    row: TargetRow
    totals: dict[str, float | None]
    size: int
    status: str

    @property
    def gain(self) -> float | None:
        """What the prompt gains over the question alone, in nats."""
        return self._over_alone("full")

    @property
    def oracle(self) -> float | None:
        """What the needles alone gain over the question alone, in nats."""
        return self._over_alone("needle")

    def _over_alone(self, name: str) -> float | None:
        total, alone = self.totals.get(name), self.totals.get("alone")
        return None if total is None or alone is None or self.status != "scored" else total - alone


class GainFigure(NamedTuple):
    """The rows of a group. `value`: what they share, as text. `gain`, `oracle`: nats per token (or byte).

    `rows`: how many count, out of `of`. `no_needle`: those of them without a log-probability for the needles alone;
    `no_oracle_gain`: those whose needles alone gain nothing. Neither are in `recovery`, a share, which may exceed 1.
    """

    group: str
    value: str | None
    rows: int
    of: int
    no_needle: int
    no_oracle_gain: int
    gain: Ratio
    oracle: Ratio
    recovery: Ratio


@dataclass(frozen=True)
class GainReport:
    """What contexts gain. `statuses`, `conditions`: how many rows have each of STATUSES and of CONDITIONS."""

    dataset: str
    digest8: str
    model: str
    asked: Asked
    scores: tuple[GainScore, ...]
    figures: tuple[GainFigure, ...]
    statuses: dict[str, int]
    conditions: dict[str, int]
    lines: Lines
    problems: tuple[Problem, ...]

    @property
    def exit_code(self) -> int:
        """0, or 3 if no row is scored or inputs had problems other than missing ones, which count only if asked for."""
        had_problems = {problem.kind for problem in self.problems} - {*ACCEPTED_PROBLEMS}
        return 3 if had_problems or not self.statuses["scored"] else 0

    @property
    def signature(self) -> str:
        """What the numbers were measured with, in one line."""
        return (
            f"niah|ds:{self.digest8}|metric:gain/{self.asked.per}|missing:{self.asked.missing}"
            f"|n:{self.statuses['scored']}|v:{VERSION}"
        )


def gain(
    dataset: str | Path,
    log_probs: str | Path | Sequence[str | Path],
    *,
    model: str | None = None,
    asked: Asked = USUAL,
) -> GainReport:
    """Score log-probabilities of gold answers under the conditions that `niah-gen export --to loglikelihood` writes.

    Raises ScoreError, ContractError and subclasses, also if a row lacks a condition, unless `asked` leaves it out.
    """
    check_asked(asked)
    if asked.missing == "partial":
        raise ScoreError("missing: 'partial' is only for windows; the gain of an answer needs all of its tokens")
    files = [log_probs] if isinstance(log_probs, str | Path) else list(log_probs)
    targets = read_targets(Path(dataset), windows=False)
    if all(row.control is not None or row.answer is None for row in targets.rows):
        raise ScoreError(f"{dataset}: no row has an accepted answer; to score windows, run niah-score perplexity")

    def take(record: LogProbRecord, row: TargetRow, stated: str | None) -> Measured:
        if row.answer is None:
            raise UnreadableError("the row has no accepted answer")
        return answer_of(record.found, row, row.answer, asked.per, stated)

    measured = measures(targets, files, asked, take)
    problems: list[Problem] = []
    scores = tuple(_scored(row, measured, asked.per, problems) for row in targets.rows)
    statuses = {status: sum(score.status == status for score in scores) for status in STATUSES}
    asking = [score for score in scores if score.status in ("scored", "incomplete")]
    lacking = [score for score in asking if any(score.totals.get(name) is None for name in CONDITIONS)]
    if asked.missing == "error" and lacking:
        shown = ", ".join(score.row.id for score in lacking[:_SHOWN]) + (", ..." if len(lacking) > _SHOWN else "")
        problem = next(iter([*problems, *measured.problems]), None)
        first = f"; the first problem: {problem}" if problem else ""
        counts = {name: sum(score.totals.get(name) is None for score in asking) for name in CONDITIONS}
        which = ", ".join(f"{name} in {count:,}" for name, count in counts.items() if count)
        raise ScoreError(
            f"{len(lacking):,} of {len(asking):,} rows lack a log-probability: {which} ({shown}){first}; ask for them "
            "again, or pass --missing exclude, which also leaves out rows for which the export wrote no such line"
        )
    conditions = {name: sum(score.totals.get(name) is not None for score in asking) for name in CONDITIONS}
    problems += [
        Problem(
            "missing", "", None, score.row.id,
            f"{score.row.id!r} lacks {', '.join(name for name in CONDITIONS if score.totals.get(name) is None)}",
        )
        for score in lacking
    ]  # fmt: skip
    return GainReport(
        targets.joinable.name, targets.joinable.digest8, without_surrogates(model or model_of(files)), asked, scores,
        tuple(_figures(asking)), statuses, conditions, measured.lines, (*measured.problems, *problems),
    )  # fmt: skip


def _scored(row: TargetRow, measured: Measures, per: str, problems: list[Problem]) -> GainScore:
    if row.control is not None or row.answer is None:
        return GainScore(row, {}, 0, "no_answer" if row.answer is None else "control")
    of_row = {name: measured.of_rows.get((row.id, name)) for name in CONDITIONS}
    totals = {name: None if one is None or one.missing else one.total for name, one in of_row.items()}
    stated = [one.tokens if per == "token" else one.bytes for one in of_row.values() if one is not None]
    # A missing sum may come without its number of tokens.
    sizes = {size for size in stated if size is not None}
    if len(sizes) > 1:
        counts = ", ".join(map(str, sorted(sizes)))
        why = f"{row.id!r}: its answer has {counts} tokens under its conditions"
        problems.append(Problem("other_tokens", "", None, row.id, why))
        return GainScore(row, dict.fromkeys(CONDITIONS), 0, "incomplete")
    size = next(iter(sizes), None) or 0
    is_scored = totals["full"] is not None and totals["alone"] is not None and size > 0
    return GainScore(row, totals, size, "scored" if is_scored else "incomplete")


def _figures(scores: Sequence[GainScore]) -> list[GainFigure]:
    """The figures over all rows, and by language, length and depth if rows have any."""
    figures = [_figure("all", None, scores)]
    for group in ("language", "length", "depth"):
        by_value: dict[Any, list[GainScore]] = {}
        for score in scores:
            by_value.setdefault(getattr(score.row, group), []).append(score)
        if set(by_value) <= {None, 0}:
            continue
        for value in sorted(by_value.keys() - {None}, key=lambda value: (str(type(value)), value)):
            text = f"{value:g}" if isinstance(value, float) else str(value)
            figures.append(_figure(group, text, by_value[value]))
    return figures


def _figure(group: str, value: str | None, scores: Sequence[GainScore]) -> GainFigure:
    counted = [score for score in scores if score.gain is not None]
    with_needle = [score for score in counted if score.oracle is not None]
    gaining = [score for score in with_needle if (score.oracle or 0.0) > 0]

    def over(rows: Sequence[GainScore], above: str, below: Sequence[float]) -> Ratio:
        return ratio(
            [getattr(score, above) for score in rows], below,
            [(score.row.corpus, score.row.needle_id) for score in rows],
            [(score.row.corpus, score.row.haystack_id) for score in rows], what="needles",
        )  # fmt: skip

    return GainFigure(
        group, value, len(counted), len(scores), len(counted) - len(with_needle), len(with_needle) - len(gaining),
        over(counted, "gain", [score.size for score in counted]),
        over(with_needle, "oracle", [score.size for score in with_needle]),
        over(gaining, "gain", [score.oracle or 0.0 for score in gaining]),
    )  # fmt: skip


def gain_table(report: GainReport) -> list[dict[str, Any]]:
    """The figures as summary.json and gain.csv have them."""
    table = []
    for one in report.figures:
        line: dict[str, Any] = {
            "group": one.group, "value": one.value, "rows": one.rows, "of": one.of, "no_needle": one.no_needle,
            "no_oracle_gain": one.no_oracle_gain,
        }  # fmt: skip
        for name in ("gain", "oracle", "recovery"):
            share: Ratio = getattr(one, name)
            line |= {name: share.value, f"{name}_low": share.low, f"{name}_high": share.high}
        table.append({**line, "needles": one.gain.clusters, "method": one.gain.method})
    return table


def gain_rows(report: GainReport) -> list[dict[str, Any]]:
    """A line for each row of the dataset, ordered by id, as scores.parquet has them."""
    return [
        {
            "id": score.row.id, "language": score.row.language, "corpus": score.row.corpus, "length": score.row.length,
            "depth_percent": score.row.depth, "needle_id": score.row.needle_id, "haystack_id": score.row.haystack_id,
            "status": score.status, **{f"log_prob_{name}": score.totals.get(name) for name in CONDITIONS},
            "size": score.size or None, "gain": _over(score.gain, score.size),
            "oracle_gain": _over(score.oracle, score.size), "recovery": _over(score.gain, score.oracle),
        }
        for score in report.scores
    ]  # fmt: skip


def _over(above: float | None, below: float | None) -> float | None:
    """A quotient; None if either number is missing, or the lower one is not above 0."""
    return None if above is None or below is None or below <= 0 else above / below
