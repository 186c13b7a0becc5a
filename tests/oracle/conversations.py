"""Proves rows of coreference: reads the conversation back from the prompt, counts like requests and finds the reply.

It shares no code with the builder: it reads the wording back with its own patterns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from niah_gen.errors import NiahError
from niah_gen.tasks.base import NO_CONTEXT
from niah_gen.tasks.records import Item
from niah_gen.tokenizers.find import Tokenizer, find_tokenizer
from niah_score.contract import Row, canonical_json, needle_kind, sha256_hex

_REQUEST = {"en": re.compile(r"Write a short passage about (.+)\."), "zh": re.compile("请写一段关于(.+)的短文。")}
_QUESTION = {
    "en": re.compile(r"Prepend (\w+) to the (\d+)(?:st|nd|rd|th) passage about (.+) that you wrote above, .+"),
    "zh": re.compile(r"请先输出(\w+)，再紧接着一字不差地重复你在上文中写的第(\d+)段关于(.+)的短文。.+"),
}
_LITERAL = {
    "en": re.compile(r"Prepend (\w+) to the passage about (.+) that begins with “(.+)”, .+"),
    "zh": re.compile(r"请先输出(\w+)，再紧接着一字不差地重复你在上文中写的、以“(.+)”开头的那段关于(.+)的短文。.+"),
}
_SPEAKERS = {"en": ("User: ", "Assistant: "), "zh": ("用户：", "助手：")}
_TOLERANCE = 1e-9


class _Read(NamedTuple):
    """A conversation as read from its prompt: requests and replies in order, and the question at the end."""

    requests: tuple[str, ...]
    replies: tuple[str, ...]
    question: str


class _Named(NamedTuple):
    """What a question names. `place`: from 1; None if it says how the reply begins instead."""

    prefix: str
    subject: str
    place: int | None
    beginning: str


def check_coreference(row: Row, item: Item) -> Iterator[str]:
    """Checks what a row says of its conversation."""
    asked = _asked(row["question"] or "", row["language"])
    if asked is None:
        yield f"question: no subject and number can be read from {row['question']!r}"
        return
    read = read_conversation(row)
    if read is None:
        yield "the prompt is not a conversation of requests and replies that ends with the question"
        return
    if read.question != row["question"]:
        yield f"the last message asks {read.question[:80]!r}, expected the question"
    if row["metric"] != "mrcr":
        yield f"metric is {row['metric']!r}, expected 'mrcr'"
    if row["answer_prefix"] != asked.prefix:
        yield f"answer_prefix is {row['answer_prefix']!r}; the question asks for {asked.prefix!r}"
    if row["control"] == NO_CONTEXT:
        if read.requests or row["needles"]:
            yield "a prompt that should be the question alone holds a conversation"
        return
    yield from _wrong_truth(row, read, asked)
    yield from _wrong_figures(row, read)


def _wrong_truth(row: Row, read: _Read, asked: _Named) -> Iterator[str]:
    like = int(needle_kind(row["needle_id"]).partition("-")[0]) if row["needle_id"] else 0
    times = Counter(read.requests)
    if uneven := next((request for request, count in times.items() if count != like), None):
        yield f"the request {uneven!r} is made {times[uneven]} times, expected {like}"
    pattern = _REQUEST[row["language"]]
    replies = [
        reply
        for request, reply in zip(read.requests, read.replies, strict=True)
        if (match := pattern.fullmatch(request)) and match[1] == asked.subject
    ]
    if asked.place is None:
        replies = [reply for reply in replies if reply.startswith(asked.beginning)]
        wanted = replies[0] if len(replies) == 1 else None
    else:
        wanted = replies[asked.place - 1] if 0 < asked.place <= len(replies) else None
    if wanted is None:
        yield f"the question does not name one reply: {len(replies)} fit it"
        return
    if row["needles"] != [wanted]:
        yield f"the reply that is asked for is {wanted[:80]!r}, but the needle is another"
    if row["answers"] != [asked.prefix + wanted]:
        yield "answers: expected the prefix and the reply that is asked for, with nothing between"
    said = (*read.requests, *read.replies)
    if sum(text.count(wanted) for text in said) != 1:
        yield "the reply that is asked for does not occur exactly once in the conversation"
    if any(asked.prefix in text for text in said):
        yield f"the prefix {asked.prefix!r} occurs in the conversation"


def _wrong_figures(row: Row, read: _Read) -> Iterator[str]:
    """Checks the digest, and tokens and depths if the tokenizer is on this machine."""
    digest = sha256_hex(canonical_json([list(turn) for turn in zip(read.requests, read.replies, strict=True)]))[:12]
    if row["haystack_id"] != digest:
        yield f"haystack_id is {row['haystack_id']!r}, expected {digest!r} of the conversation"
    if not row["needles"] or row["needles"][0] not in read.replies:
        return
    number = read.replies.index(row["needles"][0])
    if not isinstance(row["prompt"], str) and row["context_message"] != 2 * number + 1:
        yield f"context_message is {row['context_message']}, expected {2 * number + 1}"
    try:
        language = row["language"] if isinstance(row["prompt"], str) else None
        sizes = _sizes(row["tokenizer"], read.requests, read.replies, language)
    except NiahError:
        return  # the tokenizer is not on this machine
    total = sum(sizes)
    depths = []
    before = 0
    for size in sizes:
        depths.append(100 * before / (total - size) if total > size else 0.0)
        before += size
    if row["haystack_tokens"] != total - sizes[number]:
        yield f"haystack_tokens is {row['haystack_tokens']}, expected {total - sizes[number]} of the other turns"
    if len(row["needle_depths"]) != 1 or abs(row["needle_depths"][0] - depths[number]) > _TOLERANCE:
        yield f"needle_depths are {row['needle_depths']}, expected {depths[number]}"
    asked = row["depth_percent"]
    if asked is not None:
        nearest = min(abs(depth - asked) for depth in depths)
        if abs(depths[number] - asked) > nearest + _TOLERANCE:
            yield f"the turn asked about is at {depths[number]:.2f} %; another one is nearer to {asked:g} %"


def _asked(question: str, language: str) -> _Named | None:
    match = _QUESTION[language].fullmatch(question)
    if match:
        return _Named(match[1], match[3], int(match[2]), "")
    match = _LITERAL[language].fullmatch(question)
    if match is None:
        return None
    prefix, one, other = match.groups()
    subject, beginning = (other, one) if language == "zh" else (one, other)
    return _Named(prefix, subject, None, beginning)


def read_conversation(row: Row) -> _Read | None:
    """The turns of a row's prompt and its question; None if the prompt has another form."""
    prompt = row["prompt"]
    user, assistant = _SPEAKERS[row["language"]]
    if isinstance(prompt, str):
        said = prompt.split("\n\n")
        if len(said) % 2 or said[-1] != assistant.strip():
            return None
        pairs = list(zip(said[:-1:2], [*said[1:-1:2], assistant], strict=True))
        if not all(one.startswith(user) and other.startswith(assistant) for one, other in pairs):
            return None
        turns = [(one.removeprefix(user), other.removeprefix(assistant)) for one, other in pairs]
        question = turns.pop()[0]
    else:
        roles = [message["role"] for message in prompt]
        if len(prompt) % 2 == 0 or roles != ["user", "assistant"] * (len(prompt) // 2) + ["user"]:
            return None
        texts = [message["content"] for message in prompt]
        turns, question = list(zip(texts[:-1:2], texts[1::2], strict=True)), texts[-1]
    return _Read(tuple(one for one, _ in turns), tuple(other for _, other in turns), question)


@lru_cache(maxsize=2)
def _tokenizer(name: str) -> Tokenizer:
    return find_tokenizer(name)


@lru_cache(maxsize=2)  # rows of a conversation follow each other
def _sizes(name: str, requests: tuple[str, ...], replies: tuple[str, ...], language: str | None) -> Sequence[int]:
    """Tokens of each turn. `language`: of a prompt that is one text, which names the speakers; None for a chat."""
    tokenizer = _tokenizer(name)
    turns = zip(requests, replies, strict=True)
    if language is None:
        return [tokenizer.count(request) + tokenizer.count(reply) for request, reply in turns]
    user, assistant = _SPEAKERS[language]
    return [tokenizer.count(f"{user}{request}\n\n{assistant}{reply}\n\n") for request, reply in turns]
