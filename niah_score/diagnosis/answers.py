"""Looks in wrong answers for what their texts tell of a fault.

Markers of a chat template; another row's answer; a right answer in a form that was not read; the answer to the same
question about a thing with a near-equal name.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import combinations, takewhile
from operator import eq
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np

from niah_score.statistics.intervals import Floats, Mask
from niah_score.text import fold

if TYPE_CHECKING:
    import polars as pl

# The first answers of rows, their other columns, and what models said, by name of the column.
Row = Mapping[str, Any]
# For rows, by their places: those of the same context that ask the same of another thing.
Mates = dict[int, list[int]]

_SPECIAL = re.compile(
    r"<\|[A-Za-z_ ]{2,40}\|>|<｜[^｜]{2,40}｜>|\[/?INST\]|<</?SYS>>|</?s>|<(?:start|end)_of_turn>|\[/?(?:gMASK|sop)\]"
)
_ROLES = "Human|User|Assistant|System|Instruction|用户|助手|人类|系统"
_NEW_TURN = re.compile(
    rf"(?:^|(?<=[.!?。！？]))[ \t]{{0,4}}(?:#{{2,3}} ?|\*\*)?(?:{_ROLES})(?:\*\*)? ?[:：]"
    r"|^(?:user|assistant|system)\r?$",
    re.M,
)
_ESCAPED = re.compile(r"\\+u([0-9a-fA-F]{4})")
_WORD = re.compile(r"[^\W\u2e80-\uffff]*")
_NO_WORD = re.compile(r"[\W_]+")
_LONGEST = 4_000  # code points of an answer that are looked at
_LONGEST_NAMED = 400  # code points of a question, or of a record, in which its thing is named
_MOST_ALIKE = 40  # answers of a run that begin alike
_MOST_TOGETHER = 24  # rows of a part over one context
_PROSE = {True: 80, False: 40}  # letters of an answer that is no name
_FEW_LETTERS = 12
_DISTINCT = {True: 5, False: 3}  # letters of an answer that hardly stands in a text by chance: ASCII, and others


# The same answers, rivals and questions are looked at for one fault after the other.
@lru_cache(maxsize=8_192)
def squeezed(text: str) -> str:
    """A text folded, with letters and digits only."""
    return _NO_WORD.sub("", fold(text[:_LONGEST]))


def has_markers(row: Row) -> bool:
    """Whether an answer shows that the model took its prompt for a text, or for the turns of another template.

    It holds special tokens, begins another turn, or begins with the question; or it runs to the limit in prose that has
    nothing to do with the question.
    """
    answer, question = (row["prediction"] or "")[:_LONGEST], row["question"] or ""
    if _SPECIAL.search(answer) or _NEW_TURN.search(answer):
        return True
    asked, said = squeezed(question), squeezed(answer)
    if len(asked) >= 3 * _DISTINCT[asked.isascii()] and said.startswith(asked):
        return True
    if row["status"] != "truncated" or len(said) < _PROSE[said.isascii()] or row["reasoning"] or babbles(row):
        return False
    size = 4 if asked.isascii() else 2
    pieces = {asked[place : place + size] for place in range(len(asked) - size + 1)}
    return bool(pieces) and sum(piece in said for piece in pieces) < 0.4 * len(pieces)


def babbles(row: Row) -> bool:
    """Whether an answer repeats a few words or signs."""
    letters = _NO_WORD.sub("", (row["prediction"] or "")[:_LONGEST].lower())
    return len(letters) >= _PROSE[letters.isascii()] and len(set(letters)) <= _FEW_LETTERS


def is_unread(row: Row) -> bool:
    """Whether a wrong answer, or its reasoning, spells every fact asked for in some form, and no rival."""
    wanted = [squeezed(group[0]) for group in row["keywords"] if group]
    if not wanted or any(len(word) < _DISTINCT[word.isascii()] - 1 for word in wanted):
        return False
    said = f"{row['prediction'] or ''}\n{row['reasoning'] or ''}"[:_LONGEST]
    plain = _ESCAPED.sub(lambda escape: chr(int(escape[1], 16)), unquote(html.unescape(said)))
    rivals = [squeezed(rival[0]) for rival in row["decoys"] or () if rival]
    return any(
        all(word in text for word in wanted) and not any(rival and rival in text for rival in rivals)
        for text in map(squeezed, (said, plain, _from_bytes(said)))
    )


def _from_bytes(text: str) -> str:
    """A text whose bytes were printed as the vocabularies of byte-level tokenizers spell them (GPT-2's table)."""
    if not any("\u0100" <= char <= "\u0143" for char in text):
        return ""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printed]
    known = {chr(byte): byte for byte in printed} | {chr(256 + nth): byte for nth, byte in enumerate(others)}
    return bytes(known.get(char, 32) for char in text).decode(errors="replace")


class OtherAnswers:
    """The answers of all rows, to be found in the answers to others. `rows`: all rows of a run."""

    def __init__(self, rows: Sequence[Row]) -> None:
        owners: dict[str, set[str]] = defaultdict(set)
        for row in rows:
            text = squeezed(row["answers"][0]) if row["keywords"] else ""
            if len(text) >= _DISTINCT[text.isascii()] and not text.isdigit():
                owners[text].add(row["needle_id"])
        # By their first letters. Many that begin alike are no names, and would take long to look for.
        by_start: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for text, needles in sorted(owners.items()):
            # The answer to questions about several needles belongs to none.
            if len(needles) == 1:
                by_start[text[: _DISTINCT[text.isascii()]]].append((text, next(iter(needles))))
        self._by_start = {start: found for start, found in by_start.items() if len(found) <= _MOST_ALIKE}

    def is_of_another(self, row: Row) -> bool:
        """Whether an answer names what only rows about other needles, or worlds, have as their answer."""
        said = squeezed(row["prediction"] or "")
        pieces = {said[place : place + size] for size in _DISTINCT.values() for place in range(len(said))}
        return any(
            needle != row["needle_id"] and text in said
            for start in self._by_start.keys() & pieces
            for text, needle in self._by_start[start]
        )


def shifted(rows: Sequence[Row], wrong: Mask, mates: Mates) -> Mask:
    """The wrong answers that are the answer of the row one or two before or after, if many more are than by chance.

    `rows`: in the order of the dataset. `mates`: rows whose questions are alike may be confused for that reason.
    """
    answers = [squeezed(row["answers"][0]) for row in rows]
    said = [squeezed(row["prediction"] or "") for row in rows]
    found: list[Mask] = []
    for step in (-2, -1, 1, 2):
        fits = np.zeros(len(rows), dtype=bool)
        for place in np.flatnonzero(wrong).tolist():
            other = (place + step) % len(rows)
            is_other = (
                len(answers[other]) > 1 and answers[other] != answers[place] and other not in mates.get(place, ())
            )
            fits[place] = is_other and answers[other] in said[place]
        found.append(fits)
    *_, second, best = sorted(found, key=lambda fits: int(fits.sum()))
    # A rival drawn at random may be the answer to any row of the context.
    return best if best.sum() >= 10 + 2 * second.sum() else np.zeros(len(rows), dtype=bool)


def near_names(rows: Sequence[Row], wrong: Mask, mates: Mates, needles: pl.Series) -> tuple[Mask, Floats]:
    """Wrong answers that answer the same question about another thing of the context; and the chance of each to do so.

    `needles`: the records of each row. Two questions ask the same of two things if they differ in one name only, which
    stands in the record of each answer; a row without such a question, or whose answer names no rival, has a chance of
    0. The chance is that of rivals drawn at random.
    """
    fits, chance = np.zeros(len(rows), dtype=bool), np.zeros(len(rows))
    for place in np.flatnonzero(wrong).tolist():
        row, said = rows[place], squeezed(rows[place]["prediction"] or "")
        rivals = {squeezed(group[0]) for group in row["decoys"] or () if group} - {""}
        named = _longest_in(said, rivals)
        if not named or place not in mates or len(row["keywords"]) != 1:
            continue
        twins = (rows[mate] for mate in mates[place] if _is_twin(row, rows[mate], needles[place].to_list()))
        others = {squeezed(twin["answers"][0]) for twin in twins}
        if 0 < len(others & rivals) < len(rivals):
            fits[place] = bool(others & named)
            chance[place] = min(len(named) * len(others & rivals) / len(rivals), 0.9)
    return fits, chance


def _longest_in(said: str, rivals: Iterable[str]) -> set[str]:
    """The rivals that an answer names, and no parts of those: 31, and not 3."""
    there = {rival for rival in rivals if rival and rival in said}
    return {one for one in there if not any(one != other and one in other for other in there)}


def _is_twin(row: Row, other: Row, records: Sequence[str]) -> bool:
    """Whether what two questions differ in are names that stand in the records of their answers, each in its own."""
    answers, names = (row["answers"][0], other["answers"][0]), _difference(row["question"], other["question"])
    told = [next((record for record in records if answer in record), "") for answer in answers]
    return [[name in record for name in names] for record in told] == [[True, False], [False, True]]


def of_same_thing(rows: Sequence[Row]) -> tuple[Floats, Floats]:
    """For wrong answers, the share of the rivals they name that another record says of the right thing.

    And the share of all rivals that records of that thing state, which is what would be named by chance; both are 0
    for rows without records or rivals. The thing's name is the longest stretch that the question shares with
    the record that states the answer.
    """
    fits, chance = np.zeros(len(rows)), np.zeros(len(rows))
    for place, row in enumerate(rows):
        records, said = row["needles"] or [], squeezed(row["prediction"] or "")
        rivals = dict.fromkeys(rival[0] for rival in row["decoys"] or ())
        squeezed_named = _longest_in(said, map(squeezed, rivals))
        named = [rival for rival in rivals if squeezed(rival) in squeezed_named]
        own = next((record for group in row["keywords"] for record in records if group[0] in record), None)
        if own is None or not named:
            continue
        question = (row["question"] or "")[:_LONGEST_NAMED]
        match = SequenceMatcher(None, question, own[:_LONGEST_NAMED], autojunk=False).find_longest_match()
        name = question[match.a : match.a + match.size].strip(" .,?，。？")
        of_thing = "\n".join(record for record in records if name in record)
        same = [rival for rival in rivals if rival in of_thing]
        if name and 0 < len(same) < len(rivals):
            fits[place] = sum(rival in same for rival in named) / len(named)
            chance[place] = len(same) / len(rivals)
    return fits, chance


def mates_of(rows: Sequence[Row]) -> Mates:
    """For each row those of its context and part whose question differs from its own in one word or name only."""
    contexts: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        if row["question"] and row["keywords"]:
            contexts[row["haystack_id"] or row["id"], row["part"] or ""].append(place)
    found: Mates = {}
    for places in contexts.values():
        if len(places) > _MOST_TOGETHER:
            continue
        mates: Mates = defaultdict(list)
        for one, other in combinations(places, 2):
            if _differ_once(rows[one]["question"][:_LONGEST_NAMED], rows[other]["question"][:_LONGEST_NAMED]):
                mates[one].append(other)
                mates[other].append(one)
        found |= {place: others for place, others in mates.items() if len(others) <= 3}
    return found


def _differ_once(first: str, second: str) -> bool:
    """Whether two questions are equal but for one stretch of at most two fifths of the shorter one."""
    shorter = min(len(first), len(second))
    piece = 3 * shorter // 10
    if first == second or (first[:piece] != second[:piece] and first[-piece:] != second[-piece:]):
        return False
    return sum(_shared(first, second)) >= 0.6 * shorter


def _shared(first: str, second: str) -> tuple[int, int]:
    """How many code points two texts have in common at their start, and, after these, at their end."""
    before = sum(takewhile(bool, map(eq, first, second)))
    return before, sum(takewhile(bool, map(eq, reversed(first[before:]), reversed(second[before:]))))


def _difference(first: str, second: str) -> tuple[str, str]:
    """What two questions differ in: whole words, in scripts that separate them by spaces."""
    before, after = _shared(first, second)
    before -= len(_WORD.match(first[:before][::-1])[0])  # type: ignore[index]
    after -= len(_WORD.match(first[len(first) - after :])[0])  # type: ignore[index]
    return first[before : len(first) - after], second[before : len(second) - after]
