"""Defines what files of log-probabilities are read into, and how each kind of record is read."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from niah_score.formats.record import EchoedPrompt, Record, UnreadableError, brief

# What a record is about: the row's own prompt or, for the gain of a context, the question alone or with only needles.
CONDITIONS = ("full", "alone", "needle")
# Rounding in half precision can put log-probabilities of certain tokens a little above 0.
_ROUNDING = 1e-4
# What vLLM's server writes for a probability of 0, whose logarithm JSON cannot hold.
_LEAST = -9999.0


class TokenLogProbs(NamedTuple):
    """Natural logarithms of the probabilities of a text's tokens, None where the stack gave none.

    `texts`: of the tokens. `offsets`: the code point at which each token begins. Either may be missing. `generated`:
    how many of the last tokens were generated after the text; `counted`: whether that is known.
    """

    values: tuple[float | None, ...]
    texts: tuple[str, ...] | None = None
    offsets: tuple[int, ...] | None = None
    generated: int = 0
    counted: bool = True


class SummedLogProbs(NamedTuple):
    """The sum over a text's tokens, in nats; None if the stack gave none.

    `tokens`, `bytes`: the size of that text, if the record states it. `context`, `text`: what came before the text, and
    the text itself, if the record echoes them. `rolling`: the sum is over a whole prompt.
    """

    total: float | None
    tokens: int | None = None
    bytes: int | None = None
    context: str | None = None
    text: str | None = None
    rolling: bool = False


class LogProbRecord(NamedTuple):
    """What one record says. `id`: of the row; `prompt`: the echoed one, if there is no id. `line`: from 1.

    `tokenizer`: its name, if the record states it.
    """

    id: str | None
    line: int
    condition: str
    found: TokenLogProbs | SummedLogProbs
    tokenizer: str | None = None
    prompt: EchoedPrompt | None = None


class LogProbFormat(NamedTuple):
    """A kind of record.

    `matches`: whether a record is of this kind. `read`: reads a record, given its line; raises UnreadableError. name,
    what, example: as in docs/perplexity.md.
    """

    name: str
    what: str
    example: str
    matches: Callable[[Record], bool]
    read: Callable[[Record, int], LogProbRecord]


def log_probability(value: object, field: str) -> float | None:
    """A log-probability, or None if it is missing. Raises UnreadableError for anything else."""
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
    """A log-probability from a server; None for the -9999 of a probability of 0, which must not enter a mean."""
    return None if value is not None and value <= _LEAST else value


def whole_number(value: object, field: str) -> int | None:
    """A number of tokens or bytes, None if it is not stated. Raises UnreadableError."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise UnreadableError(f"{field} is {brief(value)}; expected a whole number of at least 0")
    return value


def texts_of(value: object, count: int, field: str) -> tuple[str, ...] | None:
    """The texts of tokens, None if there are none. Raises UnreadableError if there is not one for each token."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise UnreadableError(f"{field} is {brief(value)}; expected a list of texts")
    if len(value) != count:
        raise UnreadableError(f"{field} has {len(value)} items, but there are {count} log-probabilities")
    return tuple(value)


def offsets_of(value: object, count: int, field: str) -> tuple[int, ...] | None:
    """Where tokens begin, None if that is not stated. Raises UnreadableError."""
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != count:
        raise UnreadableError(f"{field}: expected a list of {count} places, one for each log-probability")
    offsets = tuple(number for item in value if (number := whole_number(item, field)) is not None)
    if len(offsets) < count or any(offset > following for offset, following in pairwise(offsets)):
        raise UnreadableError(f"{field}: expected places in ascending order, in characters")
    return offsets


def condition_of(value: object) -> str:
    """What a record is about; the row's own prompt if it does not say. Raises UnreadableError."""
    if value is None:
        return CONDITIONS[0]
    if value not in CONDITIONS:
        raise UnreadableError(f"condition is {brief(value)}; expected {', '.join(CONDITIONS)}")
    return str(value)


def name_of(value: object, field: str) -> str | None:
    """A name, such as a tokenizer's, None if it is not stated. Raises UnreadableError."""
    if value is None or (isinstance(value, str) and value):
        return value
    raise UnreadableError(f"{field} is {brief(value)}; expected a name")
