"""Says how a gold answer whose log-probability is asked for follows its prompt: what stands between, and its space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from niah_score.contract.rows import Message

# From here on scripts write no spaces between words: Chinese, Japanese, Korean, and full-width punctuation.
_UNSPACED = "\u2e80"


class Continuation(NamedTuple):
    """`prefix`: what stands between the prompt and the answer, such as `The code is`. `text`: the answer behind it."""

    prefix: str
    text: str


def continuation_of(prompt: str | Sequence[Message], answer: str, answer_prefix: str | None) -> Continuation:
    """The answer as it follows a prompt.

    Of an answer that begins with the prefix, the rest follows it as it stands. Else a space goes before prefix and
    answer where they follow a character that is neither white space nor of a script without spaces, and begin with such
    a one themselves. In a chat they begin a message, so there is none before the first of them.
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
