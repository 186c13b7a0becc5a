"""Scores which options of a multiple-choice question an answer chooses, by one letter, several, or an option's text.

The first accepted answer is the right letters (`C`, or `AC`), the next one the right option's text. The decoys are the
wrong options: a letter and a text each.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from functools import lru_cache
from typing import NamedTuple

from niah_score.metrics.base import Score, Target, without_outer_punctuation
from niah_score.text import fold, holds
from niah_score.text.fold import without_stacked_marks
from niah_score.text.phrases import phrases_of

_SAID = phrases_of("choice")
_USUAL = "ABCD"
_MARKUP = re.compile(r"[*_`]+|\\(?:text|mathrm|mathbf)(?=\{)")
_BOXED = re.compile(r"\\boxed\s*+\{++([^{}]*+)\}++")
# The last phrases that are looked at in an answer that repeats them, and the characters looked at after each.
_MOST_PHRASES, _LOOKED_AT = 200, 2000


class _Options(NamedTuple):
    """What can be chosen. `letters`: of all options. `texts`: the known texts of options, folded, by letter."""

    letters: str
    texts: dict[str, str]

    @property
    def listed(self) -> str:
        """A pattern of one capital letter or a list of them."""
        one = rf"[(\[]?[{self.letters}][)\].]?"
        joint = r"\s*+(?:(?:[,、;/&+]|和|与|及|或者?|and|or)\s*+)?"
        return rf"{one}(?:{joint}{one})*(?![A-Za-z0-9'])"

    @property
    def small(self) -> str:
        """A pattern of a small letter, up to its bracket or full stop."""
        return rf"[(\[]?([{self.letters.lower()}])"

    def named_in(self, text: str) -> frozenset[str]:
        return frozenset(self.letters) & {*text}


@lru_cache(maxsize=4_096)
def _options_of(target: Target) -> _Options | None:
    """The options of a row; None if its first accepted answer is not made of letters."""
    first, *others = target.answers
    right = first.strip()
    if not re.fullmatch("[A-Z]+", right):
        return None
    wrong = [decoy for decoy in target.decoys if decoy and re.fullmatch("[A-Z]", decoy[0].strip())]
    texts = {decoy[0].strip(): text for decoy in wrong for text in decoy[1:2]}
    if len(right) == 1 and others:
        texts[right] = others[0]
    letters = {*right, *(decoy[0].strip() for decoy in wrong), *("" if target.decoys else _USUAL)}
    kept = {letter: without_outer_punctuation(fold(text)) for letter, text in texts.items() if fold(text).strip()}
    return _Options("".join(sorted(letters)), kept)


def judge_choice(answer: str, target: Target) -> Score:
    """100 if the answer chooses exactly the right options, else 0. None if the accepted answer is not made of letters.

    `chosen`: how many options the answer chooses.
    """
    options = _options_of(target)
    if options is None:
        return Score(None)
    letters = _chosen(answer, options)
    return Score(100.0 * (letters == {*target.answers[0].strip()}), {"chosen": len(letters)})


def _chosen(answer: str, options: _Options) -> frozenset[str]:
    """The letters of the options that an answer chooses, by the first of these rules that finds any.

    1. The last box (`\\boxed{C}`).
    2. The whole answer is letters, an option's text, or a letter and its text.
    3. The last phrase that names an answer: "the answer is", "correct option", "C is correct", 答案是, 选, C正确.
    4. The first or the last line, if it is only letters or begins with a letter and a bracket, full stop or colon, and
       no other line begins with another letter.
    5. Capital letters on their own anywhere, except an "A" or "I" before a lower-case word.
    6. Texts of options, as whole words; a text that is part of another option's does not count.
    """
    # In normal width, without emphasis marks.
    text = _MARKUP.sub("", unicodedata.normalize("NFKC", without_stacked_marks(answer))).strip()
    boxes = _BOXED.findall(text)
    if boxes and (letters := _alone(boxes[-1].strip(), options) or _standing(boxes[-1], options)):
        return letters
    text = _BOXED.sub(r" \1 ", text).strip()
    for rule in (_alone, _declared, _leading, _standing, _texts):
        if letters := rule(text, options):
            return letters
    return frozenset()


def _alone(text: str, options: _Options) -> frozenset[str]:
    trimmed = text.strip(" \t\n.。,，;:!\"'“”‘’")
    if re.fullmatch(options.listed, trimmed):
        return options.named_in(trimmed)
    if small := re.fullmatch(rf"{options.small}[)\].]?", trimmed):
        return frozenset(small[1].upper())
    bare = without_outer_punctuation(fold(text))
    texts = list(options.texts.values())
    for letter, option in options.texts.items():
        beginning = rf"\(?{letter.lower()}\s*[).:,、\-]*\s*[\"'“‘]?"
        if (bare == option and texts.count(option) == 1) or re.fullmatch(beginning + re.escape(option), bare):
            return frozenset(letter)
    return frozenset()


def _declared(text: str, options: _Options) -> frozenset[str]:
    right = rf"(?<![A-Za-z0-9])[(\[]?([{options.letters}])[)\].]?\s*(?:{_SAID.is_right.pattern})"
    phrases = [(match.start(1), frozenset(match[1])) for match in re.finditer(right, text)]
    for match in deque(_SAID.answer_is.finditer(text), maxlen=_MOST_PHRASES):
        rest = text[match.end() : match.end() + _LOOKED_AT]
        listed = re.match(options.listed, rest)
        named = options.named_in(listed[0]) if listed and not _SAID.article.match(rest) else frozenset()
        if not named and (small := re.match(rf"{options.small}[)\].:]?(?=\s*(?:$|[.,;:!。，；\n]))", rest)):
            named = frozenset(small[1].upper())
        if named := named or _beginning(rest, options):
            phrases.append((match.end(), named))
    return max(phrases, key=lambda phrase: phrase[0])[1] if phrases else frozenset()


def _beginning(rest: str, options: _Options) -> frozenset[str]:
    """The option with the longest text that `rest` begins with."""
    folded = fold(rest).lstrip("\"'“‘( ").removeprefix("the ")
    for letter, option in sorted(options.texts.items(), key=lambda pair: -len(pair[1])):
        if folded.startswith(option) and not (folded[len(option) :][:1].isalnum() and option[-1:].isascii()):
            return frozenset(letter)
    return frozenset()


def _leading(text: str, options: _Options) -> frozenset[str]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    leads = [re.match(rf"\(?([{options.letters}])[).:、,](?![^\W_])|\(([{options.letters}])\)", line) for line in lines]
    named = {match[1] or match[2] for match in leads if match}
    if len(named) == 1 and (leads[0] or leads[-1]):
        return frozenset(named)
    ends = dict.fromkeys(line.strip(".:") for line in (*lines[:1], *lines[-1:]))
    alone = {options.named_in(line) for line in ends if re.fullmatch(options.listed, line)}
    return alone.pop() if len(alone) == 1 and not named else frozenset()


def _standing(text: str, options: _Options) -> frozenset[str]:
    """Capital letters without an adjacent ASCII letter or digit."""
    pattern = rf"(?<![A-Za-z0-9'’.])[{options.letters}](?![A-Za-z0-9'’])(?!\.[A-Za-z])"
    return frozenset(match[0] for match in re.finditer(pattern, text) if not _SAID.article.match(text, match.start()))


def _texts(text: str, options: _Options) -> frozenset[str]:
    folded = fold(text)
    held = {letter: option for letter, option in options.texts.items() if holds(folded, option)}
    return frozenset(
        letter
        for letter, option in held.items()
        if not any(option != other and option in other for other in held.values())
    )


PARTS = {"choice": {"chosen": int}}
