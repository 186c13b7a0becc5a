"""Finds where sentences or words end, as character offsets: the only places where a needle may stand.

A sentence ends right after closing punctuation and the quotes or brackets that close with it: before white space, or
anywhere if the marks belong to a script without spaces. A paragraph without closing punctuation ends no sentence. The
file of each language lists the marks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from niah_score.text.language import Language, find_language

BOUNDARIES = ("sentence", "word")
_WORD_END = re.compile(r"(?<=\S)(?=\s|$)")
# A needle before a character of these categories would separate it from its word.
_CLINGING = ("Po", "Pe", "Pf", "Pd", "Sk", "Mn", "Mc", "Me")
_HIRAGANA = re.compile("[\u3041-\u309f]")
_KANA_OR_HAN = re.compile("[\u3041-\u30ff\u4e00-\u9fff々]")


class _SentenceEnds(NamedTuple):
    """How the sentence ends of a language are found.

    `marks_anywhere`: every match of `anywhere` holds one of these characters. `longest`: the length of the longest
    abbreviation that ends no sentence, with its point.
    """

    spaced: re.Pattern[str]
    anywhere: re.Pattern[str]
    marks_anywhere: str
    no_end: re.Pattern[str]
    longest: int
    openers: str
    closers: tuple[str, ...]
    continued_by: str


def joiner_of(language: str) -> str:
    """What joins a sentence of a language to the one before it."""
    return find_language(language).joiner


@lru_cache(maxsize=64)
def _rules(language: Language) -> _SentenceEnds:
    rules = language.sentences
    marks = re.escape(rules.marks)
    closers = "|".join(map(re.escape, sorted(rules.closers, key=len, reverse=True))) or "(?!)"
    anywhere = "|".join(map(re.escape, rules.marks_anywhere)) or "(?!)"
    # The number of a list item, or an initial, ends no sentence either.
    abbreviations = "|".join((*map(re.escape, rules.abbreviations), "[A-Z]"))
    return _SentenceEnds(
        # Match only from the beginning of a run of marks: from every mark, long runs would take quadratic time.
        re.compile(rf"(?<![{marks}])[{marks}]+(?:{closers})*(?=\s|$)"),
        re.compile(rf"(?:{anywhere})+(?:{closers})*"),
        "".join(dict.fromkeys("".join(rules.marks_anywhere))),
        re.compile(rf"(?:\b(?:{abbreviations})|(?:\A|\n)[ \t]*(?:\d{{1,3}}|[a-z]))\.$"),
        max([12, *(len(word) + 2 for word in rules.abbreviations)]),
        rules.openers,
        rules.closers,
        rules.continued_by,
    )


def sentence_ends(text: str, language: str = "en") -> list[int]:
    """Character offsets right after each sentence of a text, ascending; without 0.

    Raises LanguageError if the language has no file.
    """
    rules = _rules(find_language(language))
    ends: set[int] = set()
    # Searching for single characters is far faster than matching the pattern.
    if any(mark in text for mark in rules.marks_anywhere):
        ends |= {match.end() for match in rules.anywhere.finditer(text) if not _goes_on(text, match, rules)}
    return sorted(ends.union(_spaced_ends(text, rules)))


def _goes_on(text: str, match: re.Match[str], rules: _SentenceEnds) -> bool:
    """Whether what follows a closing quote belongs to its sentence: 「そうだ。」と言った。"""
    return bool(rules.continued_by) and (
        text[match.end() : match.end() + 1] in tuple(rules.continued_by) and match[0].endswith(rules.closers)
    )


def _spaced_ends(text: str, rules: _SentenceEnds) -> Iterator[int]:
    """Where marks before white space end a sentence: not if its line continues in lower case, nor in abbreviations."""
    openers, longest = rules.openers, rules.longest
    for match in rules.spaced.finditer(text):
        end = match.end()
        following = text[end : end + 2 + 2 * len(openers)]
        first = following[:2] if not openers else following
        continues = "\n" not in first[:2] and first.lstrip().lstrip(openers or None)[:1].islower()
        if not continues and (match[0] != "." or not rules.no_end.search(text, max(0, end - longest), end)):
            yield end


def word_ends(text: str, language: str) -> list[int]:
    """Character offsets right after each word of a text, ascending; without 0.

    In languages that separate words by spaces, words end before white space. In Chinese, words are jieba's,
    each with the punctuation after it. In other languages, any two characters may be separated unless a mark joins
    them; in Japanese only after hiragana and before other characters, where most phrases end.
    """
    words = find_language(language).words
    if words == "spaces":
        return [match.start() for match in _WORD_END.finditer(text)]
    if words == "characters":
        return [at for at in range(1, len(text) + 1) if _may_part(text, at)]
    import logging

    import jieba

    jieba.setLogLevel(logging.WARNING)
    ends: list[int] = []
    at = 0
    for word in jieba.cut(text):
        if at and _is_gap(text[at - 1], word[0]):
            ends.append(at)
        at += len(word)
    return [*ends, at] if at and not text[-1].isspace() else ends


def _may_part(text: str, at: int) -> bool:
    """Whether a text without spaces may be split at a place."""
    left = text[at - 1]
    if at == len(text):
        return not left.isspace()
    right = text[at]
    if left.isalnum() and (_HIRAGANA.match(right) or (left.isascii() and right.isascii() and right.isalnum())):
        return False
    if (
        _KANA_OR_HAN.match(left)
        and _KANA_OR_HAN.match(right)
        and not (_HIRAGANA.match(left) and not _HIRAGANA.match(right))
    ):
        return False
    return _is_gap(left, right)


def _is_gap(left: str, right: str) -> bool:
    """Whether text may be inserted between two characters: not after white space, nor before a word's punctuation."""
    if left.isspace() or unicodedata.category(left) in ("Ps", "Pi"):
        return False
    return unicodedata.category(right) not in _CLINGING
