"""Reads numbers in folded text: in digits, English words, Chinese numerals, or a mixture of them.

A number in digits ends at the next character that is no digit: 1318feet and GBP4.35 hold 1318 and 4.35, 1417 holds no
417. A number that is part of a longer one is not read separately: two hundred and eighty-three holds no 83.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice, takewhile
from operator import attrgetter
from typing import NamedTuple

from niah_score.text.fold import Reading, late
from niah_score.text.phrases import phrases_of

_HAN_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "○": 0}
# Formal numerals, as in accounts; within a number they are digits, alone they are mostly other words (大陆, 吴伍).
_FORMAL = {char: value for value, char in enumerate("壹贰叁肆伍陆柒捌玖", 1)} | {"参": 3}
_DIGITS = {**_HAN_DIGITS, **_FORMAL}
_UNITS = {"十": 10, "百": 100, "千": 1000, "拾": 10, "佰": 100, "仟": 1000, "万": 10**4, "亿": 10**8, "萬": 10**4}
_TENS_IN_ONE = {"廿": 20, "卅": 30}
HAN = "".join((*_DIGITS, *_UNITS, *_TENS_IN_ONE))

# Adjacent numerals, with any digits right next to them.
_RUN = late(rf"(?:(?<!\d)\d++(?:\.\d++)?)?[{HAN}](?:[{HAN}]|(?<=[百千万亿])单(?=[一二三四五六七八九])|\d+(?:\.\d+)?)*+")
_ITEM = late(r"\d+(?:\.\d+)?|.")
_DECIMALS = late(r"点([零〇一二三四五六七八九]+)(?![十百千万亿]|分)")


def han_numbers(folded: str) -> Iterator[tuple[Decimal | None, int, int]]:
    """Runs of Chinese numerals in a folded text: the number of each (None if it is none), its start and its end."""
    read = 0
    for match in _RUN.finditer(folded) if not folded.isascii() else ():
        start, end = match.span()
        if start < read:
            continue  # the digits after 点 were read with the number before it
        # In 百分之四十 only 四十 is a number.
        value = None if folded.startswith("分之", end) else han_number(match[0])
        decimals = _DECIMALS.match(folded, end)
        if decimals and value is not None and value == value.to_integral_value():
            value += Decimal(f"0.{''.join(str(_HAN_DIGITS[char]) for char in decimals[1])}")
            end = read = decimals.end()
        yield value, start, end


def han_number(text: str) -> Decimal | None:
    """The number that Chinese numerals, with or without digits, stand for; None if they are no number.

    Numerals without units are read as digits (二九一八 is 2918). After a unit of a hundred or more, a final numeral
    counts tenths of that unit (一千二 is 1200), unless 零 comes before it.
    """
    items = _ITEM.findall(text)
    if all(item in _DIGITS for item in items):
        alone = len(items) == 1 and items[0] in _FORMAL
        return None if alone else Decimal("".join(str(_DIGITS[item]) for item in items))
    total, section, last_unit = Decimal(0), Decimal(0), 0
    pending: Decimal | None = None
    after_zero = False
    for item in items:
        unit = _UNITS.get(item, 0)
        if unit >= 10**4:
            section += pending or 0
            if not section and not total:
                return None
            total = (total + section) * unit if total and total < unit else total + section * unit
            section, pending, last_unit, after_zero = Decimal(0), None, unit, False
        elif unit:
            if pending is None and unit > 10:
                return None
            section += (1 if pending is None else pending) * unit
            pending, last_unit, after_zero = None, unit, False
        elif pending is not None:
            return None
        elif item in _TENS_IN_ONE:
            section, last_unit = section + _TENS_IN_ONE[item], 10
        elif item in "零〇○单":
            after_zero = True
        else:
            pending = Decimal(_DIGITS.get(item, item))
    if pending is not None:
        is_tenth = last_unit >= 100 and not after_zero and pending < 10 and items[-1] not in "0123456789"
        section += pending * last_unit / 10 if is_tenth else pending
    return total + section


_SAID = phrases_of("numbers")
SMALL: dict[str, int] = {name: value for value, name in enumerate(_SAID.below_twenty)}
TENS: dict[str, int] = {name: 10 * value for value, name in enumerate(_SAID.round_tens, 2)}
_POWERS = {name: 1000**place for place, name in enumerate(_SAID.powers, 1)}
# "Second" is also a unit of time and a verb, so alone it is no number here; in dates it is.
ORDINALS = {name: value for value, name in enumerate(_SAID.ordinals_below_twenty, 1)} | {
    f"{name[:-1]}ieth": value for name, value in TENS.items()
}
_LARGE = (*_POWERS, *(f"{power}th" for power in _POWERS), "hundred", "hundredth")
NUMBER_WORDS = frozenset((*SMALL, *TENS, *ORDINALS, *_LARGE, "oh"))
_LETTERS = late("[a-z]+")
# Digits with the marks that join them. Without marks, or with one point, they are a plain number.
_BLOB = late(r"\d+(?:[.,:/]\d+)*")
_PLAIN = late(r"\d+(?:\.\d+)?")
_CONTINENTAL = late(r"\d{1,3}(?:\.\d{3})+")
_SIDE_BY_SIDE = late(r"\d[ -]\d")
# What may stand between the words of one number.
_BETWEEN = late(r"(?:[\s,-]|and)*", re.ASCII)
_GROUPED = late(r"(?<!\d)(?<!\d[.,:/])\d{1,3}(?: \d{3})+(?![\d]|[.,:/]\d)")
_ARTICLE = late("a[ -]")
_MOST_DIGITS = 15
# Within a run of single digits no other one is looked for.
_SPELT_OUT = late(r"(?<![\d-])(?<!\d[.,:/])(?:(?<!(?<!\d)\d )|(?=\d-))\d(?:([ -])\d)(?:\1\d)++(?!\1?\d)")


def numbers_in(folded: str) -> list[Reading]:
    """The numbers in a folded text, in order, with all readings of ambiguous ones.

    A comma between digits may separate items or decimals ("12,13"), a space items or thousands ("1 318").
    """
    folded = folded.replace("\u00b7", ".") if "\u00b7" in folded else folded  # £4·35
    han = [] if folded.isascii() else list(han_numbers(folded))
    taken = {place for _, start, end in han for place in range(start, end)}
    readings = [Reading(*one) for one in han if one[0] is not None]
    tokens = []
    for match in _BLOB.finditer(folded):
        if match.start() in taken or match.end() - 1 in taken:
            continue
        if _PLAIN.fullmatch(match[0]):
            tokens.append(Reading(Decimal(match[0]), *match.span()))
        else:
            readings += _marked(match)
    if says_numbers(folded):
        for match in _LETTERS.finditer(folded):
            word = match[0] if match[0] in NUMBER_WORDS else match[0].removesuffix("s")
            if word in NUMBER_WORDS:
                tokens.append(Reading(word, match.start(), match.start() + len(word)))
        tokens.sort(key=attrgetter("start"))
    readings += _in_words(folded, tokens)
    if _SIDE_BY_SIDE.search(folded):
        for match in (*_GROUPED.finditer(folded), *_SPELT_OUT.finditer(folded)):
            readings.append(Reading(Decimal(match[0].replace(" ", "").replace("-", "")), *match.span()))
    return sorted(set(readings), key=attrgetter("start", "end"))


def says_numbers(folded: str) -> bool:
    """Whether a text contains an English number word."""
    return not NUMBER_WORDS.isdisjoint(_LETTERS.findall(folded))


def is_number_word(letters: str) -> bool:
    """Whether a word is an English number word."""
    return letters in NUMBER_WORDS or letters.removesuffix("s") in NUMBER_WORDS


def is_plain_number(folded: str) -> bool:
    """Whether a whole folded text is up to 15 digits that do not begin with 0, and so can only be a number."""
    return folded.isdecimal() and folded.isascii() and folded[0] != "0" and len(folded) <= _MOST_DIGITS


def number_of(folded: str) -> Decimal | None:
    """The number that a whole folded text is; None if it is none, or is a code such as 007 or one with 16 digits."""
    if is_plain_number(folded):
        return Decimal(folded)
    if (folded[:1] == "0" and folded[1:2].isdigit()) or sum(map(str.isdigit, folded)) > _MOST_DIGITS:
        return None
    whole = [reading.value for reading in numbers_in(folded) if (reading.start, reading.end) == (0, len(folded))]
    return whole[0] if whole else None


def _marked(match: re.Match[str]) -> Iterator[Reading]:
    """The numbers in digits joined by marks: list items or a decimal comma, but no dates, times or versions."""
    text, place = match[0], match.start()
    if ":" in text or "/" in text or ("." in text and "," not in text):
        return
    whole, _, decimals = text.partition(",")
    # A single digit right after a comma is no list item. With a point before it, only 1.234,5 is a number.
    if decimals.isdigit() and len(decimals) == 1 and ("." not in whole or _CONTINENTAL.fullmatch(whole)):
        yield Reading(Decimal(f"{whole.replace('.', '')}.{decimals}"), *match.span())
        return
    for part in text.split(","):
        if part.count(".") < 2:
            yield Reading(Decimal(part), place, place + len(part))
        place += len(part) + 1
    if text.count(",") == 1 and "." not in text:
        yield Reading(Decimal(text.replace(",", ".")), *match.span())


# English words -------------------------------------------------------------------------------------------------------


class _Number(NamedTuple):
    """A number read so far: the `total` of its finished parts, and the `section` that the next power multiplies.

    `least`: the last power (thousand, million, ...); the next must be smaller. `form`: digits, unit (a word below 10),
    small (below 100), large (with hundred or a power), or oh (a zero within a number). `closed`: nothing may follow, as
    after an ordinal.
    """

    total: Decimal = Decimal(0)
    section: Decimal = Decimal(0)
    least: Decimal = Decimal(10) ** 15
    form: str = ""
    closed: bool = False


_SINGLE = {"unit", "oh"}
# Words that stand for their value where no other number is near.
_ALONE = {word: Decimal(value) for word, value in {**SMALL, **TENS, **ORDINALS}.items() if word != "second"}
# The form of a complete number, and its value and place.
_Said = tuple[str, Reading]


def _in_words(folded: str, tokens: Sequence[Reading]) -> Iterator[Reading]:
    """Numbers in words and plain digits. Those close enough to form one number are read together."""
    run: list[Reading] = []
    for token in (*tokens, None):
        if token is not None and (not run or _BETWEEN.fullmatch(folded, run[-1].end, token.start)):
            run.append(token)
            continue
        alone = _ALONE.get(run[0].value, run[0].value) if len(run) == 1 else None
        if isinstance(alone, Decimal):
            yield run[0]._replace(value=alone)  # as most numbers are
        elif run:
            yield from _said_as_one(folded, list(_parts(folded, run)))
        run = [] if token is None else [token]


def _parts(folded: str, run: Sequence[Reading]) -> Iterator[_Said]:
    """The numbers in a run of tokens by grammar alone, each as long as possible."""
    place = 0
    while place < len(run):
        first, start = run[place], run[place].start
        has_article = _ARTICLE.match(folded, max(0, start - 2)) is not None
        number = _grown(_Number(), first, "", has_article)
        last = number
        while number is not None:
            last, place = number, place + 1
            if place == len(run) or number.closed:
                break
            number = _grown(number, run[place], folded[run[place - 1].end : run[place].start], False)
        if last is None:
            place += 1
        elif last.form != "second" or run[place - 1] is not first:
            begins = start - 2 if has_article and (first.value == "hundred" or first.value in _POWERS) else start
            yield last.form, Reading(last.total + last.section, begins, run[place - 1].end)


def _grown(number: _Number, token: Reading, between: str, article: bool) -> _Number | None:
    """A number with one more token; None if the token does not continue it. `article`: whether "a" comes before it."""
    total, section, least, form, _ = number
    word, begins, below = token.value, not form, section % 100
    # "And" and commas only follow a hundred or a power, and no power follows them.
    if not begins and between.strip(" -") and (form != "large" or word in _POWERS):
        return None
    if isinstance(word, Decimal):
        limit = Decimal(100) if section else min(least, Decimal(1000))
        fits = begins or (form == "large" and word < limit and not below)
        return number._replace(section=section + word, form=form or "digits") if fits else None
    if word == "oh":
        return number._replace(form="oh", closed=True) if begins else None
    value = TENS.get(word, SMALL.get(word, ORDINALS.get(word)))
    if value is not None:
        # After a round ten a unit may follow, after a round hundred anything below a hundred.
        after_hundred = not below and form == "large" and value > 0
        after_ten = below >= 20 and below % 10 == 0 and 0 < value < 10 and form != "digits"
        if not (begins or after_hundred or after_ten):
            return None
        form = "second" if begins and word == "second" else form or ("unit" if value < 10 else "small")
        return number._replace(section=section + value, form=form, closed=word in ORDINALS)
    if begins and article:
        section = below = Decimal(1)
    if word in ("hundred", "hundredth"):
        fits = 0 < section < 100
        return number._replace(section=section * 100, form="large", closed=word == "hundredth") if fits else None
    worth = Decimal(_POWERS[word.removesuffix("th")])
    if not section or worth >= least:
        return None
    return _Number(total + section * worth, Decimal(0), worth, "large", word.endswith("th"))


def _said_as_one(folded: str, parts: Sequence[_Said]) -> Iterator[Reading]:
    """Join parts spoken as one number: four seventeen is 417, thirty-one seventy-four 3174, four one seven 417."""
    place = 0
    while place < len(parts):
        form, (value, start, _) = parts[place]
        close = list(islice(_close(folded, parts, place), 3))
        forms = [other for other, _ in close]
        taken = 1
        if form == "unit" and len(forms) == 3 and set(forms) <= _SINGLE:
            close = list(takewhile(lambda part: part[0] in _SINGLE, _close(folded, parts, place)))
            value, taken = Decimal("".join(str(one.value) for _, one in close)), len(close)
        elif form in ("unit", "small") and value > 0 and forms[1:2] == ["small"]:
            value, taken = value * 100 + close[1][1].value, 2
        elif form in ("unit", "small") and value > 0 and forms[1:3] == ["oh", "unit"]:
            value, taken = value * 100 + close[2][1].value, 3
        if form != "oh":
            yield Reading(value, start, close[taken - 1][1].end)
        place += taken


def _close(folded: str, parts: Sequence[_Said], place: int) -> Iterator[_Said]:
    """A part, and those after it, as long as only a space or a hyphen separates them."""
    yield parts[place]
    for following in range(place + 1, len(parts)):
        if folded[parts[following - 1][1].end : parts[following][1].start] not in (" ", "-"):
            return
        yield parts[following]
