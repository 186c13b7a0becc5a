"""Extracts the answer from a model's raw text, for the strict metrics; the raw text is kept as well.

In this order: reasoning and special tokens are removed; <answer> tags, JSON, words such as "Final answer:" and boxes
tell which part is the answer; LaTeX, HTML and Markdown markup is removed; so is a repetition of the answer prefix that
the prompt ended with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from niah_score.scoring.answer_marks import (
    after_answer_words,
    before_next_question,
    ends_in_answer_tags,
    in_answer_tags,
    in_last_bold_line,
)
from niah_score.scoring.json_answers import json_answer
from niah_score.scoring.latex import without_latex
from niah_score.scoring.markup import without_markup
from niah_score.scoring.reasoning import REASONING_TAGS as REASONING_TAGS
from niah_score.scoring.reasoning import without_reasoning
from niah_score.scoring.special_tokens import INVISIBLE, without_end_marks

# In characters. Of longer answers only the last part is judged, so that a runaway model delays nothing.
LONGEST = 262_144

_INSIDE_WORD = re.compile("[A-Za-z0-9]{2}")


class Extracted(NamedTuple):
    """`text`: only the answer. `unclosed`: whether reasoning began and never ended, so that there is no answer."""

    text: str
    unclosed: bool = False


def extract_answer(
    raw: str,
    prefix: str | None = None,
    tags: Sequence[tuple[str, str]] = REASONING_TAGS,
    *,
    cut: bool = False,
) -> Extracted:
    """Extract the answer from a model's raw text.

    `prefix`: what the prompt ended with, for models that repeat it. `tags`: opening and closing tags of reasoning, in
    place of the default ones. `cut`: whether the text ended at the output limit.
    """
    text = without_reasoning(raw, tags, cut=cut)
    if text is None:
        # R1 may leave its reasoning open and put the answer in tags.
        text = without_end_marks(raw)
        if not ends_in_answer_tags(text):
            return Extracted("", unclosed=True)
    for form in _FORMS:
        text = form(text).strip() or text
    text = text.strip().strip(INVISIBLE).strip()
    prefix = (prefix or "").strip()
    # "It isn't" does not repeat "It is".
    if prefix and text.startswith(prefix) and not _INSIDE_WORD.match(text, len(prefix) - 1):
        text = text.removeprefix(prefix).lstrip()
    return Extracted(text)


def _marked(text: str) -> str:
    """What words mark as the answer, which may itself be JSON."""
    answer = after_answer_words(text)
    return text if answer == text else json_answer(answer)


# A text that one of these would leave blank stays as it is.
_FORMS: tuple[Callable[[str], str], ...] = (
    in_answer_tags, before_next_question, json_answer, _marked, in_last_bold_line, without_latex, without_markup,
)  # fmt: skip
