"""The scores of OpenCompass's CDME and NeedleBench, bug for bug, 0 to 100, on the raw answer.

Formulas: opencompass/datasets/cdme (single with and without trimming, multi), needlebench_v1, needlebench_v2. What is
odd about them stays: white space is dropped from the answer but not from the keyword, so cdme_multi never finds one of
two words; reference and keyword travel as `reference*keyword` and are split at every asterisk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from rapidfuzz.distance import Levenshtein

from niah_score.metrics.chunk import SCORE, Chunk, Columns, Target
from niah_score.text import without_spaces

if TYPE_CHECKING:
    from niah_score.text.vectorised import Letters

_WRONG_SHARE = 0.2  # what is left of the edit score where the keyword is not found


class _Packed(NamedTuple):
    """What the published evaluators unpack `reference*keyword` into; `keyword` is None where a row has not just one."""

    reference: str
    keyword: str | None


def cdme(chunk: Chunk) -> Columns:
    """100 x (1 - Levenshtein distance / longer length) of answer and reference without white space."""
    return _edit(chunk, _reference)


def cdme_trim(chunk: Chunk) -> Columns:
    """cdme of the answer cut near the reference's length."""
    return _edit(chunk, _reference, _trimmed)


def cdme_multi(chunk: Chunk) -> Columns:
    """100 if the answer without white space holds the keyword, else a fifth of cdme. Null without one keyword."""
    return _corrected(chunk, _packed_edit(chunk), chunk.packed)


def needlebench_v1(chunk: Chunk) -> Columns:
    """As cdme_multi, but the keyword is looked for in the answer as it is."""
    return _corrected(chunk, _packed_edit(chunk), chunk.texts)


def needlebench_v1_trim(chunk: Chunk) -> Columns:
    """needlebench_v1 whose edit score is that of the answer cut near the reference's length."""
    return _corrected(chunk, _edit(chunk, lambda target: _unpacked(target).reference, _trimmed), chunk.texts)


def needlebench_v2(chunk: Chunk) -> Columns:
    """100 if the answer holds the keyword, else 0. Null without one keyword."""
    packs = chunk.once(_unpacked)
    return {
        SCORE: [
            None if p.keyword is None else 100.0 * (p.keyword in t) for t, p in zip(chunk.texts, packs, strict=True)
        ]
    }


def _unpacked(target: Target) -> _Packed:
    reference = target.answers[0]
    if len(target.keywords) != 1:
        return _Packed(without_spaces(reference), None)
    reference, keyword = f"{reference}*{target.keywords[0][0]}".split("*")[:2]
    return _Packed(without_spaces(reference), keyword)


def _reference(target: Target) -> str:
    return without_spaces(target.answers[0])


def _packed_edit(chunk: Chunk) -> Columns:
    """The edit columns against what unpacking leaves of the references: cdme's, but for those with an asterisk."""
    if any("*" in run.target.answers[0] for run in chunk.runs):
        return _edit(chunk, lambda target: _unpacked(target).reference)
    return chunk.shared(cdme)


def _edit(
    chunk: Chunk, reference_of: Callable[[Target], str], cut: Callable[[Letters], Letters] | None = None
) -> Columns:
    """Edit distances of the packed texts, or of what `cut` leaves of them, and scores."""
    import numpy as np

    distance = Levenshtein.distance
    distances: list[int] = []
    lengths: list[int] = []
    for target, start, end in chunk.runs:
        spelt = chunk.packed_letters(reference_of(target), start, end)
        reference, texts = cut(spelt) if cut else spelt
        size = len(reference)
        distances += [distance(text, reference) for text in texts]
        lengths += [max(len(text), size) for text in texts]
    apart = np.array(distances, np.int64)
    scores = 100 * (1 - apart / np.maximum(np.array(lengths, np.int64), 1))
    return {SCORE: scores.tolist(), "edit_distance": distances}


def _corrected(chunk: Chunk, edit: Columns, searched: list[str]) -> Columns:
    def holding(pack: _Packed, texts: list[str]) -> list[bool | None]:
        keyword = pack.keyword
        return [None] * len(texts) if keyword is None else [keyword in text for text in texts]

    found = chunk.of_runs(_unpacked, holding, searched)
    scores = [
        None if hit is None else 100.0 if hit else _WRONG_SHARE * score
        for hit, score in zip(found, edit[SCORE], strict=True)
    ]
    return {SCORE: scores, "edit_distance": edit["edit_distance"], "keyword_found": found}


def _trimmed(spelt: Letters) -> Letters:
    """The texts up to 1.2 times the reference's length, and from 0.8 on not beyond the reference's last character."""
    reference, texts = spelt
    shortest, longest = int(0.8 * len(reference)), int(1.2 * len(reference))
    cuts = [text[:longest] for text in texts]
    if not reference:
        return reference, cuts
    last = reference[-1:]
    ends = [cut.find(last, shortest) for cut in cuts]
    return reference, [cut[: end + 1] if end >= 0 else cut for cut, end in zip(cuts, ends, strict=True)]
