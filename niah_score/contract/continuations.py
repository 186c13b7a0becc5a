"""Builds the text that continues a prompt with a gold answer, for log-probabilities: answer prefix, spaces, answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from niah_score.contract.rows import Message

# Scripts from this code point on have no spaces between words: Chinese, Japanese, Korean, and full-width punctuation.
_UNSPACED = "\u2e80"


class Continuation(NamedTuple):
    """`prefix`: the text between prompt and answer, such as `The code is`. `text`: the answer after it."""

    prefix: str
    text: str


def continuation_of(prompt: str | Sequence[Message], answer: str, answer_prefix: str | None) -> Continuation:
    """The answer as it continues a prompt.

    If the answer begins with the prefix, `text` is the rest of it, unchanged. Otherwise prefix and answer each get a
    leading space if the characters on both sides of the gap are neither white space nor of a script without spaces.
    In a chat they begin a message, so the first of them gets no space.
    """
    before = prompt if isinstance(prompt, str) else ""
    prefix = ""
    if answer_prefix:
        prefix = _spaced(before, answer_prefix)
        if answer.startswith(answer_prefix) and len(answer) > len(answer_prefix):
            return Continuation(prefix, answer[len(answer_prefix) :])
    return Continuation(prefix, _spaced(prefix or before, answer))


def _spaced(before: str, text: str) -> str:
    last, first = before[-1:], text[:1]
    if not last or not first or last.isspace() or first.isspace() or max(last, first) >= _UNSPACED:
        return text
    return f" {text}"
