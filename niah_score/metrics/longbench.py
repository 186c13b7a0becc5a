"""Scores answers as LongBench does, bug for bug, 0 to 100, on the raw answer.

Formulas: LongBench's `retrieval_score`, `retrieval_zh_score`, `count_score`, `qa_f1_score`, `qa_f1_zh_score`,
`rouge_score`, `rouge_zh_score`, `classification_score` and `code_sim_score`; as in its `eval.py`, answers to few-shot
tasks are judged by their first line. ROUGE-L is that of the package `rouge` 1.0.1: by sentences between full stops,
each word counted once. LongBench v2's `extract_answer` is `longbench_v2`.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

from rapidfuzz import fuzz

from niah_score.metrics.base import Score, Target
from niah_score.metrics.similarity import jieba_words

_NUMBER = re.compile(r"\d+")
_GOLD_PARAGRAPH = re.compile(r"(?:Paragraph |段落)(\d+)")
# LongBench v2's two patterns, in the order in which it tries them.
_V2_CHOICES = (re.compile(r"The correct answer is \(([A-D])\)"), re.compile(r"The correct answer is ([A-D])"))
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = frozenset(string.punctuation)
_CHINESE_PUNCTUATION = _PUNCTUATION | frozenset(
    "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏."
)
_TINY = 1e-8


def judge_longbench_retrieval(answer: str, target: Target) -> Score:
    """Share of the numbers in the answer that are the right paragraph's (LongBench passage retrieval).

    The accepted answers name the paragraph ("Paragraph 15", "段落15"); None if none does. Numbers are compared as text,
    so 015 and full-width digits do not match.
    """
    golds = [gold for accepted in target.answers for gold in _GOLD_PARAGRAPH.findall(accepted)[:1]]
    return Score(_number_share(answer, golds))


def judge_longbench_count(answer: str, target: Target) -> Score:
    """Share of the numbers in the answer that equal the accepted one (LongBench passage count)."""
    return Score(_number_share(answer, target.answers))


def _number_share(text: str, golds: Sequence[str]) -> float | None:
    numbers = _NUMBER.findall(text)
    return max((100 * numbers.count(gold) / (len(numbers) or 1) for gold in golds), default=None)


def _best(answer: str, target: Target, score: Callable[[str, str], float]) -> Score:
    return Score(min(100.0, 100 * max(score(answer, accepted) for accepted in target.answers)))


def _first_line(answer: str) -> str:
    return answer.lstrip("\n").split("\n")[0]


def judge_longbench_qa_f1(answer: str, target: Target) -> Score:
    """F1 of words, ignoring case, ASCII punctuation and articles (LongBench `qa_f1_score`); best of the answers."""
    return _best(answer, target, lambda said, gold: _f1(_words(said), _words(gold)))


def judge_longbench_qa_f1_line(answer: str, target: Target) -> Score:
    """longbench_qa_f1 of the answer's first line, as LongBench judges triviaqa."""
    return judge_longbench_qa_f1(_first_line(answer), target)


def judge_longbench_qa_f1_zh(answer: str, target: Target) -> Score:
    """F1 of jieba's words without punctuation (LongBench `qa_f1_zh_score`); best of the answers."""
    return _best(answer, target, lambda said, gold: _f1(_chinese_words(said), _chinese_words(gold)))


def _words(text: str) -> list[str]:
    bare = "".join(char for char in text.lower() if char not in _PUNCTUATION)
    return _ARTICLES.sub(" ", bare).split()


def _chinese_words(text: str) -> list[str]:
    bare = ("".join(c for c in word.lower() if c not in _CHINESE_PUNCTUATION) for word in _cut(text))
    return [word for word in ("".join(part.split()) for part in bare) if word]


def _cut(text: str) -> list[str]:
    return jieba_words(text, "LongBench's Chinese metrics")


def _f1(said: Sequence[str], gold: Sequence[str]) -> float:
    shared = (Counter(said) & Counter(gold)).total()
    if shared == 0:
        return 0.0
    precision, recall = shared / len(said), shared / len(gold)
    return 2 * precision * recall / (precision + recall)


def judge_longbench_rouge(answer: str, target: Target) -> Score:
    """ROUGE-L as the package `rouge` computes it (LongBench `rouge_score`); best of the answers, 0 where it fails."""
    return _best(answer, target, rouge_l)


def judge_longbench_rouge_line(answer: str, target: Target) -> Score:
    """longbench_rouge of the answer's first line, as LongBench judges samsum."""
    return judge_longbench_rouge(_first_line(answer), target)


def judge_longbench_rouge_zh(answer: str, target: Target) -> Score:
    """The same of jieba's words, joined by spaces (LongBench `rouge_zh_score`)."""
    return _best(answer, target, lambda said, gold: rouge_l(" ".join(_cut(said)), " ".join(_cut(gold))))


def rouge_l(said: str, gold: str) -> float:
    """The F of ROUGE-L, 0 to 1, of the package `rouge` 1.0.1; 0 where that raises, as LongBench catches it.

    Sentences end at full stops. What counts are the words in the longest common subsequence of any gold sentence with
    any sentence of the answer; every word counts once, here and in both texts.
    """
    if not said or not gold:  # the package refuses empty texts
        return 0.0
    ours, theirs = _sentences(said), _sentences(gold)
    said_words = {word for sentence in ours for word in sentence}
    gold_words = {word for sentence in theirs for word in sentence}
    if not said_words or not gold_words:
        return 0.0
    common: set[str] = set()
    for sentence in theirs:
        for other in ours:
            common |= _common_words(sentence, other)
    precision, recall = len(common) / len(said_words), len(common) / len(gold_words)
    return 2 * (precision * recall / (precision + recall + _TINY))


def _sentences(text: str) -> list[list[str]]:
    """The words of each sentence; a sentence of white space alone has one empty word."""
    return [" ".join(part.split()).split(" ") for part in text.split(".") if part]


def _common_words(one: Sequence[str], other: Sequence[str]) -> set[str]:
    """The words of the longest common subsequence found from the end, leaving out words of `other` first in ties."""
    import numpy as np

    numbers: dict[str, int] = {}
    words = np.array([numbers.setdefault(word, len(numbers)) for word in other], dtype=np.int32)
    # table[n, m]: the length of a longest common subsequence of the first n words of `one` and the first m of `other`.
    table = np.zeros((len(one) + 1, len(other) + 1), dtype=np.int32)
    for row, word in enumerate(one, 1):
        above = table[row - 1]
        best = np.where(words == numbers.get(word, -1), above[:-1] + 1, above[1:])
        table[row, 1:] = np.maximum.accumulate(best)
    common = set()
    left, right = len(one), len(other)
    while left and right:
        if one[left - 1] == other[right - 1]:
            common.add(one[left - 1])
            left, right = left - 1, right - 1
        elif table[left - 1, right] > table[left, right - 1]:
            left -= 1
        else:
            right -= 1
    return common


def judge_longbench_classification(answer: str, target: Target) -> Score:
    """100 / the number of classes named in the answer's first line, if the right one is among them; else 0.

    LongBench's `classification_score`: class names are found literally, and one that is part of the right name is
    removed, with the published bug of then skipping the next class. The classes are the decoys, followed by the
    accepted answers. Best of the answers.
    """
    classes = [decoy[0] for decoy in target.decoys if decoy]
    return _best(_first_line(answer), target, lambda said, gold: _class_share(said, gold, (*classes, *target.answers)))


def _class_share(said: str, gold: str, classes: Sequence[str]) -> float:
    named = [name for name in dict.fromkeys(classes) if name in said]
    for name in named:  # the list shrinks during iteration, as in the published code
        if name in gold and name != gold:
            named.remove(name)
    return 1 / len(named) if gold in named else 0.0


def judge_longbench_code_sim(answer: str, target: Target) -> Score:
    """Similarity of the first line of code in the answer to the accepted one (LongBench `code_sim_score`).

    A line of code has no backtick, `#` or `//`. The similarity is fuzzywuzzy's ratio in whole percent, computed by
    rapidfuzz.
    """
    lines = (line for line in answer.lstrip("\n").split("\n") if not any(mark in line for mark in ("`", "#", "//")))
    line = next(lines, "")
    return _best(line, target, lambda said, gold: round(fuzz.ratio(said, gold)) / 100 if said and gold else 0.0)


def judge_longbench_v2(answer: str, target: Target) -> Score:
    """100 if the letter that the answer states is the right one, else 0 (LongBench v2's `extract_answer`).

    Asterisks are removed. The letter is that of the first "The correct answer is (B)", or, if there is none, of the
    first "The correct answer is B". `parsed`: whether there was a letter.
    """
    bare = answer.replace("*", "")
    match = next(filter(None, (pattern.search(bare) for pattern in _V2_CHOICES)), None)
    right = match is not None and match[1] == target.answers[0].strip()
    return Score(100.0 * right, {"parsed": match is not None})


PARTS = {"longbench_v2": {"parsed": bool}}
