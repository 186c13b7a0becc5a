"""Reads the values of recipe fields, and computes schedules of lengths and depths, those of published systems included.

Each parser raises WrongValueError with what it expected.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from niah_gen.errors import suggestion
from niah_gen.fields import Parser, Value, WrongValueError, checked, one_of, parse_boolean
from niah_gen.haystacks.spread import SPREADS
from niah_score.text.language import language_codes

_MOST_TOKENS = 2**31 - 1  # lengths are int32 columns
# The lengths of a recipe for rows without a length.
WITHOUT_LENGTH = (0,)
SPACINGS = ("linear", "sigmoid")
ROUNDINGS: dict[str, Callable[[float], float]] = {
    # Half to even, as numpy rounds.
    "nearest": lambda value: float(round(value)),
    "floor": lambda value: float(math.floor(value)),
    "none": lambda value: value,
}


def whole(low: int, high: int) -> Parser[int]:
    """Reads a whole number from `low` to `high`."""
    return checked(f"a whole number from {low} to {high}", lambda value: type(value) is int and low <= value <= high)


def maybe_none(parse: Parser[tuple[Value, ...]]) -> Parser[tuple[Value, ...]]:
    """Reads what `parse` reads, or an empty list."""
    return lambda value: () if value in ([], ()) else parse(value)


def _matching(expected: str, pattern: str) -> Parser[str]:
    return checked(expected, lambda value: isinstance(value, str) and re.fullmatch(pattern, value))


parse_slug = _matching("letters, digits, dot, - and _ (it names a folder)", r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
parse_version = _matching("three numbers such as 1.0.0", r"[0-9]+\.[0-9]+\.[0-9]+")
# Not blank, and without halves of surrogate pairs.
parse_system = _matching("a UTF-8 text that is not blank, or an empty one for none", r"(?=\s*\S|\Z)[^\ud800-\udfff]*")


def parse_lengths(value: object, published: bool = False) -> tuple[int, ...]:
    """Lengths in tokens, ascending; 0 alone means rows without a length, in families that have them.

    Takes `8k` (8k, 4k and 2k, see `halves`; eight even lengths if `published`), `8000`, `1k,2k`, `1k:8k:1k` (first,
    last, step), a list, or a table with max, steps and optionally min and rounding.
    """
    if isinstance(value, Mapping):
        _only(value, ("min", "max", "steps", "rounding"))
        rounding = one_of(ROUNDINGS)(value.get("rounding", "nearest"))
        first = parse_tokens(value["min"]) if "min" in value else None
        last = parse_tokens(value.get("max"))
        if first is not None and first > last:
            raise WrongValueError("expected min not above max")
        return _lengths(length_schedule(last, whole(1, 10_000)(value.get("steps")), first, rounding))
    if isinstance(value, str) and re.fullmatch(r"[\d.]+[kKmM]", value.strip()):
        last = parse_tokens(value)
        return _lengths(length_schedule(last, 8) if published else halves(last))
    if isinstance(value, str) and ":" in value:
        return _lengths(_even_steps(value))
    items = value.split(",") if isinstance(value, str) else value
    return _lengths([parse_tokens(item) for item in (items if isinstance(items, list | tuple) else [items])])


def parse_depths(value: object) -> tuple[float, ...]:
    """Depths in percent, ascending, each once.

    Takes a list, a comma list, one number, or a table with steps, spacing, rounding, keep_ends and optionally min and
    max.
    """
    if not isinstance(value, Mapping):
        points = _percents(value)
    else:
        _only(value, ("steps", "spacing", "rounding", "keep_ends", "min", "max"))
        points = depth_schedule(
            whole(1, 10_000)(value.get("steps")),
            one_of(SPACINGS)(value.get("spacing", "linear")),
            one_of(ROUNDINGS)(value.get("rounding", "none")),
            parse_boolean(value.get("keep_ends", True)),
            parse_percent(value.get("min", 0)),
            parse_percent(value.get("max", 100)),
        )
    if not points:
        raise WrongValueError("expected at least one depth")
    return tuple(sorted(set(points)))


def parse_spread(value: Any) -> str | tuple[float, ...]:
    """How a set's needles are spread: a name of SPREADS, or the depth of each in percent."""
    if isinstance(value, str) and value in SPREADS:
        return value
    if (isinstance(value, list | tuple) and value) or (isinstance(value, str) and re.fullmatch(r"[\d.,\s]+", value)):
        return tuple(_percents(value))
    raise WrongValueError(f"expected {', '.join(SPREADS)}, or the depth of each needle in percent")


def _even_steps(value: str) -> list[int]:
    """The lengths of `1k:8k:1k`."""
    parts = [parse_tokens(part) for part in value.split(":")]
    if len(parts) != 3 or not 0 < parts[0] <= parts[1] or not parts[2] or (parts[1] - parts[0]) % parts[2]:
        raise WrongValueError("expected first:last:step, a whole number of steps apart, such as 1k:8k:1k")
    if (parts[1] - parts[0]) // parts[2] >= 10_000:
        raise WrongValueError("expected at most 10,000 lengths")
    return list(range(parts[0], parts[1] + 1, parts[2]))


def _lengths(values: Sequence[int]) -> tuple[int, ...]:
    if not values or (min(values) < 1 and tuple(values) != WITHOUT_LENGTH):
        raise WrongValueError("expected lengths of at least 1 token")
    return tuple(sorted(set(values)))


def parse_tokens(value: object) -> int:
    """A number of tokens: 8000, `8k` or `1m`."""
    if isinstance(value, str) and (match := re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,15})?)([kKmM]?)\s*", value)):
        number = Decimal(match[1]) * {"": 1, "k": 1000, "m": 1_000_000}[match[2].lower()]
        value = int(number) if number == int(number) else None
    if isinstance(value, int) and not isinstance(value, bool) and value <= _MOST_TOKENS:
        return value
    raise WrongValueError(f"expected a number of tokens such as 8000, 8k or 1m, at most {_MOST_TOKENS}")


def _percents(value: Any) -> list[float]:
    """Percentages in their order: a list, numbers with commas, or one."""
    try:
        items = [float(part) for part in value.split(",")] if isinstance(value, str) else value
    except ValueError:
        raise WrongValueError("expected numbers") from None
    return [parse_percent(item) for item in (items if isinstance(items, list | tuple) else [items])]


def parse_percent(value: Any) -> float:
    """A number from 0 to 100."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise WrongValueError("expected a percentage from 0 to 100")
    return float(value) + 0.0  # turns -0.0 into 0.0


def parse_weight(value: Any) -> float:
    """A finite number, at least 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= sys.float_info.max:
        raise WrongValueError("expected a number, at least 0")
    return float(value)


def _only(table: Mapping[str, object], names: Sequence[str]) -> None:
    for name in table:
        if name not in names:
            raise WrongValueError(f"unknown field {name!r}{suggestion(name, names)}")


def parse_names(value: Any) -> tuple[str, ...]:
    """Names, each once, as a list or separated by commas."""
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names or not all(isinstance(n, str) and n.strip() for n in names):
        raise WrongValueError("expected a list of names, none blank")
    return tuple(dict.fromkeys(name.strip() for name in names))


def parse_pins(value: Any) -> tuple[tuple[str, str], ...]:
    """sha256 by name, sorted."""
    if not isinstance(value, Mapping) or not all(isinstance(item, str) for pair in value.items() for item in pair):
        raise WrongValueError("expected a table of names and sha256")
    return tuple(sorted(value.items()))


def parse_languages(value: Any) -> tuple[str, ...]:
    """Languages that corpora can have."""
    return tuple(map(parse_question_language, parse_names(value)))


def parse_question_language(value: Any) -> str:
    """The language that questions are asked in; empty for that of the texts."""
    if value not in ("", *language_codes()):
        raise WrongValueError(f"expected {' or '.join(language_codes())} (see docs/languages.md)")
    return str(value)


def linear_points(first: float, last: float, steps: int) -> list[float]:
    """`steps` even points from first to last, both included; one step gives `first`.

    Computed as numpy.linspace does (step times index plus start, the end exact), so that rounding gives the same.
    """
    if steps == 1:
        return [first]
    step = (last - first) / (steps - 1)
    return [number * step + first for number in range(steps - 1)] + [last]


def sigmoid(percent: float) -> float:
    """100 / (1 + exp(-0.1 (x - 50))), rounded to 3 decimals: gkamradt's and OpenCompass's denser ends, in percent."""
    return round(100 / (1 + math.exp(-0.1 * (percent - 50))), 3)


def depth_schedule(
    steps: int, spacing: str, rounding: str, keep_ends: bool, first: float = 0.0, last: float = 100.0
) -> list[float]:
    """Depths in percent. `keep_ends`: a sigmoid leaves 0 and 100 as they are (gkamradt); OpenCompass moves them too."""
    points = linear_points(first, last, steps)
    if spacing == "sigmoid":
        points = [point if keep_ends and point in (0.0, 100.0) else sigmoid(point) for point in points]
    return [ROUNDINGS[rounding](point) for point in points]


def halves(last: int) -> list[int]:
    """Lengths in tokens, ascending: `last`, its half and so on down to 2,000; below that, `last` alone."""
    lengths = [last]
    while lengths[0] >= 4000:
        lengths.insert(0, lengths[0] // 2)
    return lengths


def length_schedule(last: int, steps: int, first: int | None = None, rounding: str = "nearest") -> list[int]:
    """Lengths in tokens: from `first` to `last`, or, without `first`, the even parts of `last` (1k ... 8k for 8k)."""
    points = linear_points(first, last, steps) if first is not None else linear_points(last / steps, last, steps)
    return [int(ROUNDINGS[rounding](point)) for point in points]
