r"""Scores answers as OpenCompass's CDME and NeedleBench do, bug for bug, 0 to 100, on the raw answer.

Formulas: opencompass/datasets/cdme (single with and without trimming, multi); `NeedleBenchOriginEvaluator` of
opencompass/datasets/needlebench/origin.py (v1, also with `use_trim`) and of needlebench_v2/origin.py;
`NeedleBenchMultiEvaluator` of needlebench/multi.py; `NeedleBenchParallelEvaluator`, which is the same in
needlebench/parallel.py and needlebench_v2/parallel.py; `needlebench_atc_postprocess_v2` of needlebench_v2/atc.py, for
reasoning and the Ancestral Trace Challenge, and the evaluator that uses it.

Their oddities are kept: CDME removes white space from the answer but not from the keyword, so cdme_multi never finds
keywords of two words; reference and keyword are passed as `reference*keyword`, which is split at every asterisk.
"""

from __future__ import annotations

import re
from functools import lru_cache

from rapidfuzz.distance import Levenshtein

from niah_score.metrics.base import Score, Target
from niah_score.text import without_spaces

_WRONG_SHARE = 0.2  # the share of the edit score that counts if the keyword is not found
_BOX = "\\boxed"
# What an answer without a box, or with an empty one, counts as.
_NOTHING = "None"
_DOUBLE = re.compile(r"\{(.*)\}\n?")
_KEPT_INSIDE = re.compile(r"\\text\{([^}]+)\}"), re.compile(r"\\boxed\{([^}]+)\}")
_BRACKET = re.compile(r"\\[\[\]]")
_SPACES = re.compile(r"\s+")


def judge_cdme(answer: str, target: Target) -> Score:
    """100 x (1 - Levenshtein distance / longer length) of answer and reference without white space."""
    return _edit_score(answer, _spaceless(target.answers[0]))


def judge_cdme_trim(answer: str, target: Target) -> Score:
    """cdme of the answer cut near the reference's length."""
    return _edit_score(answer, _spaceless(target.answers[0]), trim=True)


def judge_cdme_multi(answer: str, target: Target) -> Score:
    """100 if the answer without white space holds the keyword, else a fifth of cdme. None unless it has one keyword."""
    return _keyword_or_edit_score(answer, target, _spaceless(answer))


def judge_needlebench_v1(answer: str, target: Target) -> Score:
    """As cdme_multi, but the keyword is looked for in the unchanged answer."""
    return _keyword_or_edit_score(answer, target, answer)


def judge_needlebench_v1_trim(answer: str, target: Target) -> Score:
    """needlebench_v1 with the edit score of the answer cut near the reference's length."""
    return _keyword_or_edit_score(answer, target, answer, trim=True)


def judge_needlebench_v2(answer: str, target: Target) -> Score:
    """100 if the answer holds the keyword, else 0. None unless there is one keyword."""
    keyword = _unpacked(target)[1]
    return Score(None if keyword is None else 100.0 * (keyword in answer))


def judge_needlebench_multi(answer: str, target: Target) -> Score:
    """The share of the keyword's words that the answer holds, both in lower case. None unless there is one keyword.

    Words are separated by white space, so a Chinese keyword is one word; they also match inside other words, and count
    as often as they occur in the keyword. `reference*keyword` is unpacked in two, which fails (None here) if either
    contains an asterisk.
    """
    keyword = target.keywords[0][0] if len(target.keywords) == 1 else None
    if keyword is None or "*" in target.answers[0] + keyword:
        return Score(None)
    words = keyword.lower().split()
    said = answer.lower()
    found = sum(word in said for word in words)
    # Eleven elevenths exceed 100 in the last digit.
    return Score(min(found * (100 / len(words)), 100.0) if words else 0.0, {"found": found, "words": len(words)})


def judge_needlebench_parallel(answer: str, target: Target) -> Score:
    """The share of the depths whose keyword the answer holds. None without keywords. `found`: one for each depth.

    The mean of rows with equally many depths is the published average of the depths' means. Keywords are passed as
    `keyword*keyword#depth*depth`: an asterisk in one moves the following ones to the next depth, and the last is lost.
    A # in one gives None here: the published code takes what follows for depths, and usually crashes. A target does not
    say what the depths are; they are assumed to differ, as NeedleBench's do: the published code adds up equal ones.
    """
    words = [group[0] for group in target.keywords]
    if not words or any("#" in word for word in words):
        return Score(None)
    found = [word in answer for word in "*".join(words).split("*")[: len(words)]]
    return Score(100 * sum(found) / len(words), {"found": found})


def judge_needlebench_boxed(answer: str, target: Target) -> Score:
    """100 if the answer's last box, without LaTeX, holds the reference; else 0. `boxed`: whether there is a box.

    Case and width matter. Quotes and backslashes are removed, so references that contain one never match.
    """
    inside = _last_boxed(answer)
    said = _cleaned(inside) if inside else _NOTHING
    return Score(100.0 * (said.strip() == target.answers[0].strip()), {"boxed": bool(inside)})


# The metrics judge an answer one after another.
@lru_cache(maxsize=8)
def _spaceless(text: str) -> str:
    return without_spaces(text)


def _unpacked(target: Target) -> tuple[str, str | None]:
    """Reference (without white space) and keyword, as obtained by splitting `reference*keyword` at asterisks.

    The keyword is None unless a row has exactly one.
    """
    if len(target.keywords) != 1:
        return _spaceless(target.answers[0]), None
    reference, keyword = f"{target.answers[0]}*{target.keywords[0][0]}".split("*")[:2]
    return _spaceless(reference), keyword


def _edit_score(answer: str, reference: str, *, trim: bool = False) -> Score:
    """100 x (1 - Levenshtein distance / longer length), the answer without white space; 100 for two empty texts."""
    text = _spaceless(answer)
    if trim:
        text = _trimmed(text, reference)
    distance = Levenshtein.distance(text, reference)
    return Score(100 * (1 - distance / max(len(text), len(reference), 1)), {"edit_distance": distance})


def _trimmed(text: str, reference: str) -> str:
    """The text cut to 1.2 times the reference's length, or after the reference's last character where that comes first.

    That character is looked for from 0.8 times the reference's length on.
    """
    cut = text[: int(1.2 * len(reference))]
    end = cut.find(reference[-1:], int(0.8 * len(reference))) if reference else -1
    return cut[: end + 1] if end >= 0 else cut


def _keyword_or_edit_score(answer: str, target: Target, searched: str, *, trim: bool = False) -> Score:
    """100 if the searched text holds the keyword, else a fifth of the answer's edit score; None without a keyword."""
    reference, keyword = _unpacked(target)
    edit = _edit_score(answer, reference, trim=trim)
    is_found = None if keyword is None else keyword in searched
    value = None if is_found is None or edit.value is None else 100.0 if is_found else _WRONG_SHARE * edit.value
    return Score(value, {**edit.parts, "keyword_found": is_found})


def _last_boxed(text: str) -> str | None:
    r"""The text in the braces right after the last `\boxed`, without a second pair; None if they are not closed.

    If the last box is broken, an earlier one does not count.
    """
    start = text.rfind(_BOX)
    first = start + len(_BOX) + 1
    if start < 0 or text[first - 1 : first] != "{":
        return None
    depth = 1
    for place in range(first, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            inside = text[first:place]
            double = _DOUBLE.fullmatch(inside)
            return double[1] if double else inside
    return None


def _cleaned(text: str) -> str:
    """A boxed answer without LaTeX, quotes and runs of white space; a tilde becomes a space."""
    if text == _NOTHING:
        return text
    for command in _KEPT_INSIDE:
        text = command.sub(r"\1", text)
    text = _SPACES.sub(" ", _BRACKET.sub("", text).replace("\\", "")).strip()
    return text.replace('"', "").replace("'", "").replace("~", " ")


_EDIT = {"edit_distance": int}
_KEYWORD = {"edit_distance": int, "keyword_found": bool}
PARTS = {
    "cdme": _EDIT,
    "cdme_trim": _EDIT,
    "cdme_multi": _KEYWORD,
    "needlebench_v1": _KEYWORD,
    "needlebench_v1_trim": _KEYWORD,
    "needlebench_multi": {"found": int, "words": int},
    "needlebench_parallel": {"found": list[bool]},
    "needlebench_boxed": {"boxed": bool},
}
