"""Scores answers as needlehaystack 2 does, bug for bug, 0 to 100, on the raw answer.

Formulas: its `exact_match` (tasks single, multi and uuid) and `chain_match` (uuid_chain).
"""

from __future__ import annotations

import re
from itertools import pairwise

from niah_score.metrics.base import Metric, Score
from niah_score.metrics.target import Target

_LINK = re.compile(r"\s*(\S+) maps to (\S+)\.\s*")


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
    members = chain_members(target.needles)
    if not members:
        return Score(None, {"reached": None, "members": None})
    said = answer.lower()
    reached = max((place for place, member in enumerate(members, 1) if member.lower() in said), default=0)
    return Score(100 * reached / len(members), {"reached": reached, "members": len(members)})


def chain_members(needles: tuple[str, ...]) -> tuple[str, ...]:
    """The members of the chain that needles form, each as `A maps to B.`; none if a needle is not a link."""
    links = [_LINK.fullmatch(text) for text in needles]
    pairs = [(link[1], link[2]) for link in links if link]
    joined = all(left[1] == right[0] for left, right in pairwise(pairs))
    if not pairs or len(pairs) < len(needles) or not joined:
        return ()
    return (pairs[0][0], *(end for _, end in pairs))


NH2_MATCH = Metric("nh2_match", "compat", judge_nh2_match, parts={"found": int, "fragments": int})
NH2_CHAIN = Metric("nh2_chain", "compat", judge_nh2_chain, parts={"reached": int, "members": int})
