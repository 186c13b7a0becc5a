"""Reads answers that are JSON: an object with a field for the answer, a list of values, a string; fenced or not.

In any other answer, only escapes such as \\u975b are decoded.
"""

from __future__ import annotations

import json
import re
from typing import Any

from niah_score.text.visible import without_surrogates

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
