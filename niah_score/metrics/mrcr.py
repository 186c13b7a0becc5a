"""Scores the similarity of the raw answer to the reference by difflib, as the graders of both MRCRs do, bug for bug."""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import lru_cache

from niah_score.metrics.base import Metric, Score
from niah_score.metrics.target import Target

# The length of the random text that references of DeepMind's MRCR v2 begin with.
_V2_PREFIX = 12


def judge_mrcr(answer: str, target: Target) -> Score:
    """100 x difflib's ratio of answer and reference after the random prefix, with which both must begin; else 0.

    None without a prefix. `guess`: the mean score of all replies to similar requests, including the right one, with the
    right prefix; None if the row does not have the others.
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
    """The mean score of a reply chosen at random from those to similar requests."""
    if not decoys:
        return None
    return 100 * (1 + sum(_likeness(group[0], reference) for group in decoys)) / (1 + len(decoys))


@lru_cache(maxsize=65536)
def _likeness(decoy: str, reference: str) -> float:
    return SequenceMatcher(None, decoy, reference).ratio()


def judge_mrcr_v2(answer: str, target: Target) -> Score:
    """100 x difflib's ratio of the reference and the answer, each after the prefix; in the answer, its last occurrence.

    The prefix is the reference's first 12 characters; both texts are stripped. 0 if the answer does not hold it, or if
    the reference is shorter.
    """
    reference = target.answers[0].strip()
    prefix = reference[:_V2_PREFIX]
    _, held, said = answer.strip().rpartition(prefix) if len(prefix) == _V2_PREFIX else ("", "", "")
    if not held:
        return Score(0.0)
    # difflib ignores characters that are frequent in its second text: here the answer, in `mrcr` the reference.
    return Score(100 * SequenceMatcher(None, reference[_V2_PREFIX:].strip(), said.strip()).ratio())


MRCR = Metric("mrcr", "compat", judge_mrcr, parts={"guess": float})
MRCR_V2 = Metric("mrcr_v2", "compat", judge_mrcr_v2)
