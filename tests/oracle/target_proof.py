"""Proves the spans of a row's scored text, in characters and in tokens."""

from __future__ import annotations

from collections.abc import Iterator

from whole_tokens import whole_token_spans

from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import Row


def wrong_target(row: Row, content: str, tokenizer: Tokenizer) -> Iterator[str]:
    """What is wrong with target_span and target_token_span. `content`: the message that they lie in."""
    target, tokens = row["target_span"], row["target_token_span"]
    if target is None:
        if tokens is not None:
            yield "target_token_span is given without a target_span"
        return
    if not 0 <= target["start"] < target["end"] <= len(content):
        yield f"target_span spans {target['start']} to {target['end']}, outside the prompt, which has {len(content)}"
        return
    (expected,) = whole_token_spans(content, [target], tokenizer)
    if tokens != expected:
        yield f"target_token_span is {tokens}, expected {expected}"
