"""Extracts the answer from a model's raw text, for the strict metrics; the raw text is kept as well.

In this order: reasoning and special tokens are removed; <answer> tags, JSON, words such as "Final answer:" and boxes
tell which part is the answer; LaTeX, HTML and Markdown markup is removed; so is a repetition of the answer prefix that
the prompt ended with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from niah_score.scoring.json_answers import json_answer
from niah_score.scoring.markup import without_latex, without_markup
from niah_score.scoring.reasoning import INVISIBLE, without_end_marks, without_reasoning
from niah_score.scoring.reasoning import REASONING_TAGS as REASONING_TAGS
from niah_score.text.phrases import phrases_of

_SAID = phrases_of("answering")
_TAG = re.compile(r"<\s*+(/?)\s*+(?:final[ _-]?answer|answer|ans|response|最终答案|答案)\s*+>", re.IGNORECASE)
_PARAGRAPHS = re.compile(r"\n\s*\n")
_BOLD_LINE = re.compile(r"\n[ \t]*\*\*([^*\n]{1,200})\*\*[ \t.。]{0,8}\Z")
_LABEL_END = re.compile(r"\A[*_]{1,3}(?=\s)")
# Characters of a closing sentence after an answer in tags.
_CLOSING = 100
_BLANK = " \t\r\n*_#:："


def in_answer_tags(text: str) -> str:
    """The contents of the last <answer> that is closed and not empty; without one, the whole text.

    If more than a closing sentence follows, only the tags are dropped, as the text explains the answer. An <answer>
    that is never closed counts if it begins the text or a line; one that is closed but never opened begins the text.
    """
    if "<" not in text:
        return text
    span: tuple[int, int] | None = None
    begun: re.Match[str] | None = None
    for tag in _TAG.finditer(text):
        if not tag[1]:
            begun = tag
        else:
            if begun or span is None:
                start = begun.end() if begun else 0
                if text[start : tag.start()].strip():
                    span = (start, tag.start())
            begun = None
    if span:
        after = text[span[1] :].partition(">")[2]
        return text[slice(*span)] if len(after.strip()) <= _CLOSING else _TAG.sub(" ", text)
    if begun and text[begun.end() :].strip() and text[: begun.start()].rstrip(" \t")[-1:] in ("", "\n"):
        return text[begun.end() :]
    return text


def ends_in_answer_tags(text: str) -> bool:
    """Whether a text ends with an <answer> that is opened and closed."""
    tags = list(_TAG.finditer(text))[-2:]
    return len(tags) == 2 and not tags[0][1] and bool(tags[1][1]) and not text[tags[1].end() :].strip()


def before_next_question(text: str) -> str:
    """The text up to a line that begins another question or context, if an answer precedes it.

    A model that was not stopped goes on with questions and answers of its own. If the text begins with a question, its
    answer is what follows up to the next one.
    """
    if ":" not in text and "：" not in text and "###" not in text:
        return text
    starts = (match.start() for match in _SAID.question.finditer(text))
    first = next((start for start in starts if text[:start].strip(_BLANK)), None)
    return text if first is None else text[:first]


def in_last_bold_line(text: str) -> str:
    """The last line of a text of several, if all of it is bold, or else the whole text."""
    line = _BOLD_LINE.search(text) if "**" in text else None
    return line[1] if line and text[: line.start()].strip() else text


def after_answer_words(text: str) -> str:
    """What follows the last "Final answer:" or 最终答案：, or the only "Answer:" or 答案： that begins a line.

    If nothing follows, the whole text. Unless it begins the text, "Answer:" counts only if a single paragraph follows.
    """
    lower = text.lower()
    if not any(mark in lower for mark in _SAID.marks):
        return text
    end = len(text.rstrip(_BLANK))
    final = [match for match in _SAID.final.finditer(text) if match.end() < end]
    if final:
        return _unlabelled(text[final[-1].end() :])
    plain = list(_SAID.plain.finditer(text))
    if len(plain) != 1 or plain[0].end() >= end:
        return text
    begins = not text[: plain[0].start()].strip(_BLANK)
    if not begins and _PARAGRAPHS.search(text, plain[0].end(), end):
        return text
    return _unlabelled(text[plain[0].end() :])


def _unlabelled(answer: str) -> str:
    """What follows a label, without the asterisks that close the label's emphasis."""
    return _LABEL_END.sub("", answer, count=1).lstrip()


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
