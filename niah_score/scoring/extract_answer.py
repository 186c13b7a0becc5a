"""Extracts the answer from a model's raw text, for the strict metrics; the raw text is kept as well.

In this order: reasoning and special tokens are removed; <answer> tags, JSON, words such as "Final answer:" and boxes
tell which part is the answer; LaTeX, HTML and Markdown markup is removed; so is a repetition of the answer prefix that
the prompt ended with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from niah_score.scoring.markup import without_latex, without_markup
from niah_score.scoring.reasoning import INVISIBLE, without_end_marks, without_reasoning
from niah_score.scoring.reasoning import REASONING_TAGS as REASONING_TAGS
from niah_score.text.phrases import phrases_of
from niah_score.text.visible import without_surrogates

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
    if not any(map(lower.__contains__, _SAID.marks)):
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


# Answers that are JSON: an object with a field for the answer, a list of values, a string; fenced or not.

# Names of the field that holds the answer, the most certain first; without spaces, hyphens and underscores.
_FIELDS = (
    "finalanswer", "最终答案", "answer", "答案", "answers", "response", "回答", "result", "结果", "results", "value",
    "values", "output", "prediction", "final", "text", "content",
)  # fmt: skip
_NAME = re.compile(r"[\s_-]+|(?<!\d)\d+$")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?")
_OBJECT = re.compile(r"^[ \t]*\{", re.MULTILINE)
_FENCE = "```"
_LANGUAGE = re.compile(r"\s*(?:json[5lc]?)?\s*", re.IGNORECASE)
# How many objects in a text are tried as the answer.
_MOST_TRIED = 8
# Objects and lists nested more deeply than this are plain text.
_MOST_NESTED = 100
# How many levels of JSON inside strings of JSON are read.
_DEEPEST = 3


def json_answer(text: str) -> str:
    """The values of an answer in JSON, joined by commas; any other text with its escapes decoded.

    Of an object, only the answer's field counts. It may have words before or after it, if it is fenced, begins a line
    or ends the text. Numbers keep their spelling.
    """
    answer = _whole(text.strip(), _DEEPEST)
    if answer is None and "{" in text:
        answer = _inside(text)
    if answer is None and "\\u" in text:
        # Two escapes that belong together are one character; half of a pair stays as it is.
        answer = _ESCAPE.sub(lambda escape: json.loads(f'"{escape[0]}"'), text)
    return text if answer is None else without_surrogates(answer)


def _whole(text: str, deepest: int) -> str | None:
    """The answer in a text that is nothing but JSON, or nothing but a fenced block of it."""
    if text.startswith(_FENCE) and text.endswith(_FENCE) and len(text) > 2 * len(_FENCE):
        inside = text[len(_FENCE) : -len(_FENCE)]
        text = inside[_LANGUAGE.match(inside).end() :].strip()  # type: ignore[union-attr]
    if text[:1] not in ("{", "[", '"'):
        return None
    try:
        return _answer(_DECODER.decode(text), deepest)
    except (ValueError, RecursionError):
        return None


def _inside(text: str) -> str | None:
    """The answer in the last fenced block or line that begins with an object, or in an object that ends the text."""
    blocks = text.split(_FENCE)[-2:0:-1]
    fenced = ((block, _LANGUAGE.match(block).end(), False) for block in blocks)  # type: ignore[union-attr]
    lines = [(text, match.end() - 1, False) for match in _OBJECT.finditer(text)][-_MOST_TRIED:]
    for whole, start, at_end in (*fenced, *reversed(lines), (text, text.index("{"), True)):
        if not whole.startswith("{", start):
            continue
        try:
            value, end = _DECODER.raw_decode(whole, start)
            answer = None if at_end and whole[end:].strip(" \n\t\r`.") else _answer(value, _DEEPEST)
        except (ValueError, RecursionError):
            continue
        if answer is not None:
            return answer
    return None


def _answer(value: Any, deepest: int) -> str | None:
    """A JSON value as an answer; None for an object without an answer's field, and if nothing is left."""
    if isinstance(value, dict):
        texts = _values(_members(value)[0], deepest)
    elif isinstance(value, list) and any(isinstance(entry, dict) for entry in value):
        answers = [_answer(entry, deepest) if isinstance(entry, dict) else None for entry in value]
        texts = [answer for answer in answers if answer is not None]
        texts = texts if len(texts) == len(answers) else []
    else:
        texts = _values(value, deepest)
    return ", ".join(texts) or None


def _members(table: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The members of an object under its answer's name, and the others."""
    named: dict[str, list[Any]] = {}
    for name, member in table.items():
        named.setdefault(_NAME.sub("", name.casefold()), []).append(member)
    field = next((name for name in _FIELDS if name in named), None)
    answers = named.pop(field) if field else []
    return answers, [member for members in named.values() for member in members]


def _values(value: Any, deepest: int, level: int = 0) -> list[str]:
    """The single values inside a value; of an object with an answer's field, only that field's.

    Raises ValueError for values nested too deeply.
    """
    if level > _MOST_NESTED:
        raise ValueError("nested too deeply")
    if isinstance(value, str):
        inner = _whole(value.strip(), deepest - 1) if deepest > 1 else None
        return [inner or value.strip()] if value.strip() else []
    if isinstance(value, dict):
        answers, others = _members(value)
        # Each level is read once: an answer's field that holds nothing is not read again.
        texts = [text for member in answers for text in _values(member, deepest, level + 1)]
        return [", ".join(texts)] if texts else [text for one in others for text in _values(one, deepest, level + 1)]
    if isinstance(value, list):
        return [text for entry in value for text in _values(entry, deepest, level + 1)]
    return [json.dumps(value)] if value is None or isinstance(value, bool) else [str(value)]


# Models do write line breaks inside strings; numbers keep their spelling, whatever their size.
_DECODER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str, parse_constant=str)


# All forms, one after the other.

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
