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

from niah_score.text.patterns import late

_HAN_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "○": 0}
# Formal numerals, as in accounts; within a number they are digits, alone they are mostly other words (大陆, 吴伍).
_FORMAL = {char: value for value, char in enumerate("壹贰叁肆伍陆柒捌玖", 1)} | {"参": 3}
_UNITS = {"十": 10, "百": 100, "千": 1000, "拾": 10, "佰": 100, "仟": 1000}
_SECTIONS = {"万": 10**4, "亿": 10**8, "萬": 10**4}
_TENS_IN_ONE = {"廿": 20, "卅": 30}
HAN = "".join((*_HAN_DIGITS, *_FORMAL, *_UNITS, *_SECTIONS, *_TENS_IN_ONE))

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
    if all(item in _HAN_DIGITS for item in items):
        return Decimal("".join(str(_HAN_DIGITS[item]) for item in items))
    if len(items) == 1 and items[0] in _FORMAL:
        return None
    if all(item in _HAN_DIGITS or item in _FORMAL for item in items):
        return Decimal("".join(str(_HAN_DIGITS.get(item, _FORMAL.get(item))) for item in items))
    total, section = Decimal(0), Decimal(0)
    pending: Decimal | None = None
    last_unit = Decimal(0)
    after_zero = False
    for item in items:
        if item in _UNITS:
            if pending is None and item not in "十拾":
                return None
            section += (1 if pending is None else pending) * _UNITS[item]
            pending, last_unit, after_zero = None, Decimal(_UNITS[item]), False
        elif item in _TENS_IN_ONE:
            if pending is not None:
                return None
            section += _TENS_IN_ONE[item]
            last_unit = Decimal(10)
        elif item in _SECTIONS:
            section += pending or 0
            if not section and not total:
                return None
            worth = _SECTIONS[item]
            total = (total + section) * worth if total and total < worth else total + section * worth
            section, pending, last_unit, after_zero = Decimal(0), None, Decimal(worth), False
        elif item in "零〇○单":
            if pending is not None:
                return None
            after_zero = True
        else:
            if pending is not None:
                return None
            pending = Decimal(_HAN_DIGITS.get(item, _FORMAL.get(item, -1)))
            if pending == -1:
                pending = Decimal(item)
    if pending is not None:
        is_tenth = last_unit >= 100 and not after_zero and pending < 10 and items[-1] not in "0123456789"
        section += pending * last_unit / 10 if is_tenth else pending
    return total + section


class Reading(NamedTuple):
    """A number, and its place: code points `start` up to, but not including, `end`."""

    value: Decimal
    start: int
    end: int


_BELOW_TWENTY = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_ORDINALS_BELOW_TWENTY = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
)  # fmt: skip
_ROUND_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SMALL = {name: value for value, name in enumerate(_BELOW_TWENTY)}
TENS = {name: 10 * value for value, name in enumerate(_ROUND_TENS, 2)}
_POWERS = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
# "Second" is also a unit of time and a verb, so alone it is no number here; in dates it is.
ORDINALS = {name: value for value, name in enumerate(_ORDINALS_BELOW_TWENTY, 1)} | {
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
_AND_BEFORE = late(r"(?:[ ,.-]|(?<![a-z])and)+$")
_AND_AFTER = late(r"^(?:[ ,-]|and(?![a-z]))+")
_LAST_WORD = late("[a-z]+$")
_ARTICLE = late("a[ -]")
_NUMERALS = frozenset(f"0123456789{HAN}")
_DIGITS = frozenset("0123456789")
_MARKS = frozenset(".,:/")
_MOST_DIGITS = 15
_BESIDE = 24  # code points around digits within which a word would join them
# Within a run of single digits no other one is looked for.
_SPELT_OUT = late(r"(?<![\d-])(?<!\d[.,:/])(?:(?<!(?<!\d)\d )|(?=\d-))\d(?:([ -])\d)(?:\1\d)++(?!\1?\d)")


def numbers_in(folded: str) -> list[Reading]:
    """The numbers in a folded text, in order, with all readings of ambiguous ones.

    A comma between digits may separate items or decimals ("12,13"), a space items or thousands ("1 318").
    """
    folded = folded.replace("\u00b7", ".") if "\u00b7" in folded else folded  # £4·35
    han = [] if folded.isascii() else list(han_numbers(folded))
    words, blobs = _tokens(folded, [(start, end) for _, start, end in han] if han else ())
    readings = [Reading(value, start, end) for value, start, end in han if value is not None] if han else []
    for blob in blobs:
        readings += _blob_readings(blob)
    readings += _word_readings(folded, words)
    if _SIDE_BY_SIDE.search(folded):
        for match in _GROUPED.finditer(folded):
            readings.append(Reading(Decimal(match[0].replace(" ", "")), *match.span()))
        for match in _SPELT_OUT.finditer(folded):
            readings.append(Reading(Decimal(match[0].replace(match[1], "")), *match.span()))
    return sorted(set(readings), key=attrgetter("start", "end"))


def says_numbers(folded: str) -> bool:
    """Whether a text contains an English number word."""
    return not NUMBER_WORDS.isdisjoint(_LETTERS.findall(folded))


def find_plain(folded: str, digits: str) -> int:
    """The place of `digits` as a whole number that is not part of a longer one; -1 if there is none.

    Every match is also a reading of `numbers_in`; numbers in other forms are not found.
    """
    place = folded.find(digits)
    while place >= 0:
        end = place + len(digits)
        before, after = folded[max(0, place - 2) : place], folded[end : end + 2]
        joined = before[-1:] in _DIGITS or (before[-1:] in _MARKS and before[:-1] in _DIGITS)
        joined = joined or after[:1] in _DIGITS or (after[:1] in _MARKS and after[1:] in _DIGITS)
        if not joined and _stands_alone(folded, place, end):
            return place
        place = folded.find(digits, place + 1)
    return -1


def _stands_alone(folded: str, start: int, end: int) -> bool:
    """Whether digits do not form a longer number with the words and numerals around them."""
    before, after = folded[max(0, start - _BESIDE) : start], folded[end : end + _BESIDE]
    before, after = _AND_BEFORE.sub("", before), _AND_AFTER.sub("", after)
    if before[-1:] in _NUMERALS or after[:1] in _NUMERALS:
        return False
    last, first = _LAST_WORD.search(before), _LETTERS.match(after)
    return not (last and is_number_word(last[0])) and not (first and is_number_word(first[0]))


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


class _Token(NamedTuple):
    """A word or digits, and their place. `amount`: the value of plain digits; None for words and other digits."""

    text: str
    start: int
    end: int
    amount: Decimal | None = None


def _tokens(folded: str, taken: Sequence[tuple[int, int]]) -> tuple[list[_Token], list[_Token]]:
    """Words and plain digits, in order, and digits with several marks. `taken`: the places of Chinese numerals."""
    words: list[_Token] = []
    blobs: list[_Token] = []
    covered = {place for start, end in taken for place in range(start, end)} if taken else frozenset()
    for match in _BLOB.finditer(folded):
        if match.start() not in covered and match.end() - 1 not in covered:
            is_plain = _PLAIN.fullmatch(match[0])
            token = _Token(match[0], *match.span(), Decimal(match[0]) if is_plain else None)
            (words if is_plain else blobs).append(token)
    if says_numbers(folded):
        for match in _LETTERS.finditer(folded):
            word = match[0] if match[0] in NUMBER_WORDS else match[0].removesuffix("s")
            if word in NUMBER_WORDS:
                words.append(_Token(word, match.start(), match.start() + len(word)))
        words.sort(key=attrgetter("start"))
    return words, blobs


def _blob_readings(token: _Token) -> Iterator[Reading]:
    """The numbers in digits joined by marks: list items or a decimal comma, but no dates, times or versions."""
    text = token.text
    if ":" in text or "/" in text or ("." in text and "," not in text):
        return
    place = token.start
    whole, _, decimals = text.partition(",")
    # A single digit right after a comma is no list item. With a point before it, only 1.234,5 is a number.
    if decimals.isdigit() and len(decimals) == 1 and ("." not in whole or _CONTINENTAL.fullmatch(whole)):
        yield Reading(Decimal(f"{whole.replace('.', '')}.{decimals}"), token.start, token.end)
        return
    for part in text.split(","):
        if part.count(".") < 2:
            yield Reading(Decimal(part), place, place + len(part))
        place += len(part) + 1
    if text.count(",") == 1 and "." not in text:
        yield Reading(Decimal(text.replace(",", ".")), token.start, token.end)


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


class _SaidNumber(NamedTuple):
    """A complete number, and its place."""

    value: Decimal
    form: str
    start: int
    end: int


def _word_readings(folded: str, tokens: Sequence[_Token]) -> Iterator[Reading]:
    """Numbers in words and plain digits. Those close enough to form one number are read together."""
    run: list[_Token] = []
    for token in (*tokens, None):
        if token is not None and (not run or _BETWEEN.fullmatch(folded, run[-1].end, token.start)):
            run.append(token)
            continue
        if len(run) == 1 and (value := run[0].amount or _ALONE.get(run[0].text)) is not None:  # as most numbers do
            yield Reading(value, run[0].start, run[0].end)
        elif run:
            yield from _said_as_one(folded, list(_parts(folded, run)))
        run = [] if token is None else [token]


def _parts(folded: str, run: Sequence[_Token]) -> Iterator[_SaidNumber]:
    """The numbers in a run of tokens by grammar alone, each as long as possible."""
    place = 0
    while place < len(run):
        first = place
        article = 2 if _ARTICLE.match(folded, max(0, run[first].start - 2)) else 0
        number: _Number | None = _grown(_Number(), run[first], "", bool(article))
        last = number
        while number is not None:
            last, place = number, place + 1
            if place == len(run) or number.closed:
                break
            between = folded[run[place - 1].end : run[place].start]
            number = _grown(number, run[place], between, False)
        if last is None:
            place += 1
        elif last.form != "second" or place > first + 1:
            begins = run[first].start - (article if run[first].text == "hundred" or run[first].text in _POWERS else 0)
            yield _SaidNumber(last.total + last.section, last.form, begins, run[place - 1].end)


def _grown(number: _Number, token: _Token, between: str, article: bool) -> _Number | None:
    """A number with one more token; None if the token does not continue it. `article`: whether "a" comes before it."""
    begins = not number.form
    if not begins and not _continues(between, number.form, token):
        return None
    total, section, least, form, _ = number
    word = token.text
    if token.amount is not None:
        below = Decimal(100) if section else min(least, Decimal(1000))
        fits = begins or (form == "large" and token.amount < below and section % 100 == 0)
        return number._replace(section=section + token.amount, form=form or "digits") if fits else None
    if word == "oh":
        return number._replace(form="oh", closed=True) if begins else None
    value = TENS.get(word, SMALL.get(word, ORDINALS.get(word)))
    if value is not None:
        if not begins and not _takes(section, value, form):
            return None
        form = "second" if begins and word == "second" else form or ("unit" if value < 10 else "small")
        return number._replace(section=section + value, form=form, closed=word in ORDINALS)
    if begins and article:
        section = Decimal(1)
    if word in ("hundred", "hundredth"):
        fits = 0 < section < 100 and section % 100 > 0
        return number._replace(section=section * 100, form="large", closed=word == "hundredth") if fits else None
    worth = Decimal(_POWERS[word.removesuffix("th")])
    if not section or worth >= least:
        return None
    return _Number(total + section * worth, Decimal(0), worth, "large", word.endswith("th"))


def _takes(section: Decimal, value: int, form: str) -> bool:
    """Whether a word below a hundred may follow: after a round ten a unit, after a round hundred any."""
    if section % 100 == 0:
        return form == "large" and value > 0
    return 0 < value < 10 and section % 100 >= 20 and section % 10 == 0 and form != "digits"


def _continues(between: str, form: str, token: _Token) -> bool:
    """Whether a token may continue a number, given the text between them.

    "And" and commas only follow a hundred or a power, and no power follows them.
    """
    return between.strip(" -") == "" or (form == "large" and token.text not in _POWERS)


def _said_as_one(folded: str, parts: Sequence[_SaidNumber]) -> Iterator[Reading]:
    """Join parts spoken as one number: four seventeen is 417, thirty-one seventy-four 3174, four one seven 417."""
    place = 0
    while place < len(parts):
        close = list(islice(_close(folded, parts, place), 3))
        one, forms = close[0], [part.form for part in close]
        taken = 1
        value: Decimal | None = one.value
        if one.form == "unit" and len(forms) == 3 and set(forms) <= _SINGLE:
            close = list(takewhile(lambda part: part.form in _SINGLE, _close(folded, parts, place)))
            value, taken = Decimal("".join(str(part.value) for part in close)), len(close)
        elif one.form in ("unit", "small") and one.value > 0:
            if forms[1:2] == ["small"]:
                value, taken = one.value * 100 + close[1].value, 2
            elif forms[1:3] == ["oh", "unit"]:
                value, taken = one.value * 100 + close[2].value, 3
        elif one.form == "oh":
            value = None
        if value is not None:
            yield Reading(value, one.start, close[taken - 1].end)
        place += taken


def _close(folded: str, parts: Sequence[_SaidNumber], place: int) -> Iterator[_SaidNumber]:
    """A part, and those after it, as long as only a space or a hyphen separates them."""
    yield parts[place]
    for following in range(place + 1, len(parts)):
        if folded[parts[following - 1].end : parts[following].start] not in (" ", "-"):
            return
        yield parts[following]
