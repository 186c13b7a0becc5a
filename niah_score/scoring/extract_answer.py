"""Extracts the answer from a model's raw text, for the strict metrics; the raw text itself is kept beside it.

In this order: reasoning up to the last closing tag is left away; end-of-text marks are no part of an answer; of a boxed
answer only what is in the last box counts; the answer prefix that the prompt ended with is not said again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

# Opening and closing tag of reasoning inside the answer. The opening one is often missing, as chat templates write it
# into the prompt; so everything up to the last closing one is reasoning.
REASONING_TAGS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
    ("<|channel>thought", "<channel|>"),  # Gemma 4
    ("<|channel|>analysis", "<|channel|>final<|message|>"),  # gpt-oss
    ("◁think▷", "◁/think▷"),
)
# Longer answers are cut before they are judged: a run-away model delays nothing. In characters.
LONGEST = 262_144

_END_MARKS = (
    "<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|return|>", "</s>", "<end_of_turn>",
    "<turn|>",
)  # fmt: skip
_BOX = "\\boxed{"
_BRACE = re.compile(r"\\boxed\{|[{}]")
_TEXT_OR_BRACE = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\{|[{}]")
_INSIDE_WORD = re.compile("[A-Za-z0-9]{2}")


class Extracted(NamedTuple):
    """`text`: the answer without what only led to it. `unclosed`: reasoning began and never ended, so there is none."""

    text: str
    unclosed: bool = False


def extract_answer(raw: str, prefix: str | None = None, tags: Sequence[tuple[str, str]] = REASONING_TAGS) -> Extracted:
    """Extract the answer from a raw text of a model.

    `prefix`: the text that the prompt ended with, for models that say it again. `tags`: opening and closing tags of
    reasoning.
    """
    text = raw
    if "<" in text or "[" in text or "◁" in text or tags is not REASONING_TAGS:
        found = _without_reasoning(text, tags)
        if found is None:
            return Extracted("", unclosed=True)
        text = _without_end_marks(found)
    if _BOX in text:
        text = _boxed(text)
    text = text.strip()
    said = (prefix or "").strip()
    # "It isn't" does not say "It is" again.
    if said and text.startswith(said) and not _INSIDE_WORD.match(text, len(said) - 1):
        text = text.removeprefix(said).lstrip()
    return Extracted(text)


def extract_answers(
    raw: Sequence[str], prefixes: Sequence[str | None], tags: Sequence[tuple[str, str]]
) -> tuple[list[str], list[bool]]:
    """The answers in raw texts, and whether each is `unclosed`, as `extract_answer` does one by one."""
    if tags is not REASONING_TAGS and tuple(tags) != REASONING_TAGS:
        found = [extract_answer(text, prefix, tags) for text, prefix in zip(raw, prefixes, strict=True)]
        return [one.text for one in found], [one.unclosed for one in found]
    texts = [text.strip() for text in raw]
    unclosed = [False] * len(texts)
    # Most answers hold nothing that `extract_answer` acts on.
    for place, (text, prefix) in enumerate(zip(raw, prefixes, strict=True)):
        if prefix or "<" in text or "[" in text or "◁" in text or _BOX in text:
            texts[place], unclosed[place] = extract_answer(text, prefix, REASONING_TAGS)
    return texts, unclosed


def _without_reasoning(text: str, tags: Sequence[tuple[str, str]]) -> str | None:
    """What follows the last closing tag; None if reasoning is opened after it and not closed."""
    end = max((text.rfind(closing) + len(closing) for _, closing in tags if closing in text), default=0)
    rest = text[end:]
    opened = [rest.find(opening) for opening, _ in tags if opening in rest]
    if not opened:
        return rest
    # An answer that merely speaks of a tag has words before it; reasoning comes first.
    return None if not rest[: min(opened)].strip() else rest


def _without_end_marks(text: str) -> str:
    """The text up to the marks that it ends in, with any white space between and after them."""
    kept = end = len(text)
    while True:
        while end and text[end - 1].isspace():
            end -= 1
        mark = next((mark for mark in _END_MARKS if text.endswith(mark, 0, end)), None)
        if mark is None:
            return text[:kept]
        kept = end = end - len(mark)


def _boxed(text: str) -> str:
    """What is in the last box that is closed and not empty; the whole text if there is none."""
    opened: list[int] = []  # for each open brace, where what its box holds begins; -1 if it opens no box
    boxes: list[tuple[int, int]] = []
    for brace in _BRACE.finditer(text):
        if brace[0] != "}":
            opened.append(-1 if brace[0] == "{" else brace.end())
        elif opened and (start := opened.pop()) >= 0:
            boxes.append((start, brace.start()))
    for start, end in sorted(boxes, reverse=True):
        inside = _plain(text[start:end])
        if inside.strip():
            return inside
    return text


def _plain(inside: str) -> str:
    r"""The contents of a box, `\text{...}` and its like replaced by their contents."""
    pieces: list[str] = []
    is_text: list[bool] = []
    start = 0
    for brace in _TEXT_OR_BRACE.finditer(inside):
        if brace[0] != "}":
            is_text.append(brace[0] != "{")
        if is_text[-1]:
            pieces.append(inside[start : brace.start()])
            start = brace.end()
        if brace[0] == "}":
            is_text.pop()
    return "".join(pieces) + inside[start:]
