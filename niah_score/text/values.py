"""Defines the kinds of facts, and reads their values in folded text: numbers, times, dates, amounts of money.

A kind is `text`, `number`, `time`, `date`, `lunar_date`, `amount:` and the ISO code of a currency, or `pair:` and the
owner of the fact ("pair:the upper team" for its colour), with alternative names after a |.

In addition to what is read in every text, values are read as a language's file says they are written: letters that it
folds (é to e) are replaced one for one, so that positions do not change.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import accumulate
from typing import Any

from niah_score.text.fold import WHOLE, Reading, arabic_letters, fold, in_windows, late, simplified, without_accents
from niah_score.text.language import Language, MatchingRules, find_language
from niah_score.text.money import CODES, Amount, amount_of, amounts_in, with_currency
from niah_score.text.numerals import han_number, is_plain_number, number_of, numbers_in
from niah_score.text.times import (
    DAYS_OF,
    Day,
    around,
    date_of,
    dates_in,
    lunar_date_of,
    lunar_dates_in,
    times_in,
    times_of,
)

_POWERS = frozenset((10**3, 10**6, 10**9, 10**12))
_NO_LETTER_BEFORE, _NO_LETTER_AFTER = r"(?<![^\W\d_])", r"(?![^\W\d_])"
_NO_DIGIT_AFTER = r"(?!\d)(?![.,]\d)"
_CLAUSE_END = late(r"[;!?。；！？，、،؛؟\n]|, |\. |\.$")
_NEAR = 32  # code points on either side of a time in which a half of the day is looked for
_ONE_POINT = late(r"\d+\.\d+")
_NEVER = late("(?!)")
# An escape in a regular expression, whose letter is not text, or the text up to the next escape.
_ESCAPE_OR_TEXT = late(r"(?s)\\.|[^\\]+")
_KANJI = late("(?<![〇零一二三四五六七八九十百千万亿])[〇零一二三四五六七八九十百千万亿]{2,}")
# 三百一 is 301, not 310 as in Chinese.
_LAST = late("(?<=[百千万亿])(?=[一二三四五六七八九]$)")
_BARE = late("(?<![二三四五六七八九一])(?=[百千])")


def in_letters_of(folded: str, code: str) -> str:
    """A folded text with the letters that a language compares as others replaced by those; positions do not change."""
    letters = own_rules(code).letters if code and not folded.isascii() else None
    return folded.translate(letters) if letters else folded


def folded_pattern(pattern: str, rules: MatchingRules) -> str:
    """A regular expression of a language file for use on folded texts: only letters are changed, one for one."""
    letters = {ord(one): other for one, other in rules.letters.items()}
    return _ESCAPE_OR_TEXT.sub(
        lambda match: match[0] if match[0][0] == "\\" else without_accents(match[0].translate(letters)),
        arabic_letters(simplified(pattern)),
    )


class OwnRules:
    """How a language writes values, in addition to what is read in every text, as patterns for folded texts."""

    def __init__(self, language: Language) -> None:
        rules = language.matching or MatchingRules()
        self.letters = {ord(one): other for one, other in rules.letters.items()}
        self.bare_hundreds = rules.bare_hundreds
        self.grouped = _grouped(rules)
        # Number words, with one space for spaces and hyphens.
        self.counts = {_one_space(self.plain(word)): count for word, count in rules.numbers.items()}
        token = _any_of(self.counts).replace(r"\ ", r"[\s-]+")
        joints = _any_of(map(self.plain, rules.number_joints))
        between = rf"[\s-]+(?:(?:{joints})[\s-]*)?"
        words = rf"(?:(?<!\d)\d++{between})?(?:{token})(?:{between}(?:{token}))*"
        self.run = re.compile(rf"{_NO_LETTER_BEFORE}(?:(?:{joints})\s*)?(?P<run>{words}){_NO_LETTER_AFTER}")
        self.token = re.compile(rf"\d+|{token}")
        self.articles = frozenset(map(self.plain, rules.articles))
        self.joints = re.compile(joints)
        self.between = re.compile(rf"{between}(?={token}|\d)")
        self.months = {self.plain(name): number for number, names in enumerate(rules.months, 1) for name in names}
        self.dates = [_date_pattern(self.plain(form), self.months) for form in rules.dates if self.months]
        self.times = [_time_pattern(self.plain(form)) for form in rules.times]
        edges = (_NO_LETTER_BEFORE, _NO_LETTER_AFTER) if language.words == "spaces" else ("", "")
        self.before_noon, self.after_noon, money = (
            re.compile(f"{edges[0]}(?:{_any_of(map(self.plain, words))}){edges[1]}")
            for words in (rules.before_noon, rules.after_noon, [one for words in rules.money.values() for one in words])
        )
        self.money = re.compile(rf"[\s-]?(?P<word>{money.pattern})")
        self.codes = {self.plain(word): code for code, words in rules.money.items() for word in words}

    def plain(self, text: str) -> str:
        """A text of the language's file as it is in folded texts."""
        return fold(text).translate(self.letters)

    def values(self, text: str, kind: str) -> list[Reading]:
        """The values of a kind that a text in the language's letters writes by its own rules, in order."""
        read = {"number": self._numbers, "time": self._times, "date": self._dates, "amount": self._amounts}.get(kind)
        return sorted(read(text), key=lambda reading: reading[1:]) if read else []

    def _numbers(self, text: str) -> Iterator[Reading]:
        for match in self.grouped.finditer(text):
            mark = match.groupdict().get("mark")
            digits = match[0].replace(mark, "") if mark else match[0]
            yield Reading(Decimal(digits.replace(",", ".")), *match.span())
            if mark == "." and _ONE_POINT.fullmatch(match[0]):
                yield Reading(Decimal(match[0]), *match.span())  # some writers use decimal points anyway
        for match in _KANJI.finditer(text) if self.bare_hundreds else ():
            value = han_number(_LAST.sub("零", _BARE.sub("一", match[0])))
            if value is not None:
                yield Reading(value, *match.span())
        for match in self.run.finditer(text):
            yield from self._composed(text, *match.span("run"))

    def _composed(self, text: str, start: int, end: int) -> Iterator[Reading]:
        """The numbers in a run of words, each as long as possible; an article alone is none."""
        tokens = []
        # In Arabic, a joint is written together with the next word.
        while start < end and (match := self.token.match(text, start, end)):
            tokens.append(Reading(match[0], *match.span()))
            gap = self.between.match(text, match.end(), end)
            start = gap.end() if gap else end
        place = 0
        while place < len(tokens):
            first, before = place, None
            grown: tuple[int, int, int] | None = (0, 0, 10**15)
            while grown is not None:
                total, section, _ = grown
                if place == len(tokens):
                    break
                joined = before is not None and bool(self.joints.search(text, before.end, tokens[place].start))
                grown = self._grown(*grown, tokens[place], before is None, joined)
                if grown is not None:
                    before, place = tokens[place], place + 1
            if before is None:
                place += 1
                continue
            whole = Reading(Decimal(total + section), tokens[first].start, before.end)
            in_words = any(not token.value.isdecimal() for token in tokens[first:place])
            if in_words and text[whole.start : whole.end] not in self.articles:
                yield whole

    def _grown(
        self, total: int, section: int, least: int, token: Reading, is_first: bool, joined: bool
    ) -> tuple[int, int, int] | None:
        """A number with one more word: its finished total, the section that a power multiplies, and the last power."""
        if token.value.isdecimal():
            return (0, int(token.value), least) if is_first else None
        count = self.counts[_one_space(token.value)]
        if count in _POWERS:
            return (total + (section or 1) * count, 0, count) if count < least else None
        if count == 100 and section < 20:
            return total, (section or 1) * 100, least
        if count >= 1000:
            return (total + count, 0, 1000) if not section and least > 1000 else None
        if count >= 100:
            return (total, count, least) if not section else None
        below = section % 100
        fits = (
            (not below and (is_first or section >= 100 or (total > 0 and not section)) and (count > 0 or is_first))
            or (below >= 20 and below % 10 == 0 and 0 < count < 10)
            or (below in (60, 80) and 10 <= count < 20)
            # As in "seven and twenty".
            or (joined and 0 < below < 10 and count >= 20 and count % 10 == 0)
        )
        return (total, section + count, least) if fits else None

    def _times(self, text: str) -> Iterator[Reading]:
        for match in (match for pattern in self.times for match in pattern.finditer(text)):
            hour, minute = int(match["hour"]), int(match["minute"])
            near = "|".join(around(text, *match.span(), _CLAUSE_END, _NEAR))
            if self.after_noon.search(near):
                hour += 12 * (hour < 12)
            elif self.before_noon.search(near):
                if hour > 12:
                    continue
                hour %= 12
            yield Reading((hour * 60 + minute) % (24 * 60), *match.span())

    def _dates(self, text: str) -> Iterator[Reading]:
        for match in (match for pattern in self.dates for match in pattern.finditer(text)):
            month, day = self.months[match["month"]], int(match["day"])
            if 1 <= day <= DAYS_OF[month - 1]:
                yield Reading(Day(month, day, int(match["year"]) if match["year"] else None), *match.span())

    def _amounts(self, text: str) -> Iterator[Reading]:
        own = list(self._numbers(text))
        for number in (*own, *apart(numbers_in(text), own)):
            priced = with_currency(text, number)
            word = self.money.match(text, number.end)
            if word and not priced.currencies:
                code = self.codes[word["word"]]
                yield Reading(Amount(number.value, frozenset((code,))), number.start, word.end())
            else:
                yield Reading(Amount(priced.worth, priced.currencies), priced.start, priced.end)


@lru_cache(maxsize=64)
def _compiled(language: Language) -> OwnRules:
    return OwnRules(language)


def own_rules(code: str) -> OwnRules:
    """A language's own rules. Raises LanguageError if the language has no file."""
    return _compiled(find_language(code))


def _any_of(words: Iterable[str]) -> str:
    """A pattern for any of some words, the longest first; for none, one that matches nothing."""
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True))) or "(?!)"


def _one_space(text: str) -> str:
    return re.sub(r"[\s-]+", " ", text)


def _grouped(rules: MatchingRules) -> re.Pattern[str]:
    """A pattern for digits with marks between thousands, or with the language's decimal mark."""
    decimals = rf"(?:{re.escape(rules.decimal)}\d+)"
    forms = []
    if rules.thousands:
        forms.append(rf"\d{{1,3}}(?P<mark>[{re.escape(rules.thousands)}])\d{{3}}(?:(?P=mark)\d{{3}})*{decimals}?")
    if rules.decimal != ".":
        forms.append(rf"\d+{decimals}")
    return re.compile(rf"(?<!\d)(?<!\d[.,:/])(?:{'|'.join(forms)}){_NO_DIGIT_AFTER}") if forms else _NEVER


def _date_pattern(form: str, months: Mapping[str, int]) -> re.Pattern[str]:
    pattern = re.escape(form).replace(r"\ ", r"\s+").replace(re.escape("{day}"), r"(?P<day>\d{1,2})")
    pattern = pattern.replace(re.escape("{month}"), rf"(?P<month>{_any_of(months)})")
    # The year may follow after a short word: 14 de noviembre de 1931.
    year = r"(?:,?\s(?:\w{2,3}\s)?(?P<year>\d{4})(?!\d))?"
    return re.compile(rf"(?<![^\W_])(?<![\d.,/]){pattern}(?![^\W_]){year}")


def _time_pattern(form: str) -> re.Pattern[str]:
    pattern = re.escape(form).replace(r"\ ", r"\s?")
    pattern = pattern.replace(re.escape("{hour}"), r"(?P<hour>[01]?\d|2[0-4])")
    pattern = pattern.replace(re.escape("{minute}"), r"(?P<minute>[0-5]\d)")
    return re.compile(rf"(?<!\d)(?<!\d[.,:]){pattern}(?!\d)(?![.:]\d\d:)")


def own_values(folded: str, kind: str, code: str) -> list[Reading]:
    """The values of a kind that a folded text writes by a language's own rules, in order."""
    return own_rules(code).values(in_letters_of(folded, code), kind.partition(":")[0])


def own_whole(folded: str, kind: str, code: str) -> frozenset[Any]:
    """The values that a whole folded text may mean by a language's own rules; times may name a half of the day."""
    rules, text, values = own_rules(code), in_letters_of(folded, code), set()
    for value, start, end in own_values(folded, kind, code):
        rest = text[:start] + " " + text[end:]
        if kind == "time":
            rest = rules.before_noon.sub("", rules.after_noon.sub("", rest))
        if not rest.strip(" ."):
            values.add(value)
    return frozenset(values)


def apart(values: Sequence[Reading], own: Sequence[Reading], touching: bool = False) -> list[Reading]:
    """The values that lie in none of some others. `touching`: those that do not overlap any."""
    places = sorted((start, end) for _, start, end in own)
    starts = [start for start, _ in places]
    reached = list(accumulate((end for _, end in places), max, initial=-1))
    if touching:
        return [value for value in values if reached[bisect_left(starts, value[2])] <= value[1]]
    return [value for value in values if reached[bisect_right(starts, value[1])] < value[2]]


TEXT = "text"
AMOUNT = "amount:"
PAIR = "pair:"


def _one(parse: Callable[[str], Any]) -> Callable[[str], frozenset[Any]]:
    def parse_all(folded: str) -> frozenset[Any]:
        value = parse(folded)
        return frozenset() if value is None else frozenset((value,))

    return parse_all


def _amounts(folded: str) -> frozenset[Any]:
    amount = amount_of(folded)
    if amount is not None:
        return frozenset((amount,))
    number = number_of(folded)
    return frozenset() if number is None else frozenset((Amount(number, frozenset()),))


# For each kind, the values in a folded text, and those that a whole folded text may mean.
_KINDS: Mapping[str, tuple[Callable[[str], list[Reading]], Callable[[str], frozenset[Any]]]] = {
    "number": (numbers_in, _one(number_of)), "time": (times_in, times_of), "date": (dates_in, _one(date_of)),
    "lunar_date": (lunar_dates_in, _one(lunar_date_of)), "amount": (amounts_in, _amounts),
}  # fmt: skip
# The kinds that a text is tried for, after amounts with a currency; one without a currency is a number.
_RECOGNISED = ("number", "time", "date", "lunar_date")


def is_kind(kind: str) -> bool:
    """Whether a text is the name of a kind."""
    if kind.startswith(PAIR):
        return all(name.strip() for name in kind.removeprefix(PAIR).split("|"))
    return kind == TEXT or kind in _RECOGNISED or (kind.startswith(AMOUNT) and kind.removeprefix(AMOUNT) in CODES)


def kinds_expected() -> str:
    """A list of the kinds, for messages."""
    return f"{TEXT}, {', '.join(_RECOGNISED)}, amount: and a currency such as GBP, or pair: and an owner"


def kind_of(folded: str) -> str:
    """The kind of the fact that a whole folded text states; `text` if it is no value.

    Days are recognised only if they name their month, as 02-23 might be a code.
    """
    if is_plain_number(folded):
        return "number"
    if len(folded) > WHOLE:
        return TEXT
    amount = amount_of(folded)
    if amount is not None and amount.currencies:
        return AMOUNT + min(amount.currencies, key=lambda code: (code != "USD", code != "CNY", code))
    for kind in _RECOGNISED:
        if parsed(folded, kind) and (kind != "date" or any(char.isalpha() for char in folded)):
            return kind
    return TEXT


def parsed(folded: str, kind: str, language: str = "") -> frozenset[Any]:
    """The values of a kind that a whole folded text may mean; none for the kind `text`.

    `language`: one whose own rules are used in addition to those for every text; empty for none.
    """
    if kind == TEXT or kind.startswith(PAIR) or len(folded) > WHOLE:
        return frozenset()
    values = _KINDS[kind.partition(":")[0]][1](folded)
    if language:
        values |= own_whole(folded, kind, language)
    code = kind.removeprefix(AMOUNT)
    if kind.startswith(AMOUNT):
        values = frozenset(
            Amount(amount.value, frozenset((code,)))
            for amount in values
            if not amount.currencies or code in amount.currencies
        )
    return values


def values_in(folded: str, kind: str, language: str = "") -> Sequence[Reading]:
    """The values of a kind in a folded text, in order. `language`: as in `parsed`.

    The rules for every text count only where the language's own read nothing: in French, 1 234,5 holds no 234.5; a time
    gives way to one that it overlaps.
    """
    return _values_in(folded, kind.partition(":")[0], language)


# The same text is often searched for several facts, one after the other.
@lru_cache(maxsize=64)
def _values_in(folded: str, kind: str, language: str) -> Sequence[Reading]:
    if kind not in _KINDS:
        return ()
    values = in_windows(folded, _KINDS[kind][0])
    own = in_windows(folded, lambda text: own_values(text, kind, language)) if language else []
    if own:
        kept = apart(values, own, touching=kind == "time")
        values = sorted(dict.fromkeys((*own, *kept)), key=lambda value: (value.start, value.end))
    return tuple(values)


@lru_cache(maxsize=64)
def places_of(folded: str, kind: str, language: str) -> Mapping[Any, list[Reading]]:
    """The values of `values_in`, by value."""
    places: dict[Any, list[Reading]] = {}
    for value in values_in(folded, kind, language):
        places.setdefault(value.value, []).append(value)
    return places


@lru_cache(maxsize=8_192)
def values_held(folded: str, kind: str) -> frozenset[Any]:
    """The distinct values of a kind in a folded text; cached, as many values are looked for in the same text."""
    return frozenset(reading.value for reading in values_in(folded, kind))


def is_same(found: Any, wanted: Any) -> bool:
    """Whether a value found in a text is the one that is wanted.

    Years are compared only if both dates have one, and currencies only if the text names one.
    """
    if isinstance(wanted, Amount):
        codes = found.currencies
        return bool(found.value == wanted.value and (not codes or not codes.isdisjoint(wanted.currencies)))
    if isinstance(wanted, Day):
        years = {found.year, wanted.year} - {None}
        return bool(found[:2] == wanted[:2] and len(years) < 2)
    return bool(found == wanted)
