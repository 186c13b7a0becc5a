"""Reads values as a language's file says they are written, in addition to what is read in every text.

Texts are folded; letters that a language's file folds (é to e) are replaced one for one, so that positions do not
change.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

from niah_score.text.fold import arabic_letters, fold, simplified, without_accents
from niah_score.text.language import Language, MatchingRules, find_language
from niah_score.text.money import Amount, with_currency
from niah_score.text.numerals import han_number, numbers_in
from niah_score.text.patterns import Reading, late
from niah_score.text.times import DAYS_OF, Day, around

# A value of any kind, its start and its end.
Found = tuple[Any, int, int]
Located = TypeVar("Located", bound=Found)

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


class _Patterns(NamedTuple):
    """The patterns and tables for reading a language's values.

    `counts`: number words, with one space for spaces and hyphens. `grouped`: numbers in digits, with marks
    between thousands and before decimals. `run`: number words, in the group `run`; `between`: what separates two of
    them. `months`: the number of each month name. `before_noon`, `after_noon`: words for the half of the day. `money`:
    words after a number, in the group `word`; `codes`: the currency of each word.
    """

    letters: Mapping[int, str]
    bare_hundreds: bool
    grouped: re.Pattern[str]
    run: re.Pattern[str]
    token: re.Pattern[str]
    counts: Mapping[str, int]
    articles: frozenset[str]
    joints: re.Pattern[str]
    between: re.Pattern[str]
    dates: tuple[re.Pattern[str], ...]
    months: Mapping[str, int]
    times: tuple[re.Pattern[str], ...]
    before_noon: re.Pattern[str]
    after_noon: re.Pattern[str]
    money: re.Pattern[str]
    codes: Mapping[str, str]


def in_letters_of(folded: str, code: str) -> str:
    """A folded text with the letters that a language compares as others replaced by those; positions do not change."""
    letters = patterns_of(code).letters if code and not folded.isascii() else None
    return folded.translate(letters) if letters else folded


def folded_pattern(pattern: str, rules: MatchingRules) -> str:
    """A regular expression of a language file for use on folded texts: only letters are changed, one for one."""
    letters = {ord(one): other for one, other in rules.letters.items()}
    return _ESCAPE_OR_TEXT.sub(
        lambda match: match[0] if match[0][0] == "\\" else without_accents(match[0].translate(letters)),
        arabic_letters(simplified(pattern)),
    )


def patterns_of(code: str) -> _Patterns:
    """The patterns for reading a language's values. Raises LanguageError if the language has no file."""
    return _compiled(find_language(code))


@lru_cache(maxsize=64)
def _compiled(language: Language) -> _Patterns:
    rules = language.matching or MatchingRules()
    letters = {ord(one): other for one, other in rules.letters.items()}

    def plain(text: str) -> str:
        return fold(text).translate(letters)

    def any_of(words: Sequence[str], edges: bool = True) -> re.Pattern[str]:
        if not words:
            return _NEVER
        inner = "|".join(re.escape(plain(word)) for word in sorted(words, key=len, reverse=True))
        edged = edges and language.words == "spaces"
        return re.compile(f"{_NO_LETTER_BEFORE}(?:{inner}){_NO_LETTER_AFTER}" if edged else f"(?:{inner})")

    counts = {_one_space(plain(word)): count for word, count in rules.numbers.items()}
    tokens = sorted(counts, key=len, reverse=True)
    token = "|".join(re.escape(word).replace(r"\ ", r"[\s-]+") for word in tokens) or "(?!)"
    joints = "|".join(re.escape(plain(word)) for word in rules.number_joints) or "(?!)"
    between = rf"[\s-]+(?:(?:{joints})[\s-]*)?"
    digits = rf"(?:(?<!\d)\d++{between})?"
    months = {plain(name): number for number, names in enumerate(rules.months, 1) for name in names}
    return _Patterns(
        letters=letters,
        bare_hundreds=rules.bare_hundreds,
        grouped=_grouped(rules),
        run=re.compile(
            rf"{_NO_LETTER_BEFORE}(?:(?:{joints})\s*)?"
            rf"(?P<run>{digits}(?:{token})(?:{between}(?:{token}))*){_NO_LETTER_AFTER}"
        ),
        token=re.compile(rf"\d+|{token}"),
        counts=counts,
        articles=frozenset(map(plain, rules.articles)),
        joints=re.compile(joints),
        between=re.compile(rf"{between}(?={token}|\d)"),
        dates=tuple(_date_pattern(plain(form), months) for form in rules.dates if months),
        months=months,
        times=tuple(_time_pattern(plain(form)) for form in rules.times),
        before_noon=any_of(rules.before_noon),
        after_noon=any_of(rules.after_noon),
        money=re.compile(rf"[\s-]?(?P<word>{any_of([w for words in rules.money.values() for w in words]).pattern})"),
        codes={plain(word): code for code, words in rules.money.items() for word in words},
    )


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
    names = "|".join(map(re.escape, sorted(months, key=len, reverse=True)))
    pattern = re.escape(form).replace(r"\ ", r"\s+").replace(re.escape("{day}"), r"(?P<day>\d{1,2})")
    pattern = pattern.replace(re.escape("{month}"), rf"(?P<month>{names})")
    # The year may follow after a short word: 14 de noviembre de 1931.
    year = r"(?:,?\s(?:\w{2,3}\s)?(?P<year>\d{4})(?!\d))?"
    return re.compile(rf"(?<![^\W_])(?<![\d.,/]){pattern}(?![^\W_]){year}")


def _time_pattern(form: str) -> re.Pattern[str]:
    pattern = re.escape(form).replace(r"\ ", r"\s?")
    pattern = pattern.replace(re.escape("{hour}"), r"(?P<hour>[01]?\d|2[0-4])")
    pattern = pattern.replace(re.escape("{minute}"), r"(?P<minute>[0-5]\d)")
    return re.compile(rf"(?<!\d)(?<!\d[.,:]){pattern}(?!\d)(?![.:]\d\d:)")


# Readers -------------------------------------------------------------------------------------------------------------


def own_values(folded: str, kind: str, code: str) -> list[Found]:
    """The values of a kind that a folded text writes by a language's own rules, in order."""
    reader = _READERS.get(kind.partition(":")[0])
    if reader is None:
        return []
    patterns = patterns_of(code)
    return sorted(reader(in_letters_of(folded, code), patterns), key=lambda reading: reading[1:])


def own_whole(folded: str, kind: str, code: str) -> frozenset[Any]:
    """The values that a whole folded text may mean by a language's own rules; times may name a half of the day."""
    patterns = patterns_of(code)
    text = folded.translate(patterns.letters)
    values = set()
    for value, start, end in own_values(folded, kind, code):
        rest = text[:start] + " " + text[end:]
        if kind == "time":
            rest = patterns.before_noon.sub("", patterns.after_noon.sub("", rest))
        if not rest.strip(" ."):
            values.add(value)
    return frozenset(values)


def apart(values: Sequence[Located], own: Sequence[Found], touching: bool = False) -> list[Located]:
    """The values that lie in none of some others. `touching`: those that do not overlap any."""
    places = sorted((start, end) for _, start, end in own)
    starts = [start for start, _ in places]
    reached = list(accumulate((end for _, end in places), max, initial=-1))
    if touching:
        return [value for value in values if reached[bisect_left(starts, value[2])] <= value[1]]
    return [value for value in values if reached[bisect_right(starts, value[1])] < value[2]]


def _numbers(text: str, patterns: _Patterns) -> Iterator[Found]:
    for match in patterns.grouped.finditer(text):
        mark = match.groupdict().get("mark")
        digits = match[0].replace(mark, "") if mark else match[0]
        yield Decimal(digits.replace(",", ".")), *match.span()
        if mark == "." and _ONE_POINT.fullmatch(match[0]):
            yield Decimal(match[0]), *match.span()  # some writers use decimal points anyway
    for match in _KANJI.finditer(text) if patterns.bare_hundreds else ():
        value = han_number(_LAST.sub("零", _BARE.sub("一", match[0])))
        if value is not None:
            yield value, *match.span()
    for match in patterns.run.finditer(text):
        yield from _composed(text, match.start("run"), match.end("run"), patterns)


class _CountWord(NamedTuple):
    """A number word, or digits before one: its value and its place."""

    worth: int
    start: int
    end: int
    in_digits: bool


def _composed(text: str, start: int, end: int, patterns: _Patterns) -> Iterator[Found]:
    """The numbers in a run of words, each as long as possible; an article alone is none."""
    tokens = [_count_word(match, patterns) for match in _words_of(text, start, end, patterns)]
    place = 0
    while place < len(tokens):
        first = place
        total, section, least = 0, 0, 10**15
        while place < len(tokens):
            is_first = place == first
            joined = not is_first and bool(patterns.joints.search(text, tokens[place - 1].end, tokens[place].start))
            grown = _grown(total, section, least, tokens[place], is_first, joined)
            if grown is None:
                break
            total, section, least = grown
            place += 1
        if place == first:
            place += 1
            continue
        one = text[tokens[first].start : tokens[place - 1].end]
        in_words = any(not token.in_digits for token in tokens[first:place])
        if in_words and one not in patterns.articles:
            yield Decimal(total + section), tokens[first].start, tokens[place - 1].end


def _words_of(text: str, start: int, end: int, patterns: _Patterns) -> Iterator[re.Match[str]]:
    """The words of a run in order; in Arabic, a joint is written together with the next word."""
    while start < end and (word := patterns.token.match(text, start, end)):
        yield word
        gap = patterns.between.match(text, word.end(), end)
        start = gap.end() if gap else end


def _count_word(match: re.Match[str], patterns: _Patterns) -> _CountWord:
    in_digits = match[0].isdecimal()
    worth = int(match[0]) if in_digits else patterns.counts[_one_space(match[0])]
    return _CountWord(worth, match.start(), match.end(), in_digits)


def _grown(
    total: int, section: int, least: int, token: _CountWord, is_first: bool, joined: bool
) -> tuple[int, int, int] | None:
    """A number with one more word: its finished total, the section that a power multiplies, and the last power."""
    count = token.worth
    if token.in_digits:
        return (0, count, least) if is_first else None
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


def _times(text: str, patterns: _Patterns) -> Iterator[Found]:
    for pattern in patterns.times:
        for match in pattern.finditer(text):
            hour, minute = int(match["hour"]), int(match["minute"])
            near = "|".join(around(text, *match.span(), _CLAUSE_END, _NEAR))
            if patterns.after_noon.search(near):
                hour += 12 * (hour < 12)
            elif patterns.before_noon.search(near):
                if hour > 12:
                    continue
                hour %= 12
            yield (hour * 60 + minute) % (24 * 60), *match.span()


def _dates(text: str, patterns: _Patterns) -> Iterator[Found]:
    for pattern in patterns.dates:
        for match in pattern.finditer(text):
            month, day = patterns.months[match["month"]], int(match["day"])
            if 1 <= day <= DAYS_OF[month - 1]:
                yield Day(month, day, int(match["year"]) if match["year"] else None), *match.span()


def _amounts(text: str, patterns: _Patterns) -> Iterator[Found]:
    own = [Reading(*reading) for reading in _numbers(text, patterns)]
    numbers = [*own, *apart(numbers_in(text), own)]
    for value, start, end in numbers:
        priced = with_currency(text, Reading(value, start, end))
        word = patterns.money.match(text, end)
        if word and not priced.currencies:
            code = patterns.codes[word["word"]]
            yield Amount(value, frozenset((code,))), start, word.end()
        elif priced.end > end or priced.start < start:
            yield Amount(priced.worth, priced.currencies), priced.start, priced.end
        else:
            yield Amount(value, frozenset()), start, end


_READERS: Mapping[str, Callable[[str, _Patterns], Iterator[Found]]] = {
    "number": _numbers, "time": _times, "date": _dates, "amount": _amounts,
}  # fmt: skip
