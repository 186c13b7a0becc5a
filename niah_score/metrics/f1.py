"""Scores the overlap of answer and accepted answer as F1, of characters or of words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from niah_score.errors import ScoreError
from niah_score.metrics.accepted import accepted_answers
from niah_score.metrics.base import Metric, Score
from niah_score.metrics.chunk import Chunk, ScoreColumns
from niah_score.metrics.target import Target
from niah_score.text import WORTH, counted, fold
from niah_score.text.language import known_language

_WORD = re.compile(r"\w+")
_OF_RUN = r"\u4e00-\u9fd5a-zA-Z0-9+#&._%\-"
_LONG_RUN = re.compile(f"[{_OF_RUN}]{{1001}}")
_PIECE = re.compile(f"[{_OF_RUN}]{{1,1000}}|[^{_OF_RUN}]+")
# A word of ASCII letters or digits, or one character of any other script with the marks on it.
_CHARACTER = re.compile(r"[a-z0-9_]+|\w")


def judge_char_f1(answer: str, target: Target) -> Score:
    """100 x 2 x shared / (all of both), of characters other than white space; the best of the accepted answers."""
    said = Counter(fold(answer).replace(" ", ""))  # folded text has no other white space
    return _best_f1(said, _char_counts(target))


def judge_word_f1(answer: str, target: Target) -> Score:
    """The same of words, found by jieba in Chinese; in languages not split into words (Japanese), of the characters of
    their script and the words in ASCII. Raises ScoreError if jieba is needed and missing."""
    language = target.language
    said = Counter(words_of(fold(answer), language))
    return _best_f1(said, [Counter(words_of(accepted, language)) for accepted in accepted_answers(target)])


def _char_counts(target: Target) -> list[Counter[str]]:
    return [Counter(accepted.replace(" ", "")) for accepted in accepted_answers(target)]


def _best_f1(said: Counter[str], accepted: list[Counter[str]]) -> Score:
    return Score(max(_f1((said & wanted).total(), said.total(), wanted.total()) for wanted in accepted))


def _f1(shared: int, one: int, other: int) -> float:
    return 200 * shared / (one + other) if one + other else 100.0


def _many_char_f1(chunk: Chunk) -> ScoreColumns:
    def scores(accepted: list[Counter[str]], texts: list[str]) -> Sequence[float | None]:
        columns = _char_f1_of_many(texts, accepted) if len(texts) >= WORTH else None
        return [_char_f1_of(text, accepted) for text in texts] if columns is None else columns

    return ScoreColumns(chunk.of_runs(_char_counts, scores, chunk.folded), {})


def _char_f1_of(text: str, accepted: list[Counter[str]]) -> float:
    size = len(text) - text.count(" ")
    best = 0.0
    for wanted in accepted:
        shared = sum(min(text.count(char), times) for char, times in wanted.items())
        best = max(best, _f1(shared, size, wanted.total()))
    return best


def _char_f1_of_many(texts: list[str], accepted: list[Counter[str]]) -> list[float] | None:
    """The F1 of every text, by columns of characters; None if the accepted answers have too many."""
    import numpy as np

    chars = [" ", *dict.fromkeys(char for wanted in accepted for char in wanted)]
    counts = counted("".join(chars), texts)
    if counts is None:
        return None
    sizes = np.fromiter(map(len, texts), np.int64, len(texts)) - counts[:, 0]
    best = np.zeros(len(texts))
    for wanted in accepted:
        columns = [place for place, char in enumerate(chars) if char in wanted]
        times = np.array([wanted[chars[place]] for place in columns], np.int64)
        both = sizes + times.sum()
        shared = np.minimum(counts[:, columns], times).sum(axis=1)
        best = np.maximum(best, np.where(both, 200 * shared / np.maximum(both, 1), 100.0))
    scores: list[float] = best.tolist()
    return scores


def words_of(folded: str, language: str) -> list[str]:
    """The words of a folded text, found by jieba in Chinese. Raises ScoreError if jieba is missing."""
    known = known_language(language)
    words = known.words if known else "spaces"
    if words == "spaces":
        return _WORD.findall(folded)
    if words == "characters":
        return _CHARACTER.findall(folded)
    return [word for word in jieba_words(folded, "word_f1 and rouge_l of Chinese") if _WORD.fullmatch(word)]


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


CHAR_F1 = Metric("char_f1", "strict", judge_char_f1, default=True, many=_many_char_f1)
WORD_F1 = Metric("word_f1", "strict", judge_word_f1)
