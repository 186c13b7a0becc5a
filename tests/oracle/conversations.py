"""Proves rows of coreference: reads the conversation back from the prompt, counts like requests and finds the reply.

It shares no code with the builder: it reads the wording back with its own patterns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from niah_gen.tasks.base import NO_CONTEXT
from niah_gen.tokenizers.find import find_tokenizer
from niah_score.contract import Row, canonical_json, needle_kind, sha256_hex

_REQUEST = {"en": "Write a short passage about {}.", "zh": "请写一段关于{}的短文。"}
# Of each: the prefix, the subject, and which of its replies is asked for.
_QUESTION = {
    "en": r"Prepend (\w+) to the (?P<place>\d+)(?:st|nd|rd|th) passage about (?P<subject>.+) that you wrote above, .+",
    "zh": r"请先输出(\w+)，再紧接着一字不差地重复你在上文中写的第(?P<place>\d+)段关于(?P<subject>.+)的短文。.+",
}
_LITERAL = {
    "en": r"Prepend (\w+) to the passage about (?P<subject>.+) that begins with “(?P<start>.+)”, .+",
    "zh": r"请先输出(\w+)，再紧接着一字不差地重复你在上文中写的、以“(?P<start>.+)”开头的那段"
    "关于(?P<subject>.+)的短文。.+",
}
_SPEAKERS = {"en": ("User: ", "Assistant: "), "zh": ("用户：", "助手：")}
_TOLERANCE = 1e-9


class Conversation(NamedTuple):
    """A conversation as read from its prompt: requests and replies in order, and the question at the end."""

    requests: tuple[str, ...]
    replies: tuple[str, ...]
    question: str


def check_coreference(row: Row) -> None:
    """Checks what a row says of its conversation."""
    language, read = row["language"], read_conversation(row)
    assert (read.question, row["metric"]) == (row["question"], "mrcr")
    asked = re.fullmatch(_QUESTION[language], read.question) or re.fullmatch(_LITERAL[language], read.question)
    assert asked is not None
    prefix = asked[1]
    assert row["answer_prefix"] == prefix
    if row["control"] == NO_CONTEXT:
        assert (read.requests, row["needles"]) == ((), [])
        return
    like = int(needle_kind(row["needle_id"] or "").partition("-")[0])
    assert set(Counter(read.requests).values()) == {like}
    request = _REQUEST[language].format(asked["subject"])
    replies = [reply for said, reply in zip(read.requests, read.replies, strict=True) if said == request]
    named = asked.groupdict()
    if "place" in named:
        wanted = replies[int(named["place"]) - 1]
    else:
        (wanted,) = (reply for reply in replies if reply.startswith(named["start"]))
    assert (row["needles"], row["answers"]) == ([wanted], [prefix + wanted])
    said = (*read.requests, *read.replies)
    assert sum(text.count(wanted) for text in said) == 1
    assert not any(prefix in text for text in said)
    _check_figures(row, read, read.replies.index(wanted))


def _check_figures(row: Row, read: Conversation, number: int) -> None:
    """Checks the digest, the tokens and the depth of the reply with a number."""
    turns = [list(turn) for turn in zip(read.requests, read.replies, strict=True)]
    assert row["haystack_id"] == sha256_hex(canonical_json(turns))[:12]
    assert isinstance(row["prompt"], str) or row["context_message"] == 2 * number + 1
    language = row["language"] if isinstance(row["prompt"], str) else None
    sizes = _sizes(row["tokenizer"], read.requests, read.replies, language)
    total = sum(sizes)
    before = accumulate(sizes, initial=0)
    depths = [100 * tokens / max(1, total - size) for tokens, size in zip(before, sizes, strict=False)]
    assert row["haystack_tokens"] == total - sizes[number]
    (recorded,) = row["needle_depths"]
    assert abs(recorded - depths[number]) <= _TOLERANCE
    if (asked := row["depth_percent"]) is not None:
        assert abs(recorded - asked) <= min(abs(depth - asked) for depth in depths) + _TOLERANCE


def read_conversation(row: Row) -> Conversation:
    """The turns of a row's prompt and its question."""
    prompt = row["prompt"]
    if isinstance(prompt, str):
        user, assistant = _SPEAKERS[row["language"]]
        said = prompt.split("\n\n")
        assert said.pop() == assistant.strip()
        speakers = [user, assistant] * (len(said) // 2) + [user]
        assert all(text.startswith(speaker) for text, speaker in zip(said, speakers, strict=True))
        texts = [text.removeprefix(speaker) for text, speaker in zip(said, speakers, strict=True)]
    else:
        roles = [message["role"] for message in prompt]
        assert roles == ["user", "assistant"] * (len(prompt) // 2) + ["user"]
        texts = [message["content"] for message in prompt]
    return Conversation(tuple(texts[:-1:2]), tuple(texts[1::2]), texts[-1])


@lru_cache(maxsize=2)  # rows of a conversation follow each other
def _sizes(name: str, requests: tuple[str, ...], replies: tuple[str, ...], language: str | None) -> Sequence[int]:
    """Tokens of each turn. `language`: of a prompt that is one text, which names the speakers; None for a chat."""
    tokenizer = find_tokenizer(name)
    turns = zip(requests, replies, strict=True)
    if language is None:
        return [tokenizer.count(request) + tokenizer.count(reply) for request, reply in turns]
    user, assistant = _SPEAKERS[language]
    return [tokenizer.count(f"{user}{request}\n\n{assistant}{reply}\n\n") for request, reply in turns]
