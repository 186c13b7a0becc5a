"""Judges single answers, and draws odd texts to try metrics on."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from niah_score.metrics import METRICS, Score, Target

# Punctuation, digits, white space, width, case, combining marks, emoji.
odd = st.text("abAB1,5-% .“”。，！（中文ａ\u3000\n\u0301é😀", max_size=16)


def judged(metric: str, text: str, *answers: str, **more: Any) -> Score:
    """The score that a metric computes for one answer; without accepted answers, "-" is the only one."""
    return METRICS[metric].judge(text, Target(answers or ("-",), **more))


def value(metric: str, text: str, *answers: str, **more: Any) -> Any:
    """The value of `judged`."""
    return judged(metric, text, *answers, **more).value
