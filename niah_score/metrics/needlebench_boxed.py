r"""Scores the last `\boxed{...}` of an answer as NeedleBench v2 does for reasoning and the Ancestral Trace Challenge.

Formula: `needlebench_atc_postprocess_v2` of opencompass/datasets/needlebench_v2/atc.py and the evaluator that uses it,
bug for bug, 0 to 100, on the raw answer.
"""

from __future__ import annotations

import re

from niah_score.metrics.base import Metric, Score
from niah_score.metrics.target import Target

_BOX = "\\boxed"
# What an answer without a box, or with an empty one, counts as.
_NOTHING = "None"
_DOUBLE = re.compile(r"\{(.*)\}\n?")
_KEPT_INSIDE = (re.compile(r"\\text\{([^}]+)\}"), re.compile(r"\\boxed\{([^}]+)\}"))
_BRACKET = re.compile(r"\\[\[\]]")
_SPACES = re.compile(r"\s+")


def judge_needlebench_boxed(answer: str, target: Target) -> Score:
    """100 if the answer's last box, without LaTeX, holds the reference; else 0. `boxed`: whether there is a box.

    Case and width matter. Quotes and backslashes are removed, so references that contain one never match.
    """
    inside = last_boxed(answer)
    said = cleaned(inside) if inside else _NOTHING
    return Score(100.0 * (said.strip() == target.answers[0].strip()), {"boxed": bool(inside)})


def last_boxed(text: str) -> str | None:
    r"""The text in the braces right after the last `\boxed`, without a second pair; None if they are not closed.

    If the last box is broken, an earlier one does not count.
    """
    start = text.rfind(_BOX)
    if start < 0 or text[start + len(_BOX) : start + len(_BOX) + 1] != "{":
        return None
    first = start + len(_BOX) + 1
    depth = 1
    for place in range(first, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            inside = text[first:place]
            double = _DOUBLE.fullmatch(inside)
            return double[1] if double else inside
    return None


def cleaned(text: str) -> str:
    """A boxed answer without LaTeX, quotes and runs of white space; a tilde becomes a space."""
    if text == _NOTHING:
        return text
    for command in _KEPT_INSIDE:
        text = command.sub(r"\1", text)
    text = _SPACES.sub(" ", _BRACKET.sub("", text).replace("\\", "")).strip()
    return text.replace('"', "").replace("'", "").replace("~", " ")


NEEDLEBENCH_BOXED = Metric("needlebench_boxed", "compat", judge_needlebench_boxed, parts={"boxed": bool})
