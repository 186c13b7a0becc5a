"""Tells what came back for a row, its status, and how the answer ended, its finding.

A finding explains a score and never changes it. Denials, refusals and doubts are recognised by phrases, so findings
are hints. English and Chinese phrases are searched for in every answer (`absence`); those in another language's file
only in answers to questions in that language, or about texts in it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from niah_score.metrics import Target
from niah_score.metrics.base import folded, verdicts
from niah_score.scoring.absence import asserted, said_instead
from niah_score.text import fold, states
from niah_score.text.language import ALWAYS_READ, Language, MatchingRules, known_language
from niah_score.text.values import folded_pattern, in_letters_of

_LONGEST = 500  # code points of a sentence
_NEVER = re.compile("(?!)")
_OUTER = " \t\n\"'“”«»‹›「」『』*_.,:;!?。！？、،؛؟"


class _Phrases(NamedTuple):
    """Patterns of denials, refusals, guesses and sentence ends; and the folded words that prompts ask for instead."""

    absent: re.Pattern[str]
    refuses: re.Pattern[str]
    guesses: re.Pattern[str]
    sentence: re.Pattern[str]
    not_stated: str


def languages_of(language: str, asked_in: str) -> tuple[str, ...]:
    """The languages of a row that have their own phrases: the question's, then the text's."""
    codes = dict.fromkeys(code for code in (asked_in, language) if code not in ALWAYS_READ)
    return tuple(code for code in codes if (known := known_language(code)) and known.answers.absent)


@lru_cache(maxsize=64)
def _compiled(language: Language) -> _Phrases:
    rules = language.matching or MatchingRules()
    absent, refuses, guesses = (
        re.compile("|".join(folded_pattern(pattern, rules) for pattern in patterns)) if patterns else _NEVER
        for patterns in (language.answers.absent, language.answers.refuses, language.answers.guesses)
    )
    marks = re.escape("".join(dict.fromkeys(language.sentences.marks + "".join(language.sentences.marks_anywhere))))
    ends = rf"(?<=[{marks}])[\s\"'”’»」』)]+|(?<=[。！？])|\n"
    return _Phrases(absent, refuses, guesses, re.compile(ends), fold(language.prompt.not_stated).strip(_OUTER))


def own_finding(folded: str, codes: tuple[str, ...]) -> str | None:
    """Whether a folded answer without the fact says that it is absent, or refuses: said_absent, refused or None.

    Only its first sentence counts, and the next one if the first has no number, as that is no answer yet.
    """
    for code in codes:
        phrases = _phrases(code)
        text = in_letters_of(folded, code)
        if folded.strip(_OUTER) == phrases.not_stated:
            return "said_absent"
        for number, sentence in enumerate(_sentences(text, phrases)):
            # "I cannot answer because the text does not tell" says that the text does not tell.
            refusal = phrases.refuses.search(sentence)
            rest = sentence[: refusal.start()] + " " + sentence[refusal.end() :] if refusal else sentence
            if phrases.absent.search(rest):
                return "said_absent"
            if refusal:
                return "refused"
            if number or any(map(str.isdigit, sentence)):
                break
    return None


def own_claims(folded: str, codes: tuple[str, ...]) -> str | None:
    """A folded answer without the sentences that deny, refuse or guess; None if none denies or refuses."""
    for code in codes:
        phrases = _phrases(code)
        kept, dropped = [], False
        at = 0
        for sentence in _sentences(in_letters_of(folded, code), phrases):
            own = folded[at : at + len(sentence)]
            at += len(sentence)
            if phrases.absent.search(sentence) or phrases.refuses.search(sentence):
                dropped = True
            elif not phrases.guesses.search(sentence):
                kept.append(own)
        if dropped:
            return "".join(kept)
    return None


def _phrases(code: str) -> _Phrases:
    known = known_language(code)
    assert known is not None
    return _compiled(known)


def _sentences(text: str, phrases: _Phrases) -> list[str]:
    """The sentences of a text, each with what separates it from the next, so that they add up to the text.

    Longer ones are cut: the phrases of a language may take the square of a sentence's length.
    """
    places = [0, *(match.end() for match in phrases.sentence.finditer(text) if match.end() > 0), len(text)]
    sentences = pairwise(sorted(set(places)))
    return [text[at : min(at + _LONGEST, end)] for start, end in sentences for at in range(start, end, _LONGEST)]


STATUSES = ("ok", "missing", "empty", "truncated", "think_unclosed", "refused", "error")


def status_of(
    raw: str, answer: str, finish: str | None, *, missing: bool, failed: bool, thought: bool, unclosed: bool
) -> str:
    """The status of a joined row: the first one that applies.

    `raw`: the text; `answer`: what is left without reasoning. `finish`: why the model stopped. `missing`: there is no
    answer; `failed`: an error is reported. `thought`: the stack returned reasoning apart from the text; `unclosed`: the
    text begins with reasoning that never ends.
    """
    if missing:
        return "missing"
    if failed:
        return "error"
    if finish == "refused":
        return "refused"
    cut = finish == "truncated"
    # A text that is nothing but reasoning.
    only_thought = not answer and (thought or (raw != "" and not raw.isspace()))
    if unclosed or (cut and only_thought):
        return "think_unclosed"
    if cut:
        return "truncated"
    return "ok" if answer else "empty"


# Of all rows together: `usage` tells which prompts were cut.
SHORTENED = "prompt_shortened"
FINDINGS = (
    "found", "hedged", "partly", "wrong_needle", "said_absent", "nothing", "refused", "truncated", "no_answer",
    SHORTENED,
)  # fmt: skip
# Statuses that say how an answer ended, whatever it holds.
_BY_STATUS = {
    "missing": "no_answer", "empty": "no_answer", "error": "no_answer", "refused": "refused",
    "think_unclosed": "truncated",
}  # fmt: skip


def finding_of(answer: str, target: Target, status: str) -> str | None:
    """The finding of an answer, without its reasoning; None without keywords and rivals to look for."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    found = [one == "stated" for one in verdicts(answer, target)]
    if not found:
        return _said_instead(answer, target) if target.rivals else None
    if all(found):
        return "hedged" if _is_hedged(answer, target) else "found"
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
    return any(one != "stated" for one in verdicts(claims[-1], target))


@lru_cache(maxsize=16_384)
def _asks_for_denial(target: Target) -> bool:
    """Whether a keyword is itself a word such as "none"."""
    return any(said_instead(word, fold(word), lambda _: 0) for group in target.keywords for word in group)


def _said_instead(answer: str, target: Target) -> str:
    """The finding of an answer without any keyword: said_absent, refused, wrong_needle, hedged, or nothing."""
    text = folded(answer)

    def rivals(part: str) -> int:
        return sum([states(part, rival) for rival in target.rivals])

    said = said_instead(answer, text, rivals)
    if said is None and (own := languages_of(target.language, target.asked_in)):
        said = own_finding(text, own)
    is_taken_back = "taken back" in verdicts(answer, target)
    return said or ("wrong_needle" if rivals(text) else "hedged" if is_taken_back else "nothing")
