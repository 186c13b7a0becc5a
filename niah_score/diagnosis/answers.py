"""Looks in wrong answers for what their texts tell of a fault.

Markers of a chat template; another row's answer; a right answer in a form that was not read; the answer to the same
question about a thing with a near-equal name.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import numpy as np

from niah_score.statistics.intervals import Floats, Mask
from niah_score.text import fold

# The first answers of rows, their other columns, and what models said, by name of the column.
Row = Mapping[str, Any]

_SPECIAL = re.compile(
    r"<\|[A-Za-z_ ]{2,40}\|>|<｜[^｜]{2,40}｜>|\[/?INST\]|<</?SYS>>|</?s>|<(?:start|end)_of_turn>|\[/?(?:gMASK|sop)\]"
)
_NEW_TURN = re.compile(
    r"(?m)(?:^|(?<=[.!?。！？]))\s*(?:#{2,3}\s*|\*\*)?(?:Human|User|Assistant|System|Instruction|Response|用户|助手|人类|系统)(?:\*\*)?\s*[:：]"
)
_ESCAPED = re.compile(r"\\+u([0-9a-fA-F]{4})")
_NO_WORD = re.compile(r"[\W_]+")
_LONGEST = 4_000  # code points of an answer that are looked at
_DISTINCT = {True: 5, False: 3}  # letters of an answer that hardly stands in a text by chance: ASCII, and others


def squeezed(text: str) -> str:
    """A text folded, with letters and digits only."""
    return _NO_WORD.sub("", fold(text[:_LONGEST]))


def has_markers(answer: str, question: str) -> bool:
    """Whether an answer holds special tokens of a chat template, begins another turn, or asks the question again."""
    answer = answer[:_LONGEST]
    if _SPECIAL.search(answer) or _NEW_TURN.search(answer):
        return True
    asked = squeezed(question)
    return len(asked) >= _DISTINCT[asked.isascii()] * 3 and squeezed(answer).find(asked) > 0


def is_unread(row: Row) -> bool:
    """Whether a wrong answer, or its reasoning, spells every fact asked for in some form, and no rival."""
    wanted = [squeezed(group[0]) for group in row["keywords"] if group]
    if not wanted or any(len(word) < _DISTINCT[word.isascii()] - 1 for word in wanted):
        return False
    said = f"{row['prediction'] or ''}\n{row['reasoning'] or ''}"[:_LONGEST]
    plain = _ESCAPED.sub(lambda escape: chr(int(escape[1], 16)), unquote(html.unescape(said)))
    texts = [squeezed(said), squeezed(plain)]
    return any(
        all(word in text for word in wanted)
        and not any(squeezed(rival[0]) in text for rival in row["decoys"] or () if rival and squeezed(rival[0]))
        for text in texts
    )


class OtherAnswers:
    """The answers of all rows, to be found in the answers to others. `rows`: all rows of a run."""

    def __init__(self, rows: Sequence[Row]) -> None:
        owners: dict[str, set[str]] = defaultdict(set)
        for row in rows:
            text = squeezed(row["answers"][0]) if row["keywords"] else ""
            if len(text) >= _DISTINCT[text.isascii()] and not text.isdigit():
                owners[text].add(row["needle_id"])
        self._by_start: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for text, needles in sorted(owners.items()):
            # The answer to questions about several needles belongs to none.
            if len(needles) == 1:
                self._by_start[text[:3]].append((text, next(iter(needles))))

    def is_of_another(self, row: Row) -> bool:
        """Whether an answer names what only rows about other needles, or worlds, have as their answer."""
        said = squeezed(row["prediction"] or "")
        return any(
            needle != row["needle_id"] and said.startswith(text, place)
            for place in range(len(said))
            for text, needle in self._by_start.get(said[place : place + 3], ())
        )


def shifted(rows: Sequence[Row], wrong: Mask) -> Mask:
    """The wrong answers that are the answer of the row so many before or after, if many are; else none.

    `rows`: in the order of the dataset. Rows whose questions are alike may be confused for that reason.
    """
    mates = _mates(rows)
    answers = [squeezed(row["answers"][0]) for row in rows]
    said = [squeezed(row["prediction"] or "") for row in rows]
    best = np.zeros(len(rows), dtype=bool)
    for step in (-2, -1, 1, 2):
        fits = np.zeros(len(rows), dtype=bool)
        for place in np.flatnonzero(wrong).tolist():
            other = (place + step) % len(rows)
            is_other = (
                len(answers[other]) > 1 and answers[other] != answers[place] and other not in mates.get(place, ())
            )
            fits[place] = is_other and answers[other] in said[place]
        if fits.sum() > best.sum():
            best = fits
    return best if best.sum() >= max(8, 0.15 * wrong.sum()) else np.zeros(len(rows), dtype=bool)


def near_names(rows: Sequence[Row], wrong: Mask) -> tuple[Mask, Floats]:
    """Wrong answers that answer the same question about another thing of the context; and the chance of each to do so.

    Questions are the same if they differ in one place only; a row without such a question has a chance of 0. The chance
    is that of a rival drawn at random.
    """
    mates = _mates(rows)
    fits, chance = np.zeros(len(rows), dtype=bool), np.zeros(len(rows))
    for place in np.flatnonzero(wrong).tolist():
        others = [squeezed(rows[mate]["answers"][0]) for mate in mates.get(place, ())]
        rivals = len(rows[place]["decoys"] or ())
        if others and rivals > len(others):
            said = squeezed(rows[place]["prediction"] or "")
            fits[place] = any(other and other in said for other in others)
            chance[place] = len(others) / rivals
    return fits, chance


def _mates(rows: Sequence[Row]) -> dict[int, list[int]]:
    """For each row those of its context and part whose question differs from its own in one word or name only."""
    contexts: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        if row["question"] and row["keywords"]:
            contexts[row["haystack_id"] or "", row["part"] or ""].append(place)
    found: dict[int, list[int]] = {}
    for places in contexts.values():
        if len(places) > 100:
            continue
        for place in places:
            mates = [other for other in places if other != place and _differ_once(rows, place, other)]
            if 1 <= len(mates) <= 3:
                found[place] = mates
    return found


def _differ_once(rows: Sequence[Row], one: int, other: int) -> bool:
    """Whether two questions are equal but for one stretch of at most two fifths of the shorter one."""
    first, second = rows[one]["question"], rows[other]["question"]
    shorter = min(len(first), len(second))
    before = next((place for place in range(shorter) if first[place] != second[place]), shorter)
    rest = shorter - before
    after = next((place for place in range(rest) if first[-1 - place] != second[-1 - place]), rest)
    return first != second and before + after >= 0.6 * shorter
