"""Extracts the answer from a model's raw text, for the strict metrics; the raw text itself is kept beside it.

In this order: reasoning and special tokens are left away; <answer> tags, JSON, words such as "Final answer:" and boxes
tell which part is the answer; marks of LaTeX, HTML and Markdown are dropped; the answer prefix that the prompt ended
with is not said again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from niah_score.scoring.answer_marks import after_answer_words, ends_in_answer_tags, in_answer_tags
from niah_score.scoring.json_answers import json_answer
from niah_score.scoring.latex import without_latex
from niah_score.scoring.markup import without_markup
from niah_score.scoring.reasoning import REASONING_TAGS as REASONING_TAGS
from niah_score.scoring.reasoning import without_reasoning
from niah_score.scoring.special_tokens import INVISIBLE, without_end_marks

if TYPE_CHECKING:
    import polars as pl

# Longer answers are cut before they are judged: a run-away model delays nothing. In characters.
LONGEST = 262_144

_INSIDE_WORD = re.compile("[A-Za-z0-9]{2}")
# Without any of these, a text is its own answer. One pattern for each way in which they can be searched for fast:
# single ASCII characters, words, characters beyond ASCII, and what a text begins with.
_ACTED_ON = (
    r"[<\[\\{*`&$~>]",
    r"(?i-u:answer)(?:[*_\s]{0,4}[:：]|\W*\n)|(?i-u:final)\s{1,3}(?i-u:answer)|assistantfinal|"
    r"(?i-u:response:|process:|_THINKING|_RESPONSE|_TEXT)",
    "答案?[*_\\s]{0,4}[:：]|[终后終後]的?答案|[◁\ufeff\u200b\u2060]",
    r'^\s*(?:"|analysis|final[^\s,.;:!?]|assistant)',
)


class Extracted(NamedTuple):
    """`text`: the answer without what only led to it. `unclosed`: reasoning began and never ended, so there is none."""

    text: str
    unclosed: bool = False


def extract_answer(
    raw: str,
    prefix: str | None = None,
    tags: Sequence[tuple[str, str]] = REASONING_TAGS,
    *,
    cut: bool = False,
) -> Extracted:
    """Extract the answer from a raw text of a model.

    `prefix`: the text that the prompt ended with, for models that say it again. `tags`: opening and closing tags of
    reasoning; others than ours replace them. `cut`: whether the text ended at the output limit.
    """
    text = without_reasoning(raw, tags, cut=cut)
    if text is None:
        # R1's way of leaving its reasoning open: the answer stands in tags of its own.
        text = without_end_marks(raw)
        if not ends_in_answer_tags(text):
            return Extracted("", unclosed=True)
    for form in _FORMS:
        found = form(text).strip()
        text = found or text
    text = text.strip().strip(INVISIBLE).strip()
    said = (prefix or "").strip()
    # "It isn't" does not say "It is" again.
    if said and text.startswith(said) and not _INSIDE_WORD.match(text, len(said) - 1):
        text = text.removeprefix(said).lstrip()
    return Extracted(text)


def _marked(text: str) -> str:
    """What words mark as the answer; it may be JSON itself."""
    found = after_answer_words(text)
    return text if found == text else json_answer(found)


# What is left blank by one of these stays as it was.
_FORMS: tuple[Callable[[str], str], ...] = (in_answer_tags, json_answer, _marked, without_latex, without_markup)


def extract_answers(
    column: pl.Series, prefixes: Sequence[str | None], cut: Sequence[bool], tags: Sequence[tuple[str, str]]
) -> tuple[list[str], list[str], list[bool]]:
    """The raw texts of a column, the answers in them, and whether each is `unclosed`, as `extract_answer` has them."""
    import polars as pl

    raw: list[str] = column.to_list()
    acted_on = pl.repeat(tuple(tags) != REASONING_TAGS, len(raw), eager=True)
    for pattern in _ACTED_ON:
        acted_on |= column.str.contains(pattern)
    texts = [text.strip() for text in raw]
    unclosed = [False] * len(raw)
    for place, (is_acted_on, prefix) in enumerate(zip(acted_on.to_list(), prefixes, strict=True)):
        if is_acted_on or prefix:
            texts[place], unclosed[place] = extract_answer(raw[place], prefix, tags, cut=cut[place])
    return raw, texts, unclosed
