"""Finds how each answer ended: found, hedged, partly, with another needle, said to be absent, refused, and so on.

A finding explains a score and never changes it. Denials, refusals and doubts are recognised by phrases, so findings
are hints.
"""

from __future__ import annotations

from collections.abc import Sequence

from niah_score.metrics import Chunk, Target
from niah_score.scoring.absence import asserted, said_instead
from niah_score.scoring.own_phrases import languages_of, own_claims, own_finding
from niah_score.text import first_standing, fold, group_of

FINDINGS = (
    "found", "hedged", "partly", "wrong_needle", "said_absent", "nothing", "refused", "truncated", "no_answer",
)  # fmt: skip


def findings_of(chunk: Chunk, statuses: Sequence[str]) -> list[str | None]:
    """The finding of each row, None if it has no keywords to look for. `chunk`: the extracted answers."""
    findings = list(map(_by_hits, chunk.hits, statuses))
    for place in _hedged(chunk, [place for place, finding in enumerate(findings) if finding == "found"]):
        findings[place] = "hedged"
    for place, finding in enumerate(findings):
        if finding == "nothing":
            findings[place] = _said_instead(chunk, place)
    return findings


def _by_hits(hits: tuple[int | None, ...], status: str) -> str | None:
    """The finding that follows from a row's status and the keywords in its answer."""
    if status in ("missing", "empty", "error"):
        return "no_answer"
    if status == "refused":
        return "refused"
    if status == "think_unclosed":
        return "truncated"
    if None not in hits:
        return "found" if hits else None
    if status == "truncated":
        return "truncated"
    return "nothing" if all(hit is None for hit in hits) else "partly"


def _hedged(chunk: Chunk, places: Sequence[int]) -> list[int]:
    """The rows among `places`, whose answers have every keyword, that do not assert every keyword."""
    claims: dict[int, str] = {}
    for place in places:
        folded, target = chunk.folded[place], chunk.targets[place]
        own = languages_of(target.language, target.asked_in)
        for claimed in (asserted(folded), own_claims(folded, own) if own else None):
            if claimed is not None and not _asks_for_denial(target):
                claims[place] = claimed
    left = Chunk(list(claims.values()), [chunk.targets[place] for place in claims])
    return [place for place, hits in zip(claims, left.hits, strict=True) if None in hits]


def _asks_for_denial(target: Target) -> bool:
    """Whether a keyword is itself a word such as "none"."""
    return any(said_instead(word, fold(word), lambda _: 0) for group in target.keywords for word in group)


def _said_instead(chunk: Chunk, place: int) -> str:
    """The finding of an answer without any keyword: said_absent, refused, wrong_needle, hedged, or nothing."""
    folded, target = chunk.folded[place], chunk.targets[place]

    def rivals(text: str) -> int:
        return sum(first_standing(text, group_of(decoy, None, (), target.rules)) is not None for decoy in target.decoys)

    said = said_instead(chunk.texts[place], folded, rivals)
    if said is None and (own := languages_of(target.language, target.asked_in)):
        said = own_finding(folded, own)
    return said or ("wrong_needle" if rivals(folded) else "hedged" if place in chunk.taken_back else "nothing")
