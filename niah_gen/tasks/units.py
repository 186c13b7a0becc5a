"""Lists the units that make a right number wrong, such as metres when the question asks for feet."""

from __future__ import annotations

from functools import cache

from niah_score.text import fold
from niah_score.text.money import CODES, CURRENCIES
from niah_score.text.times import AFTER_NOON, AROUND_NOON, BEFORE_NOON

# Units that measure the same thing, each with all its names in both languages.
_FAMILIES: tuple[tuple[tuple[str, ...], ...], ...] = (
    (
        ("feet", "foot", "ft", "\u2032", "英尺"),
        ("inches", "inch", "\u2033", "英寸"),
        ("yards", "yard", "yd", "yds", "码"),
        ("miles", "mile", "mi", "英里"),
        ("metres", "metre", "meters", "meter", "m", "米", "公尺"),
        ("kilometres", "kilometre", "kilometers", "kilometer", "km", "公里", "千米"),
        ("centimetres", "centimetre", "centimeters", "centimeter", "cm", "厘米"),
        ("millimetres", "millimetre", "millimeters", "millimeter", "mm", "毫米"),
        ("fathoms", "fathom"),
        ("furlongs", "furlong"),
        ("leagues", "league"),
        ("paces", "pace", "steps", "step", "步"),
        ("里", "华里"),
        ("丈",),
        ("尺", "市尺"),
        ("square", "sq", "cubic", "平方", "立方"),  # what begins an area or a volume
    ),
    (
        ("seconds", "second", "secs", "sec", "秒"),
        ("minutes", "minute", "mins", "min", "分钟"),
        ("hours", "hour", "hrs", "hr", "h", "小时", "个小时", "钟头", "个钟头"),
        ("days", "day", "天", "日"),
        ("weeks", "week", "周", "星期", "个星期", "礼拜", "个礼拜"),
        ("fortnights", "fortnight"),
        ("months", "month", "个月"),
        ("years", "year", "yrs", "年"),
        ("decades", "decade"),
        ("centuries", "century", "世纪"),
    ),
    (
        ("grams", "gram", "g", "克"),
        ("kilograms", "kilogram", "kilos", "kilo", "kg", "公斤", "千克"),
        ("ounces", "ounce", "oz", "盎司"),
        ("pounds", "pound", "lb", "lbs", "磅"),
        ("stones", "stone"),
        ("hundredweight", "cwt"),
        ("tonnes", "tonne", "tons", "ton", "吨"),
        ("斤", "市斤"),
        ("两",),
    ),
    (
        ("litres", "litre", "liters", "liter", "升", "公升"),
        ("millilitres", "millilitre", "milliliters", "milliliter", "ml", "毫升"),
        ("pints", "pint", "品脱"),
        ("gallons", "gallon", "加仑"),
        ("bushels", "bushel"),
    ),
    (
        ("acres", "acre", "英亩"),
        ("hectares", "hectare", "ha", "公顷"),
        ("square feet", "square foot", "平方英尺"),
        ("square metres", "square metre", "square meters", "square meter", "平方米"),
        ("亩",),
    ),
    (
        ("degrees celsius", "celsius", "\u00b0c", "摄氏度"),
        ("degrees fahrenheit", "fahrenheit", "\u00b0f", "华氏度"),
    ),
)  # fmt: skip
_NOON = 12 * 60
# Money in which amounts are never read, but which still makes a number of pounds wrong.
_OTHER_MONEY = ("shillings", "shilling", "guineas", "guinea", "crowns", "crown", "pesos", "peso")


def unit_named(name: str) -> bool:
    """Whether a text names a known unit or currency."""
    return bool(_families_of(fold(name)))


def leading_unit(folded: str) -> str | None:
    """The unit or currency at the start of a folded text, which follows a number; None if there is none."""
    text = folded.lstrip(" -")
    names = (name for name in _names() if text.startswith(name) and not _goes_on(text, name))
    return max(names, key=len, default=None)


def is_measure(name: str) -> bool:
    """Whether a text may name a unit other than a currency; pounds are both money and a weight."""
    return any(family[0] not in CURRENCIES for _, family in _families_of(fold(name)))


def names_of(name: str) -> tuple[str, ...]:
    """All names of a unit or currency, folded, in both languages; none for an unknown one."""
    return tuple(dict.fromkeys(fold(other) for own, _ in _families_of(fold(name)) for other in own))


def other_units(name: str) -> tuple[str, ...]:
    """The names of all other units of the same quantity, or of all other currencies; none for an unknown unit."""
    families = _families_of(fold(name))
    own = {other for names, _ in families for other in names}
    return tuple(dict.fromkeys(other for _, family in families for other in family if other not in own))


def other_half(minutes: int) -> tuple[str, ...]:
    """The words that put a time in the other half of the day. `minutes`: after midnight."""
    if minutes >= _NOON:
        return BEFORE_NOON
    around = AROUND_NOON if minutes >= _NOON - 120 else ()
    return tuple(word for word in AFTER_NOON if word not in around)


def _families_of(name: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """For every unit that a name may stand for: all names of that unit, and all names of its family."""
    families = [
        (own, tuple(other for unit in family for other in unit))
        for family in _FAMILIES
        for own in family
        if name in map(fold, own)
    ]
    codes = set(CURRENCIES.get(name, ())) | ({name.upper()} & CODES)
    if codes:
        own = tuple(other for other, named in CURRENCIES.items() if codes & set(named))
        families.append((own, (*CURRENCIES, *_OTHER_MONEY)))
    return families


@cache
def _names() -> tuple[str, ...]:
    """The names of all units and currencies, folded."""
    return (*(fold(name) for family in _FAMILIES for unit in family for name in unit), *CURRENCIES)


def _goes_on(text: str, name: str) -> bool:
    after = text[len(name) : len(name) + 1]
    return name[-1].isascii() and name[-1].isalpha() and after.isascii() and after.isalpha()
