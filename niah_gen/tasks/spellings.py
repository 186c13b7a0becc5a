"""Spells values as rows list them, in at most a dozen ways each, for tools that search for text; ours parse values.

Row ids digest the spellings, so a change here renames every row that asks for such a value.
"""

from __future__ import annotations

from decimal import Decimal

from niah_gen.tasks import own_spellings
from niah_score.text.language import ALWAYS_READ
from niah_score.text.numerals import SMALL, TENS

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_SMALL = {value: name for name, value in SMALL.items()}
_TENS = {value: name for name, value in TENS.items()}
# Numbers from here on are spelt in digits only.
_LONGEST = 10**12
_HAN = "零一二三四五六七八九"
# The sign before a sum in English, the currency's word, its hundredth if sums are given in it, and the Chinese word.
_CURRENCIES = {
    "GBP": ("£", "pounds", "pence", "英镑"),
    "USD": ("$", "dollars", "cents", "美元"),
    "EUR": ("€", "euros", "cents", "欧元"),
    "CNY": ("¥", "yuan", None, "元"),
    "JPY": ("¥", "yen", None, "日元"),
    "HKD": ("HK$", "dollars", "cents", "港元"),
    "TWD": ("NT$", "dollars", "cents", "新台币"),
    "AUD": ("$", "dollars", "cents", "澳元"),
    "CAD": ("$", "dollars", "cents", "加元"),
    "NZD": ("$", "dollars", "cents", "新西兰元"),
    "SGD": ("$", "dollars", "cents", "新加坡元"),
    "CHF": ("CHF ", "francs", None, "瑞士法郎"),
    "INR": ("₹", "rupees", None, "卢比"),
    "KRW": ("₩", "won", None, "韩元"),
    "RUB": ("₽", "roubles", None, "卢布"),
}


def number(value: Decimal, language: str) -> list[str]:
    """A number in digits and in words."""
    digits = plain(value)
    if language not in ALWAYS_READ:
        return _different(own_spellings.number(digits, language))
    spelt = [digits]
    is_whole = value == value.to_integral_value()
    if value >= 1000 and is_whole:
        spelt.append(f"{value:,.0f}")
    if is_whole and 0 <= value < _LONGEST:
        whole = int(value)
        spelt += (
            [english(whole), english(whole, joint="")] if language == "en" else [chinese(whole), chinese(whole, "两")]
        )
    return _different(spelt)


def time(minutes: int, language: str) -> list[str]:
    """A time of day, given in minutes after midnight."""
    hour, minute = divmod(minutes, 60)
    if language not in ALWAYS_READ:
        return _different(own_spellings.time(hour, minute, language))
    twelve, half = (hour - 1) % 12 + 1, "pm" if hour >= 12 else "am"
    if language == "en":
        # Words are left out: "nineteen fifty-two" is also a year.
        spelt = [f"{hour}:{minute:02d}", f"{hour:02d}:{minute:02d}", f"{hour}.{minute:02d}"]
        said = f"{twelve}:{minute:02d}"
        return _different([*spelt, f"{said} {half}", f"{twelve}.{minute:02d} {half}", f"{said} {half[0]}.m."])
    said = "凌晨" if hour < 6 else "上午" if hour < 12 else "下午" if hour < 18 else "晚上"
    figures = f"{minute:02d}分" if minute else ""
    words = f"{chinese(minute)}分" if minute >= 10 else f"零{chinese(minute)}分" if minute else ""
    spelt = [f"{hour}点{figures}", f"{hour}:{minute:02d}", f"{hour}时{figures}", f"{chinese(hour)}点{words}"]
    if hour != 12:
        spelt += [f"{said}{twelve}点{figures}", f"{said}{twelve}:{minute:02d}", f"{said}{chinese(twelve)}点{words}"]
    return _different(spelt)


def date(month: int, day: int, language: str) -> list[str]:
    """A day of the solar year."""
    if language not in ALWAYS_READ:
        return _different(own_spellings.date(month, day, language))
    if language == "zh":
        return _different([f"{month}月{day}日", f"{month}月{day}号", f"{chinese(month)}月{chinese(day)}日"])
    name, th = _MONTHS[month - 1], nth(day)
    spelt = [f"{day} {name}", f"{name} {day}", f"{th} of {name}", f"{th} {name}", f"{name} {th}", f"{name} the {th}"]
    spelt += [f"{day} {name[:3]}", f"{name[:3]} {day}"]
    # 2/3 could be the second of March or the third of February.
    return _different([*spelt, *([f"{day}/{month}"] if day > 12 else [])])


def lunar_date(month: int, day: int, language: str) -> list[str]:
    """A day of the lunar year."""
    if language != "zh":
        return [f"the {nth(day)} day of the {nth(month)} lunar month", f"{nth(day)} of the {nth(month)} lunar month"]
    named = {1: "正", 11: "冬", 12: "腊"}.get(month, chinese(month))
    spelt = f"初{chinese(day)}" if day <= 10 else chinese(day)
    return _different(
        [f"{named}月{spelt}", f"农历{named}月{spelt}", f"农历{chinese(month)}月{spelt}", f"农历{month}月{day}日"]
    )


def amount(value: Decimal, currency: str, language: str) -> list[str]:
    """A sum of money. `currency`: an ISO code."""
    digits, whole, cents = plain(value), int(value), value % 1 * 100
    if cents and len(digits.partition(".")[2]) == 1:
        digits = f"{value:.2f}"
    if language not in ALWAYS_READ:
        return _different(own_spellings.amount(digits, currency, _CURRENCIES[currency][0].strip(), language))
    places = max(2, len(digits.partition(".")[2])) if cents else 0
    grouped = f"{value:,.{places}f}"
    is_said = whole < _LONGEST and cents == int(cents)
    sign, word, hundredth, han = _CURRENCIES[currency]
    if language == "zh":
        said = [f"{chinese(whole)}{han}"] if is_said and not cents else []
        return _different([f"{digits}{han}", digits, f"{grouped}{han}", *said])
    spelt = [f"{sign}{grouped}", f"{sign}{digits}", f"{digits} {word}", f"{currency} {digits}", grouped, digits]
    # "Three yuan one" would be 3.1.
    if is_said and whole and not 0 < cents < 10:
        spelt.append(f"{english(whole)} {word}" + (f" {english(int(cents))}" if cents else ""))
    if is_said and cents and hundredth:
        spelt.append(f"{whole * 100 + int(cents)} {hundredth}")
    return _different(spelt)


def plain(value: Decimal) -> str:
    """A number in digits, without an exponent, digit groups or trailing zeros."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def english(value: int, joint: str = "and ") -> str:
    """A whole number below 10**12 in English words. `joint`: what joins a rest below 100 to what precedes it."""
    if value < 20:
        return _SMALL[value]
    if value < 100:
        ten, unit = divmod(value, 10)
        return _TENS[ten * 10] + (f"-{_SMALL[unit]}" if unit else "")
    for power, name in ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred")):
        if value >= power:
            many, rest = divmod(value, power)
            between = f" {joint}" if rest < 100 else " "
            return f"{english(many, joint)} {name}" + (between + english(rest, joint) if rest else "")
    raise AssertionError(value)


def chinese(value: int, two: str = "二") -> str:
    """A whole number below 10**12 in Chinese numerals. `two`: the form of 2 before a hundred or more."""
    if value < 10:
        return _HAN[value]
    if value < 100:
        ten, unit = divmod(value, 10)
        return ("" if ten == 1 else _HAN[ten]) + "十" + (_HAN[unit] if unit else "")
    for power, name in ((10**8, "亿"), (10**4, "万"), (1000, "千"), (100, "百")):
        if value >= power:
            many, rest = divmod(value, power)
            head = (two if many == 2 else chinese(many, two)) + name
            if not rest:
                return head
            gap = "零" if rest < power // 10 else ""
            tail = f"一{chinese(rest)}" if 10 <= rest < 20 else chinese(rest, two)
            return head + gap + tail
    raise AssertionError(value)


def nth(value: int) -> str:
    """An English ordinal in digits: 1st, 2nd, 11th."""
    ending = "th" if value % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}{ending}"


def ordinal(value: int, language: str) -> str:
    """An ordinal as questions use it: as `nth` in English, only the digits in Chinese."""
    return nth(value) if language == "en" else str(value)


def _different(spelt: list[str]) -> list[str]:
    return list(dict.fromkeys(spelt))
