r"""Tells whether an answer says that the text does not state what was asked, declines, or only guesses.

An answer is absent if it says that the text does not tell what was asked, and gives no answer of its own.
What counts as an answer, as another matter, a guess, an aside or a refusal, is in docs/metrics.md ("Statuses and
findings").

For folded texts in English and Chinese. Gaps in patterns are bounded, or tried from one place only, so that reading
takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from niah_score.text.phrases import phrases_of

_SAID = phrases_of("absence")
_MARKS = " .,:;!?。\"'*“”「」()[]-—–"
_QUOTED = "\x02"
_QUOTATION = re.compile('["“「『][^"“”「」『』]{20,500}["”」』]')


class Clause(NamedTuple):
    """A clause of an answer, `text` without its quotations. `ends`: whether it ends a sentence."""

    whole: str
    text: str
    ends: bool
    kind: str  # denies, other (a denial of another matter), refuses, guesses, leans, asks, talks, or claims


def clauses_of(folded: str, *, denying: bool = False) -> list[Clause]:
    """The clauses of a folded answer; none if none seems to deny, refuse or, unless `denying`, to guess or ask.

    If none seems to deny or refuse, only guesses and questions get their own kind; other clauses count as claims.
    `denying`: only denials and refusals matter.
    """
    hints = [hint for hint in _SAID.hints if hint in folded]
    if not hints:
        return []
    folded = folded.replace(_QUOTED, " ")
    quotations = iter(_QUOTATION.findall(folded))
    own = _QUOTATION.sub(_QUOTED, folded)
    sentences = [
        [part for part in _cut(sentence, _SAID.clause_end) if part.strip(_MARKS)]
        for sentence in _cut(_SAID.inserted.sub(" ", own), _SAID.sentence_end)
    ]
    hinted = {part for parts in sentences for part in parts if any(hint in part for hint in hints)}
    denies = "nor" in own or any(map(_might_deny, hinted))
    doubtful = set() if denies or denying else {part for parts in sentences for part in parts if _might_doubt(part)}
    # Most texts end here: their hints are parts of other words, such as "not" in "another".
    if not denies and not doubtful:
        return []
    clauses: list[Clause] = []
    told = False
    for parts in sentences:
        of_source = reports = denied = False
        for number, part in enumerate(parts, 1):
            begins = _SAID.according_to.match(part) is not None
            before, *after = part.split(_QUOTED)
            whole = before + "".join([next(quotations, "") + text for text in after])
            kind = _kind(part, of_source, part in hinted) if denies or part in doubtful else "claims"
            clause = Clause(whole, part, number == len(parts), kind)
            if (told and _SAID.ellipsis.match(part)) or (denied and clause.kind == "claims"):
                clause = clause._replace(kind="denies")
            elif reports and clause.kind == "claims" and not _insists(clause):
                clause = clause._replace(kind="talks")
            reports = reports or (not begins and clause.kind == "talks" and _SAID.reports.search(part) is not None)
            of_source = of_source or (begins and _SAID.source.search(part) is not None)
            told = told or reports
            # "It is not stated: blue, and red."
            denied = denied or (clause.kind == "denies" and part.rstrip().endswith(":"))
            clauses.append(clause)
    return clauses


def _might_deny(part: str) -> bool:
    """Whether a clause may deny or refuse, by itself or after others; a rough test that misses none."""
    refuses = _SAID.speaker.search(part) and _SAID.refused.search(part)  # `speaker` is rarer
    return bool(refuses or _denial(part, True) or _SAID.ellipsis.match(part))


def _might_doubt(part: str) -> bool:
    """Whether a clause may guess or ask; `_kind` decides."""
    return bool(_SAID.guess.search(part) or _SAID.asks.match(part))


def _cut(text: str, ends: re.Pattern[str]) -> list[str]:
    """A text cut at each match of a pattern: after a mark, before a word or a dash."""
    cuts = [match.end() if match[0] in ".;!?。,:" else match.start() for match in ends.finditer(text)]
    return [text[start:end] for start, end in pairwise((0, *cuts, len(text)))]


@lru_cache(maxsize=4_096)
def _kind(own: str, of_source: bool, is_hinted: bool) -> str:
    """The kind of a clause. `own`: without quotations; `of_source`: whether a source is named before it.

    `is_hinted`: whether it holds a word of denying, refusing or guessing.
    """
    if is_hinted:
        of_source = of_source or _SAID.source.search(own) is not None
        if not of_source and (refused := _SAID.refused.search(own)) and _SAID.speaker.search(own[: refused.end()]):
            return "other" if _SAID.of_more.search(own) else "refuses"
        if (denied := _denial(own, of_source)) is not None:
            return "other" if _SAID.of_more.search(own) or _SAID.other_matter.match(own, denied.end()) else "denies"
    if _SAID.asks.match(own):
        return "asks"
    if _SAID.courtesy.fullmatch(own.strip(_MARKS)) or own.rstrip().endswith(":"):
        return "talks"
    # Looking for strings first is faster.
    if (is_hinted or "no" in own or "dont" in own) and _SAID.negative.search(own):
        return "talks"
    guess = _SAID.leans.search(own)
    if guess and not _SAID.of_text.search(own, guess.end()) and not _SAID.offers.search(own):
        return "guesses" if _SAID.guess.search(own) else "leans"
    return "talks" if _SAID.talk.search(own) else "claims"


def _denial(clause: str, of_source: bool) -> re.Match[str] | None:
    """Where a clause denies that something is told, known or found; not by a person of the story."""
    match: re.Match[str] | None = _SAID.bare.fullmatch(clause.strip(_MARKS))
    if match:
        return match
    for pattern in (_SAID.denied, _SAID.not_held, _SAID.denied_zh) if of_source else (_SAID.denied, _SAID.denied_zh):
        for match in pattern.finditer(clause):
            before = clause[max(0, match.start() - 60) : match.start()]
            if _SAID.person.search(before):
                continue
            if pattern is _SAID.denied_zh:
                says = of_source or not match["found"] or _SAID.own_zh.match(before)
            else:
                says = _SAID.no_subject.fullmatch(before) or _SAID.speaks.search(before + match[0])
            if says:
                return match
    return None


def said_instead(text: str, folded: str, rivals: Callable[[str], int]) -> str | None:
    """What an answer without the fact says instead: said_absent, refused, or None.

    `text`: the answer as it was written; `rivals`: how many facts of distractors a folded text states.
    """
    clauses = clauses_of(folded, denying=True)
    kinds = [clause.kind for clause in clauses]
    if "denies" not in kinds:
        if "other" in kinds:
            return None if {"claims", "guesses", "leans"} & {*kinds} else "said_absent"
        if "refuses" not in kinds or "claims" in kinds[: kinds.index("refuses")]:
            return None
        return None if any(_insists(clause) for clause in clauses) else "refused"
    first = kinds.index("denies")
    names = {word.lower() for word in re.findall(r"(?<=[a-z,] )[A-Z][a-z]+", text)}
    if _commits_before(clauses[: first + 1], names, rivals):
        return None
    last = len(kinds) - 1 - kinds[::-1].index("denies")
    conceded = _SAID.concedes.match(clauses[first].text) is not None
    for number, clause in enumerate(clauses[first + 1 :], first + 1):
        if clause.kind in ("guesses", "leans") and (number > last or rivals(clause.text)):
            return None
        if clause.kind == "claims" and (conceded or _insists(clause) or (_is_terse(clause) and rivals(clause.text))):
            return None
        conceded = conceded and not clause.ends
    return "said_absent"


def _commits_before(clauses: list[Clause], names: set[str], rivals: Callable[[str], int]) -> bool:
    """Whether the clauses before the last one, a denial, give an answer, and do not merely tell of something else."""
    *before, denial = clauses
    told = " ".join(clause.text for clause in before)
    strange = {*re.findall("[a-z]+", denial.text)} & names - {*re.findall("[a-z]+", told)}
    apart = _SAID.against.match(denial.text) or strange
    is_aside = bool(apart) or rivals(told) > 1
    for number, clause in enumerate(before):
        if clause.kind in ("guesses", "leans") or (clause.kind == "claims" and _is_terse(clause)):
            return True
        # "As for the tower, the text does not say."
        is_topic = number + 1 == len(before) and not clause.ends and not _SAID.verb.search(clause.text)
        is_topic = is_topic and not _SAID.refers_back.search(denial.text)
        if clause.kind == "claims" and not (is_aside or is_topic or _SAID.concedes.match(clause.text)):
            return True
    return False


def asserted(folded: str) -> str | None:
    """What an answer asserts: its text without denials, guesses, questions, and quotations beside a denial.

    Nothing before a denial of the question itself counts, and quotations do after "but". None if all is asserted.
    """
    clauses = clauses_of(folded)
    denying = [clause.kind in ("denies", "refuses") for clause in clauses]
    unsure = ("denies", "refuses", "guesses", "asks", *(("leans",) if any(denying) else ()))
    dropped = [clause.kind in unsure for clause in clauses]
    if not any(dropped):
        return None
    first = 0
    for number, clause in enumerate(clauses):
        if denying[number] and _SAID.of_question.search(clause.text):
            first = number + 1
    return "".join(
        clause.whole if not any(denying) or _SAID.contrast.match(clause.text) else clause.text
        for clause, drop in zip(clauses[first:], dropped[first:], strict=True)
        if not drop
    )


def _insists(clause: Clause) -> bool:
    """Whether a clause claims something after a denial: "but it is ...", "so ...", "but white"."""
    contrast = _SAID.contrast.match(clause.text)
    of_it = contrast and (_SAID.pronoun.match(clause.text, contrast.end()) or _is_terse(clause))
    is_other = contrast and _SAID.of_another.match(clause.text, contrast.end())
    return clause.kind == "claims" and not is_other and bool(of_it or _SAID.concludes.match(clause.text))


def _is_terse(clause: Clause) -> bool:
    """Whether a clause is a sentence of a few words without a verb: a value on its own."""
    words = re.findall("[a-z0-9][a-z0-9'.:]*|[一-龥]", clause.text)
    return clause.ends and len(words) <= 6 and _SAID.verb.search(clause.text) is None
