"""Tells by the phrases in a language's file whether an answer says that the text does not tell, or refuses.

English and Chinese phrases are searched for in every answer (`absence`); those of other languages only in answers to
questions in that language, or about texts in it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from niah_score.text import fold
from niah_score.text.language import ALWAYS_READ, Language, MatchingRules, known_language
from niah_score.text.own_values import folded_pattern, in_letters_of

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
    return _Phrases(absent, refuses, guesses, re.compile(ends), _bare(language.prompt.not_stated))


def _bare(text: str) -> str:
    return fold(text).strip(_OUTER)


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
