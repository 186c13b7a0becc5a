"""Removes special tokens that a stack left around an answer: its beginning, the speaker's name, its end.

They are from the chat templates of model families (Llama, Qwen, Gemma, Mistral, DeepSeek, GLM, Cohere, EXAONE, Granite,
Seed, gpt-oss and others). Tokens that mean more than this, such as those around reasoning, stay.
"""

from __future__ import annotations

import re

# Characters that str.strip does not strip although they cannot be seen.
INVISIBLE = "\ufeff\u200b\u2060"

# Before the first word of a text: beginnings of a sequence, and the name of the speaker.
_LEADING = re.compile(
    r"[\s\ufeff\u200b\u2060]+|<s>|<bos>|<BOS_TOKEN>|<seed:bos>|<sop>|\[BOS\]|\[gMASK\]|<AI>|\[\|assistant\|\]"
    r"|<[|｜](?:begin[_▁]of[_▁](?:text|sentence)|startoftext|endoftext|bos)[|｜]>"
    r"|<\|im_start\|>\s*(?:assistant\b)?|<\|(?:start_header_id|header_start)\|>\s*assistant\s*<\|(?:end_header_id|header_end)\|>"
    r"|<\|start_of_role\|>\s*assistant\s*<\|end_of_role\|>|<(?:start_of_turn|\|turn)>\s*model\b"
    r"|<\|START_OF_TURN_TOKEN\|>|<\|CHATBOT_TOKEN\|>|<\|START_(?:TEXT|RESPONSE)\|>|<[|｜](?:hy_)?assistant[|｜]>",
    re.IGNORECASE,
)
_BEGINS_LEADING = frozenset("<[ \t\r\n\v\f" + INVISIBLE)
# No `<|...|>` that ends a text is part of the answer, except for a box, whose contents are.
_TRAILING = re.compile(
    r"</?s>|</?(?:eos|eot|eom|eod|eop|eoa|end|pad|unk|eos_token|endoftext|end_of_text|end_of_turn|end_of_utterance|"
    r"start_of_turn|end_response|end_text|seed:eos|extra_id_1)>|<\|?turn\|?>|\[(?:/?EOS|PAD|END|/INST)\]|\[e~\[|\[\|[a-z]+\|\]"
    r"|(?!<\|(?:begin|end)_of_box\|>)<[|｜][^<>|｜\s]{1,40}[|｜]>|(?-i:END_RESPONSE|END_TEXT)",
    re.IGNORECASE,
)
_LONGEST_MARK = 44
# The beginning of another turn: a model that was not stopped asks and answers itself.
_NEXT_TURN = re.compile(
    r"[<\[](?:(?<=<)(?:\|(?:im_start|start_header_id|header_start|start_of_role|START_OF_TURN_TOKEN)\|>|start_of_turn>"
    r"|\|turn>|[|｜](?:hy_)?(?:User|user|system)[|｜]>)|\|user\|\])"
)


def without_leading_tokens(text: str) -> str:
    """The text without the special tokens and the white space that it begins with."""
    start = 0
    while (text[start : start + 1] in _BEGINS_LEADING) and (token := _LEADING.match(text, start)):
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
        if place >= 0 and _TRAILING.fullmatch(tail, place):
            return len(tail) - place
    return 0


def without_next_turn(text: str) -> str:
    """The text up to the beginning of another turn, if anything precedes that."""
    turn = _NEXT_TURN.search(text) if "<" in text or "[|" in text else None
    return text[: turn.start()] if turn and text[: turn.start()].strip() else text
