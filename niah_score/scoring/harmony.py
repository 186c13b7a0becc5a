"""Reads the channels of gpt-oss's messages (harmony), and chooses the text that is the answer.

Messages are `<|start|>assistant<|channel|>NAME<|message|>TEXT<|end|>`. If a stack removed the special tokens, headers
run into the texts: `analysis...assistantfinal...`. Source: docs/format.md of OpenAI's harmony.
"""

from __future__ import annotations

import re
from typing import NamedTuple

SPECIAL = ("<|channel|>", "<|message|>", "<|start|>")
# The header of a final message without special tokens.
FINAL = "assistantfinal"

_NAMES = ("analysis", "commentary", "final")
_HEADER = re.compile(r"(?:<\|start\|>([^<]*))?(?:<\|channel\|>([^<]*))?(?:<\|constrain\|>[^<]*)?<\|message\|>")
_CUT_HEADER = re.compile(
    r"\s*+(?:assistant\s*+)?(?:<\|start\|>[^<]*(?:<\|channel\|>[^<]*)?|<\|channel\|>[^<]*)(?:<\|constrain\|>[^<]*)?\Z"
)
_END = re.compile(r"<\|(?:end|return|call)\|>")
_CHANNEL = re.compile("|".join(_NAMES))
_PLAIN_HEADER = re.compile(f"assistant({'|'.join(_NAMES)})")
# No word begins with "analysis", so what runs into it is reasoning.
_PLAIN_ANALYSIS = re.compile(r"\s*(?:assistant)?analysis(?=[A-Za-z0-9])")
# An answer may begin with this word; but if the text was cut, or a final message follows, it is a header.
_PERHAPS_ANALYSIS = re.compile(r"\s*(?:assistant)?analysis(?=\w|[\"“'‘(*]|\s+[A-Z\"“\u3400-\u9fff])")
_PLAIN_FINAL = re.compile(r"\s*(?:assistant)?final(?=[A-Z0-9\u3400-\u9fff])")
# Begins the text of a message that is constrained to JSON.
_CONSTRAINT = re.compile(r"\s*json(?=\s*[{\[\"])")


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
    if any(token in text for token in SPECIAL):
        return _of_messages(text)
    return _of_plain(text, cut)


def _of_messages(text: str) -> str | None:
    headers = list(_HEADER.finditer(text))
    if not headers:
        return None if _CUT_HEADER.match(text) else text
    lead = text[: headers[0].start()]
    if lead.strip().removeprefix("assistant") not in ("", *_NAMES) and not _END.search(lead):
        return text  # it only mentions channels
    messages: list[_ChannelText] = []
    for header, body in _bodies(headers, text):
        role, channel = header[1] or "", header[2] or header[1] or lead
        if role.lstrip().startswith(("user", "system", "developer")):
            break
        name = _CHANNEL.search(channel)
        is_tool = " to=" in f"{role} {channel}"
        content, *after = _END.split(body, maxsplit=1)
        messages.append(_ChannelText("tool" if is_tool else name[0] if name else "final", content, bool(after)))
        # Some stacks write the final message without its header.
        rest = _END.sub("", after[0]) if after and not _CUT_HEADER.match(after[0]) else ""
        if rest.strip() not in ("", "assistant"):
            messages.append(_ChannelText("final", rest, True))
    return _chosen(messages)


def _of_plain(text: str, cut: bool) -> str | None:
    is_final = FINAL in text
    begun = _PLAIN_ANALYSIS.match(text) or (_PERHAPS_ANALYSIS.match(text) if cut or is_final else None)
    if begun is None and not is_final:
        alone = _PLAIN_FINAL.match(text)
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
            constraint = _CONSTRAINT.match(texts[-1])
            return texts[-1][constraint.end() :] if constraint else texts[-1]
    return None if messages and messages[-1].channel == "analysis" and not messages[-1].closed else ""
