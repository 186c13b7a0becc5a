"""Finds how many tokens of a prompt a server says that it read, under the names of all stacks."""

from __future__ import annotations

# In the order of trust. Those of lists count their items: vLLM's ids of a prompt, TGI's tokens before the answer.
_COUNTS = (
    "prompt_tokens_read", "prompt_eval_count", "tokens_evaluated", "prompt_tokens", "input_tokens", "promptTokenCount",
    "prompt_token_count", "input_len", "prompt_n", "prompt_token_ids", "prefill",
)  # fmt: skip
_LISTS = ("prompt_token_ids", "prefill")
# What holds the count, then what holds the reply that holds it.
_WITHIN = (
    "usage", "usageMetadata", "usage_metadata", "token_usage", "meta_info", "timings", "details",
    "response", "body", "result", "message", "output", "run", "runs", "outputs", "llm_output",
)  # fmt: skip
_DEEPEST = 4
# Most records have none of them, and there may be a million.
_KNOWN = frozenset((*_COUNTS, *_WITHIN))
# Anthropic's and Inspect's `input_tokens` may leave out what was written to a cache or read from it.
_CACHED = (
    "cache_creation_input_tokens", "cache_read_input_tokens", "input_tokens_cache_write", "input_tokens_cache_read",
)  # fmt: skip
# Columns of a table of answers that may hold the count; the first that is there is read.
COLUMNS = (*_COUNTS, *_WITHIN[:7])
# A column that only a dataset's row has: beside it, `prompt_tokens` is the row's own number, saved with the answer.
OF_ROW = "haystack_tokens"


def prompt_tokens_read(record: object, deepest: int = _DEEPEST) -> int | None:
    """How many tokens of the prompt were read, cached ones included; None if a record does not say, or says 0.

    0, and any value that is no whole number, is no count: early releases of Ollama write it for a cached prompt.
    """
    if isinstance(record, list):
        record = next(iter(record), None)
    if not isinstance(record, dict) or not deepest or _KNOWN.isdisjoint(record):
        return None
    for name in _COUNTS:
        if name not in record or (name == "prompt_tokens" and OF_ROW in record):
            continue
        # Without the number of cached tokens, llama.cpp's is that of the others alone.
        if (name != "prompt_n" or "cache_n" in record) and (count := _count(record[name], name)):
            return count + _beside(record, name, count)
    for name in _WITHIN:
        if name in record and (found := prompt_tokens_read(record[name], deepest - 1)) is not None:
            return found
    return None


def _count(value: object, name: str) -> int:
    """A whole number above 0, also as text or 512.0, or the length of a list of tokens; 0 for anything else."""
    if name in _LISTS:
        return len(value) if isinstance(value, list) else 0
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # as tables write it that lack other values
    return value if type(value) is int and 0 < value < 2**53 else 0


def _beside(usage: dict[str, object], name: str, count: int) -> int:
    """The cached tokens that a count leaves out. A total, if there is one, tells whether it does."""
    if name == "prompt_n":
        return _count(usage["cache_n"], "cache_n")
    if name != "input_tokens":
        return 0
    cached = sum(_count(usage.get(one), one) for one in _CACHED)
    total, output = (_count(usage.get(one), one) for one in ("total_tokens", "output_tokens"))
    return min(cached, max(0, total - output - count)) if total else cached
