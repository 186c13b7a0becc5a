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

from niah_score.metrics.base import Score, Target
from niah_score.metrics.invented import CLOSING, IN_BRACKETS, OPENING, invented_items, unknown_items
from niah_score.text import Group, finds, fold, stands
from niah_score.text.fold import Reading
from niah_score.text.phrases import phrases_of

_SAID = phrases_of("correct")
# An answer that names a fact, or turns, more often is repeating itself: the first finds and the last turns suffice.
_MOST = 100
_NEAR = 16  # code points between an arrow and where it leads
_APART = 60  # code points between two candidates that are given together
_LONGEST_PART = 400  # code points of a sentence on either side of a candidate
_MORE_WORDS = 1  # how many more words than the facts a rival may have beside it in a list

# Before the end of a chain of facts, to a question with one answer.
_ARROW = re.compile("→|=>|->|⇒")
_BRACKETS = re.compile(rf"{OPENING}(?!\s?(?:and|also|plus|or|以及|还有|和|或)\b){IN_BRACKETS}{{0,400}}+{CLOSING}")

# A number on its own after another one, or before it, in a list.
_NEXT_NUMBER = re.compile(r"\s?[,、;]\s?\d{2,}\s?(?=[,、;.。\n]|$)")
_NUMBER_BEFORE = re.compile(r"(?:^|[\s,、;])\d{2,}\s?[,、;]\s?$")


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
    conceded = _spans(_SAID.conceded, text)
    kept = [one for one in kept if not (_is_in(one, conceded) or _SAID.but_that_is.match(text, one.end))]
    kept = [one for one in kept if not _SAID.asked.match(text, one.end)] or kept
    for pattern in (_BRACKETS, _SAID.aside):
        aside = _spans(pattern, text)
        # Of a set, only rivals are set aside.
        kept = [one for one in kept if (asked_for_set and one.value < asked) or not _is_in(one, aside)] or kept
    if asked_for_set:
        given = {one.value for one in kept if one.value < asked} | _listed_rivals(text, kept, asked)
        beside = _swapped(text, groups, given) + max(at_random, invented_items(text[start:], facts))
    else:
        first = _first_given(text, kept)
        given = {one.value for one in first}
        beside = (bool(first) and _is_one_of_unknown(text, first)) + at_random
    found = sum(number < asked for number in given)
    return found, len(given) - found + beside


def _candidates(text: str, facts: Sequence[Group], asked: int) -> list[Reading]:
    """All places where a text states a fact and does not deny it; a rival's only where no fact asked for overlaps.

    The value of each is the number of its fact; those of rivals come last.
    """
    flat = text.replace("\n", " ")
    found: list[Reading] = []
    for number, group in enumerate(facts):
        for find in islice(finds(flat, group), _MOST):
            overlapped = number >= asked and any(
                one.value < asked and find.start < one.end and one.start < find.end for one in found
            )
            if not overlapped and stands(text, find, group):
                found.append(Reading(number, find.start, find.end))
    return _merged(sorted(found, key=lambda one: (one.start, one.end, one.value)))


def _merged(found: Sequence[Reading]) -> list[Reading]:
    """One candidate for overlapping spellings of one fact: a whole name, and its parts."""
    merged: list[Reading] = []
    for one in found:
        last = merged[-1] if merged else None
        if last and last.value == one.value and one.start < last.end:
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


def _final_part(text: str, named: Sequence[Reading], asked_for_set: bool) -> int:
    """Where the part that counts begins: after the last conclusion or correction that names a candidate."""
    acts = [("concludes", _SAID.conclusion), ("takes back", _SAID.taken_back), ("seeks", _SAID.sought_anew)]
    acts += [] if asked_for_set else [("arrives", _ARROW)]
    turns = [Reading(act, match.start(), match.end()) for act, words in acts for match in words.finditer(text)]
    # Words inside of brackets or of a fact are no turns.
    inside = _spans(_BRACKETS, text), [(one.start, one.end) for one in named]
    turns = [turn for turn in turns if not any(_is_in(turn, spans) for spans in inside)]
    for act, place, end in sorted(turns, key=lambda turn: (turn.start, turn.end, turn.value), reverse=True)[:_MOST]:
        after = [one for one in named if one.start >= end]
        before = [one for one in named if one.end <= place]
        if not after or (asked_for_set and not _is_a_list_again(before, after)):
            continue
        between = text[end : after[0].start]
        if act == "concludes" and _SAID.sentence_end.search(between.lstrip(" :*\n")):
            continue
        if act == "arrives" and len(between) > _NEAR:
            continue
        if asked_for_set or act in ("concludes", "arrives") or not before:
            return end
        if act == "seeks":
            return after[-1].start
        # "X. Correction: X is for the pump; the steps have Y."
        return next((one.start for one in after if one.value != before[-1].value), end)
    return 0


def _not_taken_back(text: str, kept: list[Reading], named: Sequence[Reading]) -> list[Reading]:
    """The candidates of a set but for an item that is taken back and not given again in another sentence."""
    facts = [(one.start, one.end) for one in named]
    for match in deque(_SAID.taken_back.finditer(text), maxlen=_MOST):
        if _is_in(Reading(None, *match.span()), facts):
            continue
        before = [one for one in kept if one.end <= match.start()]
        if before:
            end = _SAID.sentence_end.search(text, match.end())
            last = end.start() if end else len(text)
            if not any(one.value == before[-1].value and one.start >= last for one in kept):
                kept = [one for one in kept if one.value != before[-1].value]
    return kept


def _is_a_list_again(before: Sequence[Reading], after: Sequence[Reading]) -> bool:
    """Whether an answer gives a set again, rather than says something of its last item."""
    first, again = ({one.value for one in part} for part in (before, after))
    repeated = first & again - ({before[-1].value} if before else set())
    return len(again) >= len(first) or (len(again) > 1 and bool(repeated))


def _spans(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    return [*map(re.Match.span, pattern.finditer(text))]


def _is_in(one: Reading, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a candidate lies in one of some spans, which are in order."""
    place = bisect_right(spans, (one.start, len(spans) and spans[-1][1])) - 1
    return place >= 0 and one.end <= spans[place][1]


def _first_given(text: str, candidates: Sequence[Reading]) -> list[Reading]:
    """The first candidate, and those that are given with it: "A and B", "A, or perhaps B"."""
    given = list(candidates[:1])
    for one in candidates[1:]:
        if one.start < given[-1].end or _are_joined(text, given[-1], one):
            given.append(one)
    return given


def _is_one_of_unknown(text: str, given: Sequence[Reading]) -> bool:
    """Whether what is given stands beside an "or" and something that is neither a fact nor a rival."""
    before = text[max(0, given[0].start - _APART) : given[0].start]
    if text[given[0].start : given[0].end].isdigit() and (
        _NUMBER_BEFORE.search(before) or _NEXT_NUMBER.match(text, given[-1].end)
    ):
        return True
    return bool(_SAID.or_before.search(before) or _SAID.or_after.match(text, given[-1].end))


def _are_joined(text: str, one: Reading, other: Reading) -> bool:
    between = _BRACKETS.sub("", text[one.end : other.start])
    joined = len(between) <= _APART and (_SAID.joined.fullmatch(between) or _SAID.with_first_name.fullmatch(between))
    if not joined:
        return False
    unit = (joined.groupdict().get("unit") or "").strip(" -")
    if unit and not text.startswith(unit, other.end + (text[other.end : other.end + 1] in (" ", "-"))):
        return False
    if "\n" in between and one.value != other.value:
        # Each on a line of its own.
        line = text[other.end : other.end + _NEAR].split("\n")[0]
        if not re.fullmatch(r"\W*", between + line):
            return False
        between = between.replace("\n", " ")
    return one.value == other.value or not _SAID.sentence_end.search(between) or bool(_SAID.alternative.search(between))


def _listed_rivals(text: str, candidates: Sequence[Reading], asked: int) -> set[int]:
    """The rivals that stand in a list as the facts do: in the same sentence, or one a sentence where they are.

    A part of a list that says more than the facts' own parts is no item: "and 1823 was an overflow".
    """
    sentences: dict[tuple[int, int], list[Reading]] = {}
    for one in candidates:
        sentences.setdefault(_around(text, one, _SAID.sentence_end), []).append(one)
    right = [sum(one.value < asked for one in sentence) for sentence in sentences.values()]
    one_each = sum(count == 1 for count in right) > sum(count > 1 for count in right)
    longest = max((_words_beside(text, one) for one in candidates if one.value < asked), default=0)
    listed: set[int] = set()
    for (place, sentence), count in zip(sentences.items(), right, strict=True):
        rivals = [one for one in sentence if one.value >= asked]
        if not count:
            rivals = [one for one in rivals if not _says_not(text, place, one)]
        if not count and not one_each:
            rivals = _not_talked_about(text, rivals)
        rivals = [one for one in rivals if _words_beside(text, one) <= longest + _MORE_WORDS]
        listed |= {one.value for one in rivals}
    return listed


def _not_talked_about(text: str, rivals: Sequence[Reading]) -> list[Reading]:
    """The rivals that no word of telling follows, neither directly nor after others joined to them."""
    kept: list[Reading] = []
    after: Reading | None = None
    for one in reversed(rivals):
        if _SAID.tells_of.match(text, one.end) or (after and _are_joined(text, one, after)):
            after = one
        else:
            after = None
            kept.append(one)
    return kept


def _says_not(text: str, place: tuple[int, int], one: Reading) -> bool:
    """Whether a sentence has a word of denial outside of a candidate."""
    return any(_SAID.says_not.search(text, *span) for span in ((place[0], one.start), (one.end, place[1])))


def _around(text: str, one: Reading, end: re.Pattern[str]) -> tuple[int, int]:
    """The start and end of the part of a text that holds a candidate; `end` matches what parts end with."""
    first = max(0, one.start - _LONGEST_PART)
    before = list(end.finditer(text, first, one.start))
    after = end.search(text, one.end, one.end + _LONGEST_PART)
    return before[-1].end() if before else first, after.start() if after else min(len(text), one.end + _LONGEST_PART)


def _words_beside(text: str, one: Reading) -> int:
    """How many words, or two Chinese characters each, stand beside a candidate in its part of a list."""
    start, end = _around(text, one, _SAID.part_end)
    before = _SAID.introduces.split(text[start : one.start])[-1]
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
