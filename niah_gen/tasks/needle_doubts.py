"""Finds what makes a needle measure something other than retrieval."""

from __future__ import annotations

import re
from collections.abc import Iterator

from niah_gen.tasks.needle_library import Needle
from niah_gen.tasks.values import leading_unit, names_of, unit_in
from niah_score.text import Group, finds, first_standing, fold, group_of
from niah_score.text.language import rules_code
from niah_score.text.values import AMOUNT, PAIR, TEXT, kind_of, values_in

_TIMES = ("time", "date", "lunar_date")
_VALUES = ("number", *_TIMES)

# Values in keywords ---------------------------------------------------------------------------------------------------

# Words that may accompany a number without making it a name.
_FILLING = frozenset(
    re.findall(
        r"\w+",
        "a about an around at by for from in no nr number on the to box cabinet car chapter drawer floor gate house "
        "locker page platform room seat shelf track volume 第 号 个 约 共 在 于 柜 房 室 页 层 册 卷",
    )
)
_ANY_WORD = re.compile(r"[a-z]+|[\u4e00-\u9fff]|\d+")
# 007 and numbers of 16 digits are read as texts.
_CODE = re.compile(r"(?<!\d)0\d*(?![\d.:/-])|\d{16}")
# Lower numbers in words are parts of names: Seven Sisters, 三桥镇.
_LEAST_IN_WORDS = 13

# Questions ------------------------------------------------------------------------------------------------------------

_PAIRS = re.compile(
    r"\brespectively\b|\bin (?:that|this|the same) order\b|\beach of (?:the|these|those|them)\b"
    r"|\b(?:who|what)\b[^?,]* which \w+(?: \w+)?\?|\bwhich\b[^?,]* (?:by|to|from|with|for) whom\?"
    r"|\bbelongs? to which\b|分别|各自|依次|(?:谁|哪)[^，。？]*对应|每[支个位条艘队名家座只][^，。？]*(?:什么|哪|谁)"
    r"|各(?![种地位类式界处方]|有哪)[^，。？]{0,6}(?:什么|哪|是|穿|用|叫|属|归|住|有)"
)
_PERIODS = "year|month|week|day|night|morning|evening|hour|time|spring|summer|autumn|winter|term|season"
# "Each Michaelmas" is a time, like "each autumn", but a lower-case noun after "each" names a thing.
_EACH = re.compile(rf"\b[Ee]ach (?!(?:{_PERIODS})\b)[a-z]\w+")
_ASKS_NAME = re.compile(r"\bnames?\b|\bnamed\b|\bcall(?:s|ed)?\b|\bknown as\b|\btitles?\b|叫|名|称")
_WHO = re.compile(r"\bwh(?:o|om)\b|谁|何人|哪位|哪些人")
_WHERE = re.compile(r"\bwhere\b|哪里|哪儿|何处|何地|什么地方")
_WHEN = re.compile(r"\bwhen\b|什么时候|何时|啥时候")
_TIME_NAMED = re.compile(
    r"\b(?:times?|hours?|clock|dates?|days?|months?|calendar)\b"
    r"|几点|钟|时刻|几时|时间|几月|几号|几日|日期|日子|哪一?天"
)
_HOW_MUCH = re.compile(r"\bhow much\b|\bwhat (?:sum|amount|price)\b|多少钱|几何")
_HOW_OLD = re.compile(r"\bhow old\b|多大|几岁")

# Needles --------------------------------------------------------------------------------------------------------------

_NO_NOUN = (
    r"(?!(?:is|was|are|were|be|been|at|in|on|of|to|from|by|with|for|as|and|or|that|which|who|whom|into|near|than"
    r"|behind|after|before|under|over|called|named|not|became|remains)\s)"
)
# "A ferryman called Piet", "the slow march Farewell", up to the keyword.
_DESCRIBED = re.compile(
    r".*\b(?:[Aa]n?|[Tt]he|his|her|its|their|one) (?P<words>(?:[a-z'-]+ ){0,4}?)"
    rf"{_NO_NOUN}(?P<noun>[a-z'-]+) (?:(?:that|which|who) )?(?:is |was )?"
    r"(?:(?:called|named|christened|known as|by the name of) )?[\"“‘']?(?:[A-Z][\w'-]+ )*$"
)
_APPOSITION = re.compile(r"^, (?P<words>an? (?:[a-z'-]+ ?){1,4})")
_DESCRIBED_ZH = re.compile(r"(?P<words>[^，。]{0,6}(?:名叫|名为|叫做|叫作|唤作|叫))[“《「]?$")
_NAME = re.compile(r"[A-Z][a-z]|[\u4e00-\u9fff]")
_PLACE = re.compile(
    r"\b(?:at|in|on|near|behind|beside|under|above|into|inside|outside) (?:the|an?) "
    rf"(?P<words>(?!(?:{_PERIODS})\b)[a-z'-]+(?: [a-z'-]+)?)"
)
_CONTENT = re.compile(r"[a-z][a-z'-]{3,}|[\u4e00-\u9fff]{2,}")
_LITTLE = re.compile("[一二两三四五六七八九十几个只条把杆匹位座名叫的了是在和与及从跟由被给用为、]")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "about after also been before called each every from have into known named only other over that their them "
        "then there these they this those under until were what when where which while with within would your",
    )
)


def doubts(needle: Needle) -> list[str]:
    """What makes a needle measure something other than retrieval, a sentence each."""
    # Keywords that are regular expressions are not checked as texts or values.
    sentences = [] if needle.metric == "keyword_regex" else [*_unfound(needle), *_untyped(needle)]
    for name, text in (("question", needle.question), ("paraphrase", needle.paraphrase)):
        if text and needle.keywords:
            doubted = (*_pairs(needle, text), *_answered_otherwise(needle, text))
            sentences += [f"the {name} {doubt}" for doubt in doubted]
    return sentences


def _groups(needle: Needle) -> list[Group]:
    kinds = needle.keyword_kinds or (None,) * len(needle.keywords)
    rejects = needle.rejects or ((),) * len(needle.keywords)
    rules = rules_code(needle.language)
    return [group_of(*fact, rules) for fact in zip(needle.keywords, kinds, rejects, strict=True)]


def _unfound(needle: Needle) -> Iterator[str]:
    """Reports facts that no hidden text states, an accepted answer omits or voids, or a question gives away."""
    if not needle.keywords:
        yield "no keywords: only the wording of answers can be compared"
        return
    texts = [fold(text) for text in needle.needles]
    answers = [fold(answer) for answer in needle.answers]
    for group, spellings in zip(_groups(needle), needle.keywords, strict=True):
        named = list(spellings[:3]) + (["..."] if len(spellings) > 3 else [])
        if not any(_holds(text, group) for text in texts):
            yield f"no needle holds a keyword of {named}: the answer cannot be found"
        for place, answer in enumerate(answers):
            which = "the reference answer" if place == 0 else f"the accepted answer {needle.answers[place]!r}"
            if not _holds(answer, group):
                yield f"{which} holds no keyword of {named}: a perfect answer would count as wrong"
            elif first_standing(answer, group) is None:
                yield f"{which} voids its keyword of {named} with a reject or a negation: it would count as wrong"
        for name, text in (("question", needle.question), ("paraphrase", needle.paraphrase)):
            if _holds(fold(text), group):
                yield f"the {name} holds a keyword of {named}: repeating it would count as an answer"


def _holds(folded: str, group: Group) -> bool:
    return next(finds(folded, group), None) is not None


def _untyped(needle: Needle) -> Iterator[str]:
    """Reports numbers, times and dates that are matched only as they are spelt."""
    asked = fold(f"{needle.question} {needle.paraphrase}")
    for group, kind in zip(needle.keywords, needle.keyword_kinds, strict=False):
        word = next((word for word in group if kind == TEXT and _is_value(fold(word), asked)), None)
        if word is not None:
            yield (
                f"keyword {word!r} is a value matched as text, so that other spellings of it are missed: state the "
                'value, as in {number = 417}, {time = "19:52"}, {date = "02-23"} or {amount = 4.35, unit = "GBP"}'
            )


def _is_value(folded: str, asked: str) -> bool:
    """Whether a keyword is a value, accompanied by nothing but its unit and words of the question."""
    if kind_of(folded) != TEXT:
        return True
    if _CODE.search(folded):
        return False
    named = frozenset(_ANY_WORD.findall(asked))
    for kind in _VALUES:
        for value, start, end in values_in(folded, kind):
            in_words = not any(map(str.isdigit, folded[start:end]))
            if in_words and (kind != "number" or value < _LEAST_IN_WORDS):
                continue
            unit = leading_unit(folded[end:]) or ""
            rest = [*_ANY_WORD.findall(folded[:start]), *_ANY_WORD.findall(folded[end:].replace(unit, " ", 1))]
            if all(word in _FILLING or word in named for word in rest):
                return True
    return False


def _pairs(needle: Needle, asked: str) -> Iterator[str]:
    """Reports sets whose facts count in any pairing, although the question asks for pairs."""
    if len(needle.keywords) < 2 or any(kind.startswith(PAIR) for kind in needle.keyword_kinds):
        return
    match = _PAIRS.search(fold(asked)) or _EACH.search(asked)
    if match:
        yield (
            f"asks for pairs ({match[0].strip()!r}), but each keyword counts in any pairing: ask for the set without "
            "its order, or name the owner of each keyword (of = ...)"
        )


def _answered_otherwise(needle: Needle, asked: str) -> Iterator[str]:
    """Reports questions with right answers that count as wrong: part of the needle, or the fact in other terms."""
    folded, kinds = fold(asked), needle.keyword_kinds
    asks_name = _ASKS_NAME.search(folded) is not None
    is_chain = needle.kind == "chain"
    unit = next(_units(needle), None)
    if unit and not any(_names(folded, name) for name in names_of(unit)) and not _HOW_OLD.search(folded):
        yield f"does not name the unit, {unit!r}: an answer in another unit would be right but count as wrong"
    if is_chain and _HOW_MUCH.search(folded) and not any(_names(folded, name) for name in _currencies(needle)):
        yield "asks how much without naming a currency: an earlier link of the chain may answer; ask how many pounds"
    if _WHERE.search(folded) and not asks_name:
        place = next(_other_places(needle, folded), None)
        if set(kinds) & set(_VALUES):
            yield "asks where, but the keyword is a number: ask which drawer, room or page"
        elif is_chain:
            yield "asks where: an earlier link of the chain may answer; ask for the kind of place, such as which town"
        elif place:
            yield f"asks where, which {place!r} answers too: ask for the name of the place"
    if _WHEN.search(folded) and set(kinds) & set(_TIMES) and (is_chain or not _TIME_NAMED.search(folded)):
        yield "asks when, which an event also answers: ask at what time, or on which date"
    if not asks_name:
        described = next(_descriptions(needle, folded), None)
        if described:
            yield f"can be answered with {described!r}, which counts as wrong: ask for the name"
        elif is_chain and _WHO.search(folded):
            yield "asks who: an earlier link of the chain may answer; ask for the name"
    # The paraphrase may use other words for it.
    beside = next(_beside_keywords(needle, folded), None) if asked == needle.question else None
    if beside:
        yield (
            f"does not name {beside!r}, which the reference answer says beside its keywords: an answer with that alone "
            "counts as wrong; ask more precisely, or make it a keyword"
        )


def _units(needle: Needle) -> Iterator[str]:
    """The units, other than currencies, that follow numbers in the needles."""
    for group in _groups(needle):
        unit = unit_in(needle.needles, group.values) if group.kind == "number" else None
        if unit:
            yield unit


def _currencies(needle: Needle) -> Iterator[str]:
    for kind in needle.keyword_kinds:
        if kind.startswith(AMOUNT):
            yield from names_of(kind.removeprefix(AMOUNT))


def _names(folded: str, name: str) -> bool:
    """Whether a question names a unit. Names in letters must be whole words of at least two letters."""
    if not name.isascii() or not name.isalpha():
        return name in folded
    return len(name) > 1 and re.search(rf"(?<![a-z]){re.escape(name)}(?![a-z])", folded) is not None


def _other_places(needle: Needle, asked: str) -> Iterator[str]:
    """Other places that the needles name, such as "on the mainland"."""
    for text in needle.needles:
        for match in _PLACE.finditer(text):
            if not any(word in asked for word in match["words"].split()) and not any(needle.holds(match[0])):
                yield match[0]


def _descriptions(needle: Needle, asked: str) -> Iterator[str]:
    """What the needles call the bearers of names, such as "a ferryman", unless the question says it too."""
    who = _WHO.search(asked) is not None
    for text in needle.needles:
        for keyword in (word for group in needle.keywords for word in group if _NAME.match(word)):
            place = text.find(keyword)
            if place < 0:
                continue
            match = _DESCRIBED.search(text[:place])
            if match and fold(match["noun"]) not in asked:
                yield f"{match['words']}{match['noun']}"
            after = _APPOSITION.match(text[place + len(keyword) :])
            if who and after:
                yield after["words"].strip()
            called = _DESCRIBED_ZH.search(text[:place])
            if who and called:
                yield called["words"]


def _beside_keywords(needle: Needle, asked: str) -> Iterator[str]:
    """What the reference answer to a single needle says beyond its keywords, names and the question's words."""
    answer = needle.answers[0]
    if len(needle.needles) > 1 or answer.strip() == needle.needles[0].strip() or not all(needle.holds(answer)):
        return
    names = {fold(word) for word in re.findall(r"\b[A-Z][\w'-]+", answer) if word in needle.needles[0]}
    rest = fold(answer)
    for group in _groups(needle):
        for find in sorted(set(finds(rest, group)), reverse=True):
            rest = rest[: find.start] + "|" * (find.end - find.start) + rest[find.end :]
    for word in _CONTENT.findall(_LITTLE.sub("|", rest)):
        if word not in _COMMON and word not in names and word[: 5 if word.isascii() else 2] not in asked:
            yield word
