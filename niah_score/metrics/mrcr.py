"""Scores how alike the raw answer and the reference are by difflib, as the graders of both MRCRs do, bug for bug."""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import lru_cache

from niah_score.metrics.base import Metric, Score
from niah_score.metrics.target import Target

# Characters of the random text that the references of DeepMind's MRCR v2 begin with.
_V2_PREFIX = 12


def judge_mrcr(answer: str, target: Target) -> Score:
    """100 x difflib's ratio of answer and reference after the random prefix that both must begin with; else 0.

    None without a prefix. `guess`: what any of the like replies would score in the mean, the asked one among them, with
    the right prefix; None where the row does not say what the others are.
    """
    prefix = target.prefix
    if not prefix:
        return Score(None, {"guess": None})
    reference = target.answers[0].removeprefix(prefix)
    parts = {"guess": _guess(reference, target.decoys)}
    if not answer.startswith(prefix):
        return Score(0.0, parts)
    return Score(100 * SequenceMatcher(None, answer.removeprefix(prefix), reference).ratio(), parts)


def _guess(reference: str, decoys: tuple[tuple[str, ...], ...]) -> float | None:
    """The mean score of a reply taken by chance out of those that answer like requests."""
    if not decoys:
        return None
    return 100 * (1 + sum(_likeness(group[0], reference) for group in decoys)) / (1 + len(decoys))


@lru_cache(maxsize=65536)
def _likeness(decoy: str, reference: str) -> float:
    return SequenceMatcher(None, decoy, reference).ratio()


def judge_mrcr_v2(answer: str, target: Target) -> Score:
    """100 x difflib's ratio of the reference and what follows the last place where the answer repeats its prefix.

    The prefix is the reference's first 12 characters; both texts are stripped. 0 where the answer does not hold it, or
    where the reference is shorter.
    """
    reference = target.answers[0].strip()
    prefix = reference[:_V2_PREFIX]
    _, held, said = answer.strip().rpartition(prefix) if len(prefix) == _V2_PREFIX else ("", "", "")
    if not held:
        return Score(0.0)
    # difflib ignores characters that are common in its second text: here the answer, in `mrcr` the reference.
    return Score(100 * SequenceMatcher(None, reference[_V2_PREFIX:].strip(), said.strip()).ratio())


MRCR = Metric("mrcr", "compat", judge_mrcr, parts={"guess": float})
MRCR_V2 = Metric("mrcr_v2", "compat", judge_mrcr_v2)
