"""Scores answers as RULER, BABILong, NoLiMa, needlehaystack 2, GraphWalks and both MRCRs do, bug for bug and raw.

Formulas: RULER's `string_match_all` and `string_match_part`; BABILong's `compare_answers`; NoLiMa's `contains`;
needlehaystack 2's `exact_match` and `chain_match`; the graders of OpenAI's MRCR and GraphWalks (the dataset card of
revision be6cc6ec), and of DeepMind's MRCR v2.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise

from niah_score.metrics.base import Score, Target

_CONTROL = re.compile(r"[\x00-\x1f]")  # RULER takes control characters for line ends
_BABILONG_ENDS = (".", "<context>", "<example>")
_SHORTEST_LIST = 3
_LINK = re.compile(r"\s*(\S+) maps to (\S+)\.\s*")
# The length of the random text that references of DeepMind's MRCR v2 begin with.
_V2_PREFIX = 12


def judge_ruler_all(answer: str, target: Target) -> Score:
    """Share of the values asked for that the answer contains, ignoring case (RULER's string_match_all).

    The values are the first keyword of every group; without keywords, all answers.
    """
    text = _for_ruler(answer)
    values = [group[0] for group in target.keywords] or target.answers
    return Score(100 * sum(value.lower() in text for value in values) / len(values))


def judge_ruler_part(answer: str, target: Target) -> Score:
    """100 if the answer contains any accepted answer, ignoring case (RULER's string_match_part); else 0."""
    text = _for_ruler(answer)
    return Score(100.0 if any(accepted.lower() in text for accepted in target.answers) else 0.0)


def _for_ruler(answer: str) -> str:
    return _CONTROL.sub("\n", answer.strip()).strip().lower()


def judge_babilong(answer: str, target: Target) -> Score:
    """100 if the target is the only label that the answer names before its first full stop, in any case; else 0.

    Labels are the accepted answer and the decoys (labels not named in the question). A target with a comma is a list:
    the answer must name all of its labels and no others.
    """
    said = answer.lower()
    for end in _BABILONG_ENDS:
        said = said.split(end)[0]
    wanted = target.answers[0].lower()
    is_list = "," in wanted and len(wanted) > _SHORTEST_LIST
    own = set(wanted.split(",")) if is_list else {wanted}
    labels = {label.lower() for decoy in target.decoys for label in decoy[:1]} | own
    return Score(100.0 if {label for label in labels if label in said} == own else 0.0)


def judge_nolima_contains(answer: str, target: Target) -> Score:
    """100 if the answer contains any accepted answer literally, including white space (NoLiMa's `contains`); else 0."""
    return Score(100.0 if any(accepted in answer for accepted in target.answers) else 0.0)


def judge_nh2_match(answer: str, target: Target) -> Score:
    """The share of the expected fragments that are in the answer, in lower case and stripped (`exact_match`).

    The fragments are the first keyword of every group; without keywords, the reference. Parts: `found` and `fragments`
    are the numbers of fragments.
    """
    said = answer.lower().strip()
    fragments = [group[0] for group in target.keywords] or [target.answers[0]]
    found = sum(fragment.lower().strip() in said for fragment in fragments)
    return Score(100 * found / len(fragments), {"found": found, "fragments": len(fragments)})


def judge_nh2_chain(answer: str, target: Target) -> Score:
    """How far along the chain the answer got: 100 x the farthest member that it holds / all members (`chain_match`).

    The members are read from the needles, `A maps to B.`, in order, so that repeating the first, which the question
    names, already counts. Parts: `reached` and `members` are the numbers of members. None if the needles form no chain.
    """
    links = [_LINK.fullmatch(text) for text in target.needles]
    pairs = [(link[1], link[2]) for link in links if link]
    if not pairs or len(pairs) < len(links) or any(left[1] != right[0] for left, right in pairwise(pairs)):
        return Score(None)
    members = [pairs[0][0], *(end for _, end in pairs)]
    said = answer.lower()
    reached = max((place for place, member in enumerate(members, 1) if member.lower() in said), default=0)
    return Score(100 * reached / len(members), {"reached": reached, "members": len(members)})


def judge_mrcr(answer: str, target: Target) -> Score:
    """100 x difflib's ratio of answer and reference after the random prefix, with which both must begin; else 0.

    None without a prefix. `guess`: the mean score of all replies to similar requests, including the right one, with the
    right prefix; None if the row does not have the others.
    """
    prefix = target.prefix
    if not prefix:
        return Score(None)
    reference = target.answers[0].removeprefix(prefix)
    said = answer.removeprefix(prefix) if answer.startswith(prefix) else None
    value = 0.0 if said is None else 100 * SequenceMatcher(None, said, reference).ratio()
    return Score(value, {"guess": _mrcr_guess(reference, target)})


@lru_cache(maxsize=4_096)
def _mrcr_guess(reference: str, target: Target) -> float | None:
    """The mean score of a reply chosen at random from those to similar requests."""
    if not target.decoys:
        return None
    alike = sum(SequenceMatcher(None, group[0], reference).ratio() for group in target.decoys)
    return 100 * (1 + alike) / (1 + len(target.decoys))


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


def judge_graphwalks(answer: str, target: Target) -> Score:
    """100 x the F1 of the nodes that the answer lists and those of the reference; 100 if both lists are empty.

    The list is what stands between the first `[` and the last `]` of the very last line, which must also hold
    `Final Answer:`; otherwise the score is 0. `parsed`: whether there was such a list.
    """
    said, right = _listed_nodes(answer), _listed_nodes(target.answers[0]) or frozenset()
    if said is None:
        return Score(0.0, {"parsed": False})
    shared, both = len(said & right), len(said) + len(right)
    return Score(200 * shared / both if both else 100.0, {"parsed": True})


def _listed_nodes(text: str) -> frozenset[str] | None:
    """The nodes of a `Final Answer: [a, b]` on the last line; None if there is none."""
    line = text.split("\n")[-1]
    start, end = line.find("["), line.rfind("]")
    if "Final Answer:" not in line or not 0 <= start < end:
        return None
    return frozenset(filter(None, map(str.strip, line[start : end + 1].strip("[]").split(","))))


PARTS = {
    "nh2_match": {"found": int, "fragments": int},
    "nh2_chain": {"reached": int, "members": int},
    "mrcr": {"guess": float},
    "graphwalks": {"parsed": bool},
}
