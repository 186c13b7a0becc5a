"""Restates the formulas of published evaluators, slowly and plainly, as references for the metrics.

Each function follows the steps that the source describes and shares no code with the metrics.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Sequence
from functools import cache

CHINESE_MARKS = (
    "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣"
    "､、〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏."
)


def squad_words(text: str) -> list[str]:
    """Lower case, no ASCII punctuation, no articles, split at white space."""
    text = text.lower()
    for mark in string.punctuation:
        text = text.replace(mark, "")
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def overlap(answer: Sequence[str], gold: Sequence[str]) -> float:
    """F1 of two bags of words; 0 where they share none."""
    left = list(gold)
    shared = 0
    for word in answer:
        if word in left:
            left.remove(word)
            shared += 1
    if not shared:
        return 0.0
    precision, recall = shared / len(answer), shared / len(gold)
    return 2 * precision * recall / (precision + recall)


def best(score: Callable[[str, str], float], answer: str, golds: Iterable[str]) -> float:
    """The greatest score over the accepted answers, 0 to 1."""
    return max(score(answer, gold) for gold in golds)


def qa_f1(answer: str, gold: str) -> float:
    """LongBench `qa_f1_score`; InfiniteBench's `qa_f1_score` is the same."""
    return overlap(squad_words(answer), squad_words(gold))


def chinese_words(text: str) -> list[str]:
    """jieba's words, each in lower case without punctuation and white space; those with nothing left are dropped."""
    import jieba

    jieba.setLogLevel(60)
    words = []
    for word in jieba.cut(text, cut_all=False):
        kept = "".join(char for char in word.lower() if char not in string.punctuation + CHINESE_MARKS)
        if "".join(kept.split()):
            words.append("".join(kept.split()))
    return words


def qa_f1_zh(answer: str, gold: str) -> float:
    """LongBench `qa_f1_zh_score`."""
    return overlap(chinese_words(answer), chinese_words(gold))


def rouge(answer: str, gold: str) -> float:
    """LongBench `rouge_score`: ROUGE-L of the package rouge over the sentences of both, distinct words counted."""
    if not answer or not gold:
        return 0.0
    ours = [" ".join(part.split()).split(" ") for part in answer.split(".") if part]
    theirs = [" ".join(part.split()).split(" ") for part in gold.split(".") if part]
    if not ours or not theirs:
        return 0.0
    union: set[str] = set()
    for reference in theirs:
        for sentence in ours:
            union.update(longest_common(tuple(reference), tuple(sentence)))
    recall = len(union) / len({word for sentence in theirs for word in sentence})
    precision = len(union) / len({word for sentence in ours for word in sentence})
    return 2 * precision * recall / (precision + recall + 1e-8)


def longest_common(one: tuple[str, ...], other: tuple[str, ...]) -> list[str]:
    """A longest common subsequence, by recursion from the ends; a tie drops the last word of `other`."""

    @cache
    def size(left: int, right: int) -> int:
        if not left or not right:
            return 0
        if one[left - 1] == other[right - 1]:
            return size(left - 1, right - 1) + 1
        return max(size(left - 1, right), size(left, right - 1))

    def words(left: int, right: int) -> list[str]:
        if not left or not right:
            return []
        if one[left - 1] == other[right - 1]:
            return [*words(left - 1, right - 1), one[left - 1]]
        if size(left - 1, right) > size(left, right - 1):
            return words(left - 1, right)
        return words(left, right - 1)

    return words(len(one), len(other))


def rouge_zh(answer: str, gold: str) -> float:
    """LongBench `rouge_zh_score`: the same for jieba's words with spaces between them."""
    import jieba

    jieba.setLogLevel(60)
    return rouge(" ".join(jieba.cut(answer, cut_all=False)), " ".join(jieba.cut(gold, cut_all=False)))


def classification(answer: str, gold: str, classes: Sequence[str]) -> float:
    """LongBench `classification_score`, where removing a class in the second loop skips the one after it."""
    named = [name for name in classes if name in answer]
    at = 0
    while at < len(named):
        if named[at] in gold and named[at] != gold:
            named.remove(named[at])
        at += 1
    return 1 / len(named) if gold in named else 0.0


def first_line(answer: str) -> str:
    """The part of an answer to trec, triviaqa, samsum and lsht that LongBench's eval.py judges."""
    while answer.startswith("\n"):
        answer = answer[1:]
    return answer.partition("\n")[0]


def code_sim(answer: str, gold: str) -> float:
    """LongBench `code_sim_score`: fuzzywuzzy's ratio, 2 x common subsequence / both lengths, in whole percent."""
    line = ""
    for candidate in answer.lstrip("\n").split("\n"):
        if "`" not in candidate and "#" not in candidate and "//" not in candidate:
            line = candidate
            break
    if not line or not gold:
        return 0.0
    common = len(longest_common(tuple(line), tuple(gold)))
    return round(200 * common / (len(line) + len(gold))) / 100


def babilong(answer: str, target: str, question: str, labels: Iterable[str]) -> bool:
    """BABILong `compare_answers`."""
    answer = answer.lower().split(".")[0].split("<context>")[0].split("<example>")[0]
    target = target.lower()
    lowered = {label.lower() for label in labels}
    asked = {label for label in lowered if label in question.lower()}
    named = {label for label in lowered if label in answer} - asked
    if "," in target and len(target) > 3:
        parts = target.split(",")
        return all(part in named for part in parts) and len(named) == len(parts)
    return target in named and len(named) == 1


def graphwalks(answer: str, nodes: Sequence[str]) -> float:
    """GraphWalks: F1 of the listed nodes on the last line, 0 without such a list, 1 if both are empty."""
    line = answer[answer.rfind("\n") + 1 :]
    first, last = line.find("["), line.rfind("]")
    if line.find("Final Answer:") < 0 or first < 0 or last < first:
        return 0.0
    listed = line[first : last + 1]
    while listed and listed[0] in "[]":
        listed = listed[1:]
    while listed and listed[-1] in "[]":
        listed = listed[:-1]
    said = {part.strip() for part in listed.split(",")} - {""}
    if not said and not nodes:
        return 1.0
    shared = [node for node in said if node in nodes]
    if not shared:
        return 0.0
    precision, recall = len(shared) / len(said), len(shared) / len(set(nodes))
    return 2 * precision * recall / (precision + recall)


def longbench_v2_letter(answer: str) -> str:
    """LongBench v2: the letter after the announcement, in brackets before one without; empty if there is none."""
    parts = answer.replace("*", "").split("The correct answer is ")[1:]
    bracketed = [part[1] for part in parts if part[:1] == "(" and part[2:3] == ")" and part[1] in "ABCD"]
    return next(iter([*bracketed, *(part[0] for part in parts if part and part[0] in "ABCD")]), "")
