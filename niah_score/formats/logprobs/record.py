"""Defines what is read of files of log-probabilities, and the kinds of records that they are read from."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from niah_score.formats.record import EchoedPrompt, Record, UnreadableError, brief

# What is asked about a row: its own prompt, or for the gain of a context, the question alone or with the needles alone.
CONDITIONS = ("full", "alone", "needle")
# Rounding in half precision leaves log-probabilities of certain tokens a little above 0.
_ROUNDING = 1e-4
# What vLLM's server writes for a probability of 0, which JSON has no number for.
_LEAST = -9999.0


class TokenLogProbs(NamedTuple):
    """Natural logarithms of the probabilities of a text's tokens, None where the stack gave none.

    `texts`: of the tokens. `offsets`: the code point at which each token begins. Either may lack. `generated`: how many
    of the last tokens were generated behind the text; `counted`: whether that is known.
    """

    values: tuple[float | None, ...]
    texts: tuple[str, ...] | None = None
    offsets: tuple[int, ...] | None = None
    generated: int = 0
    counted: bool = True


class SummedLogProbs(NamedTuple):
    """The sum over a text's tokens, in nats; None where the stack gave none.

    `tokens`, `bytes`: of the text that it is over, where the record says so. `context`, `text`: what stood before it,
    and the text itself, where the record echoes them. `rolling`: the sum is over a whole prompt.
    """

    total: float | None
    tokens: int | None = None
    bytes: int | None = None
    context: str | None = None
    text: str | None = None
    rolling: bool = False


class LogProbRecord(NamedTuple):
    """What one record says. `id`: of the row; `prompt`: the echoed one, where there is no id. `line`: from 1.

    `tokenizer`: its name, where the record says so.
    """

    id: str | None
    line: int
    condition: str
    found: TokenLogProbs | SummedLogProbs
    tokenizer: str | None = None
    prompt: EchoedPrompt | None = None


class LogProbFormat(NamedTuple):
    """A kind of record.

    `matches`: whether a record is of it. `read`: what a record on a line says; it raises UnreadableError. name, what,
    example: as docs/perplexity.md lists them.
    """

    name: str
    what: str
    example: str
    matches: Callable[[Record], bool]
    read: Callable[[Record, int], LogProbRecord]


def log_probability(value: object, field: str) -> float | None:
    """A log-probability, or None where it is missing. Raises UnreadableError for anything else."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnreadableError(f"{field} is {brief(value)}; expected a log-probability, a number of at most 0, or null")
    try:
        number = float(value)
    except OverflowError:
        raise UnreadableError(f"{field} is a number of hundreds of digits; expected a log-probability") from None
    if math.isnan(number):
        raise UnreadableError(f"{field} is NaN; expected a log-probability, or null where there is none")
    if number == -math.inf:
        raise UnreadableError(f"{field} is -inf: a token of probability 0, of which no mean can be taken")
    if number > _ROUNDING:
        raise UnreadableError(
            f"{field} is {brief(value)}; log-probabilities are at most 0 (are these probabilities, or negated?)"
        )
    return min(number, 0.0)


def served(value: float | None) -> float | None:
    """A log-probability of a server that writes -9999 for a probability of 0: that is no number to take means of."""
    return None if value is not None and value <= _LEAST else value


def whole_number(value: object, field: str) -> int | None:
    """A number of tokens or bytes, None where it is not stated. Raises UnreadableError."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise UnreadableError(f"{field} is {brief(value)}; expected a whole number of at least 0")
    return value


def texts_of(value: object, count: int, field: str) -> tuple[str, ...] | None:
    """The texts of tokens, None where there are none. Raises UnreadableError where they are not one for each token."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise UnreadableError(f"{field} is {brief(value)}; expected a list of texts")
    if len(value) != count:
        raise UnreadableError(f"{field} has {len(value)} items, but there are {count} log-probabilities")
    return tuple(value)


def offsets_of(value: object, count: int, field: str) -> tuple[int, ...] | None:
    """Where tokens begin, None where that is not stated. Raises UnreadableError."""
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != count:
        raise UnreadableError(f"{field}: expected a list of {count} places, one for each log-probability")
    found = tuple(number for item in value if (number := whole_number(item, field)) is not None)
    if len(found) < count or any(one > other for one, other in pairwise(found)):
        raise UnreadableError(f"{field}: expected places in ascending order, in characters")
    return found


def condition_of(value: object) -> str:
    """What a record was asked about; the row's own prompt where it does not say. Raises UnreadableError."""
    if value is None:
        return CONDITIONS[0]
    if value not in CONDITIONS:
        raise UnreadableError(f"condition is {brief(value)}; expected {', '.join(CONDITIONS)}")
    return str(value)


def name_of(value: object, field: str) -> str | None:
    """A name, such as a tokenizer's, None where it is not stated. Raises UnreadableError."""
    if value is None or (isinstance(value, str) and value):
        return value
    raise UnreadableError(f"{field} is {brief(value)}; expected a name")
