"""Scores the windows of a perplexity set: nats per token, perplexity and bits per byte, by length, with intervals.

Negative log-likelihood is the sum of -log p over all scored tokens, divided by their number; perplexity is its
exponential; bits per byte is the same sum in bits, divided by the scored bytes. Intervals are by document.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from niah_score.contract import VERSION
from niah_score.errors import ScoreError
from niah_score.formats.logprobs.record import LogProbRecord
from niah_score.formats.record import UnreadableError
from niah_score.join.join import ACCEPTED_PROBLEMS, Lines, Problem
from niah_score.join.target_rows import TargetRow, read_targets
from niah_score.report.logprobs.measure import USUAL, Asked, Measures, check_asked, measures
from niah_score.scoring.target_tokens import Measured, target_of
from niah_score.statistics.ratios import NO_RATIO, Ratio, ratio
from niah_score.text.visible import without_surrogates

STATUSES = ("scored", "incomplete", "missing")
_SHOWN = 3


class WindowScore(NamedTuple):
    """A row and what was measured of it. `status`: scored; incomplete if tokens are missing; missing if all is.

    `counts`: whether it is in the figures.
    """

    row: TargetRow
    measured: Measured | None
    status: str
    counts: bool


class LengthFigure(NamedTuple):
    """The windows of one length in a language, or in one of its corpora; `corpus` is None for all corpora.

    `rows`: how many count, out of `of`. `tokens`, `bytes`: how many were scored. `missing_rows`, `missing_tokens`: how
    many have no log-probability, whether they count or not. `nll`: nats per token; `bits`: bits per byte.
    """

    language: str
    corpus: str | None
    length: int
    rows: int
    of: int
    tokens: int | None
    bytes: int
    missing_rows: int
    missing_tokens: int
    nll: Ratio
    bits: Ratio


@dataclass(frozen=True)
class PerplexityReport:
    """Scored log-probabilities of windows. `statuses`: how many rows have each of STATUSES."""

    dataset: str
    digest8: str
    model: str
    asked: Asked
    tokenizer: str
    scores: tuple[WindowScore, ...]
    figures: tuple[LengthFigure, ...]
    statuses: dict[str, int]
    lines: Lines
    problems: tuple[Problem, ...]

    @property
    def exit_code(self) -> int:
        """0, or 3 if no row counts or inputs had problems other than missing ones, which count only if asked for."""
        had_problems = {problem.kind for problem in self.problems} - {*ACCEPTED_PROBLEMS}
        return 3 if had_problems or not any(score.counts for score in self.scores) else 0

    @property
    def signature(self) -> str:
        """What the numbers were measured with, in one line."""
        return (
            f"niah|ds:{self.digest8}|metric:nll/{self.asked.per}|tokenizer:{self.tokenizer}"
            f"|missing:{self.asked.missing}|n:{sum(score.counts for score in self.scores)}|v:{VERSION}"
        )


def perplexity(
    dataset: str | Path,
    log_probs: str | Path | Sequence[str | Path],
    *,
    model: str | None = None,
    asked: Asked = USUAL,
) -> PerplexityReport:
    """Score files of log-probabilities against a perplexity set.

    Raises ScoreError, ContractError and subclasses, naming file and line, also for tokens of another tokenizer than the
    dataset's, and for missing log-probabilities unless `asked` says what they count as.
    """
    check_asked(asked)
    files = [log_probs] if isinstance(log_probs, str | Path) else list(log_probs)
    targets = read_targets(Path(dataset), windows=True)

    def take(record: LogProbRecord, row: TargetRow, stated: str | None) -> Measured:
        if record.condition != "full":
            raise UnreadableError(
                f"condition is {record.condition!r}, but perplexity sets have no conditions; score it with niah-score "
                "gain"
            )
        return target_of(record.found, row, asked.per, stated)

    measured = measures(targets, files, asked, take)
    scores = tuple(_scored(row, measured.of_rows.get((row.id, "full")), asked.missing) for row in targets.rows)
    statuses = {status: sum(score.status == status for score in scores) for status in STATUSES}
    if asked.missing == "error" and statuses["scored"] != len(scores):
        raise ScoreError(_refusal(scores, measured))
    return PerplexityReport(
        targets.joinable.name, targets.joinable.digest8, without_surrogates(model or model_of(files)), asked,
        ", ".join(sorted({score.row.tokenizer for score in scores})), scores, tuple(_figures(scores, asked.per)),
        statuses, measured.lines, (*measured.problems, *_absent(scores)),
    )  # fmt: skip


def model_of(files: Sequence[str | Path]) -> str:
    """The name of the first file, which stands in for the model's if none was given."""
    return Path(str(files[0])).name.partition(".")[0].strip("*?[]") or "model" if files else "model"


def _scored(row: TargetRow, measured: Measured | None, missing: str) -> WindowScore:
    if measured is None:
        return WindowScore(row, None, "missing", False)
    if not measured.missing:
        return WindowScore(row, measured, "scored", True)
    known = measured.tokens is not None and measured.missing < measured.tokens
    return WindowScore(row, measured, "incomplete", missing == "partial" and known)


def _refusal(scores: Sequence[WindowScore], measured: Measures) -> str:
    """Why nothing is scored."""
    reasons = []
    for status, what in (("missing", "have no log-probabilities"), ("incomplete", "lack some tokens'")):
        names = [score.row.id for score in scores if score.status == status]
        if names:
            shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
            reasons.append(f"{len(names):,} of {len(scores):,} rows {what} ({shown})")
    for kind in ("malformed", "unknown"):
        problems = [problem for problem in measured.problems if problem.kind == kind]
        if problems:
            reasons.append(f"{len(problems):,} of {measured.lines.read:,} records are {kind}, the first: {problems[0]}")
    return (
        f"{'; '.join(reasons)}; ask for them again, leave these rows out with --missing exclude, or count the tokens "
        "that are known with --missing partial"
    )


def _absent(scores: Iterable[WindowScore]) -> Iterator[Problem]:
    """A problem for each row that is missing or incomplete."""
    for score in scores:
        if score.measured is None:
            yield Problem("missing", "", None, score.row.id, f"{score.row.id!r} has no log-probabilities")
        elif score.status == "incomplete":
            lacking, tokens = score.measured.missing, score.measured.tokens or 0
            what = f"{score.row.id!r} lacks the log-probabilities of {lacking:,} of {tokens:,} tokens"
            yield Problem("missing", "", None, score.row.id, what)


def _figures(scores: Sequence[WindowScore], per: str) -> list[LengthFigure]:
    """The figures by language and length; if a language has several corpora, also for each of them."""
    corpora: dict[str, set[str]] = {}
    for score in scores:
        corpora.setdefault(score.row.language, set()).add(score.row.corpus)
    groups: dict[tuple[str, str | None, int], list[WindowScore]] = {}
    for score in scores:
        row = score.row
        groups.setdefault((row.language, None, row.length), []).append(score)
        if len(corpora[row.language]) > 1:
            groups.setdefault((row.language, row.corpus, row.length), []).append(score)
    ordered = sorted(groups, key=lambda key: (key[0], key[1] or "", key[2]))
    return [_figure(*key, groups[key], per) for key in ordered]


def _figure(language: str, corpus: str | None, length: int, scores: Sequence[WindowScore], per: str) -> LengthFigure:
    counted = [(score.row, score.measured) for score in scores if score.counts and score.measured is not None]
    documents = [(row.corpus, row.needle_id, row.haystack_id) for row, _ in counted]
    nats = [-measured.total for _, measured in counted]
    sizes = [0 if measured.tokens is None else measured.tokens - measured.missing for _, measured in counted]
    whole = all(not measured.missing for _, measured in counted)
    return LengthFigure(
        language, corpus, length, len(counted), len(scores),
        sum(sizes) if all(measured.tokens is not None for _, measured in counted) else None,
        sum(measured.bytes for _, measured in counted),
        sum(score.measured is None for score in scores),
        sum(
            score.row.tokens if score.measured is None else score.measured.missing for score in scores
        ),
        ratio(nats, sizes, documents) if per == "token" else NO_RATIO,
        # If tokens are missing, nothing says how many bytes the others have.
        ratio([nat / math.log(2) for nat in nats], [measured.bytes for _, measured in counted], documents)
        if whole else NO_RATIO,
    )  # fmt: skip


def _exp(value: float | None) -> float | None:
    """e to the power of a value; None if that is too large for a float."""
    try:
        return None if value is None else math.exp(value)
    except OverflowError:
        return None


def figure_table(report: PerplexityReport) -> list[dict[str, Any]]:
    """The figures as summary.json and perplexity.csv have them."""
    return [
        {
            "language": one.language, "corpus": one.corpus, "length": one.length, "rows": one.rows, "of": one.of,
            "tokens": one.tokens, "bytes": one.bytes, "missing_rows": one.missing_rows,
            "missing_tokens": one.missing_tokens, "nll": one.nll.value, "nll_low": one.nll.low,
            "nll_high": one.nll.high, "perplexity": _exp(one.nll.value), "perplexity_low": _exp(one.nll.low),
            "perplexity_high": _exp(one.nll.high), "bits_per_byte": one.bits.value, "bits_per_byte_low": one.bits.low,
            "bits_per_byte_high": one.bits.high, "documents": max(one.nll.clusters, one.bits.clusters),
            "method": (one.nll if one.nll.rows else one.bits).method,
        }
        for one in report.figures
    ]  # fmt: skip


def score_table(report: PerplexityReport) -> list[dict[str, Any]]:
    """A line for each row of the dataset, ordered by id, as scores.parquet has them."""
    return [
        {
            "id": score.row.id, "language": score.row.language, "corpus": score.row.corpus, "length": score.row.length,
            "needle_id": score.row.needle_id, "haystack_id": score.row.haystack_id, "status": score.status,
            "counts": score.counts,
            "nll_sum": None if score.measured is None or score.status == "incomplete" else -score.measured.total,
            "known_nll_sum": None if score.measured is None else -score.measured.total,
            "tokens": None if score.measured is None else score.measured.tokens,
            "missing_tokens": None if score.measured is None else score.measured.missing,
            "bytes": score.row.target_bytes,
        }
        for score in report.scores
    ]  # fmt: skip
