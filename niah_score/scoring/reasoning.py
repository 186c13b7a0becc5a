"""Removes a model's reasoning from its text: channels, tags of all families, and the special tokens around them.

A text that begins with reasoning that never ends has no answer. An answer that only mentions a tag is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from niah_score.scoring.harmony import final_text
from niah_score.scoring.special_tokens import (
    without_end_marks,
    without_leading_tokens,
    without_next_turn,
)

# Opening and closing tags of reasoning. The opening one is often missing, because chat templates put it in the prompt;
# so everything up to the last closing one is reasoning, if anything follows it.
REASONING_TAGS = (
    ("<think>", "</think>"),  # DeepSeek, Qwen, GLM, Nemotron, Hunyuan, MiniMax and most others
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),  # EXAONE
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<reflection>", "</reflection>"),
    ("<analysis>", "</analysis>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<seed:think>", "</seed:think>"),  # Seed-OSS
    ("<mm:think>", "</mm:think>"),  # MiniMax
    ("<longcat_think>", "</longcat_think>"),
    ("[THINK]", "[/THINK]"),  # Magistral
    ("◁think▷", "◁/think▷"),  # Kimi
    ("<|channel>thought", "<channel|>"),  # Gemma 4
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Cohere
    ("<|START_THINKING|>", "<|START_RESPONSE|>"),
    ("START_THINKING", "END_THINKING"),
    ("START_THINKING", "START_RESPONSE"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),  # Apertus
    ("[unused16]", "[unused17]"),  # Pangu
    ("Here is my thought process:", "Here is my response:"),  # Granite
    ("Here's my thought process:", "Here's my response:"),
)
# What Seed-OSS writes about its budget while it thinks; this does not end its thinking.
_REFLECTION = ("<seed:cot_budget_reflect>", "</seed:cot_budget_reflect>")
_NAMED = re.compile(r"([<\[◁])(\|?)(/?)([^<>\[\]|◁▷/]+)\2([>\]▷])")
_BRACKETS = "<[◁"


class _Tag(NamedTuple):
    start: int
    end: int
    opens: bool


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
        last = max((tag.end for tag in tags_in_text if not tag.opens), default=0)
        opened = next((tag for tag in tags_in_text if tag.opens and tag.start >= last), None)
        # An answer that merely mentions a tag has words before it; reasoning comes first.
        if opened and not text[last : opened.start].strip():
            return None
        text = text[last:] if without_end_marks(text[last:]) else _outside(text, tags_in_text)
    return without_end_marks(without_leading_tokens(text))


def _outside(text: str, tags: Sequence[_Tag]) -> str:
    """The last stretch outside of reasoning in a text that ends with a closing tag.

    A closing tag that nothing opened and nothing follows closes nothing: the answer is before it.
    """
    ends_all = len(tags)  # from this tag on, there are only closing ones with nothing between them
    while (
        ends_all
        and not tags[ends_all - 1].opens
        and (ends_all == len(tags) or not text[tags[ends_all - 1].end : tags[ends_all].start].strip())
    ):
        ends_all -= 1
    pieces: list[str] = []
    depth = start = 0
    for number, tag in enumerate(tags):
        if depth == 0:
            if tag.opens or number >= ends_all:
                pieces.append(text[start : tag.start])
            else:
                pieces.clear()
        depth = depth + 1 if tag.opens else max(0, depth - 1)
        start = tag.end
    return next((piece for piece in reversed(pieces) if piece.strip()), "")


def _tags_in(text: str, tags: tuple[tuple[str, str], ...]) -> list[_Tag]:
    """All tags in a text, in order."""
    bracketed, spelt, words = _patterns(tags)
    matches = []
    if bracketed and any(bracket in text for bracket in _BRACKETS):
        matches = list(bracketed.finditer(text))
    if spelt:
        lower = text.lower()
        if any(word in lower for word in words):
            matches = sorted((*matches, *spelt.finditer(text)), key=lambda tag: tag.start())
    apart: list[_Tag] = []
    for tag in matches:
        if not apart or tag.start() >= apart[-1].end:  # START_THINKING inside <|START_THINKING|> is no second tag
            apart.append(_Tag(tag.start(), tag.end(), tag.lastindex is not None))
    return apart


@lru_cache(maxsize=16)
def _patterns(
    tags: tuple[tuple[str, str], ...],
) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None, tuple[str, ...]]:
    """Patterns of the tags that begin with a bracket and of the others, and a word of each of those.

    A group in a pattern matches opening tags.
    """
    sides = [(tag, side == 0) for side in (0, 1) for tag in dict.fromkeys(pair[side] for pair in tags) if tag]
    spelt = [(tag, opens) for tag, opens in sides if tag[0] not in _BRACKETS]
    branches = []
    for bracket in _BRACKETS:
        own = [(tag, opens) for tag, opens in sides if tag[0] == bracket]
        # A pattern that begins with a set of characters is many times faster to search for than one of branches.
        branches += [rf"(?<={re.escape(bracket)})(?:{_any_of(own)})"] if own else []
    return (
        re.compile(rf"[<\[◁](?:{'|'.join(branches)})", re.IGNORECASE) if branches else None,
        re.compile(_any_of(spelt), re.IGNORECASE) if spelt else None,
        tuple((tag.split() or [tag])[-1].lower() for tag, _ in spelt),
    )


def _any_of(tags: list[tuple[str, bool]]) -> str:
    """A pattern of tags without their first bracket, the opening ones in a group."""
    sides = ("|".join(_lenient(tag) for tag, opens in tags if opens is side) for side in (True, False))
    return "|".join(f"({side})" if opens else side for side, opens in zip(sides, (True, False), strict=True) if side)


def _lenient(tag: str) -> str:
    """A pattern of a tag that allows white space inside its brackets, missing bars, and any white space between words.

    No pattern backtracks in white space, so a text of brackets and spaces takes linear time.
    """
    if named := _NAMED.fullmatch(tag):
        _, _, slash, name, right = named.groups()
        before = r"\s*+(?:\|\s*+)?" + (r"/\s*+" if slash else "")
        return rf"{before}{re.escape(name.strip())}\s*+(?:\|\s*+)?{re.escape(right)}"
    rest = tag[1:] if tag[0] in _BRACKETS else tag
    return r"\s++".join(map(re.escape, rest.split())) or re.escape(rest)


def _without_pairs(text: str, opening: str, closing: str) -> str:
    kept = []
    start = 0
    while (begin := text.find(opening, start)) >= 0 and (end := text.find(closing, begin)) >= 0:
        kept.append(text[start:begin])
        start = end + len(closing)
    return "".join(kept) + text[start:]
