"""Scores whether an answer is right: it commits to exactly what is asked for; with credit for a part of it, as F1.

An answer may name more than it gives: what it weighed, took back, or says of something else. The rules:

1. What follows the last conclusion ("so the answer is", 所以) is the answer. After a correction ("wait", 不对) it is
   the next candidate other than the one taken back.
2. What is asked ("20:33?"), conceded ("although", 虽然), in brackets, or of the past (原名) is set aside.
3. To a question with one answer, the first candidate left is given, with those joined to it: "A or B", "A and B".
4. To a question for a set, every fact left is given; a rival only where it is listed as the facts are.

Where a rule would leave no candidate, it does not apply; but what is conceded is never given.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import NamedTuple

from niah_score.metrics.base import Score, Target
from niah_score.metrics.invented import CLOSING, IN_BRACKETS, OPENING, invented_items, unknown_items
from niah_score.text import Group, finds, fold, stands

# An answer that names a fact, or turns, more often is repeating itself: the first finds and the last turns suffice.
_MOST = 100
_NEAR = 16  # code points between an arrow and where it leads
_APART = 60  # code points between two candidates that are given together
_LONGEST_PART = 400  # code points of a sentence on either side of a candidate
_MORE_WORDS = 1  # how many more words than the facts a rival may have beside it in a list

# Clauses begin after these.
_BEGINS = r"(?:^|(?<=[.,;:!?…—\n(*，。；：！？、（])|(?<= [-–])|(?<=\bbut)|(?<=\band))[ *]{0,4}"
_EXCLAIMS = r"(?:oh|hmm?|no|but|wait|sorry|ah|oops|ok(?:ay)?|right|well|and)[, .…!—-]{1,4}"
_CONCLUSION = re.compile(
    rf"{_BEGINS}(?:{_EXCLAIMS})?(?:so|therefore|thus|hence|consequently|accordingly|in (?:conclusion|summary|short)"
    r"|to (?:conclude|sum up)|overall|ultimately|all in all|conclusion|which means|that means|meaning"
    r"|yes|what remains|that leaves|which leaves)\b"
    r"|\b(?:the|my)(?: final| correct| right)? answer (?:is|was|must be|should be|would be|remains)\b"
    rf"|{_BEGINS}(?:故(?![事宫意障乡])|可见|我?选|剩下)|所以|因此|因而|综上|由此|总之|总的来说|结论|也就是说|(?:答案|结果)(?:应该?|就)?[是为:]|应该?是"
)
# Before the end of a chain of facts, to a question with one answer.
_ARROW = re.compile("→|=>|->|⇒")
# What takes back the candidate before it.
_TAKEN_BACK = re.compile(
    rf"{_BEGINS}(?:{_EXCLAIMS}){{0,3}}(?:wait[, ]{{1,2}}no|no[,.:…!—-]|no wait|actually|correction|scratch that"
    r"|strike that|i misread|i was wrong|my mistake|i mean|i meant|or rather|rather,|sorry,|i correct|let me correct"
    r"|i stand corrected|on second thoughts?|on reflection)|\b(?:it|that)(?:'s| is| was) actually"
    rf"|不对|不,|{_BEGINS}(?:更正|纠正|改正)(?:一下)?[:,，]|[说看弄搞读写记]错了?[,，。]|说反|{_BEGINS}(?:其实|实际上)"
)
# After these, the answer is sought anew: it is the last candidate.
_SOUGHT_ANEW = re.compile(
    rf"{_BEGINS}(?:{_EXCLAIMS}){{0,2}}"
    r"(?:wait\b(?! (?:for|at|in|on|until))|hold on|let me (?:re|check|double|look|see))"
    r"|等等|等一下|等下|再看|重新看|再查|再核"
)
# Clauses of concession. Past names and first thoughts, too, are set aside, unless nothing else is named.
_CONCEDED = re.compile(
    r"\b(?:although|though|even though|despite|in spite of|unlike|rather than|instead of|not to be confused with)\b"
    r"[^.;:!?\n]*?(?:,|(?=[.;:!?\n]|$))|(?:虽然|尽管|固然|不同于|有别于|而不是|并非|不要与|别与)[^,，。；！？;!?\n]*"
    r"|(?:^|\n)[\s*-]{0,4}[❌✗✘][^\n]*"
)
_ASIDE = re.compile(
    r"\b(?:while|whereas|as opposed to|in contrast (?:to|with)|compared (?:to|with)|apart from|aside from"
    r"|except(?: for)?|excluding|formerly|previously|originally|initially|at first|used to|once called"
    r"|i (?:first |initially |originally )?(?:thought|took|believed|assumed|read|considered)"
    r"|(?:one|you|some) (?:might|may|could) (?:say|think|guess|expect|assume|argue))\b[^.;:!?\n]*?(?:,|(?=[.;:!?\n]|$))"
    r"|(?:虽|以前|从前|过去|再早|早先|早前|此前|之前|原来|原先|原名|本来|本名|曾|旧[名称]|起初|最初|乍看|考虑过|除了|不算)"
    r"[^,，。；！？;!?\n]*"
)
# "20:33? That is another line's."
_ASKED = re.compile(r"[\"'”’》」*_]{0,2}[\u4e00-\u9fffa-z]{0,2} ?[?？]")
# What follows a candidate that an answer goes on to set aside.
_BUT_THAT_IS = re.compile(
    r"[^.;!?\n,，。；！？]{0,16}[,，;；—–-]{1,3} ?"
    r"(?:(?:but|though|however,?) (?:that|this|it|(?:of|for) (?:another|something|someone)\w*)\b"
    r"|(?:但|但是|不过|可是?)[那这它])"
)
_BRACKETS = re.compile(rf"{OPENING}(?!\s?(?:and|also|plus|or|以及|还有|和|或)\b){IN_BRACKETS}{{0,400}}+{CLOSING}")
_SENTENCE_END = re.compile(r"[;!?。；！？\n]|\.(?=\s|$)|(?:\s|^)[—–](?=\s)|——")

_PART_END = re.compile(rf"{_SENTENCE_END.pattern}|[,，、:：()（）]|\b(?:and|or|plus|but)\b|和|与|及|还有|以及")
# What may stand between two candidates that are given together, beside a unit after the first.
_OR = r"or|and/or|versus|vs|或者?|或是|还是|抑或|要么|亦或|要不|ou|soit|o|u|または|あるいは|أو|او"
_BESIDE = (
    r"[\s\"'“”‘’«»《》〈〉「」『』*_`().\[\]，,、،/|&+;:?!-]"
    r"|(?:and|plus|as well as|along with|the|an?|in|on|at|of|by|no|number|also|both|either|it|is|was|could|can|may"
    r"|might|be|perhaps|maybe|possibly|probably|likely|otherwise|even|else|then|again|'s|et|y|e|{_OR})(?![a-z])"
    r"|[和与跟及并加也又都就是とやو]|以及|还有|可能|也许|或许|大概|{_OR}"
).replace("{_OR}", _OR)
_JOINED = re.compile(rf"(?P<unit>[\s-]?[a-z]{{1,12}}|[\u4e00-\u9fff]{{1,3}})??(?:{_BESIDE})*")
_OR_BEFORE = re.compile(r"(?:\bor|或者?|还是|抑或)[\s\"'“‘《「*_第]*(?:(?:the|an?|in|at|on|maybe|perhaps) )*$")
_OR_AFTER = re.compile(
    r"(?:[\s-]?[a-z]{1,12}|[\u4e00-\u9fff]{1,3})??[\"'”’》」*_]{0,2},? ?"
    r"(?:(?<![a-z])or(?! (?:so|more|less|thereabouts)\b) |或者?(?!其他)|还是|抑或)[\"'“‘《「*_ ]{0,3}\w"
)
_WITH_FIRST_NAME = re.compile(r",? (?:and|or) [a-z]+ ")
_ALTERNATIVE = re.compile(rf"(?<![a-z])(?:{_OR}|perhaps|maybe)(?![a-z])|[?？]|也可能|也许")
# After a rival that is talked about, not listed.
_TELLS_OF = re.compile(r"[\"'”’》」*_)]{0,3}\s?(?:(?:is|was|are|were|has|had|belongs?)\b|[是为属则已被才])")
# A number on its own after another one, or before it, in a list.
_NEXT_NUMBER = re.compile(r"\s?[,、;]\s?\d{2,}\s?(?=[,、;.。\n]|$)")
_NUMBER_BEFORE = re.compile(r"(?:^|[\s,、;])\d{2,}\s?[,、;]\s?$")
# The end of what introduces a list.
_INTRODUCES = re.compile(r"\b(?:is|are|was|were|be|(?:mention|name|list|give|include|state|say)s?)\b|[是为有]|包括")
# What takes a rival out of a list that is given one item a sentence.
_SAYS_NOT = re.compile(
    r"\b(?:not|never|no|neither|nor|exclud\w*|except|unlike|refus\w*|reject\w*)\b|n't\b|[不没未非无]"
)


class _Named(NamedTuple):
    """A place where an answer states a fact: code points `start` up to `end`. `fact`: its number; rivals come last."""

    start: int
    end: int
    fact: int


def judge_correct(answer: str, target: Target) -> Score:
    """100 if the answer commits to all facts asked for and to nothing false, else 0. None without keywords.

    Parts: `found` of the `groups` of keywords, and `false` facts.
    """
    if not target.keywords:
        return Score(None)
    found, false = _commitment(answer, target)
    groups = len(target.keywords)
    return Score(100.0 * (found == groups and not false), {"found": found, "false": false, "groups": groups})


def judge_keyword_f1(answer: str, target: Target) -> Score:
    """F1 of the facts given: 100 x 2 found / (found + false + keyword groups). None without keywords.

    The parts are those of `correct`.
    """
    parts = judge_correct(answer, target).parts
    if not parts:
        return Score(None)
    return Score(200 * parts["found"] / (parts["found"] + parts["false"] + parts["groups"]), parts)


# Both metrics judge an answer before the next one is judged.
@lru_cache(maxsize=8)
def _commitment(answer: str, target: Target) -> tuple[int, int]:
    """How many of a target's facts an answer commits to, and how many other ones."""
    groups = target.groups
    asked = len(groups)
    facts = (*groups, *target.rivals)
    text = "\n".join(folded for line in answer.splitlines() if (folded := fold(line)))
    named = _candidates(text, facts, asked)
    asked_for_set = _is_set(target, groups)
    start = _final_part(text, named, asked_for_set)
    at_random = unknown_items(text[start:], facts, beside=not asked_for_set)
    kept = [one for one in named if one.start >= start]
    if asked_for_set:
        kept = _not_taken_back(text, kept, named)
    conceded = _spans(_CONCEDED, text)
    kept = [one for one in kept if not (_is_in(one, conceded) or _BUT_THAT_IS.match(text, one.end))]
    kept = [one for one in kept if not _ASKED.match(text, one.end)] or kept
    for pattern in (_BRACKETS, _ASIDE):
        aside = _spans(pattern, text)
        # Of a set, only rivals are set aside.
        kept = [one for one in kept if (asked_for_set and one.fact < asked) or not _is_in(one, aside)] or kept
    if asked_for_set:
        given = {one.fact for one in kept if one.fact < asked} | _listed_rivals(text, kept, asked)
        beside = _swapped(text, groups, given) + max(at_random, invented_items(text[start:], facts))
    else:
        first = _first_given(text, kept)
        given = {one.fact for one in first}
        beside = (bool(first) and _is_one_of_unknown(text, first)) + at_random
    found = sum(number < asked for number in given)
    return found, len(given) - found + beside


def _candidates(text: str, facts: Sequence[Group], asked: int) -> list[_Named]:
    """All places where a text states a fact and does not deny it; a rival's only where no fact asked for overlaps."""
    flat = text.replace("\n", " ")
    found: list[_Named] = []
    for number, group in enumerate(facts):
        for find in islice(finds(flat, group), _MOST):
            overlapped = number >= asked and any(
                one.fact < asked and find.start < one.end and one.start < find.end for one in found
            )
            if not overlapped and stands(text, find, group):
                found.append(_Named(find.start, find.end, number))
    return _merged(sorted(found))


def _merged(found: Sequence[_Named]) -> list[_Named]:
    """One candidate for overlapping spellings of one fact: a whole name, and its parts."""
    merged: list[_Named] = []
    for one in found:
        last = merged[-1] if merged else None
        if last and last.fact == one.fact and one.start < last.end:
            merged[-1] = last._replace(end=max(last.end, one.end))
        else:
            merged.append(one)
    return merged


def _is_set(target: Target, groups: Sequence[Group]) -> bool:
    """Whether several facts are asked for; groups that overlap in the reference are parts of one ("bog oak", "oak")."""
    reference = fold(target.answers[0])
    firsts = (next(finds(reference, group), None) for group in groups)
    places = sorted((place for place in firsts if place is not None), key=lambda place: place[1:])
    return len(groups) > 1 and all(one.end <= other.start for one, other in pairwise(places))


def _final_part(text: str, named: Sequence[_Named], asked_for_set: bool) -> int:
    """Where the part that counts begins: after the last conclusion or correction that names a candidate."""
    turns = [
        *((match.start(), match.end(), "concludes") for match in _CONCLUSION.finditer(text)),
        *((match.start(), match.end(), "arrives") for match in _ARROW.finditer(text) if not asked_for_set),
        *((match.start(), match.end(), "takes back") for match in _TAKEN_BACK.finditer(text)),
        *((match.start(), match.end(), "seeks") for match in _SOUGHT_ANEW.finditer(text)),
    ]
    # Words inside of brackets or of a fact are no turns.
    inside = _spans(_BRACKETS, text), [(one.start, one.end) for one in named]
    turns = [turn for turn in turns if not any(_is_in(_Named(turn[0], turn[1], 0), spans) for spans in inside)]
    for place, end, act in sorted(turns, reverse=True)[:_MOST]:
        after = [one for one in named if one.start >= end]
        before = [one for one in named if one.end <= place]
        if not after or (asked_for_set and not _is_a_list_again(before, after)):
            continue
        between = text[end : after[0].start]
        if act == "concludes" and _SENTENCE_END.search(between.lstrip(" :*\n")):
            continue
        if act == "arrives" and len(between) > _NEAR:
            continue
        if asked_for_set or act in ("concludes", "arrives") or not before:
            return end
        if act == "seeks":
            return after[-1].start
        # "X. Correction: X is for the pump; the steps have Y."
        return next((one.start for one in after if one.fact != before[-1].fact), end)
    return 0


def _not_taken_back(text: str, kept: list[_Named], named: Sequence[_Named]) -> list[_Named]:
    """The candidates of a set but for an item that is taken back and not given again in another sentence."""
    facts = [(one.start, one.end) for one in named]
    for match in deque(_TAKEN_BACK.finditer(text), maxlen=_MOST):
        if _is_in(_Named(*match.span(), 0), facts):
            continue
        before = [one for one in kept if one.end <= match.start()]
        if before:
            end = _SENTENCE_END.search(text, match.end())
            last = end.start() if end else len(text)
            if not any(one.fact == before[-1].fact and one.start >= last for one in kept):
                kept = [one for one in kept if one.fact != before[-1].fact]
    return kept


def _is_a_list_again(before: Sequence[_Named], after: Sequence[_Named]) -> bool:
    """Whether an answer gives a set again, rather than says something of its last item."""
    first, again = ({one.fact for one in part} for part in (before, after))
    repeated = first & again - ({before[-1].fact} if before else set())
    return len(again) >= len(first) or (len(again) > 1 and bool(repeated))


def _spans(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    return [match.span() for match in pattern.finditer(text)]


def _is_in(one: _Named, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a candidate lies in one of some spans, which are in order."""
    place = bisect_right(spans, (one.start, len(spans) and spans[-1][1])) - 1
    return place >= 0 and one.end <= spans[place][1]


def _first_given(text: str, candidates: Sequence[_Named]) -> list[_Named]:
    """The first candidate, and those that are given with it: "A and B", "A, or perhaps B"."""
    given = list(candidates[:1])
    for one in candidates[1:]:
        if one.start < given[-1].end or _are_joined(text, given[-1], one):
            given.append(one)
    return given


def _is_one_of_unknown(text: str, given: Sequence[_Named]) -> bool:
    """Whether what is given stands beside an "or" and something that is neither a fact nor a rival."""
    before = text[max(0, given[0].start - _APART) : given[0].start]
    if text[given[0].start : given[0].end].isdigit() and (
        _NUMBER_BEFORE.search(before) or _NEXT_NUMBER.match(text, given[-1].end)
    ):
        return True
    return bool(_OR_BEFORE.search(before) or _OR_AFTER.match(text, given[-1].end))


def _are_joined(text: str, one: _Named, other: _Named) -> bool:
    between = _BRACKETS.sub("", text[one.end : other.start])
    joined = len(between) <= _APART and (_JOINED.fullmatch(between) or _WITH_FIRST_NAME.fullmatch(between))
    if not joined:
        return False
    unit = (joined.groupdict().get("unit") or "").strip(" -")
    if unit and not text.startswith(unit, other.end + (text[other.end : other.end + 1] in (" ", "-"))):
        return False
    if "\n" in between and one.fact != other.fact:
        # Each on a line of its own.
        line = text[other.end : other.end + _NEAR].split("\n")[0]
        if not re.fullmatch(r"\W*", between + line):
            return False
        between = between.replace("\n", " ")
    return one.fact == other.fact or not _SENTENCE_END.search(between) or bool(_ALTERNATIVE.search(between))


def _listed_rivals(text: str, candidates: Sequence[_Named], asked: int) -> set[int]:
    """The rivals that stand in a list as the facts do: in the same sentence, or one a sentence where they are.

    A part of a list that says more than the facts' own parts is no item: "and 1823 was an overflow".
    """
    sentences: dict[tuple[int, int], list[_Named]] = {}
    for one in candidates:
        sentences.setdefault(_around(text, one, _SENTENCE_END), []).append(one)
    right = [sum(one.fact < asked for one in sentence) for sentence in sentences.values()]
    one_each = sum(count == 1 for count in right) > sum(count > 1 for count in right)
    longest = max((_words_beside(text, one) for one in candidates if one.fact < asked), default=0)
    listed: set[int] = set()
    for (place, sentence), count in zip(sentences.items(), right, strict=True):
        rivals = [one for one in sentence if one.fact >= asked]
        if not count:
            rivals = [one for one in rivals if not _says_not(text, place, one)]
        if not count and not one_each:
            rivals = _not_talked_about(text, rivals)
        rivals = [one for one in rivals if _words_beside(text, one) <= longest + _MORE_WORDS]
        listed |= {one.fact for one in rivals}
    return listed


def _not_talked_about(text: str, rivals: Sequence[_Named]) -> list[_Named]:
    """The rivals that no word of telling follows, neither directly nor after others joined to them."""
    kept: list[_Named] = []
    after: _Named | None = None
    for one in reversed(rivals):
        if _TELLS_OF.match(text, one.end) or (after and _are_joined(text, one, after)):
            after = one
        else:
            after = None
            kept.append(one)
    return kept


def _says_not(text: str, place: tuple[int, int], one: _Named) -> bool:
    """Whether a sentence has a word of denial outside of a candidate."""
    return any(_SAYS_NOT.search(text, *span) for span in ((place[0], one.start), (one.end, place[1])))


def _around(text: str, one: _Named, end: re.Pattern[str]) -> tuple[int, int]:
    """The start and end of the part of a text that holds a candidate; `end` matches what parts end with."""
    first = max(0, one.start - _LONGEST_PART)
    before = list(end.finditer(text, first, one.start))
    after = end.search(text, one.end, one.end + _LONGEST_PART)
    return before[-1].end() if before else first, after.start() if after else min(len(text), one.end + _LONGEST_PART)


def _words_beside(text: str, one: _Named) -> int:
    """How many words, or two Chinese characters each, stand beside a candidate in its part of a list."""
    start, end = _around(text, one, _PART_END)
    before = _INTRODUCES.split(text[start : one.start])[-1]
    beside = before + " " + text[one.end : end]
    return len(re.findall(r"[^\W\u3400-\u9fff]+|[\u3400-\u9fff]{1,2}", beside))


def _swapped(text: str, groups: Sequence[Group], given: set[int]) -> int:
    """How many facts are given to a wrong owner."""
    return sum(
        bool(group.owner) and number not in given and next(finds(text, group), None) is not None
        for number, group in enumerate(groups)
    )


_PARTS = {"found": int, "false": int, "groups": int}
PARTS = {"correct": _PARTS, "keyword_f1": _PARTS}
