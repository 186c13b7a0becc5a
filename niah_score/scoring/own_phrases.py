"""Tells by the phrases of a language's file what an answer says of itself: that the text does not tell, or no answer.

English and Chinese phrases are looked for in every answer (`clauses`); those of the other languages in answers to
questions that are asked in them, or about texts in them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from niah_score.text import fold
from niah_score.text.language import ALWAYS_READ, Language, MatchingRules, known_language
from niah_score.text.own_values import folded_pattern, in_letters_of

_NEVER = re.compile("(?!)")
_OUTER = " \t\n\"'“”«»‹›「」『』*_.,:;!?。！？、،؛؟"


class _Phrases(NamedTuple):
    """Patterns of what denies, refuses and guesses; where sentences end; and what prompts ask to say, folded."""

    absent: re.Pattern[str]
    refuses: re.Pattern[str]
    guesses: re.Pattern[str]
    sentence: re.Pattern[str]
    not_stated: str


def languages_of(language: str, asked_in: str) -> tuple[str, ...]:
    """Those of a row's languages that have phrases of their own: the question's, then the text's."""
    found = dict.fromkeys(code for code in (asked_in, language) if code not in ALWAYS_READ)
    return tuple(code for code in found if (known := known_language(code)) and known.answers.absent)


@lru_cache(maxsize=64)
def _compiled(language: Language) -> _Phrases:
    rules = language.matching or MatchingRules()
    absent, refuses, guesses = (
        re.compile("|".join(folded_pattern(pattern, rules) for pattern in patterns)) if patterns else _NEVER
        for patterns in (language.answers.absent, language.answers.refuses, language.answers.guesses)
    )
    marks = re.escape("".join(dict.fromkeys(language.sentences.marks + "".join(language.sentences.marks_anywhere))))
    ends = rf"(?<=[{marks}])[\s\"'”’»」』)]+|(?<=[。！？])|\n"
    return _Phrases(absent, refuses, guesses, re.compile(ends), _bare(language.prompt.not_stated))


def _bare(text: str) -> str:
    return fold(text).strip(_OUTER)


def own_finding(folded: str, codes: tuple[str, ...]) -> str | None:
    """What a folded answer without the fact says by its phrases: said_absent or refused; None where it says neither.

    It says so in its first sentence, or after one without a number, which is no answer yet.
    """
    for code in codes:
        phrases = _phrases(code)
        text = in_letters_of(folded, code)
        if folded.strip(_OUTER) == phrases.not_stated:
            return "said_absent"
        for number, sentence in enumerate(_sentences(text, phrases)):
            # Who cannot answer because the text does not tell says that it does not.
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
    """A folded answer without the sentences that deny, refuse or guess; None where none denies or refuses."""
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
    """The sentences of a text with what parts them, so that they add up to it."""
    places = [0, *(match.end() for match in phrases.sentence.finditer(text) if match.end() > 0), len(text)]
    places = sorted(set(places))
    return [text[start:end] for start, end in pairwise(places)]
