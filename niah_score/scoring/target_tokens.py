"""Takes from a record the log-probabilities of what a row asks for, and refuses tokens that are not the dataset's.

A list of tokens is the prompt's, by the dataset's own tokenizer: `prompt_tokens` of them, or one more if the first is
null, which means a token before the text, such as BOS. If a record has the texts of its tokens or the places where they
begin, `per="byte"` accepts any tokenizer's: a token belongs to the target in which it begins.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from hashlib import sha256
from itertools import accumulate
from typing import Literal, NamedTuple

from niah_score.formats.logprobs.record import SummedLogProbs, TokenLogProbs
from niah_score.formats.record import UnreadableError
from niah_score.join.target_rows import TargetRow

Per = Literal["token", "byte"]
PER = ("token", "byte")
# The longest tokens of vocabularies are runs of 128 spaces or so.
_LONGEST_TOKEN = 256


class Measured(NamedTuple):
    """The log-probability of a text. `total`: nats, over the tokens that have one; `tokens`: of the text, if known.

    `missing`: how many of them have no log-probability; `bytes`: of the text.
    """

    total: float
    tokens: int | None
    missing: int
    bytes: int


class OtherTokenizerError(Exception):
    """Why a record's tokens are not the dataset's. `unstated`: whether they could be, as the record does not say."""

    def __init__(self, why: str, *, unstated: bool = False) -> None:
        super().__init__(why)
        self.unstated = unstated


def check_tokenizer(stated: str | None, row: TargetRow, per: Per) -> None:
    """Raise OtherTokenizerError for a record whose tokenizer is not its row's."""
    if per == "token" and stated is not None and stated != row.tokenizer:
        raise OtherTokenizerError(f"its tokenizer is {stated!r}, the dataset's is {row.tokenizer!r}")


def target_of(
    log_probs: TokenLogProbs | SummedLogProbs, row: TargetRow, per: Per, stated: str | None = None
) -> Measured:
    """The log-probability of a row's target. `stated`: the name of the tokenizer, if known.

    Raises OtherTokenizerError for tokens that are not the dataset's, UnreadableError for a sum over something else.
    """
    check_tokenizer(stated, row, per)
    if isinstance(log_probs, SummedLogProbs):
        return _sum_over_target(log_probs, row, per, stated)
    values, texts, offsets = _of_prompt(log_probs)
    count = len(values)
    places = _places(texts, row) or offsets
    # One more may be a token before the text or one generated after it; the record has to say which.
    known = count == row.prompt_tokens or (count == row.prompt_tokens + 1 and values[0] is None and log_probs.counted)
    if per == "token":
        if not known:
            raise OtherTokenizerError(f"it has {count:,} tokens for a prompt of {row.prompt_tokens:,}{_why(log_probs)}")
        before = count - row.prompt_tokens
        return _measured(values[before + row.first : before + row.last], row.target_bytes)
    if places:
        _check_reach(places, row)
        return _measured(values[_begin(places, row.start) : bisect_left(places, row.end)], row.target_bytes)
    if known and stated in (None, row.tokenizer):
        before = count - row.prompt_tokens
        return _measured(values[before + row.first : before + row.last], row.target_bytes)
    raise OtherTokenizerError(
        f"it has {count:,} tokens for a prompt of {row.prompt_tokens:,}, and nothing says where each begins: add their "
        "texts as `tokens`, or their places as `text_offset`"
    )


def _why(log_probs: TokenLogProbs) -> str:
    if not log_probs.counted:
        return ", and without usage.prompt_tokens none of them can be told from a token that was generated"
    if log_probs.values[0] is not None:
        return ", and the first is not null, as that of a token before the text is"
    return ""


def _of_prompt(
    log_probs: TokenLogProbs,
) -> tuple[Sequence[float | None], Sequence[str] | None, Sequence[int] | None]:
    """Values, texts and offsets without the tokens that were generated after the prompt."""
    end = len(log_probs.values) - log_probs.generated
    return (
        log_probs.values[:end],
        None if log_probs.texts is None else log_probs.texts[:end],
        None if log_probs.offsets is None else log_probs.offsets[:end],
    )


def _places(texts: Sequence[str] | None, row: TargetRow) -> list[int] | None:
    """Where tokens begin according to their texts, if these are the prompt, perhaps after a first token such as BOS."""
    if texts is None:
        return None
    for skipped in (0, 1):
        if sha256("".join(texts[skipped:]).encode("utf-8", "replace")).hexdigest() == row.prompt_sha256:
            return [0] * skipped + [0, *accumulate(map(len, texts[skipped:-1]))]
    return None


def _check_reach(places: Sequence[int], row: TargetRow) -> None:
    """Raise UnreadableError for places beyond the prompt, or if they end too early to cover the target."""
    if places[-1] >= row.chars:
        raise UnreadableError(
            f"text_offset goes to {places[-1]:,}, but the prompt has {row.chars:,} characters; expected places in "
            "characters, not in bytes"
        )
    if places[-1] < row.start or row.end - places[-1] > _LONGEST_TOKEN:
        raise UnreadableError(
            f"its last token begins at character {places[-1]:,}, but the target ends at {row.end:,}; did the server "
            "cut the prompt?"
        )


def _begin(places: Sequence[int], start: int) -> int:
    """The first token that begins at or after a place; a token before the text, such as BOS, does not count."""
    if start:
        return bisect_left(places, start)
    return max(0, sum(place == 0 for place in places[:2]) - 1)


def _measured(values: Sequence[float | None], size: int) -> Measured:
    known = [value for value in values if value is not None]
    return Measured(sum(known), len(values), len(values) - len(known), size)


def _sum_over_target(summed: SummedLogProbs, row: TargetRow, per: Per, stated: str | None) -> Measured:
    if summed.rolling and row.start:
        raise UnreadableError(
            f"the sum is over the whole prompt, but the row asks for characters {row.start:,} to {row.end:,}; ask for "
            "loglikelihood with the text before them as context, or build windows with options.score=window"
        )
    if summed.text is not None and sha256(summed.text.encode("utf-8", "replace")).hexdigest() != row.target_sha256:
        raise UnreadableError("the sum is over a text other than the row's target (its target_span)")
    if summed.context and sha256(summed.context.encode("utf-8", "replace")).hexdigest() != row.context_sha256:
        raise UnreadableError("the text before the target is not that of the row's prompt")
    if summed.bytes is not None and summed.bytes != row.target_bytes:
        raise UnreadableError(f"the sum is over {summed.bytes:,} bytes, the row's target has {row.target_bytes:,}")
    if summed.total is None:
        return Measured(0.0, row.tokens, row.tokens, row.target_bytes)
    if per == "byte":
        if summed.text is None and summed.bytes is None and summed.tokens != row.tokens:
            raise UnreadableError(
                "nothing says that the sum is over exactly the target: add byte_count, its bytes in UTF-8 "
                f"({row.target_bytes:,})"
            )
        return Measured(summed.total, summed.tokens, 0, row.target_bytes)
    if summed.tokens is None and stated is None:
        raise OtherTokenizerError(
            "it says neither how many tokens its sum is over nor which tokenizer they are from", unstated=True
        )
    if summed.tokens is not None and summed.tokens != row.tokens:
        raise OtherTokenizerError(f"its sum is over {summed.tokens:,} tokens, the row's target has {row.tokens:,}")
    return Measured(summed.total, row.tokens, 0, row.target_bytes)


def answer_of(
    log_probs: TokenLogProbs | SummedLogProbs, row: TargetRow, text: str, per: Per, stated: str | None = None
) -> Measured:
    """The log-probability of an answer after a context. `text`: the answer as it was asked for.

    A plain list is the answer's alone, unless the texts of tokens show where it begins. Raises what `target_of` does.
    """
    size = len(text.encode())
    check_tokenizer(stated, row, per)
    if isinstance(log_probs, SummedLogProbs):
        if log_probs.text is not None and log_probs.text != text:
            raise UnreadableError(f"the sum is over a text other than the row's answer {text[:80]!r}")
        if log_probs.bytes is not None and log_probs.bytes != size:
            raise UnreadableError(f"the sum is over {log_probs.bytes:,} bytes, the row's answer has {size:,}")
        if log_probs.total is None:
            return Measured(0.0, log_probs.tokens, 1, size)
        if per == "token" and not log_probs.tokens:
            raise OtherTokenizerError("it does not say how many tokens its sum is over: add token_count")
        return Measured(log_probs.total, log_probs.tokens, 0, size)
    values, texts, _ = _of_prompt(log_probs)
    if texts is None:
        return _measured(values, size)
    at, rest = len(texts), text
    while rest and at:
        at -= 1
        if not texts[at] or not rest.endswith(texts[at]):
            raise UnreadableError(f"the last tokens are not the row's answer {text[:80]!r}; ask for it after a context")
        rest = rest[: len(rest) - len(texts[at])]
    if rest:
        raise UnreadableError(f"the tokens are not the row's answer {text[:80]!r}; ask for it after a context")
    return _measured(values[at:], size)
