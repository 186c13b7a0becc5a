"""Finds how each answer ended: found, hedged, partly, with another needle, said to be absent, refused, and so on.

A finding explains a score and never changes it. Denials, refusals and doubts are recognised by phrases, so findings
are hints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from niah_score.metrics import Chunk, Target
from niah_score.scoring.clauses import Clause, is_denial_alone, read_clauses, with_hints
from niah_score.scoring.own_phrases import languages_of, own_claims, own_finding
from niah_score.text import as_word, first_standing, group_of

FINDINGS = (
    "found", "hedged", "partly", "wrong_needle", "said_absent", "nothing", "refused", "truncated", "no_answer",
)  # fmt: skip


def findings_of(chunk: Chunk, statuses: Sequence[str]) -> list[str | None]:
    """The finding of each row, None if it has no keywords to look for. `chunk`: the extracted answers."""
    import polars as pl

    findings = list(map(_by_hits, chunk.hits, statuses))
    # All answers are searched at once for hints, which few of them have; only those few are read clause by clause.
    folded = pl.Series(chunk.folded, dtype=pl.String)
    hinted = [place for place in with_hints(folded) if findings[place] in ("found", "nothing")]
    clauses = dict(zip(hinted, read_clauses(folded.gather(hinted)), strict=True))
    for place in _hedged(chunk, {place: own for place, own in clauses.items() if findings[place] == "found"}):
        findings[place] = "hedged"
    for place, own in clauses.items():
        if findings[place] == "nothing":
            findings[place] = _said_instead(chunk.folded[place], own)
    for place, finding in _by_own_phrases(chunk, findings).items():
        findings[place] = finding
    nothing = [place for place, finding in enumerate(findings) if finding == "nothing"]
    for place in _naming_decoys(chunk, nothing):
        findings[place] = "wrong_needle"
    for place in nothing:
        if findings[place] == "nothing" and place in chunk.taken_back:
            findings[place] = "hedged"
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


def _hedged(chunk: Chunk, clauses: Mapping[int, Sequence[Clause]]) -> list[int]:
    """The rows in `clauses` whose answer no longer has every keyword once denials, doubts and quotations are removed.

    `clauses`: of rows whose answer has every keyword.
    """
    asserted = {place: _asserted(own) for place, own in clauses.items()}
    doubtful = [
        place for place, text in asserted.items() if text is not None and not _asks_for_denial(chunk.targets[place])
    ]
    left = Chunk([asserted[place] or "" for place in doubtful], [chunk.targets[place] for place in doubtful])
    return [place for place, hits in zip(doubtful, left.hits, strict=True) if None in hits]


def _by_own_phrases(chunk: Chunk, findings: Sequence[str | None]) -> dict[int, str]:
    """The findings that change because of phrases in languages other than English and Chinese."""
    changed: dict[int, str] = {}
    claims: dict[int, str] = {}
    codes_of: dict[tuple[str, str], tuple[str, ...]] = {}
    for place, (target, finding) in enumerate(zip(chunk.targets, findings, strict=True)):
        if finding not in ("found", "nothing"):
            continue
        key = (target.language, target.asked_in)
        if key not in codes_of:
            codes_of[key] = languages_of(*key)
        codes = codes_of[key]
        if not codes:
            continue
        text = chunk.folded[place]
        if finding == "nothing" and (instead := own_finding(text, codes)) is not None:
            changed[place] = instead
        elif finding == "found" and (claimed := own_claims(text, codes)) is not None and not _asks_for_denial(target):
            claims[place] = claimed
    asserted = Chunk(list(claims.values()), [chunk.targets[place] for place in claims])
    for place, hits in zip(claims, asserted.hits, strict=True):
        if None in hits:
            changed[place] = "hedged"
    return changed


def _asserted(clauses: Sequence[Clause]) -> str | None:
    """What an answer says without its denials, doubts and quotations; None if it has no denial and no doubt.

    If an answer denies the question itself, only what follows counts, as the denial may take back what came before.
    A quotation counts after "but" ("It does not say when, but it says: ...").
    """
    denying = [clause.refuses or clause.sets_aside or (clause.denies and not clause.is_other) for clause in clauses]
    if any(clause.is_unsure for clause in clauses):
        return ""
    if not any(denying):
        return None
    first = 0
    for number, clause in enumerate(clauses):
        if denying[number] and clause.of_question:
            first = number + 1
    return " ".join(
        clause.text if clause.contrasts else clause.own
        for clause, denies in zip(clauses[first:], denying[first:], strict=True)
        if not denies and not clause.guesses
    )


def _asks_for_denial(target: Target) -> bool:
    """Whether a keyword is itself a word such as "none"."""
    return any(is_denial_alone(as_word(word).text) for group in target.keywords for word in group)


def _said_instead(folded: str, clauses: Sequence[Clause]) -> str:
    """The finding of an answer without any keyword: said_absent, refused, or nothing."""
    if is_denial_alone(folded):
        return "said_absent"
    denials = [number for number, clause in enumerate(clauses) if clause.denies and not clause.is_other]
    refusals = [number for number, clause in enumerate(clauses) if clause.refuses]
    if denials or refusals:
        # A claim before that, or a conclusion after it, is an answer, though a wrong one.
        first = min(denials or refusals)
        claims = any(clause.claims and not clause.guesses for clause in clauses[:first]) or any(
            clause.claims and (clause.contrasts or clause.concludes) for clause in clauses[first:]
        )
        return "nothing" if claims else "said_absent" if denials else "refused"
    if any(clause.denies or clause.is_unsure for clause in clauses) and not any(clause.claims for clause in clauses):
        return "said_absent"
    return "nothing"


def _naming_decoys(chunk: Chunk, places: Sequence[int]) -> list[int]:
    """The rows among `places` whose answer states the fact of a distractor."""

    def states(place: int, decoy: tuple[str, ...]) -> bool:
        group = group_of(decoy, None, (), chunk.targets[place].rules)
        return first_standing(chunk.folded[place], group) is not None

    return [place for place in places if any(states(place, decoy) for decoy in chunk.targets[place].decoys)]
