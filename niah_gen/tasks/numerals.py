"""Spells whole numbers in English and Chinese, as rows list them, in digits and in words."""

from __future__ import annotations

from niah_score.text.numerals import SMALL, TENS

_SMALL = {value: name for name, value in SMALL.items()}
_TENS = {value: name for name, value in TENS.items()}
# Numbers from here on are spelt in digits only.
_LONGEST = 10**12
_HAN = "零一二三四五六七八九"


def spelt(value: int, language: str) -> tuple[str, ...]:
    """A whole number of at least 0 in digits and in words. Row ids digest the spellings: a change renames rows."""
    forms = [str(value), f"{value:,}"]
    if value < _LONGEST:
        forms += [english(value), english(value, "")] if language == "en" else [chinese(value), chinese(value, "两")]
    return tuple(dict.fromkeys(forms))


def english(value: int, joint: str = "and ") -> str:
    """A whole number below 10**12 in English words. `joint`: what joins a rest below 100 to what precedes it."""
    if value < 20:
        return _SMALL[value]
    if value < 100:
        ten, unit = divmod(value, 10)
        return _TENS[ten * 10] + (f"-{_SMALL[unit]}" if unit else "")
    powers = ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred"))
    power, name = next((power, name) for power, name in powers if value >= power)
    many, rest = divmod(value, power)
    between = f" {joint}" if rest < 100 else " "
    return f"{english(many, joint)} {name}" + (between + english(rest, joint) if rest else "")


def chinese(value: int, two: str = "二") -> str:
    """A whole number below 10**12 in Chinese numerals. `two`: the form of 2 before a hundred or more."""
    if value < 10:
        return _HAN[value]
    if value < 100:
        ten, unit = divmod(value, 10)
        return ("" if ten == 1 else _HAN[ten]) + "十" + (_HAN[unit] if unit else "")
    powers = ((10**8, "亿"), (10**4, "万"), (1000, "千"), (100, "百"))
    power, name = next((power, name) for power, name in powers if value >= power)
    many, rest = divmod(value, power)
    head = (two if many == 2 else chinese(many, two)) + name
    gap = "零" if rest < power // 10 else ""
    tail = f"一{chinese(rest)}" if 10 <= rest < 20 else chinese(rest, two)
    return head + (gap + tail if rest else "")


def nth(value: int) -> str:
    """An English ordinal in digits: 1st, 2nd, 11th."""
    ending = "th" if value % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}{ending}"


def ordinal(value: int, language: str) -> str:
    """An ordinal as questions use it: as `nth` in English, only the digits in Chinese."""
    return nth(value) if language == "en" else str(value)
