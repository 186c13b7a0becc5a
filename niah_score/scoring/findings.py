"""Finds how an answer ended: found, hedged, partly, with another needle, said to be absent, refused, and so on.

A finding explains a score and never changes it. Denials, refusals and doubts are recognised by phrases, so findings
are hints.
"""

from __future__ import annotations

from functools import lru_cache

from niah_score.metrics import Target
from niah_score.metrics.base import folded, verdicts
from niah_score.scoring.absence import asserted, said_instead
from niah_score.scoring.own_phrases import languages_of, own_claims, own_finding
from niah_score.text import first_standing, fold, may_hold, spaced

FINDINGS = (
    "found", "hedged", "partly", "wrong_needle", "said_absent", "nothing", "refused", "truncated", "no_answer",
)  # fmt: skip
# Statuses that say how an answer ended, whatever it holds.
_BY_STATUS = {
    "missing": "no_answer", "empty": "no_answer", "error": "no_answer", "refused": "refused",
    "think_unclosed": "truncated",
}  # fmt: skip


def finding_of(answer: str, target: Target, status: str) -> str | None:
    """The finding of an answer, without its reasoning; None if there are no keywords to look for."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    found = [one.find is not None for one in verdicts(answer, target)]
    if all(found):
        return None if not found else "hedged" if _is_hedged(answer, target) else "found"
    if status == "truncated":
        return "truncated"
    return "partly" if any(found) else _said_instead(answer, target)


def _is_hedged(answer: str, target: Target) -> bool:
    """Whether an answer with every keyword does not assert every keyword."""
    own = languages_of(target.language, target.asked_in)
    text = folded(answer)
    claims = [claim for claim in (asserted(text), own_claims(text, own) if own else None) if claim is not None]
    if not claims or _asks_for_denial(target):
        return False
    return any(one.find is None for one in verdicts(claims[-1], target))


@lru_cache(maxsize=16_384)
def _asks_for_denial(target: Target) -> bool:
    """Whether a keyword is itself a word such as "none"."""
    return any(said_instead(word, fold(word), lambda _: 0) for group in target.keywords for word in group)


def _said_instead(answer: str, target: Target) -> str:
    """The finding of an answer without any keyword: said_absent, refused, wrong_needle, hedged, or nothing."""
    text = folded(answer)

    def rivals(part: str) -> int:
        spaces = spaced(part)
        return sum(may_hold(part, spaces, rival) and first_standing(part, rival) is not None for rival in target.rivals)

    said = said_instead(answer, text, rivals)
    if said is None and (own := languages_of(target.language, target.asked_in)):
        said = own_finding(text, own)
    is_taken_back = any(one.taken_back for one in verdicts(answer, target))
    return said or ("wrong_needle" if rivals(text) else "hedged" if is_taken_back else "nothing")
