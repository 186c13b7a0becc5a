"""Judging single answers, and the odd texts that metrics are tried on."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from niah_score.metrics import METRICS, Score, Target

FACTOR = int(os.environ.get("NIAH_EXAMPLES", "1"))
# Punctuation, digits, white space, width, case, combining marks, emoji.
odd = st.text("abAB1,5-% .“”。，！（中文ａ\u3000\n\u0301é😀", max_size=16)


def steady(examples: int) -> settings:
    """The same examples in every run, `NIAH_EXAMPLES` times as many."""
    return settings(derandomize=True, deadline=None, max_examples=examples * FACTOR)


def judged(metric: str, text: str, *answers: str, **more: Any) -> Score:
    """What a metric says of one answer; without accepted answers "-" is the only one."""
    return METRICS[metric].judge(text, Target(answers or ("-",), **more))


def value(metric: str, text: str, *answers: str, **more: Any) -> Any:
    """The value of `judged`."""
    return judged(metric, text, *answers, **more).value
