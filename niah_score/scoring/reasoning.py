"""Removes a model's reasoning from its text: channels, tags of all families, and the special tokens around them.

A text that begins with reasoning that never ends has no answer. An answer that only mentions a tag is left alone.

Channels are those of gpt-oss (harmony). Messages are `<|start|>assistant<|channel|>NAME<|message|>TEXT<|end|>`. If a
stack removed the special tokens, headers run into the texts: `analysis...assistantfinal...`. Source: docs/format.md of
OpenAI's harmony.

Special tokens are from the chat templates of model families (Llama, Qwen, Gemma, Mistral, DeepSeek, GLM, Cohere,
EXAONE, Granite, Seed, gpt-oss and others): the beginning of a text, the speaker's name, its end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from niah_score.text.fold import Reading
from niah_score.text.phrases import phrases_of

# Tags and special tokens of model families.
_FAMILIES = phrases_of("reasoning")
SPECIAL = ("<|channel|>", "<|message|>", "<|start|>")
# The header of a final message without special tokens.
FINAL = "assistantfinal"

_NAMES = ("analysis", "commentary", "final")
_CHANNEL = re.compile("|".join(_NAMES))
_PLAIN_HEADER = re.compile(f"assistant({'|'.join(_NAMES)})")


class _ChannelText(NamedTuple):
    """A message. `closed`: whether its end was seen."""

    channel: str
    text: str
    closed: bool


def final_text(text: str, cut: bool) -> str | None:
    """The text of the last final message that is not blank, or else of the last commentary that calls no tool.

    The whole text if there are no channels, None if there is only reasoning that never ends. `cut`: whether the text
    ended at the output limit.
    """
    if any(map(text.__contains__, SPECIAL)):
        return _of_messages(text)
    return _of_plain(text, cut)


def _of_messages(text: str) -> str | None:
    headers = list(_FAMILIES.header.finditer(text))
    if not headers:
        return None if _FAMILIES.cut_header.match(text) else text
    lead = text[: headers[0].start()]
    if lead.strip().removeprefix("assistant") not in ("", *_NAMES) and not _FAMILIES.end.search(lead):
        return text  # it only mentions channels
    messages: list[_ChannelText] = []
    for header, body in _bodies(headers, text):
        role, channel = header[1] or "", header[2] or header[1] or lead
        if role.lstrip().startswith(("user", "system", "developer")):
            break
        name = _CHANNEL.search(channel)
        is_tool = " to=" in f"{role} {channel}"
        content, *after = _FAMILIES.end.split(body, maxsplit=1)
        messages.append(_ChannelText("tool" if is_tool else name[0] if name else "final", content, bool(after)))
        # Some stacks write the final message without its header.
        rest = _FAMILIES.end.sub("", after[0]) if after and not _FAMILIES.cut_header.match(after[0]) else ""
        if rest.strip() not in ("", "assistant"):
            messages.append(_ChannelText("final", rest, True))
    return _chosen(messages)


def _of_plain(text: str, cut: bool) -> str | None:
    is_final = FINAL in text
    begun = _FAMILIES.plain_analysis.match(text) or (
        _FAMILIES.perhaps_analysis.match(text) if cut or is_final else None
    )
    if begun is None and not is_final:
        alone = _FAMILIES.plain_final.match(text)
        return text[alone.end() :] if alone else text
    messages = [_ChannelText("analysis", "", False)]
    for header, body in _bodies(list(_PLAIN_HEADER.finditer(text, begun.end() if begun else 0)), text):
        is_tool = header[1] == "commentary" and body.lstrip().startswith("to=")
        messages.append(_ChannelText("tool" if is_tool else header[1], body, False))
    return _chosen(messages)


def _bodies(headers: list[re.Match[str]], text: str) -> list[tuple[re.Match[str], str]]:
    """Each header with the text up to the next."""
    ends = [header.start() for header in headers[1:]] + [len(text)]
    return [(header, text[header.end() : end]) for header, end in zip(headers, ends, strict=False)]


def _chosen(messages: list[_ChannelText]) -> str | None:
    for wanted in ("final", "commentary"):
        texts = [message.text for message in messages if message.channel == wanted and message.text.strip()]
        if texts:
            constraint = _FAMILIES.constraint.match(texts[-1])
            return texts[-1][constraint.end() :] if constraint else texts[-1]
    return None if messages and messages[-1].channel == "analysis" and not messages[-1].closed else ""


# Characters that str.strip does not strip although they cannot be seen.
INVISIBLE = "\ufeff\u200b\u2060"

_BEGINS_LEADING = frozenset("<[ \t\r\n\v\f" + INVISIBLE)
_LONGEST_MARK = 44


def without_leading_tokens(text: str) -> str:
    """The text without the special tokens and the white space that it begins with."""
    start = 0
    while (text[start : start + 1] in _BEGINS_LEADING) and (token := _FAMILIES.leading.match(text, start)):
        start = token.end()
    return text[start:]


def without_end_marks(text: str) -> str:
    """The text without the special tokens and the white space that it ends with."""
    end = len(text)
    while True:
        while end and (text[end - 1].isspace() or text[end - 1] in INVISIBLE):
            end -= 1
        mark = _last_mark(text[max(0, end - _LONGEST_MARK) : end])
        if not mark:
            return text[:end]
        end -= mark


def _last_mark(tail: str) -> int:
    """The length of the special token that a text ends with; 0 if there is none."""
    for place in sorted({tail.rfind(start) for start in ("<", "[", "[e~[", "END_")}, reverse=True):
        if place >= 0 and _FAMILIES.trailing.fullmatch(tail, place):
            return len(tail) - place
    return 0


def without_next_turn(text: str) -> str:
    """The text up to the beginning of another turn, if anything precedes that."""
    turn = _FAMILIES.next_turn.search(text) if "<" in text or "[|" in text else None
    return text[: turn.start()] if turn and text[: turn.start()].strip() else text


# Opening and closing tags of reasoning. The opening one is often missing, because chat templates put it in the prompt;
# so everything up to the last closing one is reasoning, if anything follows it.
REASONING_TAGS: tuple[tuple[str, str], ...] = tuple((opening, closing) for opening, closing in _FAMILIES.tags)
# What Seed-OSS writes about its budget while it thinks; this does not end its thinking.
_REFLECTION = ("<seed:cot_budget_reflect>", "</seed:cot_budget_reflect>")
_NAMED = re.compile(r"([<\[◁])(\|?)(/?)([^<>\[\]|◁▷/]+)\2([>\]▷])")


def without_reasoning(raw: str, tags: Sequence[tuple[str, str]] = REASONING_TAGS, *, cut: bool = False) -> str | None:
    """What a model says after its reasoning, without special tokens around it; None if the reasoning never ends.

    `tags`: opening and closing tags, matched in any case and with any white space inside the brackets; with other tags
    than ours, channels are not read either. `cut`: whether the text ended at the output limit.
    """
    text = without_next_turn(without_leading_tokens(raw))
    if tuple(tags) == REASONING_TAGS:
        text = _without_pairs(text, *_REFLECTION)
        channelled = final_text(text, cut)
        if channelled is None:
            return None
        text = channelled
    tags_in_text = _tags_in(text, tuple(tags))
    if tags_in_text:
        last = max((tag.end for tag in tags_in_text if not tag.value), default=0)
        opened = next((tag for tag in tags_in_text if tag.value and tag.start >= last), None)
        # An answer that merely mentions a tag has words before it; reasoning comes first.
        if opened and not text[last : opened.start].strip():
            return None
        text = text[last:] if without_end_marks(text[last:]) else _outside(text, tags_in_text)
    return without_end_marks(without_leading_tokens(text))


def _outside(text: str, tags: Sequence[Reading]) -> str:
    """The last stretch outside of reasoning in a text that ends with a closing tag.

    A closing tag that nothing opened and nothing follows closes nothing: the answer is before it.
    """
    ends_all = len(tags)  # from this tag on, there are only closing ones with nothing between them
    while (
        ends_all
        and not tags[ends_all - 1].value
        and (ends_all == len(tags) or not text[tags[ends_all - 1].end : tags[ends_all].start].strip())
    ):
        ends_all -= 1
    pieces: list[str] = []
    depth = start = 0
    for number, tag in enumerate(tags):
        if depth == 0:
            if tag.value or number >= ends_all:
                pieces.append(text[start : tag.start])
            else:
                pieces.clear()
        depth = depth + 1 if tag.value else max(0, depth - 1)
        start = tag.end
    return next((piece for piece in reversed(pieces) if piece.strip()), "")


def _tags_in(text: str, tags: tuple[tuple[str, str], ...]) -> list[Reading]:
    """All tags in a text, in order; the value of each is whether it opens."""
    pattern, signs = _pattern(tags)
    lower = text.lower()
    if not any(map(lower.__contains__, signs)):
        return []
    return [Reading(match.lastindex is not None, *match.span()) for match in pattern.finditer(text)]


@lru_cache(maxsize=16)
def _pattern(tags: tuple[tuple[str, str], ...]) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """A pattern of the tags, the opening ones in a group, and what a text with any of them holds in lower case."""
    sides = [list(filter(None, (pair[side] for pair in tags))) for side in (0, 1)]
    opening, closing = ("|".join(map(_lenient, side)) or "(?!)" for side in sides)
    signs = (tag[0] if tag[0] in "<[◁" else (tag.split() or [tag])[-1].lower() for side in sides for tag in side)
    return re.compile(f"({opening})|{closing}", re.IGNORECASE), tuple(dict.fromkeys(signs))


def _lenient(tag: str) -> str:
    """A pattern of a tag that allows white space inside its brackets, missing bars, and any white space between words.

    No pattern backtracks in white space, so a text of brackets and spaces takes linear time.
    """
    if named := _NAMED.fullmatch(tag):
        left, _, slash, name, right = named.groups()
        before = rf"{re.escape(left)}\s*+(?:\|\s*+)?" + (r"/\s*+" if slash else "")
        return rf"{before}{re.escape(name.strip())}\s*+(?:\|\s*+)?{re.escape(right)}"
    return r"\s++".join(map(re.escape, tag.split())) or re.escape(tag)


def _without_pairs(text: str, opening: str, closing: str) -> str:
    kept = []
    start = 0
    while (begin := text.find(opening, start)) >= 0 and (end := text.find(closing, begin)) >= 0:
        kept.append(text[start:begin])
        start = end + len(closing)
    return "".join(kept) + text[start:]
