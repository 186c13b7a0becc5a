"""Scores the windows of a perplexity set: nats per token, perplexity and bits per byte, by length, with intervals.

Negative log-likelihood is the sum of -log p over all scored tokens, divided by their number; perplexity is its
exponential; bits per byte is the same sum in bits, divided by the scored bytes. Intervals are by document.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from niah_score.errors import ScoreError
from niah_score.formats import model_of
from niah_score.logprobs.report import Ratio, Report, ends_of, missing_problems, ratio
from niah_score.logprobs.targets import USUAL, Asked, Measured, Target, measure, read_targets, target_of

# Of rows: all tokens have a log-probability, some have none, or there is no record.
STATUSES = ("scored", "incomplete", "missing")
_MOST_NATS = 700


def perplexity(
    dataset: str | Path, log_probs: Sequence[str | Path], *, model: str | None = None, asked: Asked = USUAL
) -> Report:
    """Score files of log-probabilities against a perplexity set.

    Raises ScoreError, ContractError and subclasses, naming file and line, also for tokens of another tokenizer than the
    dataset's, and for missing log-probabilities unless `asked` says what they count as.
    """
    asked.check()
    targets, rows = read_targets(Path(dataset))
    without = sum(row.tokens == 0 for row in targets)
    if without:
        raise ScoreError(
            f"{dataset}: {without:,} of {len(targets):,} rows have no target_span, so they ask for answers, for "
            "niah-score score or niah-score gain"
        )
    measured, lines, problems = measure(targets, rows, log_probs, asked, target_of)
    scores = [_score(row, measured.get((row.id, "full")), asked.missing == "partial") for row in targets]
    statuses = {status: sum(one["status"] == status for one in scores) for status in STATUSES}
    lost = [one for one in scores if one["status"] != "scored"]
    lacking = {one["id"]: f"lacks the log-probabilities of {one['missing_tokens'] or 'all'} tokens" for one in lost}
    problems += missing_problems(lacking, len(targets), asked, problems)
    return Report(
        "perplexity", rows.name, rows.digest8, model_of(model, log_probs), asked, scores,
        _figures(list(zip(targets, scores, strict=True)), asked.per), statuses, sum(one["counts"] for one in scores),
        lines, problems, tokenizer=", ".join(sorted({row.tokenizer for row in targets})),
    )  # fmt: skip


def _score(row: Target, measured: Measured | None, partial: bool) -> dict[str, Any]:
    """The line of a row, as scores.parquet has it. `counts`: whether it is in the figures."""
    total, tokens, missing, _ = measured or (None, None, None, 0)
    status = "missing" if missing is None else "incomplete" if missing else "scored"
    nats = None if total is None else -total
    about = {name: value for name, value in row.about.items() if name != "depth_percent"}
    return {
        **about, "status": status,
        "counts": status == "scored" or (partial and tokens is not None and (missing or 0) < tokens),
        "nll_sum": nats if status == "scored" else None, "known_nll_sum": nats, "tokens": tokens,
        "missing_tokens": missing, "bytes": row.bytes,
    }  # fmt: skip


def _figures(scores: Sequence[tuple[Target, dict[str, Any]]], per: str) -> list[dict[str, Any]]:
    """The figures by language and length; if a language has several corpora, also for each of them."""
    corpora = [language for language, _ in {(score["language"], score["corpus"]) for _, score in scores}]
    groups: dict[tuple[str, str, int], list[tuple[Target, dict[str, Any]]]] = {}
    for row, score in scores:
        language, corpus, length = score["language"], score["corpus"], score["length"]
        for of_corpus in {"", corpus} if corpora.count(language) > 1 else {""}:
            groups.setdefault((language, of_corpus, length), []).append((row, score))
    return [
        {"language": language, "corpus": corpus or None, "length": length}
        | _figure(groups[language, corpus, length], per)
        for language, corpus, length in sorted(groups)
    ]


def _figure(scores: Sequence[tuple[Target, dict[str, Any]]], per: str) -> dict[str, Any]:
    counted = [score for _, score in scores if score["counts"]]
    documents = [(one["corpus"], one["needle_id"], one["haystack_id"]) for one in counted]
    nats, sizes = [one["known_nll_sum"] for one in counted], [one["bytes"] for one in counted]
    unknown = any(one["tokens"] is None for one in counted)
    tokens = [] if unknown else [one["tokens"] - one["missing_tokens"] for one in counted]
    nll = ratio(nats, tokens, documents) if per == "token" else Ratio()
    # If tokens are missing, nothing says how many bytes the others have.
    whole = all(one["status"] == "scored" for one in counted)
    bits = ratio([one / math.log(2) for one in nats], sizes, documents) if whole else Ratio()
    perplexities = nll._replace(value=_exp(nll.value), low=_exp(nll.low), high=_exp(nll.high))
    return {
        "rows": len(counted), "of": len(scores), "tokens": None if unknown else sum(tokens), "bytes": sum(sizes),
        "missing_rows": sum(score["status"] == "missing" for _, score in scores),
        "missing_tokens": sum(
            row.tokens if score["missing_tokens"] is None else score["missing_tokens"] for row, score in scores
        ),
        **ends_of("nll", nll), **ends_of("perplexity", perplexities), **ends_of("bits_per_byte", bits),
        "documents": max(nll.clusters, bits.clusters), "method": (nll if nll.clusters else bits).method,
    }  # fmt: skip


def _exp(value: float | None) -> float | None:
    """e to the power of a value; None if that is too large for a float."""
    return None if value is None or value > _MOST_NATS else math.exp(value)
