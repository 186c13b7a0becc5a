"""Scores answers as OpenCompass's CDME does, bug for bug, 0 to 100, on the raw answer.

Formulas: opencompass/datasets/cdme (single with and without trimming, multi). Their oddities are kept: white space is
removed from the answer but not from the keyword, so cdme_multi never finds keywords of two words; reference and keyword
are passed as `reference*keyword`, which is split at every asterisk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from rapidfuzz.distance import Levenshtein

from niah_score.metrics.base import Metric, Score
from niah_score.metrics.chunk import Chunk, ScoreColumns
from niah_score.metrics.target import Target
from niah_score.text import without_spaces

if TYPE_CHECKING:
    from niah_score.text import Letters

_WRONG_SHARE = 0.2  # the share of the edit score that counts if the keyword is not found
EDIT_PARTS = {"edit_distance": int}
KEYWORD_PARTS = {"edit_distance": int, "keyword_found": bool}


class Unpacked(NamedTuple):
    """What the published evaluators unpack `reference*keyword` into; `keyword` is None unless a row has exactly one."""

    reference: str
    keyword: str | None


def judge_cdme(answer: str, target: Target) -> Score:
    """100 x (1 - Levenshtein distance / longer length) of answer and reference without white space."""
    return edit_score(without_spaces(answer), reference_of(target))


def judge_cdme_trim(answer: str, target: Target) -> Score:
    """cdme of the answer cut near the reference's length."""
    reference = reference_of(target)
    return edit_score(trimmed(without_spaces(answer), reference), reference)


def judge_cdme_multi(answer: str, target: Target) -> Score:
    """100 if the answer without white space holds the keyword, else a fifth of cdme. None unless it has one keyword."""
    reference, keyword = unpacked(target)
    said = without_spaces(answer)
    return keyword_or_edit_score(keyword, said, edit_score(said, reference))


def reference_of(target: Target) -> str:
    """The first accepted answer without white space."""
    return without_spaces(target.answers[0])


def unpacked(target: Target) -> Unpacked:
    """Reference (without white space) and keyword, as obtained by splitting `reference*keyword` at asterisks."""
    if len(target.keywords) != 1:
        return Unpacked(reference_of(target), None)
    reference, keyword = f"{target.answers[0]}*{target.keywords[0][0]}".split("*")[:2]
    return Unpacked(without_spaces(reference), keyword)


def edit_score(text: str, reference: str) -> Score:
    """100 x (1 - Levenshtein distance / longer length); 100 for two empty texts."""
    distance = Levenshtein.distance(text, reference)
    return Score(100 * (1 - distance / max(len(text), len(reference), 1)), {"edit_distance": distance})


def trimmed(text: str, reference: str) -> str:
    """The text cut to 1.2 times the reference's length, or after the reference's last character where that comes first.

    That character is looked for from 0.8 times the reference's length on.
    """
    cut = text[: int(1.2 * len(reference))]
    end = cut.find(reference[-1:], int(0.8 * len(reference))) if reference else -1
    return cut[: end + 1] if end >= 0 else cut


def keyword_or_edit_score(keyword: str | None, searched: str, edit: Score) -> Score:
    """100 if the searched text holds the keyword, else a fifth of the edit score; None without a keyword."""
    is_found = None if keyword is None else keyword in searched
    value = None if is_found is None or edit.value is None else 100.0 if is_found else _WRONG_SHARE * edit.value
    return Score(value, {**edit.parts, "keyword_found": is_found})


# Many rows at once ---------------------------------------------------------------------------------------------------


def _many_cdme(chunk: Chunk) -> ScoreColumns:
    return many_edit_scores(chunk, reference_of)


def _many_cdme_trim(chunk: Chunk) -> ScoreColumns:
    return many_edit_scores(chunk, reference_of, trim=True)


def _many_cdme_multi(chunk: Chunk) -> ScoreColumns:
    return many_keyword_or_edit_scores(chunk, many_unpacked_edit_scores(chunk), chunk.spaceless)


def many_edit_scores(chunk: Chunk, reference_of: Callable[[Target], str], *, trim: bool = False) -> ScoreColumns:
    """`edit_score` of all spaceless texts, trimmed if asked for."""
    import numpy as np

    distance = Levenshtein.distance
    distances: list[int] = []
    lengths: list[int] = []
    for target, start, end in chunk.runs:
        reference, texts = chunk.spaceless_letters(reference_of(target), start, end)
        if trim:
            texts = _trimmed_all((reference, texts))
        size = len(reference)
        distances += [distance(text, reference) for text in texts]
        lengths += [max(len(text), size) for text in texts]
    apart = np.array(distances, np.int64)
    values = 100 * (1 - apart / np.maximum(np.array(lengths, np.int64), 1))
    return ScoreColumns(values.tolist(), {"edit_distance": distances})


def many_unpacked_edit_scores(chunk: Chunk) -> ScoreColumns:
    """Edit scores against the unpacked references: those of cdme, unless a reference holds an asterisk."""
    if any("*" in run.target.answers[0] for run in chunk.runs):
        return many_edit_scores(chunk, lambda target: unpacked(target).reference)
    return chunk.shared(_many_cdme)


def many_keyword_or_edit_scores(chunk: Chunk, edit: ScoreColumns, searched: list[str]) -> ScoreColumns:
    """`keyword_or_edit_score` of all rows."""

    def holding(pair: Unpacked, texts: list[str]) -> list[bool | None]:
        keyword = pair.keyword
        return [None] * len(texts) if keyword is None else [keyword in text for text in texts]

    hits = chunk.of_runs(unpacked, holding, searched)
    values = [
        None if hit is None or value is None else 100.0 if hit else _WRONG_SHARE * value
        for hit, value in zip(hits, edit.values, strict=True)
    ]
    return ScoreColumns(values, {**edit.parts, "keyword_found": hits})


def _trimmed_all(spelt: Letters) -> list[str]:
    """`trimmed` of all texts, encoded or as they are."""
    reference, texts = spelt
    shortest, longest = int(0.8 * len(reference)), int(1.2 * len(reference))
    cuts = [text[:longest] for text in texts]
    if not reference:
        return cuts
    last = reference[-1:]
    ends = [cut.find(last, shortest) for cut in cuts]
    return [cut[: end + 1] if end >= 0 else cut for cut, end in zip(cuts, ends, strict=True)]


CDME = Metric("cdme", "compat", judge_cdme, parts=EDIT_PARTS, default=True, many=_many_cdme)
CDME_TRIM = Metric("cdme_trim", "compat", judge_cdme_trim, parts=EDIT_PARTS, default=True, many=_many_cdme_trim)
CDME_MULTI = Metric("cdme_multi", "compat", judge_cdme_multi, parts=KEYWORD_PARTS, default=True, many=_many_cdme_multi)
