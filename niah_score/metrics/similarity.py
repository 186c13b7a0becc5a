"""Scores how much an answer resembles an accepted one: exact, edit, char_f1, word_f1, rouge_l.

Formula of rouge_l: C.-Y. Lin, ROUGE (2004), over whole texts, with beta 1.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from rapidfuzz import fuzz

from niah_score.errors import ScoreError
from niah_score.metrics.base import Score, Target, folded, without_outer_punctuation
from niah_score.text.language import known_language

# The cost of aligning is the answer's length times the square of the reference's: this takes a quarter of a second.
_MOST_WORK = 5_000_000_000
# Longer references belong to tasks with answers as long, which are compared as a whole.
_LONGEST_ALIGNED = 500
_MOST_TARGETS = 16_384  # whose values are kept: more than a chunk of rows has
_WORD = re.compile(r"\w+")
_OF_RUN = r"\u4e00-\u9fd5a-zA-Z0-9+#&._%\-"
_LONG_RUN = re.compile(f"[{_OF_RUN}]{{1001}}")
_PIECE = re.compile(f"[{_OF_RUN}]{{1,1000}}|[^{_OF_RUN}]+")
# A word of ASCII letters or digits, or one character of any other script with the marks on it.
_CHARACTER = re.compile(r"[a-z0-9_]+|\w")


def judge_exact(answer: str, target: Target) -> Score:
    """100 if the answer equals an accepted one, both folded, without the punctuation around them; else 0."""
    return Score(100.0 if without_outer_punctuation(folded(answer)) in _bare_accepted(target) else 0.0)


@lru_cache(maxsize=_MOST_TARGETS)
def _bare_accepted(target: Target) -> frozenset[str]:
    return frozenset(map(without_outer_punctuation, target.accepted))


def judge_edit(answer: str, target: Target) -> Score:
    """How much of the reference is in the answer, best aligned, both folded.

    100 x L / m, where m is the length of the reference and L that of its longest common subsequence with a stretch of m
    characters of the answer; the best of all stretches, including those that extend beyond an end. References of more
    than 500 characters are compared with the whole answer (100 x 2L / the characters of both). Only the beginning is
    aligned of answers so long that aligning would take seconds.
    """
    text, reference = folded(answer), target.reference
    size = len(reference)
    if not reference:
        return Score(0.0 if text else 100.0)
    if reference in text:
        return Score(100.0)
    if size > _LONGEST_ALIGNED:
        return Score(fuzz.ratio(text, reference))
    # Padding both ends with a character that the reference lacks makes every stretch as long as the reference, so that
    # rapidfuzz's ratio 2L / (m + m) is L / m; it also spares it trying all the shorter stretches there.
    around = _absent(reference) * size
    return Score(fuzz.partial_ratio(reference, around + text[: _MOST_WORK // size**2] + around))


def _absent(reference: str) -> str:
    """A character that a reference does not contain."""
    return next(char for char in map(chr, range(_LONGEST_ALIGNED + 1)) if char not in reference)


def judge_char_f1(answer: str, target: Target) -> Score:
    """100 x 2 x shared / (all of both), of characters other than white space; the best of the accepted answers."""
    text = folded(answer)
    size = len(text) - text.count(" ")  # folded text has no other white space
    best = 0.0
    for wanted in _accepted_characters(target):
        shared = sum(map(min, map(text.count, wanted), wanted.values()))
        best = max(best, _f1(shared, size, wanted.total()))
    return Score(best)


@lru_cache(maxsize=_MOST_TARGETS)
def _accepted_characters(target: Target) -> list[Counter[str]]:
    return [Counter(accepted.replace(" ", "")) for accepted in target.accepted]


def judge_word_f1(answer: str, target: Target) -> Score:
    """The same of words, found by jieba in Chinese; in languages not split into words (Japanese), of the characters of
    their script and the words in ASCII. Raises ScoreError if jieba is needed and missing."""
    said = Counter(_words(folded(answer), target.language))
    each = [Counter(words) for words in _accepted_words(target)]
    return Score(max(_f1((said & wanted).total(), said.total(), wanted.total()) for wanted in each))


def judge_rouge_l(answer: str, target: Target) -> Score:
    """100 x 2 x common / (words of both), best of the accepted answers; common: the longest common subsequence.

    Words are those of `word_f1`. Raises ScoreError if jieba is needed and missing.
    """
    from rapidfuzz.distance import LCSseq

    said = _words(folded(answer), target.language)
    each = _accepted_words(target)
    return Score(max(_f1(LCSseq.similarity(said, wanted), len(said), len(wanted)) for wanted in each))


@lru_cache(maxsize=_MOST_TARGETS)
def _accepted_words(target: Target) -> list[list[str]]:
    return [_words(accepted, target.language) for accepted in target.accepted]


def _f1(shared: int, one: int, other: int) -> float:
    return 200 * shared / (one + other) if one + other else 100.0


def _words(text: str, language: str) -> list[str]:
    """The words of a folded text, found by jieba in Chinese. Raises ScoreError if jieba is missing."""
    known = known_language(language)
    if known is None or known.words == "spaces":
        return _WORD.findall(text)
    if known.words == "characters":
        return _CHARACTER.findall(text)
    return [word for word in jieba_words(text, "word_f1 and rouge_l of Chinese") if _WORD.fullmatch(word)]


def jieba_words(text: str, metrics: str) -> list[str]:
    """The words of a Chinese text by jieba. Raises ScoreError if jieba is missing. `metrics`: what needs it.

    A run of more than 1,000 characters without punctuation or white space is cut before it is read.
    """
    try:
        import jieba
    except ImportError:
        raise ScoreError(f"{metrics} need jieba: pip install 'niah-kit[gen]', or leave them out") from None
    jieba.setLogLevel(60)
    # What jieba cuts is a run of these characters, in time that grows with the square of its length.
    pieces = _PIECE.findall(text) if _LONG_RUN.search(text) else [text]
    return [word for piece in pieces for word in jieba.lcut(piece)]
