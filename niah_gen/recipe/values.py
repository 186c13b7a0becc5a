"""Reads the values of recipe fields; each parser raises WrongValueError with what it expected."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from niah_gen.errors import suggestion
from niah_gen.haystacks.spread import SPREADS
from niah_gen.recipe.schedules import ROUNDINGS, SPACINGS, depth_schedule, length_schedule
from niah_score.text.language import language_codes

_MOST_TOKENS = 2**31 - 1  # lengths are int32 columns
# The lengths of a recipe for rows without a length.
WITHOUT_LENGTH = (0,)


class WrongValueError(ValueError):
    """A value is not what a field expects; the message says what was expected."""


def parse_lengths(value: object) -> tuple[int, ...]:
    """Lengths in tokens, ascending; 0 alone means rows without a length, in families that have them.

    Takes `8k` (eight even lengths up to it), `8000`, `1k,2k`, a list, or a table with max, steps and optionally min and
    rounding.
    """
    if isinstance(value, str):
        if re.fullmatch(r"[\d.]+[kKmM]", value.strip()):
            return _lengths(length_schedule(parse_tokens(value), 8))
        return _lengths([parse_tokens(part) for part in value.split(",")])
    if isinstance(value, Mapping):
        _only(value, ("min", "max", "steps", "rounding"))
        rounding = one_of(ROUNDINGS)(value.get("rounding", "nearest"))
        first = parse_tokens(value["min"]) if "min" in value else None
        last = parse_tokens(value.get("max"))
        if first is not None and first > last:
            raise WrongValueError("expected min not above max")
        return _lengths(length_schedule(last, whole(1, 10_000)(value.get("steps")), first, rounding))
    return _lengths(
        [parse_tokens(item) for item in value] if isinstance(value, list | tuple) else [parse_tokens(value)]
    )


def parse_depths(value: object) -> tuple[float, ...]:
    """Depths in percent, ascending, each once.

    Takes a list, a comma list, one number, or a table with steps, spacing, rounding, keep_ends and optionally min and
    max.
    """
    if isinstance(value, str):
        value = [_number(part) for part in value.split(",")]
    if isinstance(value, Mapping):
        _only(value, ("steps", "spacing", "rounding", "keep_ends", "min", "max"))
        points = depth_schedule(
            whole(1, 10_000)(value.get("steps")),
            one_of(SPACINGS)(value.get("spacing", "linear")),
            one_of(ROUNDINGS)(value.get("rounding", "none")),
            parse_boolean(value.get("keep_ends", True)),
            parse_percent(value.get("min", 0)),
            parse_percent(value.get("max", 100)),
        )
    else:
        points = [parse_percent(item) for item in (value if isinstance(value, list | tuple) else [value])]
    if not points:
        raise WrongValueError("expected at least one depth")
    return tuple(sorted(set(points)))


def parse_spread(value: Any) -> str | tuple[float, ...]:
    """How a set's needles are spread: a name of SPREADS, or the depth of each in percent."""
    if isinstance(value, str) and value in SPREADS:
        return value
    if isinstance(value, str) and re.fullmatch(r"[\d.,\s]+", value):
        value = [_number(part) for part in value.split(",")]
    if isinstance(value, list | tuple) and value:
        return tuple(parse_percent(item) for item in value)
    raise WrongValueError(f"expected {', '.join(SPREADS)}, or the depth of each needle in percent")


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


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise WrongValueError("expected numbers") from None


def parse_percent(value: object) -> float:
    """A number from 0 to 100."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise WrongValueError("expected a percentage from 0 to 100")
    return float(value) + 0.0  # turns -0.0 into 0.0


def parse_weight(value: Any) -> float:
    """A finite number, at least 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= sys.float_info.max:
        raise WrongValueError("expected a number, at least 0")
    return float(value)


def whole(low: int, high: int) -> Callable[[Any], int]:
    """Reads a whole number from `low` to `high`."""

    def parse(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise WrongValueError(f"expected a whole number from {low} to {high}")
        return value

    return parse


def one_of(names: Sequence[str] | Mapping[str, object]) -> Callable[[Any], str]:
    """Reads one of the names."""

    def parse(value: Any) -> str:
        if not isinstance(value, str) or value not in names:
            near = suggestion(value, names).rstrip("?") if isinstance(value, str) else ""
            raise WrongValueError(f"expected one of {', '.join(names)}{near if near.startswith('; did') else ''}")
        return value

    return parse


def _only(table: Mapping[str, object], names: Sequence[str]) -> None:
    for name in table:
        if name not in names:
            raise WrongValueError(f"unknown field {name!r}{suggestion(name, names)}")


def parse_boolean(value: Any) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise WrongValueError("expected true or false")
    return value


def parse_text(value: Any) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise WrongValueError("expected a text")
    return value


def parse_system(value: Any) -> str:
    """What a system message says; empty for none."""
    if not isinstance(value, str) or (value and not value.strip()) or value != value.encode(errors="replace").decode():
        raise WrongValueError("expected a UTF-8 text that is not blank, or an empty one for none")
    return value


def parse_slug(value: Any) -> str:
    """A name that can be a folder's on every system."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", value):
        raise WrongValueError("expected letters, digits, dot, - and _ (it names a folder)")
    return value


def parse_version(value: Any) -> str:
    """Three numbers, such as 1.0.0."""
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", value):
        raise WrongValueError("expected three numbers such as 1.0.0")
    return value


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
    """Languages that corpora can have; empty for all."""
    names = () if value in ([], ()) else parse_names(value)
    if not set(names) <= set(language_codes()):
        raise _wrong_language()
    return names


def parse_question_language(value: Any) -> str:
    """The language that questions are asked in; empty for that of the texts."""
    if value not in ("", *language_codes()):
        raise _wrong_language()
    return str(value)


def _wrong_language() -> WrongValueError:
    return WrongValueError(f"expected {' or '.join(language_codes())} (docs/languages.md says how to add one)")
