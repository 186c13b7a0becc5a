"""Extracts and changes the contexts of rows whose context is one text, all of it haystack, for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proofs import rename

from niah_gen.prompts.templates import CONTEXT, QUESTION, template_for
from niah_gen.tokenizers.find import BytePairTokenizer, Tokenizer
from niah_score.contract import PromptForm, sha256_hex


def around(row: Any) -> tuple[str, str]:
    """The text of a row's template before and after the context, with the question filled in."""
    form: PromptForm = "text" if isinstance(row["prompt"], str) else "chat"
    template = template_for(row["template"], row["language"])
    assert template is not None
    contents = [message["content"] for message in template.wordings["end"].messages(form)]
    (content,) = (content for content in contents if CONTEXT in content)
    before, after = content.replace(QUESTION, row["question"] or "").split(CONTEXT)
    return before, after


def context_of(row: Any) -> str:
    before, after = around(row)
    prompt = row["prompt"] if isinstance(row["prompt"], str) else row["prompt"][row["context_message"]]["content"]
    return str(prompt).removeprefix(before).removesuffix(after)


def tokens_of(row: Any, tokenizer: Tokenizer) -> tuple[int, int]:
    """The tokens of a row's prompt and of its context, each encoded whole."""
    prompt = row["prompt"]
    contents = [prompt] if isinstance(prompt, str) else [message["content"] for message in prompt]
    return sum(map(tokenizer.count, contents)), tokenizer.count(context_of(row))


def change_context(row: dict[str, Any], change: Callable[[str], str], tokenizer: BytePairTokenizer) -> None:
    """Change the context, and every column that depends on its text alone."""
    before, after = around(row)
    old = row["prompt"].removeprefix(before).removesuffix(after)
    new = change(old)
    assert new != old
    row["prompt"] = before + new + after
    row["haystack_id"] = sha256_hex(new.encode())[:12]
    row["haystack_tokens"] = tokenizer.count(new)
    rename(row, tokenizer)
