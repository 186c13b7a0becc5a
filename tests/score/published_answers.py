"""States the formulas of published evaluators of answers once more, slowly and plainly, to compare the metrics with.

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


def overlap(said: Sequence[str], gold: Sequence[str]) -> float:
    """F1 of two bags of words; 0 where they share none."""
    left = list(gold)
    shared = 0
    for word in said:
        if word in left:
            left.remove(word)
            shared += 1
    if not shared:
        return 0.0
    precision, recall = shared / len(said), shared / len(gold)
    return 2 * precision * recall / (precision + recall)


def best(score: Callable[[str, str], float], said: str, golds: Iterable[str]) -> float:
    """The greatest score over the accepted answers, 0 to 1."""
    return max(score(said, gold) for gold in golds)


def qa_f1(said: str, gold: str) -> float:
    """LongBench `qa_f1_score`; InfiniteBench's `qa_f1_score` is the same."""
    return overlap(squad_words(said), squad_words(gold))


def chinese_words(text: str) -> list[str]:
    """jieba's words, each in lower case without punctuation and white space; those with nothing left are dropped."""
    import jieba

    jieba.setLogLevel(60)
    found = []
    for word in jieba.cut(text, cut_all=False):
        kept = "".join(char for char in word.lower() if char not in string.punctuation + CHINESE_MARKS)
        if "".join(kept.split()):
            found.append("".join(kept.split()))
    return found


def qa_f1_zh(said: str, gold: str) -> float:
    """LongBench `qa_f1_zh_score`."""
    return overlap(chinese_words(said), chinese_words(gold))


def rouge(said: str, gold: str) -> float:
    """LongBench `rouge_score`: ROUGE-L of the package rouge over the sentences of both, distinct words counted."""
    if not said or not gold:
        return 0.0
    ours = [" ".join(part.split()).split(" ") for part in said.split(".") if part]
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
    """A longest common subsequence, by recursion from the ends; of two as long, that without the other's last word."""

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


def rouge_zh(said: str, gold: str) -> float:
    """LongBench `rouge_zh_score`: the same of jieba's words with spaces between them."""
    import jieba

    jieba.setLogLevel(60)
    return rouge(" ".join(jieba.cut(said, cut_all=False)), " ".join(jieba.cut(gold, cut_all=False)))


def classification(said: str, gold: str, classes: Sequence[str]) -> float:
    """LongBench `classification_score`, in whose second loop a removal skips the next class."""
    named = [name for name in classes if name in said]
    at = 0
    while at < len(named):
        if named[at] in gold and named[at] != gold:
            named.remove(named[at])
        at += 1
    return 1 / len(named) if gold in named else 0.0


def first_line(said: str) -> str:
    """What LongBench's eval.py judges of an answer to trec, triviaqa, samsum and lsht."""
    while said.startswith("\n"):
        said = said[1:]
    return said.partition("\n")[0]


def code_sim(said: str, gold: str) -> float:
    """LongBench `code_sim_score`: fuzzywuzzy's ratio, 2 x common subsequence / both lengths, in whole percent."""
    line = ""
    for candidate in said.lstrip("\n").split("\n"):
        if "`" not in candidate and "#" not in candidate and "//" not in candidate:
            line = candidate
            break
    if not line or not gold:
        return 0.0
    common = len(longest_common(tuple(line), tuple(gold)))
    return round(200 * common / (len(line) + len(gold))) / 100


def babilong(said: str, target: str, question: str, labels: Iterable[str]) -> bool:
    """BABILong `compare_answers`."""
    said = said.lower().split(".")[0].split("<context>")[0].split("<example>")[0]
    target = target.lower()
    lowered = {label.lower() for label in labels}
    asked = {label for label in lowered if label in question.lower()}
    named = {label for label in lowered if label in said} - asked
    if "," in target and len(target) > 3:
        parts = target.split(",")
        return all(part in named for part in parts) and len(named) == len(parts)
    return target in named and len(named) == 1


def squad_exact(said: str, gold: str) -> bool:
    """Exact match of L-Eval's closed-ended texts and of SQuAD: the same words after normalisation."""
    return squad_words(said) == squad_words(gold)


def infinite_choice(said: str, letter: str, text: str) -> bool:
    """InfiniteBench's score of longbook_choice_eng: the last capital A to D that stands alone decides."""
    said = said.strip()
    standing = re.findall(r"\b[A-D]\b", said)
    if standing and standing[-1] in (letter, text):
        return True
    if not said:
        return False
    if said[0] in "ABCD":
        return said[0] in (letter, text)
    if said in (letter, text):
        return True
    for mark in "\n\"'.,?!{}":
        said = said.replace(mark, " ")
    said = " ".join(part for part in said.split(" ") if part)
    for prefix in ("answer is:", "answer:", "answer is", "option is"):
        at = said.find(prefix)
        if at >= 0:
            rest = said[at + len(prefix) + 1 :]
            return any(rest.startswith(label) for label in (letter, text))
    words = [word for word in said.split() if word in "ABCD"]
    return bool(words) and words[0] in (letter, text)
