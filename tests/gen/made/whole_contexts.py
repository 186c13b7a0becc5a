"""Extracts and changes the contexts of rows whose context is one text, all of it haystack, for tests."""

from __future__ import annotations

from typing import Any

from niah_gen.prompts.templates import CONTEXT, QUESTION, template_for
from niah_gen.tokenizers.find import Tokenizer
from niah_score.contract import PromptForm


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
